"""Who is at which console: one session a machine, so that two people never type into one, and a bounded number."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from iri.runtime import Console

LIMIT = 256


class Sessions:
    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._consoles: dict[str, Console | None] = {}
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._is_over = False

    @property
    def is_over(self) -> bool:
        return self._is_over

    def refusal(self, machine_id: str) -> str:
        """Why there can be no session now; empty when there can."""
        with self._lock:
            return self._refusal(machine_id)

    @contextmanager
    def entered(self, machine_id: str) -> Iterator[str]:
        """Holds the machine's place for the block, unless the refusal it yields is not empty."""
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

    def attached(self, machine_id: str, console: Console) -> None:
        """From here on `end` can reach the console."""
        with self._lock:
            self._consoles[machine_id] = console
            if self._is_over:
                console.close()

    def end(self, patience_seconds: float) -> None:
        """Closes every console, and waits a little until their sessions have said so to their clients."""
        with self._lock:
            self._is_over = True
            for console in self._consoles.values():
                if console is not None:
                    console.close()
            self._changed.wait_for(lambda: not self._consoles, patience_seconds)

    def _refusal(self, machine_id: str) -> str:
        if self._is_over:
            return "the runtime is stopping"
        if machine_id in self._consoles:
            return f"somebody is at the console of machine {machine_id}; one session at a time"
        if len(self._consoles) >= self._limit:
            return f"{self._limit} consoles are open, which is the limit; try later"
        return ""
