"""Looks at one runtime, over and over: at once when it says that something changed, else every few seconds.

Owns the threads that look. What they find is the connection's; who wants to know is woken.
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

# Changes come in bursts; a list takes all of one.
SETTLE_SECONDS = 0.02
# A runtime that says what changes is listed, and asked about its host, so much more seldom.
WATCHED_POLL_FACTOR = 6
# A look that took long, on a host that has much to do, is followed by a rest of so many times that.
REST_FACTOR, LONGEST_BREATH_SECONDS = 4, 30.0
RETRY_SECONDS = 2.0
WAIT_SECONDS = 1.0


class RuntimePoller:
    """`moved` is called when a list is different from the one before, and after each list that was asked for."""

    def __init__(self, connection: RuntimeClient, interval_seconds: float, moved: Callable[[], None]) -> None:
        self.connection = connection
        self._interval = interval_seconds
        self._moved = moved
        self._asked = threading.Event()
        self._over = threading.Event()
        self._is_told = False  # whether the runtime says what changes
        name = connection.name
        self._threads = [
            threading.Thread(target=self._look, name=f"look-{name}", daemon=True),
            threading.Thread(target=self._listen, name=f"listen-{name}", daemon=True),
        ]

    def ask(self) -> None:
        """A list that begins from now on."""
        self._asked.set()

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Threads that hang in a call end with it."""
        self._over.set()
        self._asked.set()

    def join(self, seconds: float) -> None:
        for thread in self._threads:
            thread.join(seconds)

    def _look(self) -> None:
        turn, probed = 0, 0.0
        while not self._over.is_set():
            begun = time.monotonic()
            is_asked = self._asked.is_set()
            self._asked.clear()
            is_different = False
            is_whole = turn % WATCHED_POLL_FACTOR == 0 or not self._is_told
            # Where much happens somebody asks all the time.
            is_due = begun - probed >= self._interval
            if not is_asked or is_due or self.connection.is_unprobed:
                probed = begun
                is_different = self.connection.probe(is_brief=not is_whole)
                if is_different:
                    self._moved()  # lists may take long, of a runtime that just fell silent above all
            if is_asked or is_different or is_whole:
                is_different |= self.connection.look()
            turn = 0 if is_asked else turn + 1
            if (is_asked or is_different) and not self._over.is_set():
                self._moved()
            spent = time.monotonic() - begun
            if self._asked.wait(
                rest_seconds(self._interval, spent, is_answered=self.connection.is_answering)
            ):
                self._over.wait(SETTLE_SECONDS)

    def _listen(self) -> None:
        while not self._over.is_set():
            try:
                subscription = self.connection.runtime.watch()
            except Unimplemented:
                self._over.wait(
                    self._interval * WATCHED_POLL_FACTOR
                )  # until another one may be behind the socket
                continue
            except IRIError as error:
                log.info("no notices from the runtime runtime=%s error=%s", self.connection.name, error)
                self._over.wait(RETRY_SECONDS)
                continue
            self._is_told = True
            self._hear(subscription)
            self._is_told = False

    def _hear(self, subscription: Subscription) -> None:
        try:
            while not self._over.is_set():
                if subscription.next(WAIT_SECONDS):
                    self.ask()
        except IRIError as error:
            log.info("notices ended runtime=%s error=%s", self.connection.name, error)
        finally:
            subscription.close()


def rest_seconds(interval: float, spent: float, *, is_answered: bool) -> float:
    """After a look that took so long. Without an answer that was time lost, not work."""
    return max(interval, min(REST_FACTOR * spent, LONGEST_BREATH_SECONDS)) if is_answered else interval
