"""Several reconcilers on one real bare repo while people push: every machine is made once, nothing people wrote is lost, and
the target branch is one line of commits."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from reconciler.gitstore.repo import Refs, Repo
from reconciler.gitstore.waker import Waker
from reconciler.loop.loop import Loop, LoopIntervals
from reconciler.loop.metrics import Metrics
from reconciler.loop.outcome import NoChange
from reconciler.loop.tick import Reconciler
from reconciler.world.record import record_of
from reconciler.write.tick_commit import CommitIdentity
from schemas.kinds import Kind
from schemas.model import MachineStatus
from tests.reconciler.gitstore.worlds import MirrorWorld
from tests.reconciler.loop.fleet import (
    SETTINGS,
    SMALL,
    Host,
    People,
    documents,
    machine,
    take_snapshot,
    texts,
)
from tests.servers.repository import git

SECONDS = 90.0


def clock() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[MirrorWorld]:
    real = MirrorWorld(tmp_path)
    yield real
    real.close()


class Crowd:
    """Threads that do one thing again and again until it is over; an error of any of them fails the test."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.threads: list[threading.Thread] = []
        self.errors: list[BaseException] = []

    def join_in(self, step: Callable[[], float]) -> None:
        def live() -> None:
            try:
                while not self.over.wait(step()):
                    pass
            except BaseException as error:  # noqa: BLE001 - told by the thread that judges
                self.errors.append(error)
                self.over.set()

        self.threads.append(threading.Thread(target=live, daemon=True))
        self.threads[-1].start()

    def end(self) -> None:
        self.over.set()
        for thread in self.threads:
            thread.join(SECONDS)
        assert not self.errors, self.errors


@pytest.mark.parametrize(
    ("reconcilers", "machines"), [pytest.param(2, 24, id="two"), pytest.param(5, 24, id="five")]
)
def test_racing(world: MirrorWorld, reconcilers: int, machines: int) -> None:
    ann, bob = People(world.client(), clock, "Ann"), People(world.client(), clock, "Bob")
    hosts = [Host(world.client(), f"host-{n}", clock, room=machines) for n in range(2)]
    ann.push({"gitvirt.yaml": SETTINGS, "classes/small.yaml": SMALL})
    counts = [Metrics() for _ in range(reconcilers)]
    loops = [
        Loop(
            Reconciler(world.client(), Refs(), CommitIdentity(f"r{n}"), counts[n]),
            moves,
            Waker(),
            LoopIntervals(0.1),
            random.Random(n),
            clock=clock,
            steady=clock,
        )
        for n in range(reconcilers)
    ]
    crowd = Crowd()
    for loop in loops:
        crowd.join_in(loop.step)
    for host in hosts:
        crowd.join_in(partial(working, host))
    for n in range(machines // 2):
        ann.push({f"a/{n}.yaml": machine(f"a-{n}")}, f"a-{n}")
        bob.push({f"b/{n}.yaml": machine(f"b-{n}", f"   # of Bob, {n}")}, f"b-{n}")
        ann.push({f"b/{n}.yaml": machine(f"b-{n}", f"   # of Bob, {n}, seen by Ann")}, f"look at b-{n}")
    looker = world.client()
    # A machine may run before the last push about it: then live lacks that commit.
    until(lambda: is_synced(looker) and running(looker) == machines, crowd)
    crowd.end()
    assert isinstance(loops[0].reconciler.tick(clock), NoChange)
    once_each(hosts, machines)
    nothing_lost(looker, machines)
    one_line(world.repo)
    # Whoever is quicker may write it all; then the others lost.
    lost = sum(
        each.registry.get_sample_value("gitvirt_ticks_total", {"outcome": "conflict"}) or 0 for each in counts
    )
    assert lost > 0, "they did not race at all"


def working(host: Host) -> float:
    host.work()
    return 0.1


def moves(_refs: Refs, _before: Reconciler) -> Reconciler:
    raise AssertionError("no settings name other refs")


def until(is_so: Callable[[], bool], crowd: Crowd) -> None:
    end = time.monotonic() + SECONDS
    while not is_so():
        assert not crowd.errors, crowd.errors
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.2)


def is_synced(looker: Repo) -> bool:
    """Whether live was made of the newest source commit."""
    found = take_snapshot(looker)
    if found.target is None or found.source is None:
        return False
    return looker.is_descendant(found.target, found.source)


def running(looker: Repo) -> int:
    found = documents(looker, take_snapshot(looker).target, Kind.MACHINE)
    statuses = [record_of(each.kind, each.body).status for each in found]
    return sum(isinstance(status, MachineStatus) and status.state == "Running" for status in statuses)


def once_each(hosts: list[Host], machines: int) -> None:
    made = Counter(uid for host in hosts for uid, _ in host.made)
    assert len(made) == machines
    assert set(made.values()) == {1}


def nothing_lost(looker: Repo, machines: int) -> None:
    """Line by line, what people wrote is in the same file of both branches."""
    found = take_snapshot(looker)
    source, live = texts(looker, found.source), texts(looker, found.target)
    assert len(source) == machines + 2
    assert sum("seen by Ann" in text for text in source.values()) == machines // 2
    for path, text in source.items():
        kept = iter(live[path].splitlines())
        assert all(line in kept for line in text.splitlines()), path


def one_line(repo: Path) -> None:
    def ours(*options: str) -> list[str]:
        return git(repo, "rev-list", "--author=^gitvirt ", *options, "live").splitlines()

    assert ours("--first-parent") == ours("--topo-order")
