"""What is due when: at most one time for each thing. A time that was put off or called off is dropped lazily."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

TimerKey = tuple[str, str]  # a kind and an id


class TimerQueue:
    def __init__(self) -> None:
        self._heap: list[tuple[int, int, TimerKey]] = []
        self._due: dict[TimerKey, int] = {}
        self._count = 0

    def __len__(self) -> int:
        return len(self._due)

    def put(self, thing: TimerKey, due_ns: int) -> None:
        """Equal times come up in the order they were put, so a run can be repeated."""
        if self._due.get(thing) == due_ns:
            return
        self._due[thing] = due_ns
        self._count += 1
        heapq.heappush(self._heap, (due_ns, self._count, thing))
        if len(self._heap) > 64 and len(self._heap) > 4 * len(self._due):
            self._tidy()

    def drop(self, thing: TimerKey) -> None:
        self._due.pop(thing, None)

    def next_due_ns(self) -> int | None:
        while self._heap:
            due_ns, _, thing = self._heap[0]
            if self._due.get(thing) == due_ns:
                return due_ns
            heapq.heappop(self._heap)
        return None

    def take_due(self, now_ns: int) -> Iterator[tuple[int, TimerKey]]:
        """In order of time, including what is put meanwhile and is due by then too."""
        while (due_ns := self.next_due_ns()) is not None and due_ns <= now_ns:
            _, _, thing = heapq.heappop(self._heap)
            del self._due[thing]
            yield due_ns, thing

    def _tidy(self) -> None:
        self._heap = [entry for entry in self._heap if self._due.get(entry[2]) == entry[0]]
        heapq.heapify(self._heap)
