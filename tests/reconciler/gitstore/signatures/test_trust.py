"""Which commits must be signed, given as histories: capital letters are signed by a signer, small ones are not."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.gitstore.objects.commit import Commit, Sign, decode_commit, encode_commit
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import Identity
from reconciler.gitstore.signatures.signers import Signers, parse_signers
from reconciler.gitstore.signatures.signing import SshSigner
from reconciler.gitstore.signatures.trust import SignatureMode, TrustVerdict, judge_head
from reconciler.gitstore.signatures.verifier import BadSignature, GoodSignature, SignatureFault, Verifier
from tests.servers import repository
from tests.servers.sshd import new_key

NOW = datetime(2026, 3, 1, tzinfo=UTC)
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


@dataclass(frozen=True)
class History:
    """A history given as `name: parents`, whose commits are named by their letter, padded to an id."""

    data: dict[ObjectId, bytes] = field(default_factory=dict)

    def add(self, name: str, parents: Sequence[str], sign: Sign | None) -> None:
        who = Identity("Ann", "ann@example.org")
        commits = Commit(EMPTY_TREE, tuple(map(id_of, parents)), who, NOW, f"commit {name}")
        self.data[id_of(name)] = encode_commit(commits, sign)

    def read(self, id: ObjectId) -> bytes:
        return self.data[id]

    def commits(self, head: ObjectId, since: ObjectId | None) -> Iterator[ObjectId]:
        known = set() if since is None else self._reach(since)
        yield from self._reach(head) - known

    def _reach(self, head: ObjectId) -> set[ObjectId]:
        found, rest = set(), [head]
        while rest:
            if (commit := rest.pop()) not in found:
                found.add(commit)
                rest += decode_commit(self.data[commit]).parents
        return found


def id_of(letter: str) -> ObjectId:
    return letter.encode().hex().ljust(40, "0")


def letter(commit: ObjectId | None) -> str:
    return "" if commit is None else bytes.fromhex(commit[:2]).decode()


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_key(tmp_path_factory.mktemp("keys") / "ann", "ann")


@pytest.fixture(scope="module")
def verifier(key: Path) -> Verifier:
    return Verifier(parse_signers([key.with_suffix(".pub").read_text()]), dict(os.environ))


def judge(
    history: str, good: str, key: Path, verifier: Verifier, mode: SignatureMode = SignatureMode.ENFORCE
) -> TrustVerdict:
    commits = History()
    head = ""
    for word in history.split():
        head, _, parents = word.partition(":")
        commits.add(head, parents, SshSigner(key, dict(os.environ)) if head.isupper() else None)
    return judge_head(commits, id_of(head), id_of(good) if good else None, verifier, mode, NOW)


@pytest.mark.parametrize(
    ("history", "good", "use", "untrusted"),
    [
        pytest.param("A", "", "A", "", id="the first head is signed"),
        pytest.param("a B:a", "", "B", "", id="the first head approves all below"),
        pytest.param("A b:A", "", "", "b", id="the first head is not signed"),
        pytest.param("A B:A C:B", "A", "C", "", id="all are signed"),
        pytest.param("A", "A", "A", "", id="nothing is new"),
        pytest.param("a", "a", "a", "", id="what was good before is not asked again"),
        pytest.param("A B:A c:B", "A", "B", "c", id="held at the newest good one"),
        pytest.param("A b:A C:b", "A", "A", "b", id="to build on it unaware approves nothing"),
        pytest.param("A b:A C:b d:C", "A", "A", "bd", id="every one is named, the oldest first"),
        pytest.param("A b:A c:b M:Ac", "A", "M", "", id="a signed merge approves what it brings in"),
        pytest.param("A b:A m:Ab", "A", "A", "m", id="an unsigned merge of anything"),
        pytest.param("A b:A C:b M:AC", "A", "M", "", id="the way out: a signed merge onto the last good one"),
        pytest.param("A B:A c:A M:cB", "B", "B", "c", id="a merge the other way round hides nothing"),
        pytest.param("A B:A C:A M:CB", "B", "M", "", id="a merge the other way round, all signed"),
        pytest.param("A b:A c:A O:Abc", "A", "O", "", id="an octopus"),
        pytest.param(
            "A B:A C", "B", "C", "", id="another history: whether it may be followed is not for signatures"
        ),
        pytest.param("A B:A c", "B", "B", "c", id="another history, unsigned"),
    ],
)
def test_the_head_that_is_used(
    history: str, good: str, use: str, untrusted: str, key: Path, verifier: Verifier
) -> None:
    ruling = judge(history, good, key, verifier)
    assert letter(ruling.use) == use
    assert "".join(letter(each.commit) for each in ruling.untrusted) == untrusted
    assert all(each.fault is SignatureFault.UNSIGNED for each in ruling.untrusted)
    assert ruling.is_head_refused is bool(untrusted)
    assert bool(ruling.message) is bool(untrusted)


def test_warn_uses_the_head_and_says_so(key: Path, verifier: Verifier) -> None:
    ruling = judge("A b:A C:b", "A", key, verifier, SignatureMode.WARN)
    assert letter(ruling.use) == "C"
    assert not ruling.is_head_refused
    assert ruling.message == f"used although commit {id_of('b')[:12]}: it is not signed"


def test_off_looks_at_nothing(key: Path) -> None:
    blind = Verifier(Signers(), {"PATH": "/nonexistent"})
    assert judge("a b:a", "a", key, blind, SignatureMode.OFF) == TrustVerdict(id_of("b"), id_of("b"))


def test_the_condition_says_where_why_and_what_to_do(key: Path, verifier: Verifier) -> None:
    held = judge("A b:A c:b", "A", key, verifier).message
    assert held.startswith(
        f"not used, keeping {id_of('A')[:12]}: commit {id_of('b')[:12]}: it is not signed (and 1 more); "
    )
    assert "signed merge" in held
    assert judge("a", "", key, verifier).message.startswith("not used: commit")


@given(st.lists(st.booleans(), min_size=1, max_size=12), st.data())
def test_enforced_never_follows_past_an_unsigned_commit(are_signed: list[bool], data: st.DataObject) -> None:
    """A line of commits, each signed or not: what is followed is exactly up to the first that is not."""

    class ByMessage(Verifier):
        def verify(self, commit: bytes, at: datetime) -> GoodSignature | BadSignature:
            return (
                GoodSignature("ann")
                if b"good" in commit
                else BadSignature(SignatureFault.UNSIGNED, "it is not signed")
            )

    commits = History()
    names = [f"{number + 1:040x}" for number in range(len(are_signed))]
    for number, is_signed in enumerate(are_signed):
        parents = (names[number - 1],) if number else ()
        message = "good" if is_signed else "change"
        commits.data[names[number]] = encode_commit(
            Commit(EMPTY_TREE, parents, Identity("a", "b"), NOW, message)
        )
    start = data.draw(st.integers(0, len(names) - 1))
    ruling = judge_head(
        commits, names[-1], names[start], ByMessage(Signers(), {}), SignatureMode.ENFORCE, NOW
    )
    news = are_signed[start + 1 :]
    first_bad = news.index(False) if False in news else len(news)
    assert ruling.use == names[start + first_bad]
    assert len(ruling.untrusted) == news.count(False)


def test_a_whole_repo_of_git(tmp_path: Path, key: Path, verifier: Verifier) -> None:
    """Commits made, signed and read by git itself."""
    repo = repository.bare(tmp_path / "repo")
    repository.git(repo, "mktree")
    by = ("-c", "gpg.format=ssh", "-c", f"user.signingKey={key}")

    def make(message: str, *parents: str, sign: bool) -> str:
        onto = [word for parent in parents for word in ("-p", parent)]
        flags = ["-S"] if sign else []
        return repository.git(repo, *by, "commit-tree", *flags, *onto, "-m", message, EMPTY_TREE)

    first = make("first", sign=True)
    feature = make("feature", first, sign=False)
    merge = make("merge", first, feature, sign=True)
    on_top = make("on top", merge, sign=False)

    class ByGit:
        def read(self, id: ObjectId) -> bytes:
            return (repository.git(repo, "cat-file", "commit", id) + "\n").encode()

        def commits(self, head: ObjectId, since: ObjectId | None) -> Iterator[ObjectId]:
            yield from repository.git(repo, "rev-list", head, *([f"^{since}"] if since else [])).split()

    assert judge_head(ByGit(), merge, first, verifier, SignatureMode.ENFORCE, NOW).use == merge
    held = judge_head(ByGit(), on_top, first, verifier, SignatureMode.ENFORCE, NOW)
    assert (held.use, [each.commit for each in held.untrusted]) == (merge, [on_top])
