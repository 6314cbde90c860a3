"""Time as an argument of the poollet's parts, so that a simulation can give another one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Clock:
    """`now_ms` is Unix time, for stamps that people and other hosts read. `moment_ms` never jumps and begins
    anywhere: all waits, timeouts and orders of events on this host are counted with it. The two are never
    compared."""

    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000
    moment_ms: Callable[[], int] = lambda: time.monotonic_ns() // 1_000_000

    def now(self) -> datetime:
        """The Unix time as a date in UTC."""
        return datetime.fromtimestamp(self.now_ms() / 1000, UTC)
