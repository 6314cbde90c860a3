"""Time as an argument of the poollet's parts, so that a simulation can give another one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Clock:
    """`now_ms` is Unix time. `moment_ms` never jumps and begins anywhere."""

    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000
    moment_ms: Callable[[], int] = lambda: time.monotonic_ns() // 1_000_000

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.now_ms() / 1000, UTC)
