"""How long to wait before the next attempt: longer after each failure, up to a longest delay. Pure."""

from __future__ import annotations

import msgspec

MOST_STEPS = 64  # beyond these no delay grows, and no power overflows


class ExponentialDelay(msgspec.Struct, frozen=True):
    """`delay` grows by `factor` with each attempt. It has no randomness, so tests can name the moment of each."""

    first_seconds: float
    longest_seconds: float
    factor: float = 2.0

    def delay(self, attempts: int) -> float:
        """After so many attempts before this one: 0 gives the first delay."""
        return min(self.first_seconds * self.factor ** min(attempts, MOST_STEPS), self.longest_seconds)
