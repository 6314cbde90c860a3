"""How long to wait before trying again, so that many who fail together do not come back together.

Pure but for the chance it is given. Who waits, and for what, is the caller's.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field


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
        # The exponent is bounded, or a remote that is gone for a week would overflow it.
        longest = min(self.most, self.first * 2 ** min(self.failures, 32))
        self.failures += 1
        return self.chance.uniform(longest * self.least_share, longest)

    def reset(self) -> None:
        self.failures = 0


def jittered(seconds: float, chance: random.Random) -> float:
    """An interval give or take a fifth, so that a fleet that was started together does not stay together."""
    return seconds * chance.uniform(0.8, 1.2)
