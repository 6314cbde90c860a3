"""When each object changes next: at most one time per key.

A heap of times beside a dict of the current time of each key. Putting a key again, or dropping it, leaves its old entry
in the heap; an entry counts only while the dict has the same time. Old entries are dropped when they come up, and all at
once when they are the larger part of the heap.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

TimerKey = tuple[str, str]  # a kind and an id


class TimerQueue:
    """Not thread-safe: the host's lock protects it."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, TimerKey]] = []
        self._due: dict[TimerKey, int] = {}
        self._count = 0

    def __len__(self) -> int:
        return len(self._due)

    def put(self, key: TimerKey, due_ns: int) -> None:
        """Keys with equal times come up in the order in which they were put, so a run can be repeated."""
        if self._due.get(key) == due_ns:
            return
        self._due[key] = due_ns
        self._count += 1
        heapq.heappush(self._heap, (due_ns, self._count, key))
        if len(self._heap) > 64 and len(self._heap) > 4 * len(self._due):
            self._tidy()

    def drop(self, key: TimerKey) -> None:
        self._due.pop(key, None)

    def next_due_ns(self) -> int | None:
        """None when no key has a time."""
        while self._heap:
            due_ns, _, key = self._heap[0]
            if self._due.get(key) == due_ns:
                return due_ns
            heapq.heappop(self._heap)
        return None

    def take_due(self, now_ns: int) -> Iterator[tuple[int, TimerKey]]:
        """Each key that is due by then, in order of time; also those that are put while the caller iterates."""
        while (due_ns := self.next_due_ns()) is not None and due_ns <= now_ns:
            _, _, key = heapq.heappop(self._heap)
            del self._due[key]
            yield due_ns, key

    def _tidy(self) -> None:
        self._heap = [entry for entry in self._heap if self._due.get(entry[2]) == entry[0]]
        heapq.heapify(self._heap)
