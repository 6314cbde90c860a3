"""The result of an edit: new bytes, or a refusal with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from schemas.problem import Problem


class Means(IntEnum):
    """How the edit was made, cheapest first. Benchmarks and tests count these; nothing decides by them."""

    UNTOUCHED = 0
    LINES = 1
    MARKS = 2
    ROUND_TRIP = 3


@dataclass(frozen=True, slots=True)
class Edited:
    """The new bytes of the whole file; the same object if nothing had to change."""

    data: bytes
    means: Means = Means.UNTOUCHED


@dataclass(frozen=True, slots=True)
class EditRefused:
    """The reason as a Problem. The file stays unchanged."""

    problem: Problem


Outcome = Edited | EditRefused
