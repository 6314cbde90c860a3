"""What one object needs in this tick, as a closed union. Values only.

Each need carries the record that the object has afterwards as far as no placement changes it, and the reasons that led there.
The scheduler gets a request for each `Place`; `compose` makes changes of all of them. Nothing but a `Remove` with the phase DROP removes a document.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from reconciler.plan.types import Action
from reconciler.world.record import Record
from schemas.edit.fields import Value
from schemas.kinds import Key


@dataclass(frozen=True, slots=True)
class ChangeReason:
    """One thing that happens to an object, and why."""

    action: Action
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedBase:
    """What all needs have. `before` is None for what is not on `live` yet; `due` is when time alone changes the answer.

    `body` is the document of an object that exists on `live` alone, when that has to be written.
    """

    key: Key
    before: Record | None
    record: Record
    change_reasons: tuple[ChangeReason, ...] = ()
    body: Mapping[str, Value] | None = None
    due: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place(NeedBase):
    """Find a pool. `near_pool` is the pool of the machine that a volume alone is for, when that is placed already."""

    near_pool: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep(NeedBase):
    """No decision: the record has what is reported, and conditions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopt(NeedBase):
    """A poollet reports it and `live` lost it: it is assigned to that pool again."""


class DeletionPhase(StrEnum):
    """How far a deletion is; `deletion` has the table. Only DROP removes the document."""

    HOLD = "hold"  # a person has to confirm, or the source leaves doubt
    WAIT = "wait"  # for those who use it, or for its pool to state that it is gone
    UNDO = "undo"  # a machine is stopped and kept for a while, or something waits with it
    ORDER = "order"  # the deletion timestamp
    RETAIN = "retain"  # a volume whose data stays
    DROP = "drop"  # the document goes


@dataclass(frozen=True, slots=True, kw_only=True)
class Remove(NeedBase):
    """It left the source, or its deletion is ordered. `reason` is for people."""

    phase: DeletionPhase
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolUnreachable(NeedBase):
    """The heartbeat of its pool expired. It may still run, so nothing is done to it."""

    pool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain(NeedBase):
    """It has to leave its pool: it is ordered to, it is due and waits for its turn, or its local data keeps it. An assignment that its pool
    has not confirmed (`is_unconfirmed`) waits for no turn."""

    reason: str
    is_ordered: bool
    is_due: bool = False
    is_unconfirmed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Return(NeedBase):
    """A machine that was kept for an undo is declared again: it starts where it is, if there is room (`undo.admit_returns`)."""

    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Postpone(NeedBase):
    """It would be placed or evicted, and the process has not yet seen a report of every host since its start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked(NeedBase):
    """It cannot go on as it is declared."""

    reason: str


Need: TypeAlias = Place | Keep | Adopt | Remove | PoolUnreachable | Drain | Return | Postpone | Blocked
