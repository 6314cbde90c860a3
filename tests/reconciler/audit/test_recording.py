"""Each commit on live is pushed with its inputs or without any, whatever fails and whoever dies; and a fleet never stops for them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.audit.inputs_line import find_old_lines
from reconciler.audit.steps import list_steps
from reconciler.audit.verify import AuditedCommit, Auditor, Result
from reconciler.gitstore.memory import MemoryObjects, MemoryTransport
from reconciler.gitstore.objects.commit import INPUTS_TRAILER, decode_commit, parse_trailers
from reconciler.gitstore.remote.transport import RefsFetched, RefUpdate, RemoteErrorKind, RemoteUnavailable
from reconciler.gitstore.repo import Refs, Repo
from reconciler.gitstore.store import Store
from reconciler.loop.outcome import Committed, RefsChanged
from reconciler.world.reports.heartbeat import Heartbeat
from schemas.settings.fleet import DEFAULT_INPUTS
from tests.reconciler.audit.fleet import AUDITED, AuditedFleet, open_fleet
from tests.reconciler.gitstore.faults import How, Steps
from tests.reconciler.gitstore.worlds import MemoryWorld, MirrorWorld
from tests.reconciler.loop.fleet import SMALL, Cast, reconciler, settle, take_snapshot
from tests.reconciler.loop.test_crashes import IN_MEMORY, Disk, memory, story
from tests.reconciler.world.scene import LIVE, MAIN, REPORTS, SETTINGS, machine, report
from tests.servers.repository import git

REFS = Refs(inputs=DEFAULT_INPUTS)


def audit(repo: Repo) -> list[AuditedCommit]:
    found = take_snapshot(repo)
    assert found.target is not None
    return list(Auditor(repo, tuple(found.inputs.values())).audit(list_steps(repo, found.target)))


def tell_story(steps: Steps) -> dict[str, str]:
    world = MemoryWorld()
    live = story(world.client, lambda steps: memory(steps, world, REFS), steps, REFS)
    found = audit(world.client(REFS))
    assert {each.result for each in found} == {Result.EXPLAINED}, [each for each in found if each.why]
    return live


@pytest.mark.parametrize("how", IN_MEMORY)
def test_every_call_to_the_remote_fails_and_every_commit_is_explained(how: How) -> None:
    steps = Steps()
    want = tell_story(steps)
    for at in range(len(steps.names)):
        assert tell_story(Steps(at, how)) == want, (at, steps.names[at])


class AuditedDisk(Disk):
    def start(self, steps: Steps) -> Repo:
        started = super().start(steps)
        assert isinstance(started, Store)
        return Store(started._objects, started._transport, REFS, seconds=30)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[Steps], list[AuditedCommit]]]:
    made: list[AuditedDisk] = []

    def outcomes(steps: Steps) -> list[AuditedCommit]:
        made.append(AuditedDisk(tmp_path / f"story-{len(made)}"))
        story(made[-1].world.client, made[-1].start, steps, REFS)
        return audit(made[-1].world.client(REFS))

    yield outcomes
    for each in made:
        each.close()


@pytest.mark.early
def test_some_step_on_disk_fails_and_every_commit_is_explained(
    disk: Callable[[Steps], list[AuditedCommit]],
) -> None:
    """With a real Git server: one push moves live and the line of inputs."""
    steps = Steps()
    assert {each.result for each in disk(steps)} == {Result.EXPLAINED}
    for how, at in ((How.KILLED_HALFWAY, len(steps.names) // 2), (How.KILLED_AFTER, len(steps.names) - 3)):
        assert {each.result for each in disk(Steps(at, how))} == {Result.EXPLAINED}, (at, how)


def test_two_reconcilers_write_one_line() -> None:
    world = MemoryWorld()
    cast = Cast(world, ["a", "b"], 10)
    both = [reconciler(world.client(REFS), name, REFS) for name in ("one", "two")]
    cast.people.push({"gitvirt.yaml": AUDITED, "classes/small.yaml": SMALL})
    commits = 0
    for number in range(12):
        cast.people.push({f"{number}.yaml": machine(f"m{number}")})
        for host in cast.hosts:
            host.work()
        cast.clock.go(1)
        commits += sum(isinstance(each.tick(cast.clock), Committed) for each in both[:: (-1) ** number])
    assert commits >= 12
    assert {each.result for each in audit(world.client(REFS))} == {Result.EXPLAINED}
    names = {each.tick(cast.clock).label for each in both}
    assert names <= {"no_change", "committed"}


def refuse_inputs(fleet: AuditedFleet, words: str = "inputs are refused") -> list[int]:
    """A server without the right for this ref. Returns the sizes of the pushes that it sees."""
    pushes: list[int] = []

    def hook(updates: tuple[RefUpdate, ...]) -> str:
        pushes.append(len(updates))
        return words if any(each.ref.startswith(DEFAULT_INPUTS) for each in updates) else ""

    fleet.server.hook = hook  # type: ignore[assignment]
    return pushes


def test_a_server_that_refuses_the_ref_stops_no_fleet(caplog: pytest.LogCaptureFixture) -> None:
    fleet = open_fleet()
    pushes = refuse_inputs(fleet)
    fleet.source({"m1.yaml": machine("m1")})
    with caplog.at_level(logging.WARNING):
        fleet.settle()
    assert fleet.pool_of("m1")
    assert pushes.count(2) == 1, "it is not tried at each commit"
    (warning,) = (each.getMessage() for each in caplog.records if "refuses inputs" in each.getMessage())
    assert "inputs are refused" in warning
    assert "audit.ref" in warning
    newest = fleet.audit()[-1]
    assert newest.result is Result.NO_INPUTS
    del fleet.server.hook
    fleet.server.hook = lambda _: ""
    fleet.now_later(3700)
    fleet.source({"m2.yaml": machine("m2")})
    fleet.settle()
    assert fleet.audit()[-1].result is Result.EXPLAINED


def test_a_server_without_atomic_pushes_stops_no_fleet(tmp_path: Path) -> None:
    """A real one: git sends nothing to it, and says so."""
    world = MirrorWorld(tmp_path)
    git(world.repo, "config", "receive.advertiseAtomic", "false")
    cast = Cast(world, ["a"], 10)
    cast.people.push({"gitvirt.yaml": AUDITED, "classes/small.yaml": SMALL, "m.yaml": machine("m")})
    robot = reconciler(world.client(REFS), refs=REFS)
    settle([robot], cast.hosts, cast.clock)
    assert len(cast.hosts[0].made) == 1
    assert {each.result for each in audit(world.client(REFS))} == {Result.NO_INPUTS}
    git(world.repo, "config", "receive.advertiseAtomic", "true")
    cast.clock.go(3700)
    cast.people.push({"n.yaml": machine("n")})
    settle([robot], cast.hosts, cast.clock)
    assert audit(world.client(REFS))[-1].result is Result.EXPLAINED
    world.close()


def test_a_server_that_refuses_live_too_is_told_as_before() -> None:
    fleet = open_fleet()
    fleet.source({"m1.yaml": machine("m1")})
    fleet.server.hook = lambda _: "no"
    outcome = fleet.reconciler.tick(lambda: fleet.now)
    assert (outcome.label, getattr(outcome, "trouble", "")) == ("failed", "refused")


def test_a_line_that_cannot_be_fetched_stops_no_fleet() -> None:
    fleet = open_fleet()
    fleet.source({"m1.yaml": machine("m1")})
    fleet.settle()
    good = dict(fleet.remote_refs)
    local = MemoryObjects(fleet.server)

    class Deaf(MemoryTransport):
        def fetch(self, needed: Sequence[str], seconds: float) -> RefsFetched | RemoteUnavailable:
            if any(name.startswith(DEFAULT_INPUTS) for name in needed):
                return RemoteUnavailable(RemoteErrorKind.PROTOCOL, "an object is lost", "repair it")
            return super().fetch(needed, seconds)

    fleet.reconciler = reconciler(Store(local, Deaf(local), REFS), refs=REFS)
    fleet.source({"m2.yaml": machine("m2")})
    fleet.settle()
    assert fleet.pool_of("m2")
    after = {ref: id for ref, id in fleet.remote_refs.items() if ref.startswith(DEFAULT_INPUTS)}
    assert after.items() <= good.items()


@pytest.mark.parametrize("what", ["a file", "another tree", "nothing"])
def test_whatever_is_on_the_line_the_next_commit_is_whole(what: str) -> None:
    fleet = open_fleet()
    fleet.source({"m1.yaml": machine("m1")})
    fleet.settle()
    (line,) = (ref for ref in fleet.remote_refs if ref.startswith(DEFAULT_INPUTS))
    if what == "nothing":
        del fleet.remote_refs[line]
    else:
        commit = fleet.commit_of(fleet.remote_refs[line])
        edits = {"waits.json": b"[]", "junk/x": b"1", "hosts/1/a.json": b"{"}
        tree = fleet.tree_with(commit.tree, edits) if what == "another tree" else "0" * 40
        fleet.remote_refs[line] = fleet.put(type(commit)(tree, (), commit.author, commit.time, "mine"))
    fleet.source({"m2.yaml": machine("m2")})
    fleet.settle()
    newest = fleet.audit()[-1]
    assert newest.result is Result.EXPLAINED, newest


def test_a_commit_of_others_on_the_line_hides_none_below_it() -> None:
    fleet = open_fleet()
    fleet.source({"m1.yaml": machine("m1")})
    fleet.settle()
    (line,) = (ref for ref in fleet.remote_refs if ref.startswith(DEFAULT_INPUTS))
    before = fleet.remote_refs[line]
    commit = fleet.commit_of(before)
    fleet.remote_refs[line] = fleet.put(
        type(commit)(
            fleet.tree_with(commit.tree, {"tick.json": None}), (before,), commit.author, commit.time, "mine"
        )
    )
    fleet.source({"m2.yaml": machine("m2")})
    fleet.settle()
    assert {each.result for each in fleet.audit()} == {Result.EXPLAINED}


def test_a_host_whose_files_did_not_change_costs_nothing() -> None:
    """Heartbeats are new commits with the same files: the earlier one stays named."""
    fleet = open_fleet()
    fleet.source({"m1.yaml": machine("m1")})
    fleet.settle()
    hosts = [folder_of(fleet, "hosts")]
    where = fleet.pool_of("m1")
    for number in range(2, 5):
        fleet.hosts_report()
        fleet.source({"notes.txt": str(number)})
        assert isinstance(fleet.tick(), Committed)
        hosts.append(folder_of(fleet, "hosts"))
    assert where
    assert len({*hosts}) == 1
    assert {each.result for each in fleet.audit()} == {Result.EXPLAINED}


def folder_of(fleet: AuditedFleet, folder: str) -> tuple[tuple[str, str], ...]:
    (named,) = (
        value
        for name, value in parse_trailers(decode_commit(fleet.store.read(fleet.remote_refs[LIVE])).message)
        if name == INPUTS_TRAILER
    )
    return tuple((file.path, file.id) for file in fleet.store.files(named) if file.path.startswith(folder))


def test_no_name_of_a_ref_makes_a_path_of_its_own() -> None:
    """Whoever has the key of a host names refs as Git allows it."""
    fleet = open_fleet()
    fleet.source({"m1.yaml": machine("m1")})
    fleet.settle()
    for name in ("a.json/b", "x/../y", "%2e%2e", "a\udcff", "deep/er/than/all"):
        fleet.remote_refs[REPORTS + name] = fleet.remote_refs[REPORTS + "a"]
    fleet.report("nul", report("nul"))
    fleet.source({"m2.yaml": machine("m2")})
    fleet.settle()
    assert {each.result for each in fleet.audit()} == {Result.EXPLAINED}
    assert all(path.count("/") == 2 for path, _ in folder_of(fleet, "hosts"))


def test_settings_that_name_another_ref_move_the_record_there() -> None:
    fleet = open_fleet()
    other = "refs/heads/gitvirt/inputs/"
    fleet.source({"gitvirt.yaml": AUDITED.replace(DEFAULT_INPUTS, other)})
    fleet.hosts_report()
    outcome = fleet.reconciler.tick(lambda: fleet.now)
    assert outcome == RefsChanged(Refs(inputs=other))


def test_settings_without_a_ref_record_nothing() -> None:
    fleet = open_fleet(SETTINGS)
    fleet.source({"m1.yaml": machine("m1")})
    fleet.settle()
    assert not any(ref.startswith(DEFAULT_INPUTS) for ref in fleet.remote_refs)
    assert INPUTS_TRAILER not in fleet.messages()[0]


def test_old_lines_go_and_the_newest_stay() -> None:
    fleet = open_fleet(AUDITED.replace("inputs/}", "inputs/, keep: 56d}"))
    for month in range(6):
        fleet.source({f"m{month}.yaml": machine(f"m{month}")})
        fleet.settle()
        fleet.now_later(31 * 86400)
    lines = sorted(
        ref.removeprefix(DEFAULT_INPUTS) for ref in fleet.remote_refs if ref.startswith(DEFAULT_INPUTS)
    )
    assert lines == ["2026-08", "2026-09", "2026-10"]
    found = [each.result for each in fleet.audit()]
    assert set(found) == {Result.NO_INPUTS, Result.EXPLAINED}
    assert found == sorted(found, key=lambda each: each is Result.EXPLAINED), "what is left is whole"


def test_a_ref_of_others_among_the_lines_is_neither_counted_nor_removed() -> None:
    lines = {
        "0-mine": "1",
        "2026-01": "2",
        "2026-02": "3",
        "2026-03": "4",
        "archive/2020-01": "5",
        "notes": "6",
    }
    assert find_old_lines(lines, 28) == {"2026-01": "2"}


def test_a_clock_that_is_wrong_for_a_moment_removes_one_line_at_most() -> None:
    fleet = open_fleet(AUDITED.replace("inputs/}", "inputs/, keep: 56d}"))
    for month in range(3):
        fleet.source({f"m{month}.yaml": machine(f"m{month}")})
        fleet.settle()
        fleet.now_later(31 * 86400)
    before = {ref for ref in fleet.remote_refs if ref.startswith(DEFAULT_INPUTS)}
    now = fleet.now
    fleet.now = now.replace(year=2199)
    fleet.source({"wrong.txt": "1"})
    fleet.tick()
    fleet.now = now
    fleet.source({"right.txt": "1"})
    fleet.tick()
    after = {ref for ref in fleet.remote_refs if ref.startswith(DEFAULT_INPUTS)}
    assert len(before - after) <= 1


def test_a_server_that_lets_nobody_remove_keeps_the_lines() -> None:
    fleet = open_fleet(AUDITED.replace("inputs/}", "inputs/, keep: 28d}"))

    def hook(updates: tuple[RefUpdate, ...]) -> str:
        return "no deletion" if any(each.new is None for each in updates) else ""

    fleet.server.hook = hook  # type: ignore[assignment]
    for month in range(4):
        fleet.source({f"m{month}.yaml": machine(f"m{month}")})
        fleet.settle()
        fleet.now_later(31 * 86400)
    assert len([ref for ref in fleet.remote_refs if ref.startswith(DEFAULT_INPUTS)]) == 4
    assert {each.result for each in fleet.audit()} == {Result.EXPLAINED}


def test_a_lost_host_is_recorded_as_it_was_judged() -> None:
    """Verify has no clock: that the heartbeat had expired is a verdict in the record."""
    fleet = open_fleet()
    fleet.source({"m1.yaml": machine("m1")})
    fleet.settle()
    where = fleet.pool_of("m1")
    fleet.silent.add(where)
    for _ in range(4):
        fleet.now_later(40)
        fleet.hosts_report()
        fleet.tick()
    text = next(
        fleet.store.read(id) for path, id in folder_of(fleet, "hosts") if path.endswith(f"/{where}.json")
    )
    assert f'"{Heartbeat.EXPIRED.value}"' in text.decode()
    assert {each.result for each in fleet.audit()} == {Result.EXPLAINED}


def test_a_source_that_is_not_merged_stays_reachable_and_is_named_once() -> None:
    """Rewritten, it waits for an approval while hosts go on. After the next force push only the line of inputs leads to it."""
    fleet = open_fleet()
    fleet.source({"m1.yaml": machine("m1")})
    fleet.settle()
    main = fleet.remote_refs[MAIN]
    rewritten = fleet.put(replace(fleet.commit_of(main), parents=(), message="another history"))
    fleet.remote_refs[MAIN] = rewritten
    for host in ("a", "b"):
        before = fleet.remote_refs[LIVE]
        fleet.silent.add(host)
        fleet.settle(120)
        assert fleet.remote_refs[LIVE] != before, "a lost host is written"
    fleet.remote_refs[MAIN] = main
    fleet.settle()
    live = fleet.remote_refs[LIVE]
    assert not fleet.store.is_descendant(live, rewritten)
    (line,) = (commit for ref, commit in fleet.remote_refs.items() if ref.startswith(DEFAULT_INPUTS))
    assert fleet.store.is_descendant(line, rewritten)
    below = [
        commit for commit in fleet.store.commits(line, main) if rewritten in fleet.commit_of(commit).parents
    ]
    assert len(below) == 1
    assert {each.result for each in fleet.audit()} == {Result.EXPLAINED}
