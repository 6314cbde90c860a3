"""What the report of the assigned pool does to an object's record: new status, a rejection, the end of an assignment, an adoption. Pure.

Theory of operation
-------------------
`view.accepted_reports` has already refused what a host may not state: only the report of the host with the grant of the pool
counts, and only about the assignment that `live` has. Here the phase that it reports decides:

    phase      object                                             effect
    present    any                                                status as reported
    unknown    any                                                status as reported, with Ready=Unknown; the runtime did not answer, which
                                                                  is not an end
    rejected   machine, or volume that was never made             assignment ends; the pool is in the rejections, with a count
    rejected   snapshot                                           none: a snapshot exists on the pool of its volume and nowhere else
    gone       machine; volume or snapshot that was never made    assignment ends; without an order to leave, only the next commit
                                                                  places it (`handover`)
    rejected,  volume or snapshot that was made, and no order     none but a condition: created again, it would be empty, or of
    gone       to leave                                           another moment

Nothing of this applies to a pool whose heartbeat expired: its last report says what was, and the object may run on.

A snapshot that loses its host (`under_grant`) is lost: `Failed`, with the reason `Lost`. That state, without an assignment, is its only memory of
it: the volume of that name is created again with the same uid, and is empty.

Must never happen: an assignment ends because a report is absent; a volume with data is placed again because of one report; an
object of the same name with another uid is adopted; an object that two hosts report is adopted by one of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from msgspec.structs import replace

from reconciler.decide.claims import was_claimed
from reconciler.decide.object_edit import ObjectEdit, assignment_id
from reconciler.decide.pool_requests import DIGITS, PoolRequests, status_of
from reconciler.plan.types import Action
from reconciler.world.objects.relations import POOL_OF
from reconciler.world.pools.grants import Grant, follow_grant
from reconciler.world.record import (
    ADOPTED,
    EVICTION,
    LOST,
    PLACED,
    SCHEDULED,
    active_rejections,
    retry_at,
    stamp,
)
from reconciler.world.reports.object_report import ObjectReport
from reconciler.world.reports.status_update import is_unobserved, status_from_report
from reconciler.world.view import View
from schemas.kinds import Key, Kind
from schemas.model import (
    Assignment,
    MachineStatus,
    Rejection,
    VolumeSnapshot,
    VolumeSnapshotStatus,
    VolumeStatus,
)
from schemas.report.objects import ReportedReason

NOUNS = {Kind.VOLUME: "volume", Kind.VOLUME_SNAPSHOT: "snapshot"}  # of what holds data


@dataclass(frozen=True, slots=True)
class PoolFact:
    """About the pool that an object is assigned to. `report` is what it reports of that assignment; `ended` are the pools of which a
    host loses the grant in this tick. `trouble` is the reason why the pool is not ready, as its host reports it."""

    report: ObjectReport | None = None
    is_lost: bool = False
    trouble: str = ""
    ended: Collection[Key] = frozenset()


def apply_report(edit: ObjectEdit, fact: PoolFact) -> ObjectEdit:
    """The edit after the report in `fact`, by the table above; the same edit where nothing is reported or the pool is lost.

    Machines, volumes and snapshots call it first, once they are known to stay. For what is deleted, `deletion` reads the report.
    """
    assignment, report = edit.assignment, fact.report
    if assignment is None:
        return edit
    if report is None or fact.is_lost:
        return edit
    if report.phase in ("rejected", "gone") and has_data(edit):
        message = (
            f"pool {assignment.pool} reports the {NOUNS[edit.known.key.kind]} as {report.phase} without a deletion order; "
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
            return update_status(edit, report, fact.trouble)


def apply_status(edit: ObjectEdit, fact: PoolFact) -> ObjectEdit:
    """The edit after the status in `fact` alone, for a paused object: nothing is decided about it, and people see what it is."""
    report = fact.report
    if (
        edit.assignment is None
        or report is None
        or fact.is_lost
        or report.phase not in ("present", "unknown")
    ):
        return edit
    return update_status(edit, report, fact.trouble)


def under_grant(edit: ObjectEdit, requests: PoolRequests, view: View) -> ObjectEdit:
    """With its assignment as the grant of its pool is after this tick: moved along, or released with a destroyed host.

    It comes before every other rule, and applies to paused objects and to ordered deletions too: the host is gone, or
    another one. The status that `requests` writes in this tick counts more than the one on `live`, so that pool and assignments
    change in one commit. The data of a volume that is released here was on the destroyed host.
    """
    assignment = edit.assignment
    if assignment is None:
        return edit
    key = Key(POOL_OF[edit.known.key.kind], "", assignment.pool)
    pool = requests.status.get(key) or status_of(view, key)
    after = follow_grant(assignment, pool)
    grant = view.grant(key)
    if grant.is_new and pool is not None and pool.host is not None and pool.host.id != assignment.host:
        if is_confirmed_by(view, edit, grant):
            moved = replace(assignment, host=grant.host, epoch=grant.epoch, accepted=False)
            reason = f"host {grant.host} reports it under this assignment, on pool {assignment.pool}"
            return edit.with_status(assignment=moved).log_change(Action.STATUS, reason)
        reason = f"pool {assignment.pool} was granted to host {pool.host.id} since"
        return edit.unassign().clear_condition(EVICTION).log_change(Action.WITHDRAW, reason)
    if after is None:
        reason = f"host {assignment.host} of pool {assignment.pool} is destroyed"
        released = edit.unassign().clear_condition(EVICTION).log_change(Action.WITHDRAW, reason)
        commit = pool.destroyed.commit[:DIGITS] if pool is not None and pool.destroyed is not None else ""
        return mark_lost(released, f"{reason} (commit {commit})")
    if after != assignment:
        message = f"pool {assignment.pool} moved from host {assignment.host} to host {after.host}"
        if after.host == assignment.host:
            message = f"epoch of pool {assignment.pool}: {assignment.epoch} -> {after.epoch}"
        edit = edit.with_status(assignment=after).log_change(Action.STATUS, message)
    return edit


def is_confirmed_by(view: View, edit: ObjectEdit, grant: Grant) -> bool:
    """Whether the host that has the grant now reports the object under its present assignment: a rewound `live` lacks the commit by which
    the assignment went along with the pool. Released instead, it would be placed a second time while that host has it."""
    report = view.accepted_reports(edit.known.key).report
    return report is not None and report.host == grant.host and report.is_there


def mark_lost(edit: ObjectEdit, why: str) -> ObjectEdit:
    """A snapshot after its host was destroyed; any other object as it is. `snapshot` never assigns a lost one again.

    Also one that was not made yet, as far as `live` knows: it was to be of data that is gone. The id stays, as on a host that misses it:
    should the host return with the snapshot, it is adopted, and never taken for one to be made.
    """
    before, snapshot = edit.known.record.status, edit.known.object
    if not isinstance(before, VolumeSnapshotStatus) or not isinstance(snapshot, VolumeSnapshot):
        return edit
    since = before.last_state_transition_time if before.state == "Failed" else stamp(edit.now)
    edit = edit.with_status(state="Failed", snapshot_id=before.snapshot_id, last_state_transition_time=since)
    message = (
        f"{why}, and with it the data of volume {snapshot.spec.volume_ref.name} that the snapshot is of; "
        "delete the file of the snapshot, and declare a new snapshot"
    )
    return edit.set_condition("Ready", "False", LOST, message)


def has_data(edit: ObjectEdit) -> bool:
    """Whether the object is a volume or snapshot that was made, and is not ordered to leave. Then no report may end its assignment."""
    match edit.record.status:
        case VolumeStatus(volume_id=id) | VolumeSnapshotStatus(snapshot_id=id):
            return id != "" and edit.evict is None
        case _:
            return False


def update_status(edit: ObjectEdit, report: ObjectReport, trouble: str) -> ObjectEdit:
    """With what is reported as its status. A report that brings nothing new is not a change, or each heartbeat would be a commit."""
    status = status_from_report(edit.record, report, edit.now, trouble)
    if status == edit.record.status:
        return edit
    state = getattr(status, "state", "") or "Pending"
    before = getattr(edit.record.status, "state", "")
    if is_unobserved(report, trouble):
        state = f"unknown (was {state})"
    message = state.lower() if state != before else f"{state.lower()}, as {report.poollet} reports"
    return edit.with_record(status=status).log_change(Action.STATUS, message)


def adoption_claims(view: View, edit: ObjectEdit, fact: PoolFact) -> tuple[ObjectReport, ...]:
    """Hosts that report an object which `live` assigns to no pool: candidates for an adoption, after `live` was lost. After it was rewound
    also those that report an object which it assigns elsewhere, or under another assignment. An object that a host knows only as an
    orphan is one of them then: its order was lost with `live`. It stays one while the object waits because of what was reported then.

    A host that loses its grant in this tick is not one of them: the object would be adopted and released by turns. An assignment that
    ends in this tick is not adopted either, because `known` is asked, not the edit.
    """
    if edit.known.record.assignment is not None and not view.is_live_lost:
        return ()
    claims = view.accepted_reports(edit.known.key).claims
    if view.is_live_lost or was_claimed(edit.known):
        claims = (*claims, *orphan_claims(view, edit.known.key, claims))
    return usable_claims(view, edit, fact, claims)


def usable_claims(
    view: View, edit: ObjectEdit, fact: PoolFact, claims: Iterable[ObjectReport]
) -> tuple[ObjectReport, ...]:
    """Without those of a host that loses its grant in this tick, or whose report is held."""
    kind, held = POOL_OF[edit.known.key.kind], {each.poollet for each in view.held_reports(edit.known.key)}
    return tuple(
        one for one in claims if Key(kind, "", one.pool) not in fact.ended and one.poollet not in held
    )


def claims_beside(view: View, edit: ObjectEdit, fact: PoolFact) -> tuple[ObjectReport, ...]:
    """What hosts report of an object that is to go, beside the pool of its assignment: by whatever `live` each of them goes."""
    accepted = view.accepted_reports(edit.known.key)
    found = (*accepted.claims, *accepted.rivals)
    found = (*found, *orphan_claims(view, edit.known.key, found))
    # An earlier life of the name on the pool's own host is not a second one of this object.
    own = edit.assignment.pool if edit.assignment is not None else None
    return tuple(each for each in usable_claims(view, edit, fact, found) if each.pool != own)


def orphan_claims(view: View, key: Key, claims: Sequence[ObjectReport]) -> Iterator[ObjectReport]:
    """Orphans of that name as claims, on pools that the host speaks for which lists them. The assignment that it is adopted under is
    a new one. One of another uid is an earlier object of that name, where a host reports the very object that `live` has."""
    known, found = {(each.poollet, each.uid) for each in claims}, view.objects.get(key)
    own = found.record.uid if found is not None else ""
    is_reported = own in {each.uid for each in claims}
    for report, orphan in view.orphans_named(key):
        if is_reported and orphan.uid != own:
            continue
        pool = Key(POOL_OF[key.kind], "", orphan.pool)
        if not orphan.uid or (report.name, orphan.uid) in known or view.speaker(pool) != report.host:
            continue
        id = assignment_id(orphan.uid, view.live_commit)
        yield ObjectReport(report.name, report.host, orphan.pool, orphan.uid, id, "present")


def adopt(view: View, edit: ObjectEdit, report: ObjectReport) -> ObjectEdit | None:
    """Assigned again to the pool that reports it, with the uid and the assignment id of the report; None for another object of that name.

    The ids stay as the host knows them, so that the host goes on without a change. Since when it exists is known only where `live` has
    that very uid. Only an object without a uid on
    `live` takes the uid of a report; with another uid there, it is another life of that name, and what the host has is an orphan. A
    rewound `live` has the older life: there the report counts.
    """
    is_other = edit.record.uid not in ("", report.uid) and edit.before is not None and edit.before.uid != ""
    if is_other and not view.is_live_lost and not was_claimed(edit.known):
        return None
    if edit.assignment is not None or is_other:
        edit = edit.unassign()
    grant = view.grant(Key(POOL_OF[edit.known.key.kind], "", report.pool))
    before = edit.before
    created = before.creation_timestamp if before is not None and before.uid == report.uid else ""
    edit = edit.with_record(uid=report.uid, creation_timestamp=created).assign(
        report.pool, report.assignment, grant
    )
    edit = edit.set_condition(SCHEDULED, "True", "Placed", f"on {report.pool}")
    edit = edit.with_record(status=status_from_report(edit.record, report, edit.now))
    if isinstance(edit.record.status, MachineStatus):
        edit = edit.with_status(
            previous_assignment=None
        )  # an orphan is reported without a status, and is there
    if edit.known.key.kind is Kind.VOLUME and report.status is None:
        edit = edit.set_condition("Ready", "Unknown", ADOPTED, "its host has not yet said how it is attached")
    return edit.log_change(Action.ADOPT, f"poollet {report.poollet} reports it on pool {report.pool}")


Rejections = tuple[Rejection, ...]


def record_rejection(
    before: Sequence[Rejection], of: Assignment, reasons: Sequence[ReportedReason], now: datetime
) -> Rejections:
    """With one more rejection. One entry a pool, sorted by name; `count` grows with each one, and the backoff with it.

    `reason` is the first code, for programs; `message` joins all reasons, for people. Entries are not removed when their backoff ends:
    the count must survive it.
    """
    earlier = {each.pool: each for each in before}
    last = earlier.get(of.pool)
    earlier[of.pool] = Rejection(
        pool=of.pool,
        assignment=of.id,
        reason=reasons[0].code if reasons else "Rejected",
        message=describe_reasons(reasons),
        count=last.count + 1 if last else 1,
        time=stamp(now),
    )
    return tuple(each for _, each in sorted(earlier.items()))


def describe_reasons(reasons: Sequence[ReportedReason]) -> str:
    return "; ".join(map(describe_reason, reasons)) or "no reason given"


def describe_reason(reason: ReportedReason) -> str:
    """The message of a pool, with both amounts where it names them."""
    need = f" (needs {reason.need}, has {reason.have})" if reason.need else ""
    return f"{reason.message}{need}"


def next_retry(rejections: Sequence[Rejection], now: datetime) -> datetime | None:
    """When the first pool that refused the object may be asked again; None when no backoff is running."""
    return min(
        (end for each in active_rejections(rejections, now) if (end := retry_at(each)) is not None),
        default=None,
    )
