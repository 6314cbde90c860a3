"""What a pool says of its assignment, taken into the record: what is reported, a rejection, the end, an adoption. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from reconciler.decide.object_edit import ObjectEdit
from reconciler.decide.pool_requests import PoolRequests, follow_grant, status_of
from reconciler.decide.view import View
from reconciler.plan.types import Action
from reconciler.world.record import PLACED, stamp
from reconciler.world.record.backoff import ends, standing
from reconciler.world.record.condition import EVICTION, SCHEDULED
from reconciler.world.reports.authority import POOL_OF
from reconciler.world.reports.reported import ObjectReport
from reconciler.world.reports.status_update import status_from_report
from schemas.kinds import Key
from schemas.model import Assignment, Rejection, VolumeStatus
from schemas.report.objects import ReportedReason


@dataclass(frozen=True, slots=True)
class PoolFact:
    """About the pool that an object is assigned to. `said` is its word on that assignment; `ended` are the pools of which a
    host loses the grant in this tick."""

    said: ObjectReport | None = None
    is_lost: bool = False
    ended: Collection[Key] = frozenset()


def apply_report(edit: ObjectEdit, fact: PoolFact) -> ObjectEdit:
    """With what the pool's word means for the assignment. What a lost pool said last stays as it is on live."""
    assignment, said = edit.assignment, fact.said
    if assignment is None:
        return edit
    if said is None or fact.is_lost:
        return edit
    if said.phase in ("rejected", "gone") and has_data(edit):
        told = (
            f"pool {assignment.pool} reports the volume as {said.phase} without a deletion order; "
            "its data may still exist"
        )
        return edit.set_condition("Ready", "Unknown", "Contradictory", told)
    match said.phase:
        case "rejected" if not isinstance(edit.record.status, PLACED):
            return edit  # a snapshot is where its volume is, and nowhere else
        case "rejected":
            rejections = record_rejection(edit.rejections, assignment, said.reasons, edit.now)
            why = next(each.message for each in rejections if each.pool == assignment.pool)
            reason = f"{assignment.pool} rejected it: {why}"
            return edit.with_status(rejections=rejections).unassign().log_change(Action.WITHDRAW, reason)
        case "gone":
            reason = f"gone from {assignment.pool}" + (f": {edit.evict.reason}" if edit.evict else "")
            return edit.unassign().clear_condition(EVICTION).log_change(Action.WITHDRAW, reason)
        case "present" | "unknown":
            return update_status(edit, said)


def under_grant(edit: ObjectEdit, requests: PoolRequests, view: View) -> ObjectEdit:
    """With its assignment as the grant of its pool has it after this tick: moved along, or released with a destroyed host.

    This holds whatever else is to happen to the object, also while it is paused: its host is gone, or another one.
    """
    assignment = edit.assignment
    if assignment is None:
        return edit
    key = Key(POOL_OF[edit.known.key.kind], "", assignment.pool)
    after = follow_grant(assignment, requests.status.get(key) or status_of(view, key))
    if after is None:
        reason = f"host {assignment.host} of pool {assignment.pool} is destroyed"
        return edit.unassign().clear_condition(EVICTION).log_change(Action.WITHDRAW, reason)
    if after != assignment:
        told = f"pool {assignment.pool} moved from host {assignment.host} to host {after.host}"
        edit = edit.with_status(assignment=after).log_change(Action.STATUS, told)
    return edit


def has_data(edit: ObjectEdit) -> bool:
    """A volume that was made. No word of its pool but on an order ends that: it would come back empty."""
    status = edit.record.status
    return isinstance(status, VolumeStatus) and status.volume_id != "" and edit.evict is None


def update_status(edit: ObjectEdit, said: ObjectReport) -> ObjectEdit:
    """With what is reported as its status."""
    status = status_from_report(edit.record, said, edit.now)
    if status == edit.record.status:
        return edit
    state = getattr(status, "state", "") or "Pending"
    before = getattr(edit.record.status, "state", "")
    told = state.lower() if state != before else f"{state.lower()}, as {said.poollet} reports"
    return edit.with_record(status=status).log_change(Action.STATUS, told)


def adoption_claims(view: View, edit: ObjectEdit, fact: PoolFact) -> tuple[ObjectReport, ...]:
    """Who says that it is there, now that live gives it to nobody. A host that loses its grant in this tick gets nothing."""
    if edit.known.record.assignment is not None:
        return ()
    kind = POOL_OF[edit.known.key.kind]
    return tuple(one for one in view.claimed(edit.known.key) if Key(kind, "", one.pool) not in fact.ended)


def adopt(view: View, edit: ObjectEdit, said: ObjectReport) -> ObjectEdit | None:
    """Back where a poollet has it, with the uid that it has there; None when that is another object of the same name."""
    if edit.record.uid not in ("", said.uid) and edit.before is not None and edit.before.uid:
        return None
    grant = view.grant(Key(POOL_OF[edit.known.key.kind], "", said.pool))
    edit = edit.with_record(uid=said.uid).assign(said.pool, said.assignment, grant)
    edit = edit.set_condition(SCHEDULED, "True", "Placed", f"on {said.pool}")
    edit = edit.with_record(status=status_from_report(edit.record, said, edit.now))
    return edit.log_change(Action.ADOPT, f"poollet {said.poollet} reports it on pool {said.pool}")


Rejections = tuple[Rejection, ...]


def record_rejection(
    before: Sequence[Rejection], of: Assignment, reasons: Sequence[ReportedReason], now: datetime
) -> Rejections:
    """With the refusal of one more assignment. One entry a pool, in the order of their names."""
    earlier = {each.pool: each for each in before}
    last = earlier.get(of.pool)
    first = reasons[0] if reasons else ReportedReason(code="Rejected", message="no reason given")
    earlier[of.pool] = Rejection(
        pool=of.pool,
        assignment=of.id,
        reason=first.code,
        message="; ".join(describe_reason(each) for each in reasons) or first.message,
        count=last.count + 1 if last else 1,
        time=stamp(now),
    )
    return tuple(each for _, each in sorted(earlier.items()))


def describe_reason(reason: ReportedReason) -> str:
    need = f" (needs {reason.need}, has {reason.have})" if reason.need else ""
    return f"{reason.message}{need}"


def next_retry(rejections: Sequence[Rejection], now: datetime) -> datetime | None:
    return min((end for each in standing(rejections, now) if (end := ends(each)) is not None), default=None)
