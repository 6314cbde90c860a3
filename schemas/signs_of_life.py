"""Heartbeats between two ends that do not trust the time between them: when was the other end alive for sure? Pure.

Each end numbers what it sends and remembers when it sent it. The other end names the largest number that it has received. An answer to
number 7 was written after 7 was sent, however long either of them took. So a sign of life is dated by the time at which its question was sent,
by one clock: the own one.

    delayed      the date is that of the question, never that of the arrival
    repeated     the same question again: no newer date
    reordered    an answer to an older question: no newer date
    dropped      the next one answers as well

Must never happen: a date that is later than the moment at which the other end really lived; memory that grows.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Generic, Protocol, TypeVar


class _Time(Protocol):
    def __lt__(self, other: Any, /) -> bool: ...


Time = TypeVar("Time", bound=_Time)
REMEMBERED = 32  # questions; an answer to an older one says nothing that a newer one does not


class SignsOfLife(Generic[Time]):
    """Of one end about the other. `alive_at` is the date of the newest sign, None before the first."""

    def __init__(self) -> None:
        self.alive_at: Time | None = None
        self.received = 0
        self._number = 0
        self._sent: deque[tuple[int, Time]] = deque(maxlen=REMEMBERED)

    def ask(self, now: Time) -> int:
        """The number of what is sent now."""
        self._number += 1
        self._sent.append((self._number, now))
        return self._number

    def take(self, number: int, answers: int) -> Time | None:
        """A heartbeat of the other end. Returns the new date, if it is newer than the one before.

        A number that was never sent, or so long ago that it is forgotten, gives none.
        """
        self.received = max(self.received, number)
        found = next((sent for each, sent in self._sent if each == answers), None)
        if found is None or (self.alive_at is not None and not self.alive_at < found):
            return None
        self.alive_at = found
        return found
