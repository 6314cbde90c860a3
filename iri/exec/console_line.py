"""What carries a user's session to a console, and how a session ends. A WebSocket does; so does the link, for a console on another host."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """The console ended by itself."""

    exit_status: int


@dataclass(frozen=True, slots=True)
class SessionLeft:
    """The user left; the machine goes on."""


@dataclass(frozen=True, slots=True)
class SessionBroken:
    """The session could not begin, or was cut off."""

    reason: str


SessionOutcome = SessionEnded | SessionLeft | SessionBroken


class LineClosedError(Exception):
    """Nothing can be sent any more; `receive` says why."""


class ConsoleLine(Protocol):
    """One thread sends and closes, another one receives."""

    def send_keys(self, data: bytes) -> None:
        """Raises LineClosedError."""

    def send_window(self, columns: int, rows: int) -> None:
        """Raises LineClosedError."""

    def receive(self) -> Iterator[bytes | SessionOutcome]:
        """Output as it comes, and an outcome at last. Without one the line was closed at this end, or ended without a word."""

    def close(self) -> None:
        """Ends a `receive` that waits. May be called again."""
