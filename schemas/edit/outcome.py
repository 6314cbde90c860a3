"""What an edit ends in: new bytes, or a refusal that says why and leaves the text alone."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from schemas.problem import Problem


class Means(IntEnum):
    """How the new bytes came about, cheapest first. Benchmarks and tests count them; nothing decides by them."""

    UNTOUCHED = 0
    LINES = 1
    MARKS = 2
    ROUND_TRIP = 3


@dataclass(frozen=True, slots=True)
class Edited:
    data: bytes
    means: Means = Means.UNTOUCHED


@dataclass(frozen=True, slots=True)
class EditRefused:
    problem: Problem


Outcome = Edited | EditRefused
