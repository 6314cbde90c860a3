"""What a pool says of its assignment, taken into the record: what is reported, a rejection, the end, an adoption. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from reconciler.decide.object_edit import ObjectEdit
from reconciler.decide.pool_requests import PoolRequests, status_of
from reconciler.plan.types import Action
from reconciler.world.pools.grants import follow_grant
from reconciler.world.record import EVICTION, PLACED, SCHEDULED, active_rejections, retry_at, stamp
from reconciler.world.reports.authority import POOL_OF
from reconciler.world.reports.reports import ObjectReport
from reconciler.world.reports.status_update import status_from_report
from reconciler.world.view import View
from schemas.kinds import Key
from schemas.model import Assignment, Rejection, VolumeStatus
from schemas.report.objects import ReportedReason


@dataclass(frozen=True, slots=True)
class PoolFact:
    """About the pool that an object is assigned to. `report` is what it reports of that assignment; `ended` are the pools of which a
    host loses the grant in this tick."""

    report: ObjectReport | None = None
    is_lost: bool = False
    ended: Collection[Key] = frozenset()


def apply_report(edit: ObjectEdit, fact: PoolFact) -> ObjectEdit:
    """With what the pool's word means for the assignment. What a lost pool report last stays as it is on live."""
    assignment, report = edit.assignment, fact.report
    if assignment is None:
        return edit
    if report is None or fact.is_lost:
        return edit
    if report.phase in ("rejected", "gone") and has_data(edit):
        message = (
            f"pool {assignment.pool} reports the volume as {report.phase} without a deletion order; "
            "its data may still exist"
        )
        return edit.set_condition("Ready", "Unknown", "Contradictory", message)
    match report.phase:
        case "rejected" if not isinstance(edit.record.status, PLACED):
            return edit  # a snapshot is where its volume is, and nowhere else
        case "rejected":
            rejections = record_rejection(edit.rejections, assignment, report.reasons, edit.now)
            why = next(each.message for each in rejections if each.pool == assignment.pool)
            reason = f"{assignment.pool} rejected it: {why}"
            return edit.with_status(rejections=rejections).unassign().log_change(Action.WITHDRAW, reason)
        case "gone":
            reason = f"gone from {assignment.pool}" + (f": {edit.evict.reason}" if edit.evict else "")
            return edit.unassign().clear_condition(EVICTION).log_change(Action.WITHDRAW, reason)
        case "present" | "unknown":
            return update_status(edit, report)


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
        message = f"pool {assignment.pool} moved from host {assignment.host} to host {after.host}"
        if after.host == assignment.host:
            message = f"epoch of pool {assignment.pool}: {assignment.epoch} -> {after.epoch}"
        edit = edit.with_status(assignment=after).log_change(Action.STATUS, message)
    return edit


def has_data(edit: ObjectEdit) -> bool:
    """A volume that was made. No word of its pool but on an order ends that: it would come back empty."""
    status = edit.record.status
    return isinstance(status, VolumeStatus) and status.volume_id != "" and edit.evict is None


def update_status(edit: ObjectEdit, report: ObjectReport) -> ObjectEdit:
    """With what is reported as its status."""
    status = status_from_report(edit.record, report, edit.now)
    if status == edit.record.status:
        return edit
    state = getattr(status, "state", "") or "Pending"
    before = getattr(edit.record.status, "state", "")
    message = state.lower() if state != before else f"{state.lower()}, as {report.poollet} reports"
    return edit.with_record(status=status).log_change(Action.STATUS, message)


def adoption_claims(view: View, edit: ObjectEdit, fact: PoolFact) -> tuple[ObjectReport, ...]:
    """Who reports that it is there, while live assigns it to no pool. A host that loses its grant in this tick gets nothing."""
    if edit.known.record.assignment is not None:
        return ()
    kind = POOL_OF[edit.known.key.kind]
    return tuple(
        one
        for one in view.accepted_reports(edit.known.key).claims
        if Key(kind, "", one.pool) not in fact.ended
    )


def adopt(view: View, edit: ObjectEdit, report: ObjectReport) -> ObjectEdit | None:
    """Back where a poollet has it, with the uid that it has there; None when that is another object of the same name."""
    if edit.record.uid not in ("", report.uid) and edit.before is not None and edit.before.uid:
        return None
    grant = view.grant(Key(POOL_OF[edit.known.key.kind], "", report.pool))
    edit = edit.with_record(uid=report.uid).assign(report.pool, report.assignment, grant)
    edit = edit.set_condition(SCHEDULED, "True", "Placed", f"on {report.pool}")
    edit = edit.with_record(status=status_from_report(edit.record, report, edit.now))
    return edit.log_change(Action.ADOPT, f"poollet {report.poollet} reports it on pool {report.pool}")


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
    return min(
        (end for each in active_rejections(rejections, now) if (end := retry_at(each)) is not None),
        default=None,
    )
