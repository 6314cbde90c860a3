"""Who is to be tended when: each by one thread at a time, all by a few threads, in order of time."""

from __future__ import annotations

import heapq
import logging
import threading
import time
from collections.abc import Callable

log = logging.getLogger(__name__)
FAULT_SECONDS = 60.0
Tend = Callable[[str], float | None]


class Queue:
    """`tend(id)` gives the seconds until that machine's next turn; None: when somebody wakes it."""

    def __init__(self, tend: Tend, threads: int) -> None:
        self._tend = tend
        self._due: dict[str, float] = {}
        self._heap: list[tuple[float, str]] = []
        self._busy: set[str] = set()
        self._changed = threading.Condition()
        self._is_closed = False
        self._threads = [
            threading.Thread(target=self._work, name=f"libvirt-machines-{number}", daemon=True)
            for number in range(threads)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Waits for the steps at work."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    def wake(self, id: str, in_seconds: float = 0.0) -> None:
        """At the latest by then."""
        at = time.monotonic() + in_seconds
        with self._changed:
            if at < self._due.get(id, float("inf")):
                self._due[id] = at
                heapq.heappush(self._heap, (at, id))
                self._changed.notify()

    def _work(self) -> None:
        while (id := self._next()) is not None:
            try:
                delay = self._tend(id)
            except Exception:
                # A bug in one machine's turn must not end those of all others.
                log.exception("turn failed id=%s", id)
                delay = FAULT_SECONDS
            with self._changed:
                self._busy.discard(id)
                self._changed.notify_all()  # it may have been woken meanwhile
            if delay is not None:
                self.wake(id, delay)

    def _next(self) -> str | None:
        with self._changed:
            while not self._is_closed:
                at, id = self._earliest()
                wait = at - time.monotonic()
                if id and wait <= 0:
                    del self._due[id]
                    self._busy.add(id)
                    return id
                self._changed.wait(wait if id else None)
            return None

    def _earliest(self) -> tuple[float, str]:
        """Of those whom nobody tends right now."""
        held = []
        found = (0.0, "")
        while self._heap:
            at, id = heapq.heappop(self._heap)
            if self._due.get(id) != at:
                continue
            held.append((at, id))
            if id not in self._busy:
                found = (at, id)
                break
        for entry in held:
            heapq.heappush(self._heap, entry)
        return found
