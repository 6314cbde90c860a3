"""The host's time: real time at some rate, or standing still until it is advanced. Never goes back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import msgspec

SECOND_NS = 1_000_000_000


class ClockState(msgspec.Struct, frozen=True, kw_only=True):
    """`simulated_ns` was the time when real time was `real_ns`. A rate of 0 stands still."""

    simulated_ns: int
    real_ns: int
    rate: float = 1.0


def real_time() -> Callable[[], int]:
    """Wall time that a step of the system's clock cannot turn back while the process lives."""
    offset = time.time_ns() - time.monotonic_ns()
    return lambda: time.monotonic_ns() + offset


class SimulatedClock:
    """Thread-safe. `real` is where real time comes from; the tests bring their own."""

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
        with self._lock:
            return self._now()

    def advance(self, nanoseconds: int) -> int:
        """Jumps ahead, whatever the rate."""
        if nanoseconds < 0:
            raise ValueError("time does not go back")
        return self._restart(nanoseconds, self._state.rate)

    def run(self, rate: float) -> int:
        """Goes on from now at `rate` simulated seconds a real one; 0 stands still."""
        if not 0 <= rate <= 1e6:
            raise ValueError("a clock runs between 0 and 1,000,000 times as fast as real time")
        return self._restart(0, rate)

    def resume(self, state: ClockState) -> None:
        """Goes on as a clock of that state would have."""
        with self._lock:
            self._state = state
            self._latest = state.simulated_ns

    def real_seconds_until(self, due_ns: int) -> float | None:
        """How long a real wait until then is; None while the clock stands still and it is not due."""
        distance = due_ns - self.now_ns()
        if distance <= 0:
            return 0.0
        rate = self._state.rate
        return distance / SECOND_NS / rate if rate else None

    def _restart(self, jump_ns: int, rate: float) -> int:
        with self._lock:
            now = self._now() + jump_ns
            self._latest = now
            self._state = ClockState(simulated_ns=now, real_ns=self._real(), rate=rate)
            return now

    def _now(self) -> int:
        state = self._state
        passed = self._real() - state.real_ns
        now = state.simulated_ns + (passed if state.rate == 1 else int(passed * state.rate))
        self._latest = max(self._latest, now)
        return self._latest
