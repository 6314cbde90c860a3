"""One object's turn: its record as it is worked out, rule by rule, and what was done. Immutable; each step gives another."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from reconciler.decide.need import Deed
from reconciler.plan.types import Action
from reconciler.world.grants import Grant
from reconciler.world.known import Known
from reconciler.world.record import (
    PLACED,
    Record,
    condition,
    empty_status,
    own,
    with_condition,
    without_condition,
)
from schemas.model import Assignment, Condition, Evict, MachineStatus, Rejection


class Turn(msgspec.Struct, frozen=True):
    """`known.record` is where it began."""

    known: Known
    record: Record
    now: datetime
    deeds: tuple[Deed, ...] = ()
    due: datetime | None = None

    @property
    def before(self) -> Record | None:
        return self.known.record if self.known.live is not None else None

    @property
    def assignment(self) -> Assignment | None:
        return self.record.assignment

    @property
    def evict(self) -> Evict | None:
        status = self.record.status
        return status.evict if isinstance(status, PLACED) else None

    @property
    def rejections(self) -> tuple[Rejection, ...]:
        status = self.record.status
        return status.rejections if isinstance(status, PLACED) else ()

    def does(self, action: Action, reason: str = "") -> Turn:
        return replace(self, deeds=(*self.deeds, Deed(action, reason)))

    def by(self, due: datetime | None) -> Turn:
        """The answer may be another one at `due`."""
        if due is None or (self.due is not None and self.due <= due):
            return self
        return replace(self, due=due)

    def with_record(self, **changes: Any) -> Turn:
        return replace(self, record=replace(self.record, **changes))

    def with_status(self, **changes: Any) -> Turn:
        status = self.record.status
        return self if status is None else self.with_record(status=replace(status, **changes))

    def says(
        self, type: str, status: Literal["True", "False", "Unknown"], reason: str, message: str = ""
    ) -> Turn:
        """With that condition. Its transition time moves when its status does."""
        kept = self.record.status
        if kept is None:
            return self
        # One rule may take back what the next says again: the time is that of where the turn began.
        began = self.known.record.status
        first = condition(began.conditions, type) if began is not None else None
        since = first.last_transition_time if first is not None and first.status == status else ""
        new = Condition(type=type, status=status, reason=reason, message=message, last_transition_time=since)
        conditions = with_condition(kept.conditions, new, self.now)
        return self.with_status(conditions=tuple(sorted(conditions, key=by_type)))

    def unsays(self, *types: str) -> Turn:
        turn = self
        for type in types:
            kept = turn.record.status
            if kept is not None and condition(kept.conditions, type) is not None:
                turn = turn.with_status(conditions=without_condition(kept.conditions, type))
        return turn

    def said(self, type: str) -> Condition | None:
        kept = self.record.status
        return None if kept is None else condition(kept.conditions, type)

    def assigned(self, pool: str, id: str, grant: Grant) -> Turn:
        """Under the grant that the pool has when this tick is written."""
        assignment = Assignment(pool=pool, id=id, host=grant.host, epoch=grant.epoch)
        return self.with_record(pool=pool).with_status(assignment=assignment)

    def course(self) -> dict[str, Any]:
        """What every need has of it."""
        return {
            "key": self.known.key,
            "before": self.before,
            "record": self.record,
            "deeds": self.deeds,
            "due": self.due,
        }

    def released(self) -> Turn:
        """Bound to no pool. What was reported from there is no more; what the reconciler itself knows stays."""
        status, fresh = self.record.status, empty_status(self.known.key.kind)
        if not isinstance(status, PLACED) or fresh is None:
            return self
        kept: dict[str, Any] = {"conditions": own(status.conditions), "rejections": status.rejections}
        if isinstance(status, MachineStatus):
            kept["restart"] = status.restart
        blank = replace(fresh, state="Pending", **kept)
        return self.with_record(pool="", status=blank)


def by_type(condition: Condition) -> str:
    """The order of conditions on live, whoever wrote them."""
    return condition.type
