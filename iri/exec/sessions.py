"""Which machines have a console session: one per machine, so that two people never type into one, and a bounded number.

    state       left by
    free        `reserve` -> reserved, unless `refusal` gives a reason
    reserved    `attach` -> attached; the block ends -> free
    attached    the block ends -> free

`end_all` closes every attached console and refuses all later ones: the runtime is stopping.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from iri.runtime import Console

LIMIT = 256


class Sessions:
    """Thread-safe."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._consoles: dict[str, Console | None] = {}
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self.is_ended = False

    def refusal(self, machine_id: str) -> str:
        """Why a session cannot begin now; empty when it can."""
        with self._lock:
            return self._refusal(machine_id)

    @contextmanager
    def reserve(self, machine_id: str) -> Iterator[str]:
        """Reserves the machine for the block and yields an empty text; or yields the refusal and reserves nothing."""
        with self._lock:
            refusal = self._refusal(machine_id)
            if not refusal:
                self._consoles[machine_id] = None
        try:
            yield refusal
        finally:
            if not refusal:
                with self._lock:
                    del self._consoles[machine_id]
                    self._changed.notify_all()

    def attach(self, machine_id: str, console: Console) -> None:
        """From here on `end_all` closes the console; at once when it has run already."""
        with self._lock:
            self._consoles[machine_id] = console
            if self.is_ended:
                console.close()

    def end_all(self, timeout_seconds: float) -> None:
        """Closes every console and waits, at most so long, until their clients have got the reason."""
        with self._lock:
            self.is_ended = True
            for console in self._consoles.values():
                if console is not None:
                    console.close()
            self._changed.wait_for(lambda: not self._consoles, timeout_seconds)

    def _refusal(self, machine_id: str) -> str:
        """With the lock held."""
        if self.is_ended:
            return "the runtime is stopping"
        if machine_id in self._consoles:
            return f"another session is at the console of machine {machine_id}; only one at a time"
        if len(self._consoles) >= self._limit:
            return f"{self._limit} consoles are open, which is the limit; try later"
        return ""
