"""Which commit of `live` is acted on: one that follows from the last, or that people approved for."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from poollet.sync.live_policy import LiveRejection, Trust, first_commit, follow, has_approval
from reconciler.gitstore.approval import HoldKind, approval_digest
from reconciler.gitstore.repo import Refs, Snapshot
from reconciler.gitstore.signatures.signers import Signers, parse_signers
from reconciler.gitstore.signatures.signing import SshSigner
from reconciler.gitstore.signatures.trust import SignatureMode
from reconciler.gitstore.signatures.verifier import Verifier
from reconciler.gitstore.store import Store
from tests.poollet.fleet import FLEET, LIVE, MAIN, START, Fleet
from tests.servers.sshd import new_key


def trust(mode: SignatureMode = SignatureMode.OFF) -> Trust:
    return Trust(mode, Verifier(Signers(), os.environ))


@pytest.fixture
def fleet() -> Fleet:
    return Fleet()


def client(fleet: Fleet) -> Store:
    repo = fleet.client(Refs())
    assert isinstance(repo.snapshot(), Snapshot)
    return repo


def at() -> datetime:
    return START


def test_what_follows_is_followed(fleet: Fleet) -> None:
    first, second = fleet.head(), fleet.commit({"a.yaml": "a: 1\n"})
    repo = client(fleet)
    for good in (None, first, second):
        found = follow(repo, second, good, trust(), at(), FLEET)
        assert (found.use, found.hold, found.message, found.may_apply) == (second, None, "", True)


def test_no_branch_is_no_order_to_do_anything(fleet: Fleet) -> None:
    for good in (None, fleet.head()):
        found = follow(client(fleet), None, good, trust(), at(), FLEET)
        assert (found.use, found.hold, found.may_apply) == (None, LiveRejection.MISSING, False)


def digest_of(good: str | None, root: str | None) -> str:
    assert good is not None
    assert root is not None
    return approval_digest(FLEET, HoldKind.LIVE, [good, root])


def rewritten(fleet: Fleet, cut: slice | None = None) -> str:
    """`live` started over by a reconciler that found none, over a source that may hold an approval of it: `cut` are the digits
    that a person typed of it."""
    good = fleet.head()
    del fleet.remote.refs[LIVE]
    root = fleet.commit({"gitvirt.yaml": "# again\n"})
    if cut is not None:
        typed = digest_of(good, root)[cut]
        source = fleet.commit({"note": "x"}, MAIN, message=f"yes\n\nGitvirt-Approve: {typed}")
        fleet.commit({"note": "x"}, source=source)
    return root


@pytest.mark.parametrize("is_back", [True, False], ids=["older", "anew"])
def test_a_branch_that_does_not_follow_is_not_obeyed(fleet: Fleet, is_back: bool) -> None:
    first, second = fleet.head(), fleet.commit({"a.yaml": "a: 1\n"})
    repo = client(fleet)
    if is_back:
        head, root = first, first
    else:
        head = root = rewritten(fleet)
        repo.snapshot()
    assert head is not None
    found = follow(repo, head, second, trust(), at(), FLEET)
    assert (found.use, found.hold, found.may_apply) == (second, LiveRejection.REWRITTEN, False)
    assert f"`Gitvirt-Approve: {digest_of(second, root)}`" in found.message


def test_people_approve_a_new_live(fleet: Fleet) -> None:
    old = fleet.commit({"a.yaml": "a: 1\n"})
    root = rewritten(fleet, slice(None))
    repo = client(fleet)
    head = fleet.head()
    assert head is not None
    assert first_commit(repo, head) == root
    found = follow(repo, head, old, trust(), at(), FLEET)
    assert (found.use, found.hold) == (head, None)


@pytest.mark.parametrize("cut", [slice(1, None), slice(11)], ids=["another", "short"])
def test_another_approval_is_none(fleet: Fleet, cut: slice) -> None:
    old = fleet.commit({"a.yaml": "a: 1\n"})
    rewritten(fleet, cut)
    found = follow(client(fleet), fleet.head(), old, trust(), at(), FLEET)
    assert found.hold is LiveRejection.REWRITTEN


def test_an_approval_that_the_old_live_had_counts_no_more(fleet: Fleet) -> None:
    root = rewritten(fleet, slice(None))
    old = fleet.head()
    fleet.remote.refs[LIVE] = root  # back to its beginning: the approval is not in what it has now
    found = follow(client(fleet), root, old, trust(), at(), FLEET)
    assert found.hold is LiveRejection.REWRITTEN


def test_what_is_not_well_signed_is_held_at_the_last_good_commit(fleet: Fleet) -> None:
    first, second = fleet.head(), fleet.commit({"a.yaml": "a: 1\n"})
    found = follow(client(fleet), second, first, trust(SignatureMode.ENFORCE), at(), FLEET)
    assert (found.use, found.hold, found.may_apply) == (first, LiveRejection.UNTRUSTED, True)
    found = follow(client(fleet), second, None, trust(SignatureMode.ENFORCE), at(), FLEET)
    assert (found.use, found.may_apply) == (None, False)
    found = follow(client(fleet), second, first, trust(SignatureMode.WARN), at(), FLEET)
    assert (found.use, found.hold) == (second, None)
    assert "it is not signed" in found.message


def test_signed_commits_are_followed_up_to_the_first_that_is_not(fleet: Fleet, tmp_path: Path) -> None:
    key = new_key(tmp_path / "key", "reconciler")
    signers = parse_signers([key.with_suffix(".pub").read_text()])
    enforced = Trust(SignatureMode.ENFORCE, Verifier(signers, os.environ))
    fleet.writer = fleet.client(Refs(), sign=SshSigner(key, os.environ))
    first, second = fleet.commit({"a.yaml": "a: 1\n"}), fleet.commit({"a.yaml": "a: 2\n"})
    for good in (None, first):
        found = follow(client(fleet), second, good, enforced, datetime.now(UTC), FLEET)
        assert (found.use, found.hold) == (second, None)
    fleet.writer = fleet.client(Refs())
    third = fleet.commit({"a.yaml": "a: 3\n"})
    found = follow(client(fleet), third, first, enforced, datetime.now(UTC), FLEET)
    assert (found.use, found.hold, found.may_apply) == (second, LiveRejection.UNTRUSTED, True)
    assert f"not used, keeping {second[:12]}" in found.message


def merged_by_a_forge(fleet: Fleet) -> str:
    """A pull request into `live`, merged: it has no trailer of a reconciler."""
    return fleet.commit(
        {"a.yaml": "a: forged\n"}, trailers=[], message="Merge pull request 'x' (#1) into live"
    )


@pytest.mark.parametrize("mode", [SignatureMode.OFF, SignatureMode.WARN])
def test_what_no_reconciler_wrote_is_held_at_the_last_good_commit(fleet: Fleet, mode: SignatureMode) -> None:
    first = fleet.head()
    second = fleet.commit({"a.yaml": "a: 1\n"})
    forged = merged_by_a_forge(fleet)
    for good in (first, second):
        found = follow(client(fleet), forged, good, trust(mode), at(), FLEET)
        assert (found.use, found.hold, found.may_apply) == (second, LiveRejection.FOREIGN, True)
        assert (
            f"commit {forged[:12]} on live is not a reconciler's: it names no Source-Commit" in found.message
        )
    found = follow(client(fleet), forged, None, trust(mode), at(), FLEET)
    assert (found.use, found.hold, found.may_apply) == (None, LiveRejection.FOREIGN, False)


def test_what_is_built_upon_a_foreign_commit_is_held_too(fleet: Fleet) -> None:
    good = fleet.head()
    merged_by_a_forge(fleet)
    found = follow(client(fleet), fleet.commit({"b.yaml": "b: 1\n"}), good, trust(), at(), FLEET)
    assert (found.use, found.hold) == (good, LiveRejection.FOREIGN)


def test_the_reconcilers_next_commit_ends_the_hold_without_an_approval(fleet: Fleet, tmp_path: Path) -> None:
    key = new_key(tmp_path / "key", "reconciler")
    enforced = Trust(
        SignatureMode.ENFORCE,
        Verifier(parse_signers([key.with_suffix(".pub").read_text()]), os.environ),
    )
    own, unsigned = fleet.client(Refs(), sign=SshSigner(key, os.environ)), fleet.writer
    fleet.writer = own
    good = fleet.commit({"a.yaml": "a: 1\n"})
    fleet.writer = unsigned
    forged = merged_by_a_forge(fleet)
    now = datetime.now(UTC)
    assert follow(client(fleet), forged, good, enforced, now, FLEET).use == good
    fleet.writer = own
    back = fleet.commit({}, base=good, parent=good, replaces=forged, even_if_unchanged=True)
    repo = client(fleet)
    for applied in (good, forged):
        for how in (enforced, trust()):
            found = follow(repo, back, applied, how, now, FLEET)
            assert (found.use, found.hold, found.message) == (back, None, "")


@pytest.mark.parametrize("had", [False, True], ids=["new", "used"])
def test_a_file_approves_a_new_live_unless_the_old_one_had_it(fleet: Fleet, had: bool) -> None:
    """The digest of a rewritten `live` names the old commit, so only a forger can have it there before."""
    old = fleet.head()
    assert old is not None
    del fleet.remote.refs[LIVE]
    root = fleet.commit({"gitvirt.yaml": "# again\n"})
    path = f".gitvirt/approvals/{digest_of(old, root)}.yaml"
    head = fleet.commit({path: "approve\n"})
    repo = client(fleet)
    assert follow(repo, head, old, trust(), at(), FLEET).hold is None
    good = head if had else old
    assert has_approval(repo, head, good, digest_of(old, root)) is not had
