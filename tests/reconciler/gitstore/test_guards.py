"""What must be noticed about a remote before anything is reconciled from it."""

from __future__ import annotations

import pytest

from reconciler.cli.codes import CODES
from reconciler.gitstore import guards
from reconciler.gitstore.repo import Refs, Snapshot
from tests.reconciler.gitstore.worlds import MAIN, MemoryWorld, put, snap

A, B = "a" * 40, "b" * 40
TRUNK = "refs/heads/trunk"

REFS = [
    ("all is there", Refs(), Snapshot(A, B, {"one": A}), None, ""),
    ("nothing yet but the source", Refs(), Snapshot(A, None), None, ""),
    ("empty", Refs(), Snapshot(None, None), "GV810", "gitvirt init"),
    ("empty, with a default", Refs(), Snapshot(None, None, {}, MAIN), "GV810", "gitvirt init"),
    ("another default", Refs(), Snapshot(None, A, {}, TRUNK), "GV811", "branches.source"),
    ("not pushed yet", Refs(), Snapshot(None, None, {"one": A}, MAIN), "GV811", "nothing has been pushed"),
    ("no default told", Refs(), Snapshot(None, A), "GV811", "push the branch"),
    ("a poollet reads no source", Refs(source=None), Snapshot(None, A), None, ""),
]


@pytest.mark.parametrize(("id", "refs", "snapshot", "code", "hint"), REFS, ids=[row[0] for row in REFS])
def test_of_refs(id: str, refs: Refs, snapshot: Snapshot, code: str | None, hint: str) -> None:
    found = guards.of_refs(refs, snapshot)
    assert [problem.code for problem in found] == ([code] if code else [])
    assert all(hint in problem.hint and problem.code in CODES for problem in found)


def test_a_rewritten_history_is_found() -> None:
    world = MemoryWorld()
    people = world.client()
    first = put(people, MAIN, {"a": b"1"})
    second = put(people, MAIN, {"a": b"2"}, base=first)
    other = put(people, "refs/heads/other", {"a": b"3"})
    snap(people)
    for last, head in [(None, first), (first, None), (first, first), (first, second)]:
        assert guards.of_history(people, last, head) == ()
    for last, head in [(second, first), (first, other), ("1" * 40, second)]:
        [problem] = guards.of_history(people, last, head)
        assert problem.code == "GV812"
        assert last[:12] in problem.message


def test_colliding_paths_are_found_wherever_they_are() -> None:
    people = MemoryWorld().client()
    commit = put(
        people,
        MAIN,
        {
            "fine/a.yaml": b"",
            "fine/b.yaml": b"",
            "web/A.yaml": b"",
            "web/a.yaml": b"",
            "Web/x/y": b"",
            "deep/er/stra\N{LATIN SMALL LETTER SHARP S}e": b"",
            "deep/er/STRASSE": b"",
            "e\N{COMBINING ACUTE ACCENT}": b"",
            "\N{LATIN SMALL LETTER E WITH ACUTE}": b"",
        },
    )
    found = guards.Collisions().problems(people.read, commit)
    assert [(problem.file, problem.message.rpartition(" ")[2]) for problem in found] == [
        ("Web", "web"),
        ("deep/er/STRASSE", "deep/er/stra\N{LATIN SMALL LETTER SHARP S}e"),
        ("e\N{COMBINING ACUTE ACCENT}", "\N{LATIN SMALL LETTER E WITH ACUTE}"),
        ("web/A.yaml", "web/a.yaml"),
    ]
    assert {problem.code for problem in found} == {"GV813"}


def test_collisions_cost_what_changed() -> None:
    people = MemoryWorld().client()
    first = put(people, MAIN, {f"f{folder}/m": b"%d" % folder for folder in range(30)} | {"f3/M": b""})
    second = put(people, MAIN, {"f7/M": b""}, base=first)
    read: list[str] = []

    def reading(id: str) -> bytes:
        read.append(id)
        return people.read(id)

    collisions = guards.Collisions()
    assert [problem.file for problem in collisions.problems(reading, first)] == ["f3/M"]
    read.clear()
    assert [problem.file for problem in collisions.problems(reading, second)] == ["f3/M", "f7/M"]
    assert len(read) == 3  # the commit, the root, the one folder
