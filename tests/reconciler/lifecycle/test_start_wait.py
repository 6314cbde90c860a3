"""A reconciler that has just started places nothing before each known host was seen to report, or its timeout is over."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

import pytest

from reconciler.gitstore.repo import Refs
from reconciler.gitstore.waker import Waker
from reconciler.loop.loop import Loop, LoopIntervals
from reconciler.loop.outcome import NoChange
from reconciler.loop.tick import ProcessInputs, Reconciler
from reconciler.world.reports.start_wait import AwaitedHost, StartWait, describe_start_wait
from reconciler.write.tick_commit import CommitIdentity
from tests.reconciler.lifecycle.hosts import Fleet, Host
from tests.reconciler.lifecycle.test_lives import DRAIN, fleet
from tests.reconciler.lifecycle.test_slow_answers import be_unreachable
from tests.reconciler.world import scene
from tests.reconciler.world.scene import REPORTS, SMALL, machine, pool

TIMEOUT = 75


def start_reconciler(world: Fleet, *, is_once: bool = False) -> None:
    world.reconciler = Reconciler(
        world.store,
        Refs(),
        CommitIdentity("one"),
        around=ProcessInputs(start_wait=StartWait(counts_dates=is_once)),
    )


def waits_for(world: Fleet) -> list[str]:
    return [each.name for each in world.reconciler.world.awaited_hosts]


def declare(world: Fleet, name: str = "new") -> None:
    world.source({f"{name}.yaml": machine(name)})


def test_nothing_is_placed_before_each_host_was_seen_to_report() -> None:
    world = fleet(web=machine("web"))
    declare(world)
    start_reconciler(world)
    world.tick()
    assert waits_for(world) == ["a", "b"]
    assert world.pool_of("new") == ""
    assert world.plans[-1].awaited == "waits for the first report since start of a, b, at most 1m15s"
    assert [key.name for key in world.plans[-1].postponed] == ["new"]
    world.report("a", world.hosts["a"].report(world.assignable()))
    world.tick()
    assert waits_for(world) == ["b"]
    assert world.pool_of("new") == ""
    world.hosts_report()
    world.tick()
    assert waits_for(world) == []
    assert world.pool_of("new") != ""


def test_a_host_that_is_down_is_waited_for_until_its_timeout() -> None:
    world = fleet(web=machine("web"))
    world.silent.add("b")
    declare(world)
    start_reconciler(world)
    for _ in range(5):
        world.hosts_report()
        world.tick(10)
        assert world.pool_of("new") == ""
        assert waits_for(world)[-1] == "b"
    world.hosts_report()
    world.tick(TIMEOUT)
    assert waits_for(world) == []
    world.hosts_report()
    world.tick()
    assert world.pool_of("new") == "a"


def test_an_outage_of_the_server_after_the_start_is_no_part_of_the_wait() -> None:
    world = fleet(web=machine("web"))
    world.silent.add("b")
    declare(world)
    be_unreachable(world, 30)
    start_reconciler(world)
    world.settle()
    be_unreachable(world, 2 * TIMEOUT)
    world.settle()
    assert (waits_for(world), world.pool_of("new")) == (["b"], "")
    world.settle(TIMEOUT)
    assert (waits_for(world), world.pool_of("new")) == ([], "a")


def test_a_host_with_a_grant_whose_report_is_gone_is_waited_for_too() -> None:
    world = fleet(web=machine("web"))
    world.silent.add("b")
    del world.remote.refs[REPORTS + "b"], world.heads[REPORTS + "b"]
    declare(world)
    start_reconciler(world)
    world.tick()
    world.hosts_report()
    world.tick()
    assert waits_for(world) == ["b"]
    assert world.pool_of("new") == ""
    world.hosts_report()
    world.tick(TIMEOUT)
    assert world.pool_of("new") == "a"


def test_a_new_fleet_and_a_host_that_comes_later_hold_nothing() -> None:
    world = Fleet({"small.yaml": SMALL, "web.yaml": machine("web")})
    start_reconciler(world)
    world.tick()
    assert waits_for(world) == []
    world.hosts["a"] = Host("a")
    world.settle()
    assert world.pool_of("web") == "a"
    declare(world)
    world.report("evil", scene.report("evil", interval="10h"))
    world.tick()
    assert world.pool_of("new") != ""


def test_a_report_that_names_a_long_interval_holds_for_the_timeout_of_the_fleet_alone() -> None:
    world = fleet(web=machine("web"))
    world.report("evil", scene.report("evil", interval="10h"))
    declare(world)
    start_reconciler(world)
    for _ in range(9):
        world.hosts_report()
        world.tick(10)
    assert waits_for(world) == []
    assert world.pool_of("new") != ""


def test_a_refused_report_is_not_waited_for() -> None:
    world = fleet(web=machine("web"))
    world.report("evil", scene.report("evil", fleet="5a1e9a5e-0d5c-4f0b-9a54-6d1b6f6f7f10"))
    start_reconciler(world)
    world.tick()
    assert waits_for(world) == ["a", "b"]


def test_the_wait_does_not_begin_again_after_a_tick_that_failed() -> None:
    world = fleet(web=machine("web"))
    start_reconciler(world)
    for _ in range(2):
        world.hosts_report()
        world.tick()
    before = world.reconciler.world
    world.reconciler.repo = None  # type: ignore[assignment]
    world.reconciler.tick(lambda: world.now)
    world.reconciler.repo = world.store
    assert world.reconciler.world is not before
    declare(world)
    world.tick()
    assert waits_for(world) == []
    assert world.pool_of("new") != ""


def test_no_eviction_is_ordered_before() -> None:
    world = fleet(web=machine("web"))
    first = world.pool_of("web")
    world.source({"pool.yaml": pool(first, DRAIN)})
    start_reconciler(world)
    world.tick()
    assert world.machine("web").status.evict is None
    world.hosts_report()
    world.tick()
    assert world.machine("web").status.evict is not None


def test_no_host_is_taken_for_destroyed_before_all_others_have_reported() -> None:
    world = fleet(web=machine("web"))
    first = world.pool_of("web")
    world.report(first, scene.report(first, leaving="leaving"))
    world.source({"note.txt": "it burned down"}, Pool_Destroyed=f"{first}={first}")
    world.silent.update("ab")
    start_reconciler(world)
    world.tick()
    world.tick()
    assert world.grant(first).host == first
    world.tick(TIMEOUT)
    assert world.grant(first).host == ""


@pytest.mark.parametrize(
    ("age", "is_placed"), [(10, True), (TIMEOUT - 1, True), (TIMEOUT + 1, False), (86400, False)]
)
def test_run_once_counts_a_report_that_is_dated_within_its_timeout(age: float, is_placed: bool) -> None:
    """It ends when nothing is left to write, and cannot watch a report of a host for long. One out of a backup is older."""
    world = fleet(web=machine("web"))
    world.silent.update("ab")
    world.now_later(age - 3)
    declare(world)
    start_reconciler(world, is_once=True)
    world.tick()
    assert (world.pool_of("new") != "") is is_placed
    assert bool(waits_for(world)) is not is_placed


def test_the_words_name_the_hosts_and_the_longest_time() -> None:
    hosts = [AwaitedHost(f"host-{number}", str(number), 40.0 + number) for number in range(7)]
    assert describe_start_wait(hosts[:1]) == "waits for the first report since start of host-0, at most 40s"
    assert describe_start_wait(hosts) == (
        "waits for the first report since start of host-0, host-1, host-2, host-3, host-4, 2 more, at most 46s"
    )
    assert describe_start_wait([]) == ""


def test_run_once_waits_for_silent_hosts_for_one_timeout_and_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = fleet(web=machine("web"))
    world.silent.update("ab")
    world.now_later(86400)
    declare(world)
    start_reconciler(world, is_once=True)
    begin = world.now

    def clock() -> datetime:
        world.now_later(5)
        return world.now

    def never(refs: Refs, before: Reconciler) -> Reconciler:
        raise AssertionError(refs, before)

    loop = Loop(world.reconciler, never, Waker(), LoopIntervals(0), clock=clock, steady=clock)
    with caplog.at_level(logging.INFO):
        assert isinstance(loop.run_once(), NoChange)
    assert timedelta(seconds=TIMEOUT) <= world.now - begin < timedelta(seconds=3 * TIMEOUT)
    assert waits_for(world) == []
    logged = [record.getMessage() for record in caplog.records]
    (first,) = [each for each in logged if each.startswith("nothing is placed yet")]
    assert "objects=1 cause=waits for the first report since start of a, b, at most 1m1" in first
    assert "known hosts have reported, or their timeouts are over" in logged


def reason(world: Fleet) -> str:
    """Why the machine `new` is not placed."""
    found = (each.reason for each in world.machine("new").status.conditions if each.type == "Scheduled")
    return next(found, "")


def declare_without_room(world: Fleet) -> None:
    """A machine that fits no pool, and a pool whose host has never reported."""
    world.source({"new.yaml": machine("new", "  machinePoolRef: {name: c}\n"), "c.yaml": pool("c")})


def test_an_object_is_not_called_unschedulable_while_hosts_start_with_the_reconciler() -> None:
    world = fleet(web=machine("web"))
    declare_without_room(world)
    start_reconciler(world)
    for _ in range(2):  # which take less than five seconds
        world.tick()
        assert reason(world) == ""
        assert [key.name for key in world.plans[-1].postponed] == ["new"]
        world.hosts_report()
    world.tick()
    assert reason(world) == "Unschedulable"
    assert world.plans[-1].postponed == ()


def test_a_process_that_looks_once_calls_it_unschedulable_at_once() -> None:
    world = fleet(web=machine("web"))
    declare_without_room(world)
    start_reconciler(world, is_once=True)
    world.tick()
    assert reason(world) == "Unschedulable"
