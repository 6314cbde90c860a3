"""Pushes without an answer that land long afterwards: the next commit voids them, and what lands all the same starts nothing twice."""

from __future__ import annotations

import pytest

from reconciler.gitstore.memory import MemoryObjects, MemoryRemote, MemoryTransport
from reconciler.gitstore.objects.commit import decode_commit
from reconciler.gitstore.remote.transport import (
    PushConflict,
    RefsPushed,
    RemoteErrorKind,
    RemoteUnavailable,
)
from reconciler.gitstore.repo import Refs
from reconciler.gitstore.store import Store
from reconciler.loop.outcome import Committed, Failed, NoChange
from reconciler.loop.tick import Reconciler
from schemas.kinds import Kind
from tests.reconciler.gitstore.worlds import MemoryWorld
from tests.reconciler.loop.fleet import LIVE, SETTINGS, SMALL, Cast, Host, machine, reconciler

NO_ANSWER = RemoteUnavailable(RemoteErrorKind.NETWORK, "no answer", "wait", is_unknown=True)


class SlowServer(Cast):
    """Two hosts, and a server that keeps the reconciler's pushes while `is_slow`."""

    def __init__(self) -> None:
        self.world = MemoryWorld()
        super().__init__(self.world, ["a", "b"], 10)
        self.is_slow = False
        self.reconciler = self.start()
        self.people.push({"gitvirt.yaml": SETTINGS, "classes/small.yaml": SMALL})
        self.settle()

    @property
    def remote(self) -> MemoryRemote:
        return self.world.remote

    def start(self) -> Reconciler:
        def fault(call: str, when: str) -> RemoteUnavailable | None:
            return NO_ANSWER if (call, when) == ("push", "before") and self.is_slow else None

        local = MemoryObjects(self.remote)
        return reconciler(Store(local, MemoryTransport(local, fault), Refs()))

    def commit(self) -> Committed:
        outcome = self.reconciler.tick(self.clock)
        assert isinstance(outcome, Committed), outcome
        return outcome

    def push_late(self) -> None:
        self.is_slow = True
        outcome = self.reconciler.tick(self.clock)
        assert isinstance(outcome, Failed), outcome
        self.is_slow = False

    def head(self) -> str:
        return self.world.refs()[LIVE]

    def pool_of(self, name: str) -> str:
        (found,) = [each for each in self.on_live(Kind.MACHINE) if each.key.name == name]
        pool: str = found.body.get("status", {}).get("assignment", {}).get("pool", "")
        return pool

    def run_web(self) -> tuple[Host, Host]:
        """The host that runs it, and the other one."""
        self.people.push({"web.yaml": machine("web")})
        self.settle()
        one, other = self.hosts
        return (one, other) if one.made else (other, one)

    def let_expire(self, alive: Host) -> None:
        """The heartbeat of the other host expires."""
        for _ in range(8):
            self.clock.go(10)
            alive.work()
            self.reconciler.tick(self.clock)

    def say_destroyed(self, host: Host) -> None:
        self.people.push({}, "it burned down", Pool_Destroyed=f"{host.name}={host.name}")


@pytest.fixture
def site() -> SlowServer:
    return SlowServer()


def test_a_push_without_an_answer_is_voided_although_there_is_nothing_to_write(site: SlowServer) -> None:
    here, _ = site.run_web()
    before = site.head()
    here.failure = "Internal"
    here.work()
    site.push_late()
    here.failure = ""
    here.work()
    assert site.commit().subject == "void a push that had no answer"
    commit = decode_commit(site.looker.read(site.head()))
    assert commit.parents == (before,)
    assert commit.tree == decode_commit(site.looker.read(before)).tree
    assert isinstance(site.remote.land(), PushConflict)
    assert isinstance(site.reconciler.tick(site.clock), NoChange)


def test_a_decision_that_is_made_again_voids_the_push_of_the_first(site: SlowServer) -> None:
    site.people.push({"web.yaml": machine("web")})
    site.push_late()
    site.clock.go(5)
    site.commit()
    assert isinstance(site.remote.land(), PushConflict)


def test_a_push_that_landed_unseen_needs_no_further_commit(site: SlowServer) -> None:
    here, _ = site.run_web()
    here.failure = "Internal"
    here.work()
    site.push_late()
    assert isinstance(site.remote.land(), RefsPushed)
    assert isinstance(site.reconciler.tick(site.clock), NoChange)


def test_a_reconciler_that_starts_voids_nothing(site: SlowServer) -> None:
    site.run_web()
    before = site.head()
    assert isinstance(site.start().tick(site.clock), NoChange)
    assert site.head() == before


@pytest.mark.parametrize("is_killed", [False, True], ids=["the process goes on", "the process is killed"])
@pytest.mark.parametrize(
    "lands_first", [False, True], ids=["it lands after a tick", "it lands before the tick"]
)
def test_a_fence_that_lands_after_the_host_is_back_moves_no_machine(
    site: SlowServer, is_killed: bool, lands_first: bool
) -> None:
    here, other = site.run_web()
    site.say_destroyed(here)
    for _ in range(6):
        site.clock.go(10)
        other.work()
        site.reconciler.tick(site.clock)
    site.clock.go(20)
    other.work()
    site.push_late()  # it would have ended the grant
    here.work()
    if is_killed:
        site.reconciler = site.start()
    if lands_first:
        assert isinstance(site.remote.land(), RefsPushed)
    site.settle()
    if not lands_first:
        assert isinstance(site.remote.land(), PushConflict)
    site.settle()
    assert site.pool_of("web") == here.name
    assert not other.made
    assert len(here.running) == 1


def test_a_machine_that_is_given_away_late_is_not_started_by_the_host_that_is_back(site: SlowServer) -> None:
    """The host was cut off before it read the assignment. Its grant has ended on live; the machine's new place is pushed late."""
    site.people.push({"web.yaml": machine("web")})
    site.commit()
    here, other = sorted(site.hosts, key=lambda each: each.name != site.pool_of("web"))
    assert not here.made
    site.say_destroyed(here)
    for _ in range(6):
        site.clock.go(10)
        other.work()
        site.reconciler.tick(site.clock)
    site.clock.go(20)
    other.work()
    site.commit()
    assert site.pool_of("web") == here.name, "the first commit only ends the grant"
    site.push_late()
    site.reconciler = site.start()  # and it was killed
    for _ in range(10):
        site.clock.go(10)
        here.work()  # back, and pushes its reports
    assert not here.made
    assert isinstance(site.remote.land(), RefsPushed)
    site.settle()
    assert site.pool_of("web") == other.name
    assert len(other.made) == 1
    assert not here.made
