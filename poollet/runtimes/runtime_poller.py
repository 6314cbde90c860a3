"""Polls one runtime: at once when the runtime announces a change, else every few seconds.

Theory of operation. One thread fetches lists, another one reads the runtime's change events and requests a list for each burst.

    a list was requested, or an event came         fetch all lists, then call `on_change`
    the interval has passed                        probe the runtime (about, offers), and fetch all lists
    ... of a runtime that announces its changes    both only every sixth interval
    the probe found a difference                   call `on_change` at once, then fetch all lists
    the lists took long                            rest four times as long, at most 30 s, so that the host is not busy with lists

Owns the threads. The client keeps what they find, and `on_change` wakes the agent.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from iri.errors import IRIError, Unimplemented
from iri.runtime import Subscription
from poollet.runtimes.runtime_client import RuntimeClient

log = logging.getLogger(__name__)

# Changes come in bursts; one list covers a burst.
BURST_SECONDS = 0.02
# A list counts only if it began after an action ended, in whole milliseconds; without this a list of the same one would be the last.
CLOCK_SECONDS = 0.001
# A runtime that announces its changes is probed and listed this much less often.
WATCHED_POLL_FACTOR = 6
# After lists that took long, on a busy host, the poller rests this many times as long.
REST_FACTOR, LONGEST_BREATH_SECONDS = 4, 30.0
RETRY_SECONDS = 2.0
WAIT_SECONDS = 1.0


class RuntimePoller:
    """`on_change` is called when a list differs from the one before, and after each list that was requested."""

    def __init__(self, client: RuntimeClient, interval_seconds: float, on_change: Callable[[], None]) -> None:
        self.client = client
        self._interval = interval_seconds
        self._on_change = on_change
        self._requested = threading.Event()
        self._over = threading.Event()
        self._is_watched = False  # the runtime announces its changes
        name = client.name
        self._threads = [
            threading.Thread(target=self._poll, name=f"poll-{name}", daemon=True),
            threading.Thread(target=self._watch, name=f"watch-{name}", daemon=True),
        ]

    def request_list(self) -> None:
        """Fetch a list that begins from now on."""
        self._requested.set()

    def start(self) -> None:
        """Both threads. They are daemons: a call that hangs does not keep the process from ending."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """A thread that hangs in a call ends with that call."""
        self._over.set()
        self._requested.set()

    def join(self, seconds: float) -> None:
        """Waits so long for each thread; one that hangs in a call is left."""
        for thread in self._threads:
            thread.join(seconds)

    def _poll(self) -> None:
        """The rows of the table above. `polls` counts rounds since the last requested list, `probed` is when
        the last probe began."""
        polls, probed = 0, 0.0
        while not self._over.is_set():
            start = time.monotonic()
            if is_requested := self._requested.is_set():
                self._requested.clear()
                self._over.wait(CLOCK_SECONDS)
            has_changed = False
            is_whole = polls % WATCHED_POLL_FACTOR == 0 or not self._is_watched
            # On a busy host lists are requested all the time, and a probe must come due all the same.
            is_due = start - probed >= self._interval
            if not is_requested or is_due or self.client.needs_probe:
                probed = start
                has_changed = self.client.probe(is_brief=not is_whole)
                if has_changed:
                    self._on_change()  # before the lists, which hang when the runtime just fell silent
            if is_requested or has_changed or is_whole:
                has_changed |= self.client.fetch_lists()
            polls = 0 if is_requested else polls + 1
            if (is_requested or has_changed) and not self._over.is_set():
                self._on_change()
            spent = time.monotonic() - start
            if self._requested.wait(
                rest_seconds(self._interval, spent, is_answered=self.client.is_answering)
            ):
                self._over.wait(BURST_SECONDS)

    def _watch(self) -> None:
        """Reads events as long as the runtime sends them, and subscribes again when that ends. While it is
        not watched, the interval alone decides how old a list may be."""
        while not self._over.is_set():
            try:
                subscription = self.client.runtime.watch()
            except Unimplemented:
                self._over.wait(
                    self._interval * WATCHED_POLL_FACTOR
                )  # a newer runtime may listen there later
                continue
            except IRIError as error:
                log.info("cannot watch the runtime runtime=%s error=%s", self.client.name, error)
                self._over.wait(RETRY_SECONDS)
                continue
            self._is_watched = True
            self._read_events(subscription)
            self._is_watched = False

    def _read_events(self, subscription: Subscription) -> None:
        try:
            while not self._over.is_set():
                if subscription.next(WAIT_SECONDS):
                    self.request_list()
        except IRIError as error:
            log.info("watch ended runtime=%s error=%s", self.client.name, error)
        finally:
            subscription.close()


def rest_seconds(interval: float, spent: float, *, is_answered: bool) -> float:
    """How long to rest after lists that took `spent`. A runtime that did not answer was not busy, so the rest is not longer."""
    return max(interval, min(REST_FACTOR * spent, LONGEST_BREATH_SECONDS)) if is_answered else interval
