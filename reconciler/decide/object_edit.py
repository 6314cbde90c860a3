"""Editing one object's record, rule by rule, with the reasons of what changed. Immutable: each step gives another edit.

Rules never build a record by hand: what an assignment, its end or a condition means for the other fields is written here once.
The ids are derived from commits, not drawn: two ticks on the same snapshot, on different machines, decide the same ids.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID, uuid5

import msgspec
from msgspec.structs import replace

from reconciler.decide.need import ChangeReason, Need
from reconciler.plan.types import Action
from reconciler.world.objects.object_state import ObjectState, Origin
from reconciler.world.pools.grants import Grant
from reconciler.world.record import (
    ASSIGNED,
    PLACED,
    Record,
    empty_status,
    own,
    stamp,
    with_condition,
    without_condition,
)
from reconciler.world.view import View
from schemas.kinds import Key, Kind
from schemas.model import Assignment, Condition, Evict, MachineStatus, PreviousAssignment, Rejection, decode


class ObjectEdit(msgspec.Struct, frozen=True):
    """`record` is what the rules made so far of `known.record`; `change_reasons` say why, in order; `due` is when to look again."""

    known: ObjectState
    record: Record
    now: datetime
    change_reasons: tuple[ChangeReason, ...] = ()
    due: datetime | None = None

    @property
    def before(self) -> Record | None:
        """What `live` has; None for an object that is not there yet."""
        return self.known.record if self.known.live is not None else None

    @property
    def assignment(self) -> Assignment | None:
        return self.record.assignment

    @property
    def evict(self) -> Evict | None:
        """The order to leave its pool, if there is one."""
        status = self.record.status
        return status.evict if isinstance(status, PLACED) else None

    @property
    def rejections(self) -> tuple[Rejection, ...]:
        status = self.record.status
        return status.rejections if isinstance(status, PLACED) else ()

    def log_change(self, action: Action, reason: str = "") -> ObjectEdit:
        """With one more reason. Only for a change: a reason without a change of the record is not written."""
        return replace(self, change_reasons=(*self.change_reasons, ChangeReason(action, reason)))

    def recheck_by(self, due: datetime | None) -> ObjectEdit:
        """The answer may be another one at `due`. The earliest of several moments counts, and None changes nothing."""
        if due is None or (self.due is not None and self.due <= due):
            return self
        return replace(self, due=due)

    def with_record(self, **changes: Any) -> ObjectEdit:
        return replace(self, record=replace(self.record, **changes))

    def with_status(self, **changes: Any) -> ObjectEdit:
        """The same edit for an object without a status: kinds without one ignore what rules say about it."""
        status = self.record.status
        return self if status is None else self.with_record(status=replace(status, **changes))

    def set_condition(
        self,
        type: str,
        status: Literal["True", "False", "Unknown"],
        reason: str,
        message: str = "",
        update_time: str = "",
    ) -> ObjectEdit:
        """With that condition. Its transition time moves when its status does. `update_time` is for the few that end by their age: when
        they were last written with another text."""
        kept = self.record.status
        if kept is None:
            return self
        # One rule may take back what the next says again: the time is that of where the edit began.
        first = self.known.record.condition(type)
        since = first.last_transition_time if first is not None and first.status == status else ""
        new = Condition(
            type=type,
            status=status,
            reason=reason,
            message=message,
            last_update_time=update_time,
            last_transition_time=since,
        )
        conditions = with_condition(kept.conditions, new, self.now)
        return self.with_status(conditions=tuple(sorted(conditions, key=by_type)))

    def clear_condition(self, *types: str) -> ObjectEdit:
        edit = self
        for type in types:
            kept = edit.record.status
            if kept is not None and edit.condition(type) is not None:
                edit = edit.with_status(conditions=without_condition(kept.conditions, type))
        return edit

    def condition(self, type: str) -> Condition | None:
        return self.record.condition(type)

    def assign(self, pool: str, id: str, grant: Grant, *, is_accepted: bool = False) -> ObjectEdit:
        """Bound to a pool, under the grant that the pool has when this tick is written. The host acts on it only if host and epoch are its own.
        `is_accepted`: it was offered to that host, which accepted it."""
        assignment = Assignment(pool=pool, id=id, host=grant.host, epoch=grant.epoch, accepted=is_accepted)
        return self.with_record(pool=pool).with_status(assignment=assignment)

    def need_fields(self) -> dict[str, Any]:
        """What every need has of it."""
        return {
            "key": self.known.key,
            "before": self.before,
            "record": self.record,
            "change_reasons": self.change_reasons,
            "due": self.due,
        }

    def unassign(self) -> ObjectEdit:
        """Bound to no pool. What was reported from there is removed; what the reconciler itself knows stays.

        Rejections stay, or the next tick would ask the same pool again. The order to leave ends with the assignment that it names.
        """
        status, fresh = self.record.status, empty_status(self.known.key.kind)
        if not isinstance(status, ASSIGNED) or fresh is None:
            return self
        kept: dict[str, Any] = {"conditions": own(status.conditions)}
        if isinstance(status, PLACED):
            kept["rejections"] = status.rejections
        if isinstance(status, MachineStatus):
            kept["restart"] = status.restart
            kept["previous_assignment"] = previous_assignment(status)
        blank = replace(fresh, state="Pending", **kept)
        return self.with_record(pool="", status=blank)


def previous_assignment(status: MachineStatus) -> PreviousAssignment | None:
    """The last assignment that its pool confirmed, as of a machine that loses its assignment: one that no pool confirmed replaces none."""
    assignment = status.assignment
    if assignment is None or not status.machine_id:
        return status.previous_assignment
    return PreviousAssignment(pool=assignment.pool, id=assignment.id)


def by_type(condition: Condition) -> str:
    """The order of conditions on live, whoever wrote them."""
    return condition.type


# A document whose values are sealed together must not be changed, so a Secret has no uid.
NAMELESS = frozenset({Kind.SECRET})


def make_uid(fleet: str, key: Key, commit: str) -> str:
    """The uid of an object that the source commit is the first to declare; declared again after its end it gets another."""
    return "" if key.kind in NAMELESS else str(uuid5(UUID(fleet), f"{key}@{commit}"))


def identify(view: View, key: Key, now: datetime) -> tuple[str, str]:
    """Uid and creation time of an object that `live` does not have yet.

    While `live` is lost the time stays empty: the object may be older, and an unknown time is not now."""
    uid = make_uid(view.rules.settings.fleet.id, key, view.source_commit or "")
    return uid, stamp(now) if uid and not view.is_live_lost else ""


def assignment_id(uid: str, live: str | None) -> str:
    """Of the assignment decided on this commit of `live`: each later decision is on a later commit."""
    return str(uuid5(UUID(uid), live or ""))


def new_object_state(need: Need) -> ObjectState:
    """The state of an object that this tick generates: the World does not have it before its document is on `live`."""
    assert need.body is not None, "what the world does not know is made by its owner"
    return ObjectState(
        key=need.key,
        object=decode(need.key.kind, need.body),
        origin=Origin.GENERATED,
        record=need.record,
    )
