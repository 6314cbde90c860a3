"""A report that cannot be read frees nothing that a report said to be on its host, whatever happens to the object or the process meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from reconciler.gitstore.objects.database import ObjectType, hash_object
from schemas.report import HeldObject, MachineReport
from tests.reconciler.lifecycle.hosts import Fleet
from tests.reconciler.lifecycle.test_grants import PAUSED, find_accepted, wait_beside
from tests.reconciler.lifecycle.test_lives import fleet
from tests.reconciler.world.scene import INSTANCE, REPORTS, machine

NAMED = "  name: web\n"
CLEAN: dict[str, bytes | None] = {"candidate.json": None}
Step = Callable[[Fleet], None]


def show_candidate(world: Fleet) -> None:
    wait_beside(world, "a", objects=(HeldObject("Machine", "web", "default", INSTANCE),))


def show_on_pool(pool: str) -> Step:
    def show(world: Fleet) -> None:
        entry = MachineReport(INSTANCE, "00000000-0000-4000-8000-000000000001", "present", pool)
        found = world.hosts["a"].report(world.assignable())
        world.report("a", replace(found, machines={**found.machines, ("default", "web"): entry}))

    return show


def push_blob(world: Fleet) -> None:
    found = hash_object(ObjectType.BLOB, b"hello")
    world.remote.objects[found.id] = (ObjectType.BLOB, found.data)
    world.remote.refs[REPORTS + "a"] = world.heads[REPORTS + "a"] = found.id


def break_file(path: str) -> Step:
    def push(world: Fleet) -> None:
        world._commit(REPORTS + "a", {**CLEAN, path: b"{"}, {}, has_parents=True)

    return push


def do_nothing(_: Fleet) -> None:
    """The control."""


def pause(world: Fleet) -> None:
    world.source({"web.yaml": machine("web").replace(NAMED, NAMED + PAUSED)})


def break_source(world: Fleet) -> None:
    world.source({"web.yaml": machine("web") + "nonsense: [\n"})


def restart(world: Fleet) -> None:
    world.reconciler = world.another()


@pytest.mark.parametrize(
    "happens", [do_nothing, pause, break_source, restart], ids=lambda step: step.__name__
)
@pytest.mark.parametrize(
    ("show", "reason"),
    [
        (show_candidate, "OnAnotherHost"),
        (show_on_pool("a"), "ReportedWithoutAssignment"),
        (show_on_pool("b"), "ReportedByRefusedPoollet"),
    ],
    ids=["OnAnotherHost", "ReportedWithoutAssignment", "ReportedByRefusedPoollet"],
)
@pytest.mark.parametrize(
    "garbage",
    [push_blob, break_file("orphans.json"), break_file("candidate.json")],
    ids=["a blob", "orphans.json", "candidate.json"],
)
def test_an_unreadable_report_frees_nothing_that_its_host_had(
    garbage: Step, show: Step, reason: str, happens: Step
) -> None:
    world = fleet()
    world.source({"web.yaml": machine("web")})
    live_on(world, show, 2)
    assert find_accepted(world, "web").reason == reason
    happens(world)
    live_on(world, show, 1)
    live_on(world, garbage, 2)
    world.source({"web.yaml": machine("web")})
    live_on(world, garbage, 3)
    assert (world.pool_of("web"), find_accepted(world, "web").reason) == ("", reason)
    assert "that of poollet a cannot be read" in find_accepted(world, "web").message
    live_on(world, do_nothing, 2)
    assert world.pool_of("web"), "its report can be read, and does not name it any more"


def live_on(world: Fleet, step: Step, ticks: int) -> None:
    for _ in range(ticks):
        world.hosts_report()
        step(world)
        world.tick(10)


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_name_that_no_host_can_have_holds_nothing(is_restarted: bool) -> None:
    """Not even for a process that read a report there before: another one would decide otherwise."""
    world = fleet()
    world.source({"web.yaml": machine("web")})
    for _ in range(2):
        world.hosts_report()
        wait_beside(world, "stray", objects=(HeldObject("Machine", "web", "default", INSTANCE),))
        world.tick(10)
    assert world.pool_of("web") == ""
    found = hash_object(ObjectType.BLOB, b"hello")
    world.remote.objects[found.id] = (ObjectType.BLOB, found.data)
    world.remote.refs[REPORTS + "stray"] = found.id
    if is_restarted:
        restart(world)
    live_on(world, do_nothing, 4)
    assert world.pool_of("web")
