"""How full a pool is before a plan and after it."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.capacity import Vector
from schemas.kinds import Key


@dataclass(frozen=True, slots=True)
class Room:
    """What a pool can give, and what is given of it. Amounts are in the base units of schemas.capacity."""

    pool: Key
    allocatable: Vector
    before: Vector
    after: Vector
