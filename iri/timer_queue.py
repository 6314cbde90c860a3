"""When each key is due next: at most one time per key. Knows no clock; not thread-safe.

A heap of times beside a dict of the current time of each key. Putting a key again, or dropping it, leaves its old entry
in the heap; an entry counts only while the dict has the same time. Old entries are dropped when they come up, and all at
once when they are the larger part of the heap.

Used where threads wait for real time (iri.workqueue), and for the time of a simulated host.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Time = TypeVar("Time", int, float)  # nanoseconds or seconds; only compared


class TimerQueue(Generic[Key, Time]):
    """Keys with equal times come up in the order in which they were put, so a run can be repeated."""

    def __init__(self) -> None:
        self._heap: list[tuple[Time, int, Key]] = []
        self._due: dict[Key, Time] = {}
        self._count = 0

    def __len__(self) -> int:
        return len(self._due)

    def put(self, key: Key, due: Time) -> None:
        """Replaces the time that the key has."""
        if self._due.get(key) == due:
            return
        self._due[key] = due
        self._count += 1
        heapq.heappush(self._heap, (due, self._count, key))
        if len(self._heap) > 64 and len(self._heap) > 4 * len(self._due):
            self._tidy()

    def drop(self, key: Key) -> None:
        self._due.pop(key, None)

    def due_of(self, key: Key) -> Time | None:
        """None for a key without a time."""
        return self._due.get(key)

    def next_due(self) -> Time | None:
        """None when no key has a time."""
        while self._heap:
            due, _, key = self._heap[0]
            if self._due.get(key) == due:
                return due
            heapq.heappop(self._heap)
        return None

    def take_due(self, now: Time) -> Iterator[tuple[Time, Key]]:
        """Each key that is due by then, in order of time; also those that are put while the caller iterates."""
        while (due := self.next_due()) is not None and due <= now:
            _, _, key = heapq.heappop(self._heap)
            del self._due[key]
            yield due, key

    def _tidy(self) -> None:
        """Drops all entries that do not count any more, so that the heap stays in proportion to the keys."""
        self._heap = [entry for entry in self._heap if self._due.get(entry[2]) == entry[0]]
        heapq.heapify(self._heap)
