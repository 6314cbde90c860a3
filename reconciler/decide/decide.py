"""From a World to its Plan: which objects are evaluated, by which rule, and which machines may be evicted now. Pure.

Theory of operation
-------------------
Only what something happened to is evaluated (`Advance.dirty`), with what is decided together with it (`affected_keys`): a machine with its
volumes and interfaces, all that is absent from the source, all on a pool whose grant ends. In this order:

    1. review_all          over all that is absent at once, because the limits count
    2. judge_requests      Pool-Destroyed and Pool-Host, because they release assignments
    3. evaluate            one need for each affected key; machines before the network interfaces that repeat what is seen of them
    4. discard_destroyed   retained data of destroyed hosts
    5. evaluate            what waits for a pool, where an assignment ended in this tick and made room
    6. generated_needs     ephemeral objects of the machines that go on
    7. block_machines      machines whose volumes may be placed nowhere
    8. admit_returns       machines that come back after an undo, before others are placed
    9. postpone_moves      after a start, until each known host was seen to report: no placement, no eviction
   10. order_evictions     as many as limits.evict allows at once, the least important first
   11. annotate            frozen files and refused claims, whatever else happens

Then `offers` asks the scheduler, and the hosts that it chose, and `compose` makes one change for each object. An object whose
assignment ends in this tick is placed by the same commit only where its host had lost the right to it before (`handover`).

Must never happen: two needs for one key; a decision that a fresh World of the same snapshot would not make; anything decided while a
lost `live` waits for reports.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import msgspec

from reconciler.decide import deletion, ephemeral, interface, machine, pool, snapshot, volume
from reconciler.decide.apply_report import PoolFact, under_grant, update_status
from reconciler.decide.compose import compose
from reconciler.decide.deletion import DeletionReview, review_deletions
from reconciler.decide.need import Adopt, Blocked, Drain, Need, Place, Postpone
from reconciler.decide.object_edit import ObjectEdit, identify
from reconciler.decide.outcome import keep, settle_leaving
from reconciler.decide.placement.blocked_volumes import block_machines
from reconciler.decide.placement.offers import NO_OFFERS, OfferDesk, decide_placements
from reconciler.decide.placement.quota_use import with_quota_use, write_usage
from reconciler.decide.pool_requests import PoolRequests, judge_requests
from reconciler.decide.references import interfaces_of, machines_of, volumes_of
from reconciler.decide.removal import undo
from reconciler.decide.removal.retained import discard_destroyed, restore, retained_volume_for
from reconciler.decide.volume_claim import drop_rewound_claim
from reconciler.plan.types import Action, Plan
from reconciler.world.changes import WorldChanges
from reconciler.world.objects.object_state import ObjectState, Origin
from reconciler.world.objects.relations import POOL_OF
from reconciler.world.pools.grants import POOL_STATUS
from reconciler.world.pools.pool_state import PoolState
from reconciler.world.record import (
    ACCEPTED,
    CLAIM_REFUSED,
    DELETION_HELD,
    FROZEN,
    PLACED,
    empty_status,
    is_on_a_host,
)
from reconciler.world.reports.status_update import READY
from reconciler.world.view import View
from schemas.kinds import Key, Kind
from schemas.model import Machine

QUEUED = timedelta(seconds=10)  # how soon a machine that waits for its turn to leave is looked at again


def make_plan(view: View, advance: WorldChanges, now: datetime, desk: OfferDesk = NO_OFFERS) -> Plan:
    """The one way from a World to its Plan, for run, plan and explain alike. `desk` asks the hosts of chosen pools; verbs ask none."""
    review = review_all(view, now)
    needs = decide_needs(view, advance.dirty, now, review)
    plan = compose(view, needs, decide_placements(view, needs, now, desk), now, review)
    problems = (*advance.problems, *plan.problems)
    return replace(plan, problems=problems, changes=with_quota_use(view, plan.changes, now))


def review_all(view: View, now: datetime) -> DeletionReview:
    """The review of all that is absent, without an approval of what waits for another word of people."""
    if view.missing_hosts:
        return review_deletions(view)
    requests, contested = judge_requests(view), {}
    for key in view.relations.absent:
        edit = start_edit(view, view.objects[key], now, requests)
        found = settle_before_deletion(view, edit, requests)
        if isinstance(found, Blocked):
            accepted = found.record.condition(ACCEPTED)
            contested[key] = found.reason, accepted.message if accepted is not None else ""
    return review_deletions(view, contested)


def decide_needs(
    view: View, dirty: Collection[Key], now: datetime, review: DeletionReview | None = None
) -> tuple[Need, ...]:
    """One need for each key, sorted by key; none while a lost `live` waits for reports.

    `review` is that of all that is absent, where it was made already.
    """
    if view.missing_hosts:
        return ()
    review = review or review_all(view, now)
    requests = judge_requests(view)
    needs: dict[Key, Need] = {}
    facts = TickFacts(review, requests, needs, undo.find_kept(view, review, now))
    evaluate(
        view,
        affected_keys(view, {*dirty, *requests.status, *requests.notices}, requests.ended),
        facts,
        now,
        needs,
    )
    needs |= {need.key: need for need in discard_destroyed(view, requests, now)}
    if any(
        need.before is not None and need.before.pool not in ("", need.record.pool) for need in needs.values()
    ):
        # Assignments that ended in this tick make room for what waits.
        evaluate(view, affected_keys(view, view.relations.waiting, ()) - needs.keys(), facts, now, needs)
    for owner in [need for need in needs.values() if need.key.kind is Kind.MACHINE]:
        needs |= {need.key: need for need in generated_needs(view, owner, now, requests)}
    needs |= {need.key: need for need in block_machines(view, needs, now)}
    needs |= {need.key: need for need in undo.admit_returns(view, needs.values())}
    if awaited := view.awaited_hosts:
        ends = now + timedelta(seconds=max(each.seconds for each in awaited))
        needs |= {need.key: need for need in postpone_moves(needs.values(), ends)}
    needs |= {need.key: need for need in order_evictions(view, needs.values(), now)}
    return tuple(annotate(view, needs[key], now) for key in sorted(needs))


def evaluate(
    view: View, dirty: Iterable[Key], facts: TickFacts, now: datetime, needs: dict[Key, Need]
) -> None:
    """Adds the need of each. By the order of kinds in a key, machines come before the network interfaces that repeat what is reported of them."""
    for key in sorted(dirty):
        known = view.objects.get(key)
        if known is not None:
            needs[key] = decide_object(view, start_edit(view, known, now, facts.requests), facts)


def affected_keys(view: View, dirty: Collection[Key], ended: Collection[Key]) -> set[Key]:
    """All that is evaluated: what is dirty, what is decided together with it, and all that is absent.

    Five things are decided together: what is on a pool whose grant ends; a volume snapshot with the volumes that come from it; all machines on tainted pools, when one with an order to leave
    changes, because its end lets the next one leave; the machines of a volume; the volumes, interfaces and generated objects of a machine.
    The cost is that of what changed and of its neighbors, never that of the fleet.
    """
    found = {*dirty, *view.relations.absent}
    # What an ordered deletion waits for may be the end of any user, and very many use one class or pool.
    found.update(*(view.relations.leaving[kind] for kind in Kind if kind not in POOL_OF))
    for key in ended:
        found |= {*view.relations.on_pool.get(key)}
    if not found.isdisjoint(view.relations.evicting):
        for state in view.pools.values():
            if any(taint.effect == "NoExecute" for taint in state.taints):
                found |= {*view.relations.on_pool.get(state.key)}
    for key in [key for key in found if key.kind is Kind.VOLUME_SNAPSHOT]:
        found |= {*view.relations.users.get(key)}
    for key in [key for key in found if key.kind is Kind.VOLUME]:
        if (known := view.objects.get(key)) is not None:
            found |= {machine.key for machine in machines_of(view, known)}
    for key in [key for key in found if key.kind is Kind.MACHINE]:
        found |= {*view.relations.held.get(key)}
        known = view.objects.get(key)
        if known is not None and isinstance(known.object, Machine):
            found |= {*volumes_of(known.object), *interfaces_of(known.object), *view.relations.owned.get(key)}
    return found


def start_edit(view: View, known: ObjectState, now: datetime, requests: PoolRequests) -> ObjectEdit:
    """The edit that every rule begins with: an identity, a status to write into, and the assignment as its grant is after this tick.

    A new object gets its uid and its creation time here. A volume that was retained under its name comes back here, before any rule could take it for a new one.
    """
    record = known.record
    if (kept := retained_volume_for(view, known)) is not None:
        return under_grant(restore(known, kept, now), requests, view)
    if not record.uid and known.origin is Origin.DECLARED:
        uid, created = identify(view, known.key, now)
        record = msgspec.structs.replace(record, uid=uid, creation_timestamp=created)
    if record.status is None:
        record = msgspec.structs.replace(record, status=empty_status(known.key.kind))
    edit = ObjectEdit(known, record, now)
    if isinstance(record.status, PLACED) and edit.assignment is None:
        return edit if record.status.state else edit.with_status(state="Pending")
    return under_grant(edit, requests, view)


@dataclass(frozen=True, slots=True)
class TickFacts:
    """What was decided before the single objects, and is the same for all of them."""

    review: DeletionReview
    requests: PoolRequests
    needs: Mapping[Key, Need]  # of those before it
    kept: undo.KeptMachines


def decide_object(view: View, edit: ObjectEdit, facts: TickFacts) -> Need:
    """The one need of one object. Deletion comes first, whatever the kind; then the rules of the kind.

    A pool that is absent and still announced is not a deletion: it stays, as an announced pool. One that goes follows what people say of
    its host for as long as anything is on it.
    """
    known = edit.known
    if known.key.kind is Kind.VOLUME:
        edit = drop_rewound_claim(view, edit)  # also of one that is to go: its host may still attach it
    if (found := settle_before_deletion(view, edit, facts.requests)) is not None:
        return found
    is_absent = known.key in view.relations.absent and not deletion.is_announced(view, known.key)
    if isinstance(edit.record.status, POOL_STATUS) and (is_absent or edit.record.is_deleting):
        edit = pool.with_leaving_host(view, edit, facts.requests)
    if is_absent:
        return undo.remove_absent(view, observe(view, edit), facts.review, facts.kept)
    if edit.record.is_deleting:
        return deletion.finish_deletion(view, observe(view, edit))
    edit = edit.clear_condition(DELETION_HELD)
    match known.key.kind:
        case Kind.MACHINE:
            return machine.decide_machine(view, edit, pool_fact(view, edit, facts.requests))
        case Kind.VOLUME:
            return volume.decide_volume(view, edit, pool_fact(view, edit, facts.requests))
        case Kind.MACHINE_POOL | Kind.VOLUME_POOL:
            return pool.decide_pool(view, edit, facts.requests)
        case Kind.NETWORK_INTERFACE:
            return interface.decide_interface(view, edit, facts.needs)
        case Kind.RESOURCE_QUOTA:
            return keep(write_usage(view, edit))
        case Kind.VOLUME_SNAPSHOT:
            return snapshot.decide_snapshot(view, edit, pool_fact(view, edit, facts.requests))
        case _:
            return keep(observe(view, edit))


def settle_before_deletion(view: View, edit: ObjectEdit, requests: PoolRequests) -> Adopt | Blocked | None:
    """What becomes of an object that is to go, and that hosts have beside the assignment on `live`, after `live` was lost or rewound."""
    key = edit.known.key
    is_going = edit.record.is_deleting or key in view.relations.absent
    if not is_going or key.kind not in POOL_OF:
        return None
    return settle_leaving(view, edit, pool_fact(view, edit, requests))


def observe(view: View, edit: ObjectEdit) -> ObjectEdit:
    """With what is reported of it. For objects that are deleted and for kinds without rules of their own; the others apply reports themselves.

    A deletion must know what was reported since `live` was written: a volume that turns out to be made is retained.
    """
    report = view.accepted_reports(edit.known.key).report
    if report is None or report.phase not in ("present", "unknown") or is_released(edit):
        return edit
    return update_status(edit, report, pool_trouble(assigned_pool(view, edit)))


def is_released(edit: ObjectEdit) -> bool:
    """Whether its assignment ended in this tick. What is reported is then about a host that is destroyed."""
    return edit.assignment is None and edit.known.record.assignment is not None


def pool_fact(view: View, edit: ObjectEdit, requests: PoolRequests) -> PoolFact:
    """What the rules must know about the pool of the assignment. A pool that is not known is lost, not gone."""
    assignment, known = edit.assignment, edit.known
    if assignment is None:
        return PoolFact(ended=requests.ended)
    state = assigned_pool(view, edit)
    is_lost = state is None or state.is_lost
    return PoolFact(view.accepted_reports(known.key).report, is_lost, pool_trouble(state), requests.ended)


def assigned_pool(view: View, edit: ObjectEdit) -> PoolState | None:
    """The pool of its assignment."""
    found = edit.assignment
    return None if found is None else view.find_pool(Key(POOL_OF[edit.known.key.kind], "", found.pool))


def pool_trouble(state: PoolState | None) -> str:
    """The reason why the pool is not ready, as its host reports it; empty if the host reports none."""
    conditions = state.announced.status.conditions if state is not None and state.announced else ()
    return next((each.reason for each in conditions if each.type == READY and each.status != "True"), "")


def generated_needs(view: View, owner: Need, now: datetime, requests: PoolRequests) -> Iterator[Need]:
    """Needs of the objects that a machine's entries generate, after that of the machine; they replace needs made without the entry.

    None for a machine that is going: its objects are absent, and deleted by the rules of deletion.
    """
    known = view.objects[owner.key]
    if not known.is_active or owner.record.is_deleting:
        return
    for each, expansion in ephemeral.owned_objects(view, owner, known, now):
        if each.is_active and each.key not in view.relations.absent:
            edit = start_edit(view, each, now, requests)
            yield ephemeral.decide_generated(view, edit, expansion, owner, pool_fact(view, edit, requests))


def postpone_moves(needs: Iterable[Need], ends: datetime) -> Iterator[Postpone]:
    """Instead of placements and evictions, while the process waits for hosts after its start. An assignment that ended has ended."""
    for need in needs:
        if isinstance(need, Place) or (isinstance(need, Drain) and need.is_due):
            yield Postpone(
                key=need.key,
                before=need.before,
                record=need.record,
                change_reasons=need.change_reasons,
                body=need.body,
                due=ends,
            )


def order_evictions(view: View, needs: Iterable[Need], now: datetime) -> Iterator[Drain]:
    """Orders to leave for as many machines as may leave at once, the least important first. The others are looked at again soon.

    Orders on `live` count until the machine has left. The stricter of the old and the new `limits.evict` applies, so that a commit
    cannot raise the limit that it uses.
    """
    needs = tuple(needs)
    ended = {need.key for need in needs if need.key in view.relations.evicting and not is_evicted(need)}
    before = view.rules.before
    free = min(view.rules.settings.limits.evict, before.limits.evict) - (
        len(view.relations.evicting) - len(ended)
    )
    due = [need for need in needs if isinstance(need, Drain) and need.is_due]
    due.sort(key=lambda each: (not each.is_unconfirmed, priority(view, each.key), each.key))
    for place, need in enumerate(due):
        if place < free or need.is_unconfirmed:
            yield machine.order_eviction(need, view.objects[need.key], now)
        else:
            yield replace(need, due=now + QUEUED)


def is_evicted(need: Need) -> bool:
    status = need.record.status
    return isinstance(status, PLACED) and status.evict is not None


def priority(view: View, key: Key) -> int:
    found = view.objects[key].object
    return found.spec.priority if isinstance(found, Machine) else 0


def annotate(view: View, need: Need, now: datetime) -> Need:
    """With conditions that any object may have beside its need: its file is frozen, or a poollet reports it without the right to."""
    known = view.objects.get(need.key)
    if known is None:
        return need
    is_pool = need.key.kind in (Kind.MACHINE_POOL, Kind.VOLUME_POOL)
    refused = view.refused_announcements(need.key) if is_pool else view.accepted_reports(need.key).refused
    has_condition = need.record.condition(CLAIM_REFUSED) is not None
    if known.origin is not Origin.FROZEN and not refused and not has_condition:
        return need
    edit = ObjectEdit(known, need.record, now, need.change_reasons)
    if known.origin is Origin.FROZEN and (edit.assignment is not None or not is_on_a_host(edit.record)):
        edit = edit.set_condition(ACCEPTED, "False", FROZEN, why := why_frozen(view, known))
        edit = edit.log_change(Action.BLOCKED, why) if edit.record != need.record else edit
    if refused:
        edit = edit.set_condition(CLAIM_REFUSED, "True", "NotPoolOwner", "; ".join(sorted(refused)[:3]))
    else:
        edit = edit.clear_condition(CLAIM_REFUSED)
    return (
        need
        if edit.record == need.record
        else replace(need, record=edit.record, change_reasons=edit.change_reasons)
    )


def why_frozen(view: View, known: ObjectState) -> str:
    """For a message: the problem of the object itself, wherever it is declared now; else that of its file."""
    frozen = view.frozen
    own = [each for found in frozen.values() for each in found if each.object == str(known.key)]
    places = [place.path for place in (known.source, known.live) if place is not None]
    for problem in (*own, *(each for path in places for each in frozen.get(path, ()))):
        place = f"{problem.file}:{problem.line}" if problem.line else problem.file
        cure = f" ({problem.hint})" if problem.hint else ""
        return f"{place}: {problem.code} {problem.message}{cure}; the last good version is kept"
    return "its file in the source cannot be used; the last good version is kept"
