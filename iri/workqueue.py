"""Keyed work on a few threads, each key at the time that it is due.

Theory of operation. `work(key)` does whatever there is to do for a key and returns the seconds until it wants to run again, or
None when it waits to be woken. A key is in one of four states:

    state           in `_timers`   in `_busy`   in `_again`   left by
    idle            no             no           no            wake -> due
    due             yes            no           no            its time comes and a thread is free -> busy
    busy            no             yes          no            work returns None -> idle; a delay -> due
    busy and due    no             yes          yes           work returns -> due

Waking a key that is due already makes it due at the earlier of the two times. Waking a busy key is never lost: it runs again
after the present run. A run that raises is logged and tried again after a minute.

Must never happen: two threads work on one key at the same time; a wake is forgotten; one key's bug ends the work on others.
The queue does not know what the work is. Times are those of the monotonic clock and are never compared with zero.

Limits: it gives no result back and promises no order between keys. A key is only a name: the work reads what there is to do.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from iri.timer_queue import TimerQueue

log = logging.getLogger(__name__)
FAULT_SECONDS = 60.0
Key = TypeVar("Key", bound=Hashable)


class WorkQueue(Generic[Key]):
    """Thread-safe. Keys may be woken before `start`; started once, closed once."""

    def __init__(self, work: Callable[[Key], float | None], threads: int, name: str) -> None:
        self._work = work
        self._timers: TimerQueue[Key, float] = TimerQueue()
        self._busy: set[Key] = set()
        self._again: dict[Key, float] = {}  # busy keys that were woken
        self._is_closed = False
        self._changed = threading.Condition()
        self._threads = [
            threading.Thread(target=self._run, name=f"{name}-{number}", daemon=True)
            for number in range(threads)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self, wait_seconds: float | None = None) -> None:
        """Ends the threads, after the runs under way: all of them, or only those that return within the time."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        deadline = None if wait_seconds is None else time.monotonic() + wait_seconds
        for thread in self._threads:
            if thread.is_alive():  # or it was never started
                thread.join(None if deadline is None else max(0.0, deadline - time.monotonic()))

    def wake(self, key: Key, after_seconds: float = 0.0) -> None:
        """Makes the key due by then at the latest."""
        at = time.monotonic() + after_seconds
        with self._changed:
            if key in self._busy:
                self._again[key] = min(at, self._again.get(key, at))
                return
            known = self._timers.due_of(key)
            self._timers.put(key, at if known is None else min(at, known))
            self._changed.notify()

    def _run(self) -> None:
        """What each thread does until the queue is closed."""
        while (key := self._take()) is not None:
            try:
                after_seconds = self._work(key)
            except Exception:
                # A bug in the work on one key must not end the work on all others.
                log.exception("work failed key=%s", key)
                after_seconds = FAULT_SECONDS
            self._give_back(key, after_seconds)

    def _give_back(self, key: Key, after_seconds: float | None) -> None:
        """The key is idle, or due again for the earlier of two reasons: a wake, or what the work returned."""
        with self._changed:
            if after_seconds is not None:
                self.wake(key, after_seconds)
            self._busy.discard(key)
            if (at := self._again.pop(key, None)) is not None:
                self._timers.put(key, at)
                self._changed.notify()

    def _take(self) -> Key | None:
        """Waits for the first key that is due and marks it busy. None once the queue is closed."""
        with self._changed:
            while not self._is_closed:
                for _, key in self._timers.take_due(time.monotonic()):
                    self._busy.add(key)
                    # Another thread waits for the next entry from now on.
                    self._changed.notify()
                    return key
                due = self._timers.next_due()
                self._changed.wait(None if due is None else max(0.0, due - time.monotonic()))
            return None
