"""One-time tickets: whoever has one may attach to one machine's console, once, within a minute.

    issue -> valid -> redeem, or too old -> gone

A token is 128 random bits, so it cannot be guessed. `redeem` removes the ticket before anything else happens with it:
it cannot be used twice, not even by two threads at once. Time is an argument; tickets have no clock of their own.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass

from iri.runtime import Console

LIFETIME_SECONDS = 60.0
LIMIT = 1000


@dataclass(frozen=True, slots=True)
class Ticket:
    """`open_console` runs when the ticket is used."""

    machine_id: str
    open_console: Callable[[], Console]
    expires: float


class Tickets:
    """Thread-safe. Insertion order is the order of expiry, because each ticket is valid equally long."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._tickets: dict[str, Ticket] = {}
        self._lock = threading.Lock()

    def issue(self, machine_id: str, open_console: Callable[[], Console], now: float) -> str | None:
        """A new token; None while too many are valid."""
        token = secrets.token_urlsafe(16)
        with self._lock:
            self._expire(now)
            if len(self._tickets) >= self._limit:
                return None
            self._tickets[token] = Ticket(machine_id, open_console, now + LIFETIME_SECONDS)
        return token

    def redeem(self, token: str, now: float) -> Ticket | None:
        """The ticket, which is gone now; None when it was used, is too old, or never existed."""
        with self._lock:
            self._expire(now)
            return self._tickets.pop(token, None)

    def _expire(self, now: float) -> None:
        """Drops the oldest until one is valid; with the lock held."""
        while self._tickets:
            token, ticket = next(iter(self._tickets.items()))
            if ticket.expires > now:
                return
            del self._tickets[token]
