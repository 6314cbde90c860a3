"""How full a pool is before a plan and after it."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.kinds import Key
from schemas.model.capacity import Vector


@dataclass(frozen=True, slots=True)
class Room:
    """What a pool can give, and what is given of it. Amounts are in the base units of schemas.model.capacity."""

    pool: Key
    allocatable: Vector
    before: Vector
    after: Vector
