"""The Plan and what it is made of. Frozen; nothing here decides or prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from reconciler.plan.action import Action
from reconciler.plan.capacity import Room
from reconciler.plan.declaration import Declaration
from reconciler.schedule import Refusal
from reconciler.world.record import Record
from schemas.edit.fields import Value
from schemas.kinds import Key, Kind
from schemas.problem import Problem


@dataclass(frozen=True, slots=True)
class Base:
    """The commits that a plan was made for. Without the target there is no `live` yet."""

    source: str | None
    target: str | None


@dataclass(frozen=True, slots=True)
class Change:
    """What one object's record becomes. A plan has one change a key at most.

    `before` is what `live` says, None when the object is not there yet; `after` None means that its document goes.
    `body` is the whole document of an object that exists on `live` alone (generated, or an announced pool), without what
    the record says.
    """

    key: Key
    action: Action
    before: Record | None
    after: Record | None
    reason: str = ""
    body: Mapping[str, Value] | None = None

    @property
    def pool(self) -> str:
        """Where the object is afterwards, or was when it is nowhere then."""
        for record in (self.after, self.before):
            if record is not None and record.pool:
                return record.pool
        return ""


@dataclass(frozen=True, slots=True)
class Held:
    """What waits for consent. `trailer` is the line that a source commit says it with; without one it waits for something else,
    which `reason` names. `kind` is None when it concerns the source as a whole."""

    reason: str
    kind: Kind | None = None
    keys: tuple[Key, ...] = ()
    trailer: str = ""


@dataclass(frozen=True, slots=True)
class Unplaced:
    """An object without a place: one row a pool, with everything that speaks against it."""

    key: Key
    refusals: tuple[Refusal, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """`changes` are sorted by key. `due` says which object is to be looked at again when, although nothing changes in the repo."""

    base: Base
    changes: tuple[Change, ...] = ()
    held: tuple[Held, ...] = ()
    unplaced: tuple[Unplaced, ...] = ()
    problems: tuple[Problem, ...] = ()
    due: tuple[tuple[Key, datetime], ...] = ()
    declared: tuple[Declaration, ...] = ()
    rooms: tuple[Room, ...] = ()

    @property
    def next_due(self) -> datetime | None:
        return min((when for _, when in self.due), default=None)

    @property
    def is_empty(self) -> bool:
        """Whether no record changes. What people wrote may still have to be taken over."""
        return not self.changes
