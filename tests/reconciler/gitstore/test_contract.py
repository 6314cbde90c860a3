"""What every Repo does, over a mirror of a real remote and in memory alike."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Literal

import pytest

from reconciler.gitstore.errors import DamageError, NotACommitError
from reconciler.gitstore.memory import Call, MemoryObjects, MemoryRemote, MemoryTransport
from reconciler.gitstore.objects.commit import decode_commit, parse_trailers
from reconciler.gitstore.objects.tree import FileMode
from reconciler.gitstore.objects.tree_edit import PathError
from reconciler.gitstore.remote.transport import PushConflict, PushRefused, RemoteErrorKind, RemoteUnavailable
from reconciler.gitstore.repo import ExistingBlob, Pushed, Refs, Repo, Snapshot, Unchanged
from reconciler.gitstore.signatures.signing import SigningError
from reconciler.gitstore.store import Store
from tests.reconciler.gitstore.worlds import (
    LIVE,
    MAIN,
    REPORTS,
    ROBOT,
    START,
    MemoryWorld,
    MirrorWorld,
    World,
    content,
    draft,
    put,
    snap,
)
from tests.servers.fixtures import StartedOnDemand
from tests.servers.places import KINDS, place

# A path is what "mirror" is. gitolite creates a repo again when asked for one that is gone, so "gone" cannot be played there.
SERVED = [pytest.param(kind, marks=pytest.mark.long) for kind in KINDS if kind not in ("path", "gitolite")]


@pytest.fixture(params=["memory", "mirror", *SERVED])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    if request.param == "memory":
        yield MemoryWorld()
        return
    if request.param == "mirror":
        real = MirrorWorld(tmp_path)
        yield real
        real.close()
        return
    servers = StartedOnDemand(request)
    with place(request.param, servers, uuid.uuid4().hex[:8]) as served:
        real = MirrorWorld(tmp_path, served)
        yield real
        real.close()


@pytest.fixture
def people(world: World) -> Repo:
    return world.client()


@pytest.fixture
def robot(world: World) -> Repo:
    return world.client()


def test_a_snapshot_never_has_a_target_that_is_ahead_of_its_source() -> None:
    remote = MemoryRemote()
    local, theirs = MemoryObjects(remote), MemoryObjects(remote)
    other = Store(theirs, MemoryTransport(theirs), Refs())
    is_watched = False

    def both_move_after_the_listing(call: Call, when: Literal["before", "after"]) -> None:
        nonlocal is_watched
        if is_watched and (call, when) == ("list_refs", "after"):
            is_watched = False
            put(other, MAIN, {"a": b"2"}, remote.refs[MAIN])
            put(other, LIVE, {"a": b"2"}, remote.refs[LIVE])

    robot = Store(local, MemoryTransport(local, both_move_after_the_listing), Refs())
    put(other, MAIN, {"a": b"1"})
    put(other, LIVE, {"a": b"1"})
    snap(robot)
    put(other, LIVE, {"b": b"1"}, remote.refs[LIVE])
    is_watched = True
    found = snap(robot)
    assert not is_watched
    assert (found.source, found.target) == (remote.refs[MAIN], remote.refs[LIVE])


class TestSnapshot:
    def test_of_an_empty_remote_is_empty(self, robot: Repo) -> None:
        found = snap(robot)
        assert found == Snapshot(None, None, {}, found.default_branch)
        assert found.is_empty

    def test_has_source_target_and_reports(self, people: Repo, robot: Repo) -> None:
        main = put(people, MAIN, {"a": b"1"})
        live = put(people, LIVE, {"a": b"2"})
        one = put(people, REPORTS + "one", {"r": b"3"})
        two = put(people, REPORTS + "row/two", {"r": b"4"})
        put(people, "refs/heads/other", {"a": b"5"})
        found = snap(robot)
        assert (found.source, found.target, found.reports) == (main, live, {"one": one, "row/two": two})
        assert not found.is_empty
        assert content(robot, main) == {"a": b"1"}
        assert content(robot, two) == {"r": b"4"}

    def test_sees_refs_that_move_appear_and_go(self, people: Repo, robot: Repo, world: World) -> None:
        first = put(people, MAIN, {"a": b"1"})
        put(people, REPORTS + "one", {"r": b"1"})
        assert snap(robot).source == first
        second = put(people, MAIN, {"a": b"2"}, base=first)
        live = put(people, LIVE, {"a": b"2"})
        found = snap(robot)
        assert (found.source, found.target) == (second, live)
        assert content(robot, second) == {"a": b"2"}
        world.delete(REPORTS + "one")
        assert snap(robot).reports == {}

    def test_of_one_party_has_only_its_refs(self, people: Repo, world: World) -> None:
        put(people, MAIN, {"a": b"1"})
        live = put(people, LIVE, {"a": b"2"})
        mine = put(people, REPORTS + "one", {"r": b"3"})
        put(people, REPORTS + "one-more", {"r": b"4"})
        poollet = world.client(Refs(source=None, target=LIVE, reports=REPORTS + "one"))
        found = snap(poollet)
        assert (found.source, found.target, found.reports) == (None, live, {"one": mine})

    def test_reports_may_be_branches(self, people: Repo, world: World) -> None:
        mine = put(people, "refs/heads/gitvirt/poollets/one", {"r": b"3"})
        found = snap(world.client(Refs(reports="refs/heads/gitvirt/poollets/")))
        assert found.reports == {"one": mine}

    def test_is_unavailable_while_the_remote_is_gone_and_right_when_it_is_back(
        self, people: Repo, robot: Repo, world: World
    ) -> None:
        first = put(people, MAIN, {"a": b"1"})
        assert snap(robot).source == first
        world.go_away(True)
        assert isinstance(robot.snapshot(), RemoteUnavailable)
        assert content(robot, first) == {"a": b"1"}  # what was brought stays readable
        world.go_away(False)
        assert snap(robot).source == first

    def test_follows_a_branch_that_was_rewound(self, people: Repo, robot: Repo, world: World) -> None:
        first = put(people, MAIN, {"a": b"1"})
        second = put(people, MAIN, {"a": b"2"}, base=first)
        assert snap(robot).source == second
        world.move(MAIN, first)
        assert snap(robot).source == first
        assert not robot.is_descendant(first, second)
        assert robot.is_descendant(second, first)
        assert robot.is_descendant(first, first)
        assert not robot.is_descendant(first, "1" * 40)
        assert not robot.is_descendant("1" * 40, first)


class TestReading:
    def test_files_and_differences(self, people: Repo, robot: Repo) -> None:
        first = put(people, MAIN, {"a/x": b"1", "a/y": b"2", "b": b"3"})
        second = put(people, MAIN, {"a/x": b"9", "b": None, "c": b"4"}, base=first)
        snap(robot)
        assert [file.path for file in robot.files(first)] == ["a/x", "a/y", "b"]
        changes = list(robot.diff(first, second))
        assert [change.path for change in changes] == ["a/x", "b", "c"]
        assert [
            (c.before and robot.read(c.before.id), c.after and robot.read(c.after.id)) for c in changes
        ] == [
            (b"1", b"9"),
            (b"3", None),
            (None, b"4"),
        ]
        assert list(robot.diff(second, second)) == []
        assert {file.path for file in robot.missing_files(first, second)} == {
            change.path for change in changes if change.after is None
        }
        assert list(robot.missing_files(second, second)) == []
        assert [change.path for change in robot.diff(None, first)] == ["a/x", "a/y", "b"]
        assert [change.path for change in robot.diff(first, None)] == ["a/x", "a/y", "b"]

    def test_one_file_is_found_by_its_path(self, people: Repo, robot: Repo) -> None:
        commit = put(people, MAIN, {"a/b/c.yaml": b"c", "a/b.yaml": b"b", "d.yaml": b"d"})
        snap(robot)
        for path in ("a/b/c.yaml", "a/b.yaml", "d.yaml"):
            assert robot.file(commit, path) in set(robot.files(commit))
        assert [robot.file(commit, path) for path in ("a", "a/b", "a/b/c", "d.yaml/e", "", "x/y")] == [
            None
        ] * 6

    def test_a_missing_object_is_damage_and_later_reads_work(self, people: Repo, robot: Repo) -> None:
        first = put(people, MAIN, {"a": b"1"})
        snap(robot)
        for attempt in range(3):
            with pytest.raises(DamageError):
                robot.read("1" * 40)
            with pytest.raises(DamageError):
                list(robot.files("2" * 40))
            with pytest.raises(DamageError):
                list(robot.commits("3" * 40, None))
            assert snap(robot).source == first, attempt
            assert content(robot, first) == {"a": b"1"}

    def test_a_ref_without_a_commit_is_an_error(self, people: Repo, robot: Repo, world: World) -> None:
        put(people, MAIN, {"a": b"1"})
        [file] = people.files(snap(people).source or "")
        world.move(REPORTS + "odd", file.id)
        found = snap(robot)
        assert found.reports == {"odd": file.id}
        with pytest.raises(NotACommitError):
            list(robot.files(file.id))

    def test_commits_are_those_since(self, people: Repo, robot: Repo) -> None:
        first = put(people, MAIN, {"a": b"1"}, minute=1)
        second = put(people, MAIN, {"a": b"2"}, base=first, minute=2)
        third = put(people, MAIN, {"a": b"3"}, base=second, minute=3)
        snap(robot)
        assert list(robot.commits(third, first)) == [third, second]
        assert list(robot.commits(third, None)) == [third, second, first]
        assert list(robot.commits(first, third)) == []
        assert list(robot.commits(third, "1" * 40)) == [third, second, first]
        assert decode_commit(robot.read(third)).message == "change\n"

    def test_changes_are_those_of_each_commit_against_its_first_parent(
        self, people: Repo, robot: Repo
    ) -> None:
        first = put(people, MAIN, {"a/*": b"1", "b": b"1"}, minute=1)
        second = put(people, MAIN, {"a/*": b"2", "c": b"1"}, base=first, minute=2)
        third = put(people, MAIN, {"b": None}, base=second, minute=3)
        fourth = put(people, MAIN, {"a/*": None}, base=third, minute=4)
        snap(robot)

        def list_paths(path: str | None = None, *, removals: bool = False) -> list[tuple[str, str]]:
            return [(id, change.path) for id, change in robot.changes(fourth, path, removals=removals)]

        everything = [
            (fourth, "a/*"),
            (third, "b"),
            (second, "a/*"),
            (second, "c"),
            (first, "a/*"),
            (first, "b"),
        ]
        assert list_paths() == everything
        assert list_paths("a/*") == [(fourth, "a/*"), (second, "a/*"), (first, "a/*")]
        assert list_paths("a") == []
        assert list_paths(removals=True) == [(fourth, "a/*"), (third, "b")]
        changes = dict(robot.changes(second, "a/*"))
        assert changes[second].before == robot.file(first, "a/*")
        assert changes[second].after == robot.file(second, "a/*")
        assert changes[first].before is None

    def test_changes_of_a_commit_that_is_not_here_are_unknown(self, robot: Repo) -> None:
        with pytest.raises(DamageError):
            list(robot.changes("1" * 40))


class TestWriting:
    def test_a_draft_is_a_commit_on_the_remote(self, people: Repo, robot: Repo, world: World) -> None:
        main = put(people, MAIN, {"a": b"1", "b/c": b"2"})
        snap(robot)
        outcome = robot.write(
            [
                draft(
                    LIVE,
                    None,
                    {"d": b"3"},
                    "place web-1",
                    author=ROBOT,
                    source=main,
                    trailers=[("Reconciler", "one")],
                )
            ]
        )
        assert isinstance(outcome, Pushed)
        live = outcome.commits[LIVE]
        assert world.refs() == {MAIN: main, LIVE: live}
        commit = decode_commit(robot.read(live))
        assert (commit.author, commit.time, commit.parents) == (ROBOT, START, (main,))
        assert commit.message.startswith("place web-1\n\n")
        assert parse_trailers(commit.message) == (("Source-Commit", main), ("Reconciler", "one"))
        assert snap(robot).target == live
        assert snap(people).target == live
        assert content(people, live) == {"d": b"3"}

    def test_the_source_is_a_parent_only_when_it_moved(self, people: Repo, robot: Repo) -> None:
        main = put(people, MAIN, {"a": b"1"})
        snap(robot)
        live = self.step(robot, None, {"a": b"1", "s": b"1"}, main)
        again = self.step(robot, live, {"s": b"2"}, main)
        assert decode_commit(robot.read(again)).parents == (live,)
        moved = put(people, MAIN, {"a": b"2"}, base=main)
        snap(robot)
        merged = self.step(robot, again, {"a": b"2"}, moved)
        assert decode_commit(robot.read(merged)).parents == (again, moved)
        assert list(robot.commits(merged, again)) in ([merged, moved], [merged])
        assert robot.is_descendant(merged, moved)

    def step(
        self, robot: Repo, base: str | None, edits: dict[str, bytes | ExistingBlob | None], source: str
    ) -> str:
        outcome = robot.write([draft(LIVE, base, edits, source=source)])
        assert isinstance(outcome, Pushed), outcome
        return outcome.commits[LIVE]

    def test_a_removal_is_never_in_the_commit_that_merges_the_source(self, people: Repo, robot: Repo) -> None:
        main = put(people, MAIN, {"a": b"1", "b/c": b"2"})
        snap(robot)
        live = self.step(robot, None, {"a": b"1", "b/c": b"2"}, main)
        moved = put(people, MAIN, {"a": b"9", "b/c": None}, base=main)
        snap(robot)
        after = self.step(robot, live, {"a": b"9", "b/c": None}, moved)
        assert content(robot, after) == {"a": b"9"}
        [parent] = decode_commit(robot.read(after)).parents
        assert decode_commit(robot.read(parent)).parents == (live, moved)
        assert content(robot, parent) == {"a": b"9", "b/c": b"2"}
        assert [change.path for change in robot.diff(parent, after)] == ["b/c"]

    def test_a_file_in_place_of_a_folder_merges_in_one_commit(self, people: Repo, robot: Repo) -> None:
        main = put(people, MAIN, {"a/b": b"1", "c": b"2"})
        snap(robot)
        live = self.step(robot, None, {"a/b": b"1", "c": b"2"}, main)
        moved = put(people, MAIN, {"a/b": None, "a": b"3", "c": None, "c/d": b"4"}, base=main)
        snap(robot)
        after = self.step(robot, live, {"a/b": None, "a": b"3", "c": None, "c/d": b"4"}, moved)
        assert content(robot, after) == {"a": b"3", "c/d": b"4"}
        assert decode_commit(robot.read(after)).parents == (live, moved)

    def test_a_draft_on_another_base_removes_what_that_lacks(self, people: Repo, robot: Repo) -> None:
        main = put(people, MAIN, {"a": b"1"})
        live = put(people, LIVE, {"a": b"0", "gone": b""})
        snap(robot)
        outcome = robot.write([draft(LIVE, main, {"s": b"1"}, expected=live, source=main)])
        assert isinstance(outcome, Pushed)
        after = outcome.commits[LIVE]
        assert content(robot, after) == {"a": b"1", "s": b"1"}
        [merge] = decode_commit(robot.read(after)).parents
        assert decode_commit(robot.read(merge)).parents == (live, main)
        assert content(robot, merge) == {"a": b"1", "gone": b"", "s": b"1"}

    def test_a_report_replaces_the_one_before(self, robot: Repo, world: World) -> None:
        ref = REPORTS + "one"
        first = robot.write([draft(ref, None, {"r": b"1"}, has_parents=False)])
        assert isinstance(first, Pushed)
        second = robot.write([draft(ref, None, {"r": b"2"}, expected=first.commits[ref], has_parents=False)])
        assert isinstance(second, Pushed)
        assert decode_commit(robot.read(second.commits[ref])).parents == ()
        assert content(robot, second.commits[ref]) == {"r": b"2"}
        assert world.refs()[ref] == second.commits[ref]

    def test_a_heartbeat_is_a_new_commit_of_the_same_tree(self, robot: Repo) -> None:
        ref = REPORTS + "one"
        first = put(robot, ref, {"r": b"1"})
        later = START + timedelta(seconds=15)
        beat = draft(ref, first, {}, has_parents=False, even_if_unchanged=True, time=later)
        outcome = robot.write([beat])
        assert isinstance(outcome, Pushed)
        assert outcome.commits[ref] != first
        assert decode_commit(robot.read(outcome.commits[ref])).tree == decode_commit(robot.read(first)).tree

    def test_the_same_tree_makes_no_commit(self, robot: Repo, world: World) -> None:
        first = put(robot, LIVE, {"a": b"1"})
        for edits in ({}, {"a": b"1"}, {"none": None}):
            assert robot.write([draft(LIVE, first, edits)]) == Unchanged()
        assert robot.write([draft(LIVE, None, {"a": b"1"}, expected=first)]) == Unchanged()
        assert robot.write([]) == Unchanged()
        assert world.refs() == {LIVE: first}

    def test_writing_what_was_written_says_unchanged(self, robot: Repo) -> None:
        main = put(robot, MAIN, {"a": b"1"})
        live = self.step(robot, None, {"a": b"1", "s": b"1"}, main)
        assert robot.write([draft(LIVE, live, {"a": b"1", "s": b"1"}, source=main)]) == Unchanged()

    def test_the_second_writer_gets_a_conflict_and_changes_nothing(
        self, people: Repo, robot: Repo, world: World
    ) -> None:
        first = put(people, LIVE, {"a": b"1"})
        snap(robot)
        second = put(people, LIVE, {"a": b"2"}, base=first)
        assert robot.write([draft(LIVE, first, {"a": b"3"})]) == PushConflict({LIVE: second})
        assert world.refs() == {LIVE: second}
        assert snap(robot).target == second
        third = put(robot, LIVE, {"a": b"3"}, base=second)
        assert world.refs() == {LIVE: third}

    def test_a_ref_that_exists_is_not_made(self, people: Repo, robot: Repo) -> None:
        first = put(people, LIVE, {"a": b"1"})
        assert robot.write([draft(LIVE, None, {"a": b"3"})]) == PushConflict({LIVE: first})

    def test_a_missing_ref_is_a_conflict(self, people: Repo, robot: Repo, world: World) -> None:
        first = put(people, LIVE, {"a": b"1"})
        snap(robot)
        world.delete(LIVE)
        assert robot.write([draft(LIVE, first, {"a": b"3"})]) == PushConflict({LIVE: None})

    def test_several_refs_move_together_or_not_at_all(self, people: Repo, robot: Repo, world: World) -> None:
        live, report = LIVE, REPORTS + "one"
        first = put(people, live, {"a": b"1"})
        other = put(people, report, {"r": b"1"})
        snap(robot)
        moved = put(people, report, {"r": b"2"}, base=other)
        both = [draft(live, first, {"a": b"2"}), draft(report, other, {"r": b"3"})]
        assert robot.write(both) == PushConflict({live: first, report: moved})
        assert world.refs() == {live: first, report: moved}
        snap(robot)
        outcome = robot.write([draft(live, first, {"a": b"2"}), draft(report, moved, {"r": b"3"})])
        assert isinstance(outcome, Pushed)
        assert world.refs() == dict(outcome.commits)
        assert outcome.commits.keys() == {live, report}

    def test_of_several_drafts_only_those_that_change_anything_are_pushed(
        self, robot: Repo, world: World
    ) -> None:
        first = put(robot, LIVE, {"a": b"1"})
        outcome = robot.write([draft(LIVE, first, {"a": b"1"}), draft(MAIN, None, {"b": b"1"})])
        assert isinstance(outcome, Pushed)
        assert outcome.commits.keys() == {MAIN}

    def test_two_drafts_of_one_ref_are_a_mistake(self, robot: Repo) -> None:
        with pytest.raises(ValueError, match="two drafts"):
            robot.write([draft(LIVE, None, {}), draft(LIVE, None, {})])

    def test_a_refusal_carries_the_servers_words(self, people: Repo, robot: Repo, world: World) -> None:
        first = put(people, LIVE, {"a": b"1"})
        snap(robot)
        world.refuse("only on weekdays")
        outcome = robot.write([draft(LIVE, first, {"a": b"2"})])
        assert isinstance(outcome, PushRefused)
        assert outcome.refs == (LIVE,)
        assert "only on weekdays" in outcome.words
        assert world.refs() == {LIVE: first}
        world.refuse("")
        assert put(robot, LIVE, {"a": b"2"}, base=first)

    def test_a_missing_remote_is_unavailable(self, people: Repo, robot: Repo, world: World) -> None:
        first = put(people, LIVE, {"a": b"1"})
        snap(robot)
        world.go_away(True)
        assert isinstance(robot.write([draft(LIVE, first, {"a": b"2"})]), RemoteUnavailable)
        world.go_away(False)
        assert world.refs() == {LIVE: first}
        assert put(robot, LIVE, {"a": b"2"}, base=first)

    def test_files_can_be_taken_over_with_their_modes(self, people: Repo, robot: Repo) -> None:
        main = put(people, MAIN, {"run.sh": b"#!/bin/sh\n"})
        [file] = people.files(main)
        snap(robot)
        live = put(
            robot,
            LIVE,
            {
                "bin/run": ExistingBlob(FileMode.EXECUTABLE, file.id),
                "link": ExistingBlob(FileMode.LINK, file.id),
            },
        )
        assert [(file.path, file.mode) for file in robot.files(live)] == [
            ("bin/run", FileMode.EXECUTABLE),
            ("link", FileMode.LINK),
        ]
        snap(people)
        assert content(people, live) == {"bin/run": b"#!/bin/sh\n", "link": b"#!/bin/sh\n"}

    def test_a_path_that_git_would_not_check_out_is_a_mistake(self, robot: Repo, world: World) -> None:
        with pytest.raises(PathError):
            robot.write([draft(LIVE, None, {"../a": b""})])
        assert world.refs() == {}

    def test_a_signature_is_in_the_commit(self, world: World) -> None:
        robot = world.client(sign=lambda payload: f"-----BEGIN-----\n{len(payload)}\n-----END-----")
        first = put(robot, LIVE, {"a": b"1"})
        assert decode_commit(robot.read(first)).signature.startswith("-----BEGIN-----\n")

    def test_a_signer_that_cannot_sign_is_unavailable(self, world: World) -> None:
        def sign(_payload: bytes) -> str:
            raise SigningError("the agent is gone", "start it")

        outcome = world.client(sign=sign).write([draft(LIVE, None, {"a": b"1"})])
        assert outcome == RemoteUnavailable(RemoteErrorKind.MIRROR, "the agent is gone", "start it")
        assert world.refs() == {}


class TestManyTicks:
    def test_all_reports_move_at_once(self, people: Repo, robot: Repo, world: World) -> None:
        refs = [f"{REPORTS}host-{number}" for number in range(80)]
        heads: dict[str, str] = dict.fromkeys(refs, "")
        for mark in range(2):
            drafts = [
                draft(ref, None, {"r": b"%d" % mark}, expected=heads[ref] or None, has_parents=False)
                for ref in refs
            ]
            outcome = people.write(drafts)
            assert isinstance(outcome, Pushed), outcome
            heads = dict(outcome.commits)
            found = snap(robot)
            assert {REPORTS + name: id for name, id in found.reports.items()} == heads
        for ref in refs[:70]:
            world.delete(ref)
        assert [REPORTS + name for name in snap(robot).reports] == sorted(refs[70:])

    def test_housekeeping_loses_nothing(self, people: Repo, robot: Repo, world: World) -> None:
        main = put(people, MAIN, {f"f{n % 10}/m{n}": b"%d" % n for n in range(100)})
        live: str | None = None
        reports: dict[str, str] = {}
        for tick in range(20):
            found = snap(robot)
            assert (found.source, found.target, found.reports) == (main, live, reports)
            ref = REPORTS + f"h{tick % 3}"
            reports[f"h{tick % 3}"] = put(people, ref, {"r": b"%d" % tick}, base=reports.get(f"h{tick % 3}"))
            live = put(robot, LIVE, {f"f{tick % 10}/s": b"%d" % tick}, base=live)
            if tick % 5 == 4:
                robot.housekeep()
        want = {f"f{n % 10}/s": b"%d" % n for n in range(10, 20)}
        assert content(robot, live) == want
        assert len(list(robot.commits(live or "", None))) == 20
        snap(people)
        assert content(people, live) == want


INPUTS = "refs/gitvirt/inputs/"


class TestInputs:
    """Lines of what commits on live were made from: a second ref in the push of `live`."""

    def test_a_trailer_names_the_commit_of_another_draft_of_the_write(
        self, people: Repo, robot: Repo, world: World
    ) -> None:
        report = put(people, REPORTS + "one", {"r": b"1"})
        snap(robot)
        line = replace(draft(INPUTS + "2026-05", None, {"tick.json": b"{}"}), merges=[report])
        live = replace(draft(LIVE, None, {"a": b"1"}), names=[("Inputs-Commit", line.ref)])
        outcome = robot.write([live, line])
        assert isinstance(outcome, Pushed), outcome
        assert {ref: world.refs()[ref] for ref in outcome.commits} == outcome.commits
        assert parse_trailers(decode_commit(robot.read(outcome.commits[LIVE])).message) == (
            ("Inputs-Commit", outcome.commits[line.ref]),
        )
        assert decode_commit(robot.read(outcome.commits[line.ref])).parents == (report,)

    def test_lines_are_read_by_who_asks_for_them_alone(self, people: Repo, world: World) -> None:
        line = put(people, INPUTS + "2026-05", {"tick.json": b"{}"})
        put(people, LIVE, {"a": b"1"})
        reader = world.client(Refs(inputs=INPUTS))
        assert snap(reader).inputs == {"2026-05": line}
        assert content(reader, line) == {"tick.json": b"{}"}
        assert snap(world.client()).inputs == {}
        assert snap(world.client()).reports == {}

    def test_of_a_line_and_live_both_move_or_none(self, people: Repo, robot: Repo, world: World) -> None:
        other = put(people, INPUTS + "2026-05", {"tick.json": b"{}"})
        line, live = draft(INPUTS + "2026-05", None, {"tick.json": b"[]"}), draft(LIVE, None, {"a": b"1"})
        outcome = robot.write([replace(live, names=[("Inputs-Commit", line.ref)]), line])
        assert isinstance(outcome, PushConflict), outcome
        assert world.refs() == {line.ref: other}

    def test_a_commit_is_built_and_stored_nowhere(self, robot: Repo, world: World) -> None:
        made = robot.build(draft(LIVE, None, {"a": b"1"}))
        assert [decode_commit(each).parents for each in made] == [()]
        assert world.refs() == {}
        assert isinstance(snap(robot), Snapshot)

    def test_a_line_is_removed_where_it_was_read(self, people: Repo, robot: Repo, world: World) -> None:
        old = put(people, INPUTS + "2026-04", {"tick.json": b"[]"})
        new = put(people, INPUTS + "2026-05", {"tick.json": b"{}"})
        snap(robot)
        assert isinstance(robot.remove({INPUTS + "2026-05": old}), PushConflict)
        assert isinstance(robot.remove({INPUTS + "2026-04": old}), Pushed)
        assert world.refs() == {INPUTS + "2026-05": new}
