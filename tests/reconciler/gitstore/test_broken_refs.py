"""A ref that takes longer than the time of a call costs a snapshot no more than that, and no other ref its turn."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import pytest

from reconciler.gitstore.broken_refs import RECHECK
from reconciler.gitstore.memory import MemoryObjects, MemoryTransport
from reconciler.gitstore.remote.transport import RefSet, RefsFetched, RemoteErrorKind, RemoteUnavailable
from reconciler.gitstore.repo import Refs, Snapshot
from reconciler.gitstore.store import Store
from tests.reconciler.gitstore.worlds import LIVE, MAIN, REPORTS, MemoryWorld, draft

SECONDS = 1.6
SLOW = REPORTS + "slow"


class SlowTransport(MemoryTransport):
    """Objects in `slow` never come: whoever asks for one waits until the deadline. `calls` has the refs of each fetch."""

    def __init__(self, objects: MemoryObjects, world: MemoryWorld) -> None:
        super().__init__(objects)
        self._world = world
        self.slow: set[str] = set()
        self.late: dict[str, float] = {}  # refs that need so much of the time of a call
        self.calls: list[tuple[str, ...]] = []

    def fetch(self, needed: Sequence[str], seconds: float) -> RefsFetched | RemoteUnavailable:
        self.calls.append(tuple(needed))
        refs, names_needed = self._world.refs(), RefSet(needed)
        names = {ref for ref in refs if ref in names_needed}
        late = [
            each
            for ref, each in self.late.items()
            if ref in names and self.local.fetched.get(ref) != refs[ref]
        ]
        takes = 9.0 if self.slow & {refs[ref] for ref in names} else SECONDS * max(late, default=0)
        threading.Event().wait(min(takes, seconds))
        if takes > seconds:
            return RemoteUnavailable(
                RemoteErrorKind.NETWORK,
                f"it did not answer within {seconds:.0f} s",
                "wait",
                is_timeout=True,
            )
        return super().fetch(needed, seconds)


class Site:
    def __init__(self, hosts: int) -> None:
        self.world = MemoryWorld()
        self.writer = self.world.client()
        self.transport = SlowTransport(objects := MemoryObjects(self.world.remote), self.world)
        self.store = Store(objects, self.transport, Refs(), seconds=SECONDS)
        self.hosts = [f"host-{number:03}" for number in range(hosts)]
        self.beats = 0
        for ref in (MAIN, LIVE):
            self.push(ref, "first")
        self.beat()

    def push(self, ref: str, text: str) -> str:
        old = self.world.refs().get(ref)
        self.writer.snapshot()
        self.writer.write([draft(ref, old, {"file": text.encode()}, has_parents=False)])
        return self.world.refs()[ref]

    def beat(self) -> None:
        """Every host reports."""
        self.beats += 1
        for host in self.hosts:
            self.push(REPORTS + host, f"{host} {self.beats}")

    def point_slow(self, name: str) -> None:
        self.transport.slow.add(self.push(REPORTS + name, name))

    def snapshot(self) -> tuple[Snapshot, float]:
        """And how long it took, as a share of the time of a call."""
        self.transport.calls.clear()
        start = time.monotonic()
        found = self.store.snapshot()
        assert isinstance(found, Snapshot), found
        return found, (time.monotonic() - start) / SECONDS

    def count_calls(self, ref: str) -> int:
        return sum(ref in call for call in self.transport.calls)

    def current(self, found: Snapshot) -> set[str]:
        refs = self.world.refs()
        return {name for name, id in found.reports.items() if refs[REPORTS + name] == id}


@pytest.mark.parametrize("hosts", [0, 1, 2, 40])
@pytest.mark.parametrize("is_new", [False, True], ids=["a known ref", "a new ref"])
def test_a_slow_ref_stalls_one_snapshot_for_the_time_of_a_call(hosts: int, is_new: bool) -> None:
    site = Site(hosts)
    if not is_new:
        site.push(SLOW, "good")
    site.snapshot()
    site.beat()
    site.point_slow("slow")
    found, took = site.snapshot()
    assert took < 1 + RECHECK
    assert found.unfetched.keys() >= {"slow"}
    for _ in range(20):
        site.beat()
        found, took = site.snapshot()
        assert site.current(found) == set(site.hosts)
        assert found.unfetched.keys() == {"slow"}
        assert took < 1 / 2


def test_a_slow_ref_is_left_alone_for_twice_as_long_each_time() -> None:
    site = Site(2)
    site.point_slow("slow")
    site.snapshot()
    tries = []
    for _ in range(18):
        site.beat()
        site.snapshot()
        tries.append(site.count_calls(SLOW))
    assert [number for number, count in enumerate(tries, 1) if count] == [1, 2, 4, 8, 16]


def test_an_object_that_did_not_come_is_not_fetched_under_another_name() -> None:
    site = Site(2)
    site.point_slow("slow")
    site.snapshot()
    for number in range(3):
        site.world.move(f"{SLOW}-{number}", site.world.refs()[SLOW])
        found, took = site.snapshot()
        assert not site.count_calls(f"{SLOW}-{number}")
        assert found.unfetched.keys() == {"slow", *(f"slow-{each}" for each in range(number + 1))}
        assert took < 1 / 2
    site.transport.slow.clear()
    for _ in range(4):
        site.snapshot()
    found, _ = site.snapshot()
    assert not found.unfetched


def test_several_slow_refs_are_found_one_after_the_other() -> None:
    site = Site(30)
    site.snapshot()
    slow = {f"host-{number:03}x" for number in (3, 13, 23)}
    for name in slow:
        site.point_slow(name)
    for _ in range(3):
        site.beat()
        found, took = site.snapshot()
        assert took < 1 + RECHECK
        assert site.current(found) == set(site.hosts), "those that came before are tried first"
    found, took = site.snapshot()
    assert found.unfetched.keys() == slow
    assert took < 1 / 2


@pytest.mark.parametrize("is_first", [False, True], ids=["a new commit", "an empty mirror"])
def test_a_source_that_takes_most_of_the_time_still_comes(is_first: bool) -> None:
    site = Site(2)
    if not is_first:
        site.snapshot()
        site.beat()
    head = site.push(MAIN, "large")
    site.transport.late = {MAIN: 3 / 4}
    found = site.store.snapshot()
    if not is_first:
        assert isinstance(found, RemoteUnavailable)
        found = site.store.snapshot()
    assert isinstance(found, Snapshot)
    assert found.source == head
    site.transport.late.clear()
    found, _ = site.snapshot()
    assert site.current(found) == set(site.hosts)


@pytest.mark.parametrize("is_first", [False, True], ids=["far behind", "an empty mirror"])
def test_a_history_that_needs_more_than_the_time_of_a_call_comes(is_first: bool) -> None:
    """It comes whole or not at all: with one limit for all calls, no host with a slow line could ever begin again after it lost its disk."""
    site = Site(2)
    if not is_first:
        site.snapshot()
        site.beat()
    head = site.push(MAIN, "large")
    site.transport.late = {MAIN: 5 / 4}
    if not is_first:
        late = site.store.snapshot()
        assert isinstance(late, RemoteUnavailable)
    found = site.store.snapshot()
    assert isinstance(found, Snapshot), found
    assert found.source == head
    assert site.current(found) == set(site.hosts), "reports have a time of their own"
    site.transport.late = {MAIN: 5 / 4}
    site.push(MAIN, "stalled")
    start = time.monotonic()
    assert isinstance(site.store.snapshot(), RemoteUnavailable)
    assert time.monotonic() - start < SECONDS * (1 + RECHECK), "what is small again has the time of a call"
