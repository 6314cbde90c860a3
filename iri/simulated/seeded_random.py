"""Random numbers that depend on the seed and on their purpose, never on the order of the questions.

Each number is a keyed hash of what it is for, such as ("boot", machine id, 3). So a run with the same seed can be
repeated, and two threads that create machines at once do not change each other's boot times.
"""

from __future__ import annotations

import hashlib
import math
import uuid

import msgspec

from iri.simulated.clock import SECOND_NS


class DurationRange(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """How long something takes: a triangular distribution from `least` to `most` seconds with its peak at `usual`.

    In a profile it is a list of the three.
    """

    least: float
    usual: float
    most: float

    def __post_init__(self) -> None:
        if not 0 <= self.least <= self.usual <= self.most:
            raise ValueError("a duration needs 0 <= least <= usual <= most")

    def sample_ns(self, share: float) -> int:
        """Nanoseconds at that share of the distribution, from 0 to 1: the inverse of its cumulative function."""
        width = self.most - self.least
        if width == 0:
            return round(self.least * SECOND_NS)
        peak = (self.usual - self.least) / width
        if share < peak:
            seconds = self.least + width * math.sqrt(share * peak)
        else:
            seconds = self.most - width * math.sqrt((1 - share) * (1 - peak))
        return round(seconds * SECOND_NS)


class SeededRandom:
    """Has no state, so any number of threads may use it."""

    def __init__(self, seed: int) -> None:
        self._key = seed.to_bytes(16, "big", signed=True)

    def share(self, *what: str | int) -> float:
        """From 0 to 1, evenly distributed, the same for the same purpose."""
        return int.from_bytes(self._digest(what, 7), "big") / (1 << 56)

    def hex(self, size_bytes: int, *what: str | int) -> str:
        return self._digest(what, size_bytes).hex()

    def uuid(self, *what: str | int) -> str:
        return str(uuid.UUID(bytes=self._digest(what, 16), version=4))

    def _digest(self, what: tuple[str | int, ...], size_bytes: int) -> bytes:
        """Of the seed and the purpose. No state, so the order of questions does not matter."""
        purpose = "\0".join(map(str, what)).encode()
        return hashlib.blake2b(purpose, digest_size=size_bytes, key=self._key).digest()
