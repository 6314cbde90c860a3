"""What a plan says to people, in the order in which they must read it. Values only.

A Plan has one change for each record; an Outline has one entry for each thing that happens to an object or to a group of equal
ones: what people changed, what follows from it, and what that destroys, put together. `entries` makes it, the formats print it, and none
of them adds a fact of its own.

    section          what is in it
    DELETE           objects whose file was removed, with the data that goes; also those whose deletion is held
    RECREATE         fields that only an object that is deleted and created again has; renames
    MOVE             what stops, or stops here and starts there: evictions, drains, pins, power
    CHANGE           fields of an object that stays where it is
    RETURN           machines that are kept for an undo and declared again: the same ones, with their disks
    ADD              what is new, or is placed at last
    UNSCHEDULABLE    what no pool takes, and what is blocked
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from reconciler.plan.types import Change, Plan, PoolUsage
from schemas.effects.effect import Loss
from schemas.kinds import Key


class PlanSection(StrEnum):
    """In the order of weight."""

    DELETE = "delete"
    RECREATE = "recreate"
    MOVE = "stop or move"
    CHANGE = "change"
    RETURN = "bring back"
    ADD = "add"
    UNSCHEDULABLE = "unschedulable"


class Standing(StrEnum):
    """Whether the entry comes true with this plan."""

    PLANNED = "planned"
    AWAITS_APPROVAL = "awaits approval"  # a commit can approve it
    HELD = "held"  # a reason that no approval ends: in use, paused, unverified, data that would be lost
    KNOWN = "known"  # it was so before: an object that was unschedulable already, a machine that waits for the end of another one


@dataclass(frozen=True, slots=True)
class FieldLine:
    """One changed field with both values, and when that applies. `pointer` finds its line in the file. `is_grave`: something is
    destroyed or stopped, or has no effect without."""

    field: str
    old: str
    new: str
    when: str
    pointer: str = ""
    is_grave: bool = False


@dataclass(frozen=True, slots=True)
class FilePlace:
    """Where a document is: `index` counts the documents of the file. `is_old`: as it was before the change."""

    path: str
    index: int
    is_old: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """One object. `pool` is where it is, `target` where it goes. `facts` are sentences, `losses` what is destroyed."""

    section: PlanSection
    key: Key
    standing: Standing = Standing.PLANNED
    pool: str = ""
    target: str = ""
    fields: tuple[FieldLine, ...] = ()
    facts: tuple[str, ...] = ()
    losses: tuple[Loss, ...] = ()
    until: str = ""  # of a machine that is kept: when the undo time is over
    undo: str = ""  # how long the losses of a deletion are kept, of a machine that is stopped first
    is_new: bool = False
    is_now: bool = False  # it is recreated with the commit, and not when people order it
    is_move: bool = False
    is_blocked: bool = False
    is_unfit: bool = False  # its pool has too little room for its new size
    place: FilePlace | None = None


def is_grave(entry: Entry) -> bool:
    """Whether it must be read: with this plan data is destroyed, or a machine stops that can start nowhere."""
    is_lost = entry.is_move and not entry.target
    return entry.standing is Standing.PLANNED and (bool(entry.losses) or is_lost)


@dataclass(frozen=True, slots=True)
class Group:
    """Entries that say the same about different objects, in the natural order of names. One alone is a group as well."""

    entries: tuple[Entry, ...]

    @property
    def first(self) -> Entry:
        return self.entries[0]

    @property
    def keys(self) -> tuple[Key, ...]:
        return tuple(entry.key for entry in self.entries)


@dataclass(frozen=True, slots=True)
class Survival:
    """Whether the machines of each single host would fit on the others after the plan. `stranded` has, by pool, those that would not.
    `disks` counts local disks that would be lost with the worst host. `is_computed` is False for fleets that are too large to try."""

    stranded: tuple[tuple[str, tuple[Key, ...]], ...] = ()
    disks: int = 0
    is_computed: bool = True

    @property
    def is_survived(self) -> bool:
        return not self.stranded


@dataclass(frozen=True, slots=True)
class Outline:
    """All that the formats of a plan print. `plan` has the same decisions for programs; `background` is what follows without
    being anything that people decide."""

    plan: Plan
    groups: tuple[Group, ...] = ()
    background: tuple[Change, ...] = ()
    usage: tuple[PoolUsage, ...] = ()
    survival: Survival | None = None
    notes: tuple[str, ...] = ()

    def entries(self, section: PlanSection | None = None) -> tuple[Entry, ...]:
        """Of one section, or all."""
        return tuple(
            entry for group in self.groups for entry in group.entries if section in (None, entry.section)
        )

    def groups_of(self, section: PlanSection) -> tuple[Group, ...]:
        return tuple(group for group in self.groups if group.first.section is section)
