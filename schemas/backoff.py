"""How long to wait before the next try: twice as long each time, up to a bound, and spread by chance. Pure but for the chance.

The spread keeps those that failed together from coming back together. Who waits, and for what, is the caller's business.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

_MOST_DOUBLINGS = 32  # a remote that is gone for a week must not overflow the power of two


def exponential(first: float, most: float, doublings: int) -> float:
    """`first`, twice that, and so on; never more than `most`."""
    return min(most, first * float(1 << max(0, min(doublings, _MOST_DOUBLINGS))))


@dataclass
class Backoff:
    """Each `next()` doubles the longest wait, up to `most`. The wait is drawn between `least_share` of that and all of it:
    0 spreads rivals for one ref best, a half keeps polls apart without hurrying."""

    first: float
    most: float
    least_share: float = 0.5
    chance: random.Random = field(default_factory=random.Random, repr=False)
    failures: int = 0

    def next(self) -> float:
        """The next wait in seconds; counts one more failure."""
        longest = exponential(self.first, self.most, self.failures)
        self.failures += 1
        return self.chance.uniform(longest * self.least_share, longest)

    def reset(self) -> None:
        """Start over after a success."""
        self.failures = 0


def jitter(seconds: float, chance: random.Random) -> float:
    """An interval give or take a fifth, so that a fleet that was started together does not stay together."""
    return seconds * chance.uniform(0.8, 1.2)
