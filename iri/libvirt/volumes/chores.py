"""Work to do by key on a few threads: each key by one thread at a time, again when it was wanted meanwhile, later when it
asks for that. Knows nothing of what the work is.
"""

from __future__ import annotations

import heapq
import logging
import threading
import time
from collections.abc import Callable, Hashable

log = logging.getLogger(__name__)
FAULT_SECONDS = 60.0
Work = Callable[[Hashable], float | None]
"""Does what there is to do for a key, and says after how many seconds to look again, or None."""


class Chores:
    def __init__(self, work: Work, threads: int, name: str) -> None:
        self._work = work
        self._due: list[tuple[float, int, Hashable]] = []
        self._wanted: dict[Hashable, float] = {}  # when next, by key
        self._running: set[Hashable] = set()
        self._counter = 0
        self._is_closed = False
        self._changed = threading.Condition()
        self._threads = [
            threading.Thread(target=self._run, name=f"{name}-{number}", daemon=True)
            for number in range(threads)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self, wait_seconds: float) -> None:
        """What is under way may end, within that time; the rest is left."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        until = time.monotonic() + wait_seconds
        for thread in self._threads:
            if thread.is_alive():  # or never started
                thread.join(max(0.0, until - time.monotonic()))

    def want(self, key: Hashable, after_seconds: float = 0.0) -> None:
        """At the latest then."""
        at = time.monotonic() + after_seconds
        with self._changed:
            if at < self._wanted.get(key, float("inf")):
                self._wanted[key] = at
                self._counter += 1
                heapq.heappush(self._due, (at, self._counter, key))
                self._changed.notify_all()

    def _run(self) -> None:
        while (key := self._next()) is not None:
            try:
                after_seconds = self._work(key)
            except Exception:
                # A bug in one object's work must not end that of all others.
                log.exception("chore failed key=%s", key)
                after_seconds = FAULT_SECONDS
            with self._changed:
                self._running.discard(key)
                self._changed.notify_all()
            if after_seconds is not None:
                self.want(key, after_seconds)

    def _next(self) -> Hashable | None:
        with self._changed:
            while not self._is_closed:
                now = time.monotonic()
                key = self._taken(now)
                if key is not None:
                    self._wanted.pop(key)
                    self._running.add(key)
                    return key
                waiting = [at for at, _, key in self._due if key not in self._running]
                self._changed.wait(max(0.0, min(waiting) - now) if waiting else None)
            return None

    def _taken(self, now: float) -> Hashable | None:
        """The first due that nobody works on; what is no longer wanted at that time is forgotten."""
        busy: list[tuple[float, int, Hashable]] = []
        taken = None
        while self._due and self._due[0][0] <= now and taken is None:
            entry = heapq.heappop(self._due)
            at, _, key = entry
            if self._wanted.get(key) != at:
                continue
            if key in self._running:
                busy.append(entry)
            else:
                taken = key
        for entry in busy:
            heapq.heappush(self._due, entry)
        return taken
