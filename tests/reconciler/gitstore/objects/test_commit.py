"""Commits and trailers, against the git program."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.gitstore.errors import MalformedError
from reconciler.gitstore.objects.commit import (
    Commit,
    add_trailers,
    decode_commit,
    encode_commit,
    parse_trailers,
)
from reconciler.gitstore.objects.database import ObjectType, hash_object
from reconciler.gitstore.objects.tree_edit import EMPTY
from reconciler.gitstore.repo import Identity
from tests.reconciler.gitstore.git import git, init

NOON = datetime(2026, 5, 4, 12, 0, 0, tzinfo=timezone(timedelta(hours=-3, minutes=-30)))


def commit(message: str = "place web-1", **fields: object) -> Commit:
    given = {
        "tree": EMPTY.id,
        "parents": (),
        "author": Identity("Ann", "ann@x"),
        "time": NOON,
        "message": message,
    }
    return Commit(**(given | fields))  # type: ignore[arg-type]


def test_git_reads_what_is_encoded_and_gives_it_the_same_id(tmp_path: Path) -> None:
    repo = init(tmp_path)
    git(repo, "mktree", data=b"")
    parent = git(repo, "commit-tree", EMPTY.id, "-m", "first")
    data = encode_commit(
        commit("place wéb-1\n\nbody", author=Identity("Änn <x>\n", "ann@\nx>"), parents=(parent,))
    )
    id = git(repo, "hash-object", "-t", "commit", "-w", "--stdin", "--literally", data=data)
    assert id == hash_object(ObjectType.COMMIT, data).id
    shown = git(repo, "show", "-s", "--format=%T|%P|%an|%ae|%cn|%ce|%ad|%B", "--date=iso-strict", id)
    assert shown == (
        f"{EMPTY.id}|{parent}|Änn x|ann@x|Änn x|ann@x|2026-05-04T12:00:00-03:30|place wéb-1\n\nbody"
    )


@given(
    st.text(st.characters(codec="utf-8"), max_size=30),
    st.text(st.characters(codec="utf-8"), max_size=30),
    st.lists(st.sampled_from(["1" * 40, "2" * 40]), max_size=3),
    st.integers(40_000_000, 7_000_000_000),
    st.integers(-14 * 60, 14 * 60),
)
def test_decoding_gives_back_what_was_encoded(
    message: str, name: str, parents: list[str], seconds: int, minutes: int
) -> None:
    when = datetime.fromtimestamp(seconds, timezone(timedelta(minutes=minutes)))
    given = commit(message, author=Identity(name, "e@x"), parents=tuple(parents), time=when)
    found = decode_commit(encode_commit(given))
    assert (found.tree, found.parents, found.time) == (given.tree, given.parents, given.time)
    assert found.author.email == "e@x"
    assert found.message == message.replace("\0", "").rstrip("\n") + "\n"
    # What the field cannot hold is left out, and nothing else.
    assert found.author.name == name.translate(dict.fromkeys(map(ord, "<>\n\0"))).strip()


def test_a_signature_is_a_header_over_everything_else() -> None:
    signed: list[bytes] = []

    def sign(payload: bytes) -> str:
        signed.append(payload)
        return "-----BEGIN X-----\nabc\n\ndef\n-----END X-----\n"

    data = encode_commit(commit(), sign)
    assert signed == [encode_commit(commit())]
    assert decode_commit(data).signature == "-----BEGIN X-----\nabc\n\ndef\n-----END X-----"
    assert decode_commit(data).message == "place web-1\n"


def test_a_commit_without_a_zone_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="zone"):
        encode_commit(commit(time=datetime(2026, 1, 1)))  # noqa: DTZ001 - that is the point


@pytest.mark.parametrize(
    ("data", "name", "message"),
    [
        (b"encoding latin-1\n\n\xe9t\xe9", "?", "été"),
        (b"encoding nonsense\n\nplain", "?", "plain"),
        (b"encoding idna\n\nplain", "?", "plain"),
        (b"encoding undefined\n\nplain", "?", "plain"),
        (b"\n\xff\xfe", "?", "��"),
        (b"", "?", ""),
    ],
)
def test_decoding_understands_what_it_can(data: bytes, name: str, message: str) -> None:
    head = b"tree %b\nauthor ? <> 9999999999999999999 +9999\ncommitter nobody at all\n" % EMPTY.id.encode()
    found = decode_commit(head + data)
    assert (found.author.name, found.message) == (name, message)
    assert found.time == datetime.fromtimestamp(0, UTC)


def test_a_time_of_thousands_of_digits_is_refused() -> None:
    head = b"tree %b\nauthor a <b> 1 +0000\n" % EMPTY.id.encode()
    found = decode_commit(head + b"committer a <b> " + b"9" * 5000 + b" +0000\n\nbody")
    assert (found.time, found.message) == (datetime.fromtimestamp(0, UTC), "body")


@pytest.mark.parametrize("data", [b"", b"tree\n\n", b"author x\n\nbody", b"junk"])
def test_an_object_other_than_a_commit_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedError):
        decode_commit(data)


TRAILERS = [
    "title",
    "title\n\nSource-Commit: abc",
    "Source-Commit: abc",
    "title\n\nbody\n\nA: 1\nB: 2\n",
    "title\n\nA: 1\nnot one\nB: 2",
    "title\n\nSigned-off-by: x\nnot one\nB: 2",
    "title\n\nA: 1\n  folded\n\tmore\nB: 2",
    "title\n\nA : 1\nB:2",
    "title\nA: 1",
    "title\n \nA: 1",
    "title\r\n\r\nA: 1\r\nB: 2",
    "title\n\nA: 1\n\n\n",
    "title\n\nA: 1\n\nbody",
    "title\n\n folded\nA: 1",
    "title\n\nA b: 1",
    "title\n\nhttp://x",
    "title\n\n(cherry picked from commit abc)\nA: 1\nx\ny\nz",
    "title\n\nA:\nB: ",
]


@pytest.mark.parametrize("message", TRAILERS)
def test_trailers_are_those_that_git_finds(message: str) -> None:
    # --unfold joins lines as we do; --no-divider, since a commit is not a mail.
    done = subprocess.run(
        ("git", "interpret-trailers", "--parse", "--unfold", "--no-divider"),
        input=message.encode() + b"\n", capture_output=True, check=True,
    )  # fmt: skip
    lines = done.stdout.decode().splitlines()
    want = [line.partition(":") for line in lines if not line.startswith("(cherry")]
    assert parse_trailers(message) == tuple((key.strip(), value.strip()) for key, _, value in want)


@given(
    st.text(max_size=20),
    st.dictionaries(st.sampled_from(["A", "Source-Commit"]), st.text("x :\n", max_size=5)),
)
def test_trailers_that_are_added_are_found(message: str, trailers: dict[str, str]) -> None:
    amended = add_trailers("title\n\n" + message, list(trailers.items()))
    want = tuple((key, " ".join(value.split())) for key, value in trailers.items())
    assert parse_trailers(amended)[-len(want) :] == want or not want


def test_trailers_continue_those_that_are_there() -> None:
    assert add_trailers("title\n\nA: 1", [("B", "2")]) == "title\n\nA: 1\nB: 2"
    assert add_trailers("title", [("B", "2")]) == "title\n\nB: 2"
    assert add_trailers("title\n", []) == "title"
