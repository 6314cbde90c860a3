"""The Plan of a tick and what it is made of: what is to change, why, and what cannot be done now. Frozen values only.

Whoever prints, writes or counts a plan imports these; nothing here decides or formats.

A change says what a record becomes, and not how a file is edited: the same plan is printed before a merge, written after it, and compared in
tests. `before` and `after` are whole records, so a writer never needs to ask the World what else it must keep.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from reconciler.plan.source_changes import SourceChange
from reconciler.schedule.decision import Refusal
from reconciler.world.record import Record
from schemas.edit.fields import Value
from schemas.effects.effect import Loss
from schemas.kinds import Key, Kind
from schemas.model.capacity import Vector
from schemas.problem import Problem


class Action(StrEnum):
    """What happens to one object, in order of weight: of several things at once the first one names the change.

    A closed set: commit subjects, plans and metrics know each of them by name.
    """

    SCHEDULE = "schedule"  # onto a pool
    ADOPT = "adopt"  # assigned again to the host that reports it, after `live` was lost
    EVICT = "evict"  # its pool is ordered to remove it
    WITHDRAW = "withdraw"  # an assignment ends: the pool rejected it, or removed the object
    STOP = "stop"  # a machine left the source: it is stopped, and kept for an undo
    RETURN = "return"  # it is declared again in time: it starts again, with its disks
    MARK_DELETED = "mark-deleted"  # its deletion is ordered: it left the source
    RETAIN = "retain"  # a volume that left the source and whose data is kept
    REMOVE = "remove"  # its document goes: its pool reports that the object is gone
    GENERATE = "generate"  # an object that an entry of a machine stands for
    ANNOUNCE = "announce"  # a pool that a poollet reports and the source does not declare
    CLAIM = "claim"  # a volume is granted to a machine, or released
    AWAIT_APPROVAL = "await-approval"  # its deletion is held until a person agrees or removes the reason
    BLOCKED = "blocked"  # it cannot go on, and its condition says why
    UNSCHEDULABLE = "unschedulable"  # every pool refused it
    STATUS = "status"  # what its pool reports
    SYNC = "sync"  # only what people wrote

    @property
    def noun(self) -> str:
        """As in `12 scheduled, 1 unschedulable`."""
        return _COUNTED[self]


_COUNTED = {
    Action.SCHEDULE: "scheduled",
    Action.ADOPT: "adopted",
    Action.EVICT: "evicted",
    Action.WITHDRAW: "withdrawn",
    Action.STOP: "stopped for deletion",
    Action.RETURN: "brought back",
    Action.MARK_DELETED: "deletion ordered",
    Action.RETAIN: "retained",
    Action.REMOVE: "removed",
    Action.GENERATE: "generated",
    Action.ANNOUNCE: "announced",
    Action.CLAIM: "claimed",
    Action.AWAIT_APPROVAL: "awaiting approval",
    Action.BLOCKED: "blocked",
    Action.UNSCHEDULABLE: "unschedulable",
    Action.STATUS: "updated",
    Action.SYNC: "synced",
}


@dataclass(frozen=True, slots=True)
class Change:
    """What one object's record becomes. A plan has one change a key at most.

    `before` is what `live` says, None when the object is not there yet; `after` None means that its document goes.
    `body` is the whole document of an object that exists on `live` alone (generated, or an announced pool), without what
    the record says. `losses` is the data that the host destroys when it carries this out.
    """

    key: Key
    action: Action
    before: Record | None
    after: Record | None
    reason: str = ""
    body: Mapping[str, Value] | None = None
    losses: tuple[Loss, ...] = ()

    @property
    def pool(self) -> str:
        """Where the object is afterwards, or was when it is nowhere then."""
        for record in (self.after, self.before):
            if record is not None and record.pool:
                return record.pool
        return ""


@dataclass(frozen=True, slots=True)
class PendingApproval:
    """What is not done until a person agrees. `trailer` is the line of a source commit that approves it; without one something else
    must change first, which `reason` names. `kind` is None when it concerns the source as a whole. `cause` is the reason in a word, as the condition
    of the objects has it; empty for what has no objects."""

    reason: str
    kind: Kind | None = None
    keys: tuple[Key, ...] = ()
    trailer: str = ""
    cause: str = ""

    @property
    def digest(self) -> str:
        """What `gitvirt approve` takes; empty where no approval ends it."""
        return self.trailer.rpartition(" ")[2]


@dataclass(frozen=True, slots=True)
class UnschedulableObject:
    """One refusal for each pool, with every reason of it. It is in the plan of the tick that tried; objects without a pool that were not
    tried again keep the condition of their last try."""

    key: Key
    refusals: tuple[Refusal, ...]


@dataclass(frozen=True, slots=True)
class PoolUsage:
    """How full a pool is before a plan and after it. Amounts are in the base units of schemas.model.capacity: millicores and bytes."""

    pool: Key
    allocatable: Vector
    before: Vector
    after: Vector


@dataclass(frozen=True, slots=True)
class Plan:
    """`source` and `target` are the commits that it was made for; without the target there is no `live` yet. `changes` are sorted by key.
    `pool_requests` are answers to people about `Pool-Destroyed` and `Pool-Host`: what one waits for, or why it has no effect. They are
    not approvals: no further commit is asked for. `due` says which object is to be looked at again when, although nothing changes in the
    repo. `postponed` is what would be placed or evicted if this process had not just started, or a host had not just lost its link: `awaited` says
    which hosts it waits for."""

    source: str | None
    target: str | None
    changes: tuple[Change, ...] = ()
    pending_approvals: tuple[PendingApproval, ...] = ()
    pool_requests: tuple[str, ...] = ()
    unschedulable: tuple[UnschedulableObject, ...] = ()
    problems: tuple[Problem, ...] = ()
    due: tuple[tuple[Key, datetime], ...] = ()
    source_changes: tuple[SourceChange, ...] = ()
    awaited: str = ""
    postponed: tuple[Key, ...] = ()
    usage: tuple[PoolUsage, ...] = ()

    @property
    def awaiting(self) -> tuple[PendingApproval, ...]:
        """What a person can approve. `approve`, `status`, the verdict of a plan, /healthz, metrics and log show these, and no others as such."""
        return tuple(each for each in self.pending_approvals if each.trailer)

    @property
    def holds(self) -> tuple[PendingApproval, ...]:
        """What waits for something that no approval replaces; its reason says for what."""
        return tuple(each for each in self.pending_approvals if not each.trailer)

    @property
    def next_due(self) -> datetime | None:
        return min((when for _, when in self.due), default=None)
