"""Needs and placements put together into the Plan of a tick. Pure: it adds what a placement means, and decides nothing else.

A placement changes more than the object that was placed: a machine takes its unplaced volumes along and claims those that are free.
The scheduler knows neither records nor claims, so that is done here. Then each need becomes one change, or none when its record is
the one that `live` has.

Limits: it asks no filter and no report; whether an object may be placed was decided before. It reads requests and reviews only to
list what awaits approval.

Must never happen: two changes for one key; a document removed without the phase DROP; a change for a record that stays the same,
because each tick would then write a commit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import assert_never

from reconciler.decide.deletion import OVER_LIMIT, DeletionReview, review_deletions
from reconciler.decide.need import ChangeReason, DeletionPhase, Need, Postpone, Remove
from reconciler.decide.object_edit import ObjectEdit, assignment_id, new_object_state
from reconciler.decide.placement import awaits_link, policy
from reconciler.decide.placement.offers import Placements, record_refusals
from reconciler.decide.pool_requests import judge_requests
from reconciler.decide.references import volumes_of
from reconciler.decide.volume_claim import attached_uids, is_handle_awaited
from reconciler.gitstore.approval import DIGITS, approval_trailer, is_approval_of
from reconciler.gitstore.live_recovery import recovery_digest
from reconciler.plan.types import Action, Change, PendingApproval, Plan, UnschedulableObject
from reconciler.schedule.decision import Placed, Refusal, Unschedulable
from reconciler.schedule.scores import WHY_CHOSEN
from reconciler.world.changes import Confirmation
from reconciler.world.objects.object_state import ObjectState, Origin
from reconciler.world.objects.relations import POOL_OF
from reconciler.world.record import SCHEDULED, Record
from reconciler.world.reports import recovery_wait
from reconciler.world.reports.rewind import describe_differences, difference, join_some
from reconciler.world.reports.start_wait import describe_start_wait
from reconciler.world.view import View
from schemas.effects.effect import Loss
from schemas.effects.removal import list_local_disks, removal_of
from schemas.kinds import Key, Kind
from schemas.model import ClaimRef, Machine

FIRST_REPORTS = "waits for the first reports of hosts that start now"
LINK_LOST = "waits for hosts that have just lost their link"
WEIGHT = {action: rank for rank, action in enumerate(Action)}


def compose(
    view: View,
    needs: Iterable[Need],
    placements: Placements,
    now: datetime,
    review: DeletionReview | None = None,
) -> Plan:
    """One change for each object whose record becomes another, sorted by key."""
    by_key = {need.key: need for need in record_refusals(view, needs, placements.refusals, now)}
    unplaced: list[UnschedulableObject] = []
    early: dict[Key, str] = {}  # and what it waits for
    ends = now + first if (first := view.time_for_first_reports) else None
    for decision in placements.decisions:
        match decision:
            case Placed():
                by_key |= {
                    need.key: need for need in decide_assigned(view, by_key, decision, placements, now)
                }
            case Unschedulable(key, refusals) if ends is not None or awaits_link(view, refusals):
                early[key] = LINK_LOST if ends is None else FIRST_REPORTS
                by_key[key] = replace(by_key[key], due=ends)
            case Unschedulable():
                unplaced.append(UnschedulableObject(decision.key, decision.refusals))
                by_key |= {need.key: need for need in decide_unplaced(view, by_key, decision, now)}
            case _:
                assert_never(decision)
    ordered = [by_key[key] for key in sorted(by_key)]
    return Plan(
        source=view.source_commit,
        target=view.live_commit,
        changes=tuple(
            change for need in ordered if (change := change_of(need, view.objects.get(need.key))) is not None
        ),
        pending_approvals=tuple(pending_approvals(view, review)),
        unschedulable=tuple(sorted(unplaced, key=lambda each: each.key)),
        pool_requests=() if view.missing_hosts else judge_requests(view).answers,
        due=tuple((need.key, need.due) for need in ordered if need.due is not None),
        awaited=describe_start_wait(view.awaited_hosts) or next(iter(early.values()), ""),
        postponed=tuple(need.key for need in ordered if isinstance(need, Postpone) or need.key in early),
    )


def decide_assigned(
    view: View, needs: dict[Key, Need], decision: Placed, placements: Placements, now: datetime
) -> Iterator[Need]:
    """The needs of a placed machine and its volumes, or of a volume placed alone, with assignment and claim.

    The grant is the one that this tick writes, not the one that `live` has. A volume that another machine holds keeps that claim; one
    that has no need in this tick is left for the next one, in which `volume_claim` grants it.
    """
    on = dict(decision.volumes)
    if decision.key.kind is Kind.MACHINE:
        on[decision.key] = decision.pool
    edits = {key: edit_of(view, needs[key], now) for key in on}
    for key, pool in on.items():
        edit = edits[key]
        grant = view.grant(Key(POOL_OF[key.kind], "", pool))
        id, is_accepted = (
            assignment_id(edit.record.uid, view.live_commit),
            placements.is_accepted(key, pool),
        )
        edit = edit.assign(pool, id, grant, is_accepted=is_accepted)
        if refused := placements.describe_refusals(key):
            edit = edit.log_change(Action.WITHDRAW, refused)
        edits[key] = edit.set_condition(SCHEDULED, "True", "Placed", f"on {pool}").log_change(
            Action.SCHEDULE, WHY_CHOSEN[policy(view)] if decision.score.points else ""
        )
    machine = view.objects.get(decision.key)
    if machine is not None and isinstance(machine.object, Machine):
        assignment = edits[decision.key].assignment
        assert assignment is not None, "it was assigned just now"
        claim = ClaimRef(name=machine.key.name, uid=edits[decision.key].record.uid, assignment=assignment.id)
        for key in (key for key in volumes_of(machine.object) if key in needs):
            edit = edits[key] if key in edits else edit_of(view, needs[key], now)
            if may_claim(view, edit, claim):
                edits[key] = edit.with_record(claim=claim).log_change(
                    Action.CLAIM, f"claimed by machine {claim.name}"
                )
    for key, edit in edits.items():
        yield replace(needs[key], record=edit.record, change_reasons=edit.change_reasons)


def may_claim(view: View, edit: ObjectEdit, claim: ClaimRef) -> bool:
    """Whether a machine that is placed now gets the volume with its place: a free one, or one that it had under its last assignment. Its former
    host can no longer use that claim: it reports the machine gone or rejected, or it would not be placed."""
    if is_handle_awaited(edit):
        return False
    held, attached = edit.record.claim, attached_uids(view, edit)
    return not attached - {claim.uid} if held is None else held.uid == claim.uid and not attached


def decide_unplaced(
    view: View, needs: dict[Key, Need], decision: Unschedulable, now: datetime
) -> Iterator[Need]:
    """The needs of an object that no pool took, and of the volumes that it has no longer.

    A machine whose assignment ends in this tick keeps its claims if it gets its next place now (`may_claim`). Without a place they end in the
    same commit. Another machine gets them by a later one.
    """
    need = needs[decision.key]
    yield apply_unschedulable(view, need, decision, now)
    known = view.objects.get(decision.key)
    if known is None or not isinstance(known.object, Machine) or known.record.assignment is None:
        return
    for key in (key for key in volumes_of(known.object) if key in needs):
        edit = edit_of(view, needs[key], now)
        held = edit.record.claim
        if held is not None and held.uid == need.record.uid and not attached_uids(view, edit):
            reason = f"machine {decision.key.name} is not assigned to a pool"
            edit = edit.with_record(claim=None).log_change(Action.CLAIM, reason)
            yield replace(needs[key], record=edit.record, change_reasons=edit.change_reasons)


def apply_unschedulable(view: View, need: Need, decision: Unschedulable, now: datetime) -> Need:
    """The need with the reason why no pool took it. It stays unplaced, and is tried again when something makes room."""
    why = summary(decision.refusals)
    edit = (
        edit_of(view, need, now)
        .set_condition(SCHEDULED, "False", "Unschedulable", why)
        .log_change(Action.UNSCHEDULABLE, why)
    )
    return replace(need, record=edit.record, change_reasons=edit.change_reasons)


def summary(refusals: tuple[Refusal, ...]) -> str:
    """What speaks against the pools, in a form that stays while the reasons do: what is free now does not belong on `live`."""
    general = [reason.message for refusal in refusals if not refusal.pool for reason in refusal.reasons]
    words = {reason.predicate.value for refusal in refusals if refusal.pool for reason in refusal.reasons}
    by_pool = [f"no pool fits: {', '.join(sorted(words))}"] if words else []
    return "; ".join([*dict.fromkeys(general), *by_pool]) or "no pool fits"


def edit_of(view: View, need: Need, now: datetime) -> ObjectEdit:
    """The edit of a need, to go on where its rules ended."""
    known = view.objects.get(need.key) or new_object_state(need)
    return ObjectEdit(known, need.record, now, need.change_reasons, need.due)


def change_of(need: Need, known: ObjectState | None = None) -> Change | None:
    """The change of a need, or None when `live` would stay the same.

    A retained volume is a change although its record stays: its document moves. An object without uid and document of its own,
    such as a Secret, has no record to write.
    """
    after: Record | None = need.record
    if isinstance(need, Remove) and need.phase is DeletionPhase.DROP:
        after = None
    is_new_step = isinstance(need, Remove) and need.phase is DeletionPhase.RETAIN
    if after == need.before and need.body is None and not is_new_step:
        return None
    why = main_reason(need)
    if need.before is None and after is not None and not after.uid and need.body is None:
        return None  # the reconciler keeps nothing about it
    losses = losses_of(known, why.action)
    return Change(need.key, why.action, need.before, after, why.reason, need.body, losses)


def losses_of(known: ObjectState | None, action: Action) -> tuple[Loss, ...]:
    """What a host destroys when it carries out an order: with a deletion all that goes with the object; with an eviction what cannot
    leave the host."""
    if known is None:
        return ()
    if action is Action.MARK_DELETED:
        is_owned = known.origin is Origin.GENERATED or bool(known.record.owners)
        return removal_of(known.object, is_owned=is_owned).losses
    return (
        list_local_disks(known.object) if action is Action.EVICT and isinstance(known.object, Machine) else ()
    )


def main_reason(need: Need) -> ChangeReason:
    """The heaviest reason, in the order of `Action`: it names the change in commit, plan and metrics.

    A placement is named together with why the object lost its last pool.
    """
    if not need.change_reasons:
        return ChangeReason(Action.SYNC if need.before is None else Action.STATUS)
    first = min(need.change_reasons, key=lambda why: WEIGHT[why.action])
    reasons = [first.reason]
    if first.action is Action.SCHEDULE:
        reasons = [why.reason for why in need.change_reasons if why.action is Action.WITHDRAW] or reasons
    return ChangeReason(first.action, "; ".join(reason for reason in reasons if reason))


def pending_approvals(view: View, review: DeletionReview | None = None) -> Iterator[PendingApproval]:
    """All that waits for a person, whether or not anything changes.

    While a lost `live` waits for reports that is all there is: what is absent cannot be judged before the objects are known again.
    """
    if view.head.held is not None:
        yield PendingApproval(view.head.held.message, trailer=view.head.held.trailer)
    if view.missing_hosts:
        subjects = view.rewind.subjects
        fleet = view.rules.settings.fleet.id
        trailer = approval_trailer(recovery_digest(fleet, subjects[0])) if subjects and view.last else ""
        yield PendingApproval(describe_wait(view), trailer=trailer)
        return
    yield from pending_recoveries(view)
    review = review or review_deletions(view)
    for kind, reason, keys in review.held:
        yield PendingApproval(reason, kind, keys, review.trailer, OVER_LIMIT)
    alone: dict[tuple[str, Kind, str], list[Key]] = defaultdict(list)
    for key, (word, message) in review.why.items():
        if word != OVER_LIMIT:
            alone[message, key.kind, word].append(key)
    for (message, kind, word), waiting_keys in sorted(alone.items()):
        yield PendingApproval(message, kind, tuple(waiting_keys), cause=word)
    for each in review.idle:
        if is_for_recovery(view, each):
            continue
        message = f"{each.about}: {each.value[:DIGITS]} (commit {each.commit[:12]}) matches nothing that awaits approval here"
        meant = (
            f"did you mean {review.trailer}?"
            if review.trailer
            else "a host that rejects `live` compares it itself"
        )
        yield PendingApproval(f"{message}; {meant}")


def describe_wait(view: View) -> str:
    """Why nothing is written while `live` is lost or rewound: the missing hosts, and for people who are asked to approve what hosts
    report, the machines that differ."""
    ref = view.rules.settings.reports.ref
    if view.last is None:
        return recovery_wait.words(view.missing_hosts, ref)
    waits = recovery_wait.words(
        view.missing_hosts, ref, f"live was rewound: it lacks {view.rewind.describe()}"
    )
    return f"{waits}. {describe_differences(reported_differences(view))}"


def reported_differences(view: View) -> Iterator[str]:
    """Machines that hosts report on another pool than a rewound `live` says."""
    for key, known in view.objects.items():
        if key.kind is Kind.MACHINE:
            for each in view.accepted_reports(key).claims:
                if each.pool != known.record.pool:
                    yield difference(f"{key.namespace}/{key.name}", known.record.pool, each.pool)


def pending_recoveries(view: View) -> Iterator[PendingApproval]:
    """What hosts wait for after `live` was written again, and reports that name a missing commit without a proof of it."""
    fleet = view.rules.settings.fleet.id
    for each in view.recoveries:
        cause = (
            f"live was lost or rewound, and was written again in commit {each.commit[:12]} from what hosts report; "
            f"poollets {join_some(each.hosts)} apply it once a person approves"
        )
        message = f"{cause}. {describe_differences(each.differences)}"
        yield PendingApproval(message, trailer=approval_trailer(recovery_digest(fleet, each.commit)))
    if not view.is_live_lost:
        for name, named in sorted(view.rewind.reports.items()):
            message = (
                f"the report of poollet {name} names {join_some(_cut(one) for one in named)}, which live does not contain. gitvirt places nothing new "
                "on its pools, and places nothing a second time that it reports. If live was restored or forced back, approve: gitvirt "
                "then adopts what runs, from all reports. If not, do not trust that host or its key"
            )
            yield PendingApproval(message, trailer=approval_trailer(recovery_digest(fleet, named[0])))


def _cut(subject: str) -> str:
    return subject if "@" in subject else subject[:12]


def is_for_recovery(view: View, given: Confirmation) -> bool:
    """Whether it approves a recovery: one that it begins now, or that hosts apply by it."""
    return any(is_approval_of(given.value, digest) for digest in view.recovery_digests)
