"""The Git server answers late or not at all, or a clock is set, while all hosts are alive: no host looks lost, and no request of people is followed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from reconciler.gitstore.remote.transport import RemoteErrorKind, RemoteUnavailable
from reconciler.gitstore.repo import Snapshot
from reconciler.gitstore.store import CALL_SECONDS, Store
from reconciler.loop.loop import read_steady_clock
from reconciler.loop.outcome import Failed
from reconciler.world.pools.grants import Grant
from reconciler.world.reports.heartbeat import NOT_EXPIRED
from tests.reconciler.lifecycle.hosts import Fleet
from tests.reconciler.lifecycle.test_lives import fleet
from tests.reconciler.world.scene import LIVE, machine

HOUR = 3600.0


class SlowStore(Store):
    """The refs as they were when it was asked, after a time in which the hosts go on."""

    world: Fleet
    seconds: float

    def snapshot(self) -> Snapshot:
        found = self.world.store.snapshot()
        assert isinstance(found, Snapshot)
        for _ in range(int(self.seconds / 5)):
            self.world.now_later(5)
            self.world.hosts_report()
        return found


def answer_slowly(world: Fleet, seconds: float) -> None:
    """One tick, of which the answer takes so long."""
    slow = object.__new__(SlowStore)
    slow.__dict__.update(world.store.__dict__)
    slow.world, slow.seconds = world, seconds
    world.reconciler.repo = slow
    world.tick()
    world.reconciler.repo = world.store


class DeadStore(Store):
    """No answer at all, for hosts neither."""

    def snapshot(self) -> RemoteUnavailable:
        return RemoteUnavailable(RemoteErrorKind.NETWORK, "no route to host", "wait")


def be_unreachable(world: Fleet, seconds: float) -> None:
    """Ticks of a reconciler that reaches the server no more than the hosts do."""
    world.reconciler.repo = object.__new__(DeadStore)
    for _ in range(int(seconds / 10)):
        outcome = world.reconciler.tick(lambda: world.now)
        assert isinstance(outcome, Failed)
        world.now_later(10)
    world.reconciler.repo = world.store


def expired_hosts(world: Fleet) -> set[str]:
    beats = world.reconciler.world.reports.heartbeats
    return {name for (name, _), beat in beats.items() if beat == "expired"}


def beats_alive(world: Fleet) -> bool:
    return all(beat in NOT_EXPIRED for beat in world.reconciler.world.reports.heartbeats.values())


@pytest.mark.parametrize("seconds", [CALL_SECONDS, 2 * CALL_SECONDS, HOUR])
def test_a_slow_answer_makes_no_host_look_lost(seconds: float) -> None:
    world = fleet(web=machine("web"))
    before = world.where()
    world.tick(30)
    answer_slowly(world, seconds)
    assert beats_alive(world)
    world.settle()
    assert beats_alive(world)
    assert world.where() == before


def test_a_wrong_pool_destroyed_is_not_followed_because_an_answer_took_long() -> None:
    world = fleet(web=machine("web"))
    first = world.pool_of("web")
    world.source({"note.txt": "a burned down, I think"}, Pool_Destroyed=f"{first}={first}")
    world.tick()
    world.tick(30)
    answer_slowly(world, 80)
    assert world.pool_of("web") == first
    world.settle()
    world.settle(80)
    assert world.pool_of("web") == first
    assert world.grant(first) == Grant(first, 1)


@pytest.mark.parametrize("seconds", [80, HOUR])
def test_an_outage_of_the_server_makes_no_host_look_lost(seconds: float) -> None:
    """The reconciler reaches it again before the hosts do."""
    world = fleet(web=machine("web"))
    before, head = world.where(), world.heads[LIVE]
    be_unreachable(world, seconds)
    for _ in range(3):
        world.tick(10)
    assert beats_alive(world)
    assert world.heads[LIVE] == head
    world.settle()
    assert (beats_alive(world), world.where()) == (True, before)


def test_a_wrong_pool_destroyed_is_not_followed_because_of_an_outage() -> None:
    world = fleet(web=machine("web"))
    first = world.pool_of("web")
    be_unreachable(world, 100)
    world.source({"note.txt": "I cannot reach a either"}, Pool_Destroyed=f"{first}={first}")
    for _ in range(3):
        world.tick(5)
    assert (world.pool_of("web"), world.grant(first)) == (first, Grant(first, 1))
    world.settle()
    world.settle(80)
    assert (world.pool_of("web"), world.grant(first)) == (first, Grant(first, 1))


def test_silence_before_an_outage_and_after_it_counts() -> None:
    world = fleet(web=machine("web"))
    first = world.pool_of("web")
    world.silent.add(first)
    world.settle(20)
    be_unreachable(world, 200)
    world.settle()
    assert not expired_hosts(world)
    world.settle(20)
    assert expired_hosts(world) == {first}


def test_a_dead_host_is_noticed_although_every_second_answer_fails() -> None:
    world = fleet(web=machine("web"))
    first = world.pool_of("web")
    world.silent.add(first)
    for _ in range(12):
        world.now_later(10)
        be_unreachable(world, 10)
        world.hosts_report()
        world.tick()
    assert expired_hosts(world) == {first}


def test_a_host_that_is_expired_keeps_its_grant_in_a_tick_whose_answer_took_long() -> None:
    """It may have reported since the server was asked."""
    world = fleet(web=machine("web"))
    first = world.pool_of("web")
    world.silent.add(first)
    world.settle()
    world.settle(80)
    assert not beats_alive(world)
    world.source({"note.txt": "it burned down"}, Pool_Destroyed=f"{first}={first}")
    answer_slowly(world, 15)
    assert world.grant(first) == Grant(first, 1)
    world.settle()
    assert world.grant(first) == Grant("", 2)
    assert world.pool_of("web") not in ("", first)


def tick_by(world: Fleet, wall: Callable[[], datetime]) -> None:
    """A tick as the loop makes it, with a wall clock of its own."""
    world.reconciler.tick(wall, lambda: world.now)
    world.heads.update({ref: commit for ref, commit in world.remote.refs.items() if commit})


@pytest.mark.parametrize("step", [HOUR, -HOUR, 10 * 365 * 24 * HOUR])
def test_a_step_of_the_wall_clock_makes_no_host_look_lost_or_alive(step: float) -> None:
    world = fleet(web=machine("web"))
    first = world.pool_of("web")
    world.silent.add(first)
    world.settle()
    world.now_later(20)
    tick_by(world, lambda: world.now + timedelta(seconds=step))
    assert beats_alive(world)
    world.now_later(75)
    world.hosts_report()
    tick_by(world, lambda: world.now + timedelta(seconds=step))
    assert expired_hosts(world) == {first}


@pytest.mark.clock
def test_a_host_is_alive_by_a_clock_that_counts_from_the_boot() -> None:
    world = fleet(web=machine("web"))
    world.reconciler = world.another()
    for _ in range(2):
        world.hosts_report()
        world.reconciler.tick(lambda: world.now, read_steady_clock)
    assert set(world.reconciler.world.reports.heartbeats.values()) == {"alive"}
