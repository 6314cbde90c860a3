"""One-time tickets: who holds one may attach to one machine's console, once, soon. Keeps no time of its own."""

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
    machine_id: str
    open_console: Callable[[], Console]
    expires: float


class Tickets:
    """Tokens in flight. Insertion order is expiry order, because each lives equally long."""

    def __init__(self, lifetime_seconds: float = LIFETIME_SECONDS, limit: int = LIMIT) -> None:
        self._lifetime = lifetime_seconds
        self._limit = limit
        self._tickets: dict[str, Ticket] = {}
        self._lock = threading.Lock()

    def issue(self, machine_id: str, open_console: Callable[[], Console], now: float) -> str | None:
        """A fresh token; None while too many are in flight."""
        token = secrets.token_urlsafe(16)
        with self._lock:
            self._expire(now)
            if len(self._tickets) >= self._limit:
                return None
            self._tickets[token] = Ticket(machine_id, open_console, now + self._lifetime)
        return token

    def redeem(self, token: str, now: float) -> Ticket | None:
        """The ticket, which is spent thereby; None if it is spent, too old or made up."""
        with self._lock:
            self._expire(now)
            return self._tickets.pop(token, None)

    def _expire(self, now: float) -> None:
        while self._tickets:
            token, ticket = next(iter(self._tickets.items()))
            if ticket.expires > now:
                return
            del self._tickets[token]
