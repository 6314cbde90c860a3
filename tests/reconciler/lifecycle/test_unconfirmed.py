"""An assignment that its pool has not confirmed ends when the pool that had the machine before reports it again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from schemas.kinds import Key, Kind
from schemas.report import objects
from tests.reconciler.lifecycle.hosts import Fleet, Host
from tests.reconciler.lifecycle.test_lives import fleet
from tests.reconciler.lifecycle.test_start_wait import start_reconciler
from tests.reconciler.world.scene import REPORTS, machine

WEB = Key(Kind.MACHINE, "default", "web")


def move_machine() -> Fleet:
    """Machine web was on pool a and is assigned to b, whose host has not said anything of it."""
    world = fleet(Host("a"), Host("b"), Host("c"), web=machine("web", "  machinePoolRef: {name: a}\n"))
    assert world.pool_of("web") == "a"
    world.source({"web.yaml": machine("web", "  machinePoolRef: {name: b}\n")})
    for _ in range(2):
        world.hosts_report()
        world.tick()
    assert world.pool_of("web") == "b"
    return world


def say_present(world: Fleet, by: str, uid: str = "", names: Iterable[str] = ("web",)) -> None:
    """The host of that pool reports the machines once more, as one does that never read the order."""
    id = "00000000-0000-4000-8000-000000000001"
    status = objects.ReportedMachineStatus(machine_id="x://y", state="Running")
    entries: dict[tuple[str, ...], objects.MachineReport] = {}
    for name in names:
        given = uid or world.machine(name).metadata.uid
        entries["default", name] = objects.MachineReport(given, id, "present", by, status=status)
    found = world.hosts[by].report(world.assignable())
    world.report(by, replace(found, machines=entries))


@pytest.mark.parametrize("uid", ["", "00000000-0000-4000-8000-00000000000f"])
def test_it_is_withdrawn_when_the_pool_that_had_it_reports_it_again(uid: str) -> None:
    world = move_machine()
    ended = world.machine("web").status.previous_assignment
    assert ended is not None
    assert ended.pool == "a"
    say_present(world, "a", uid)
    world.edit_report("b")
    world.tick()
    found = world.machine("web").status
    assert found.evict is not None
    assert found.assignment is not None
    assert found.evict.assignment == found.assignment.id
    assert found.evict.reason == (
        "pool a, which had it before, reports it again, and pool b has not confirmed it"
    )


def test_then_it_waits_until_that_report_is_over_and_is_placed_again() -> None:
    world = move_machine()
    for _ in range(3):
        say_present(world, "a")
        world.tick()
        act(world, "b")
    assert world.pool_of("web") == ""
    found = next(each for each in world.machine("web").status.conditions if each.type == "Accepted")
    assert found.reason == "ReportedWithoutAssignment"
    assert "reports it on pool a, and its assignment there ended" in found.message
    world.settle()
    assert world.pool_of("web") == "b"
    status = world.machine("web").status
    assert (status.state, status.previous_assignment) == ("Running", None)


def act(world: Fleet, name: str) -> None:
    """That host alone does what `live` says, and reports it."""
    live = world.assignable()
    world.hosts[name].act(live, world.grant(name))
    world.report(name, world.hosts[name].report(live))


def confirm(world: Fleet) -> None:
    world.hosts_report()
    world.tick()
    assert world.machine("web").status.state == "Running"


def test_a_machine_that_its_pool_has_stays_there() -> None:
    world = move_machine()
    confirm(world)
    say_present(world, "a")
    world.edit_report("b")
    world.tick()
    assert (world.pool_of("web"), world.machine("web").status.evict) == ("b", None)


def test_a_pool_that_has_it_by_now_keeps_it_although_another_one_reports_it() -> None:
    world = move_machine()
    say_present(world, "a")
    act(world, "b")
    world.tick()
    assert (world.pool_of("web"), world.machine("web").status.evict) == ("b", None)


def test_a_pool_that_never_had_it_ends_nothing() -> None:
    world = move_machine()
    evil = world.hosts["c"]
    assert evil.host_id == "c"
    say_present(world, "c")
    world.edit_report("b")
    world.tick()
    assert (world.pool_of("web"), world.machine("web").status.evict) == ("b", None)


def test_a_report_from_a_backup_ends_nothing() -> None:
    world = move_machine()
    now = world.heads[REPORTS + "a"]
    say_present(world, "a")
    backup = world.heads[REPORTS + "a"]
    world.heads[REPORTS + "a"] = world.remote.refs[REPORTS + "a"] = now
    world.now_later(5)
    act(world, "a")
    world.tick()
    world.heads[REPORTS + "a"] = world.remote.refs[REPORTS + "a"] = backup
    world.tick()
    assert (world.pool_of("web"), world.machine("web").status.evict) == ("b", None)
    say_present(world, "a")
    world.tick()
    assert world.machine("web").status.evict is not None


def test_a_reconciler_that_starts_waits_for_the_assigned_pool() -> None:
    world = move_machine()
    say_present(world, "a")
    start_reconciler(world)
    world.tick()
    say_present(world, "a")
    world.tick()
    assert world.machine("web").status.evict is None
    world.edit_report("b")
    world.edit_report("c")
    world.tick()
    assert world.machine("web").status.evict is not None


def test_more_than_may_be_evicted_at_once_are_withdrawn_at_once() -> None:
    names = [f"m{number}" for number in range(8)]
    files = {name: machine(name, "  machinePoolRef: {name: a}\n") for name in names}
    world = fleet(Host("a", 20), Host("b", 20), **files)
    world.source({f"{name}.yaml": machine(name, "  machinePoolRef: {name: b}\n") for name in names})
    for _ in range(6):
        act(world, "a")
        world.edit_report("b")
        world.tick()
    assert set(world.where().values()) == {"b"}
    say_present(world, "a", names=names)
    world.tick()
    assert [name for name in names if world.machine(name).status.evict is None] == []
