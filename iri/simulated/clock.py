"""The host's own time: real time at some rate, or stopped until it is advanced.

Theory of operation. The clock is a line through one point: `simulated_ns` was the time when real time was `real_ns`, and
since then simulated time passes at `rate`. Every change of it (advance, another rate) starts a new line at the present
time, so time is continuous except for jumps ahead. The state is logged with the host: after a restart the clock has
gone on as if the process had never been away.

    rate 1     real time              rate 60    a minute per second
    rate 0     stopped: only `advance` moves it, so a test decides when anything happens

Must never happen: time goes back. Real time comes from the monotonic clock, and `_latest` holds whatever rounding and a
restored state would take away.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import msgspec

SECOND_NS = 1_000_000_000


class ClockState(msgspec.Struct, frozen=True, kw_only=True):
    """The time was `simulated_ns` when real time was `real_ns`. At rate 0 the clock is stopped."""

    simulated_ns: int
    real_ns: int
    rate: float = 1.0


def real_time() -> Callable[[], int]:
    """Wall time that does not go back while the process lives, even when the system clock is set back."""
    offset = time.time_ns() - time.monotonic_ns()
    return lambda: time.monotonic_ns() + offset


class SimulatedClock:
    """Thread-safe. `real` returns real time in nanoseconds; tests bring their own."""

    def __init__(self, real: Callable[[], int] | None = None, state: ClockState | None = None) -> None:
        self._real = real or real_time()
        now = self._real()
        self._state = state or ClockState(simulated_ns=now, real_ns=now)
        self._latest = self._state.simulated_ns
        self._lock = threading.Lock()

    @property
    def state(self) -> ClockState:
        return self._state

    @property
    def is_manual(self) -> bool:
        return self._state.rate == 0

    def now_ns(self) -> int:
        """The host's time now, as Unix nanoseconds. Never less than in any call before."""
        with self._lock:
            return self._now()

    def advance(self, nanoseconds: int) -> int:
        """Jumps ahead, at any rate. Returns the new time."""
        if nanoseconds < 0:
            raise ValueError("time cannot go back")
        return self._restart(nanoseconds, self._state.rate)

    def run(self, rate: float) -> int:
        """From now on, `rate` simulated seconds pass in a real second; 0 stops the clock."""
        if not 0 <= rate <= 1e6:
            raise ValueError("the rate of a clock is between 0 and 1,000,000")
        return self._restart(0, rate)

    def resume(self, state: ClockState) -> None:
        """Continues as a clock with that state would have, also over the time without a process."""
        with self._lock:
            self._state = state
            self._latest = state.simulated_ns

    def real_seconds_until(self, due_ns: int) -> float | None:
        """How long to wait in real time until then. None: the clock is stopped, and no wait reaches it."""
        distance = due_ns - self.now_ns()
        if distance <= 0:
            return 0.0
        rate = self._state.rate
        return distance / SECOND_NS / rate if rate else None

    def _restart(self, jump_ns: int, rate: float) -> int:
        """Begins a new line at the present time, plus a jump."""
        with self._lock:
            now = self._now() + jump_ns
            self._latest = now
            self._state = ClockState(simulated_ns=now, real_ns=self._real(), rate=rate)
            return now

    def _now(self) -> int:
        """With the lock held. Never less than before."""
        state = self._state
        passed = self._real() - state.real_ns
        now = state.simulated_ns + (passed if state.rate == 1 else int(passed * state.rate))
        self._latest = max(self._latest, now)
        return self._latest
