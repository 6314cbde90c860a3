"""From dirty keys to needs: which objects are looked at, by which rule, and whose turn it is to be evicted. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import msgspec

from reconciler.decide import deletion as removal
from reconciler.decide import ephemeral as generated
from reconciler.decide import interface, machine, pool, volume
from reconciler.decide.apply_report import Fact, observed, under_grant
from reconciler.decide.deletion import Verdicts, verdicts
from reconciler.decide.identity import uid
from reconciler.decide.need import Drain, Keep, Need
from reconciler.decide.object_edit import Turn
from reconciler.decide.pool_requests import PoolRequests, judge_requests
from reconciler.decide.references import interfaces_of, machines_of, volumes_of
from reconciler.decide.retained import kept_for, lost, taken_back
from reconciler.decide.view import View
from reconciler.plan.types import Action
from reconciler.world.known import Known, Standing
from reconciler.world.pool import PoolState
from reconciler.world.record import PLACED, condition, empty_status
from reconciler.world.record.condition import ACCEPTED, CLAIM_REFUSED, DELETION_HELD, FROZEN
from schemas.kinds import Key, Kind
from schemas.model import Machine, VolumeSnapshot

QUEUED = timedelta(seconds=10)  # how soon a machine that waits for its turn to leave is looked at again


def diff(
    view: View, dirty: Collection[Key], now: datetime, verdict: Verdicts | None = None
) -> tuple[Need, ...]:
    """One need a key, sorted by key. Nothing at all while nobody knows what a lost `live` said.

    `verdict` is that about all that is absent, where it is known already.
    """
    if view.is_live_lost and not view.is_settled:
        return ()
    verdict = verdict or verdicts(view)
    requests = judge_requests(view)
    needs: dict[Key, Need] = {}
    told = Told(verdict, requests, needs)
    judge(view, scope(view, {*dirty, *requests.status, *requests.notices}, requests.ended), told, now, needs)
    needs |= {need.key: need for need in lost(view, requests, now)}
    if any(
        need.before is not None and need.before.pool not in ("", need.record.pool) for need in needs.values()
    ):
        # What was let go in this tick makes room for those who wait.
        judge(view, scope(view, view.waiting, ()) - needs.keys(), told, now, needs)
    for owner in [need for need in needs.values() if need.key.kind is Kind.MACHINE]:
        needs |= {need.key: need for need in brought_by(view, owner, now, requests)}
    needs |= {need.key: need for need in evictions(view, needs.values(), now)}
    return tuple(remarked(view, needs[key], now) for key in sorted(needs))


def judge(view: View, dirty: Iterable[Key], told: Told, now: datetime, needs: dict[Key, Need]) -> None:
    """Adds the need of each. Machines come before network interfaces, which take over what is seen of those."""
    for key in sorted(dirty):
        known = view.known.get(key)
        if known is not None:
            needs[key] = need_of(view, begun(view, known, now, told.requests), told)


def scope(view: View, dirty: Collection[Key], ended: Collection[Key]) -> set[Key]:
    """What is looked at: all that is dirty, what is decided together with it, and what waits for consent."""
    found = {*dirty, *view.absent}
    for key in ended:
        found |= {*view.on_pool(key)}
    if ended:
        found |= {key for key in view.known if key.kind is Kind.VOLUME_SNAPSHOT}
    if not found.isdisjoint(view.evicting):
        for state in view.pools.values():
            if any(taint.effect == "NoExecute" for taint in state.taints):
                found |= {*view.on_pool(state.key)}
    for key in [key for key in found if key.kind is Kind.VOLUME]:
        if (known := view.known.get(key)) is not None:
            found |= {machine.key for machine in machines_of(view, known)}
    for key in [key for key in found if key.kind is Kind.MACHINE]:
        found |= {*view.held_by(key)}
        known = view.known.get(key)
        if known is not None and isinstance(known.object, Machine):
            found |= {*volumes_of(known.object), *interfaces_of(known.object), *view.owned(key)}
    return found


def begun(view: View, known: Known, now: datetime, requests: PoolRequests) -> Turn:
    """With an identity, a status to write into, and its assignment under the grant of its pool."""
    record = known.record
    if (kept := kept_for(view, known)) is not None:
        return under_grant(taken_back(known, kept, now), requests, view)
    if not record.uid and known.standing is Standing.DECLARED:
        record = msgspec.structs.replace(
            record, uid=uid(view.settings.fleet.id, known.key, view.source or "")
        )
    if record.status is None:
        record = msgspec.structs.replace(record, status=empty_status(known.key.kind))
    turn = Turn(known, record, now)
    if isinstance(record.status, PLACED) and turn.assignment is None:
        return turn if record.status.state else turn.with_status(state="Pending")
    return under_grant(turn, requests, view)


@dataclass(frozen=True, slots=True)
class Told:
    """What was found out before an object's turn."""

    verdict: Verdicts
    requests: PoolRequests
    needs: Mapping[Key, Need]  # of those before it


def need_of(view: View, turn: Turn, told: Told) -> Need:
    known = turn.known
    if known.key in view.absent and not removal.is_announced(view, known.key):
        return removal.absent(reported(view, turn), told.verdict)
    if turn.record.is_deleting:
        return removal.leaving(view, reported(view, turn), told.requests.cleared)
    turn = turn.unsays(DELETION_HELD)
    match known.key.kind:
        case Kind.MACHINE:
            return machine.machine(view, turn, fact_of(view, turn, told.requests))
        case Kind.VOLUME:
            return volume.volume(view, turn, fact_of(view, turn, told.requests))
        case Kind.MACHINE_POOL | Kind.VOLUME_POOL:
            return pool.pool(view, turn, told.requests)
        case Kind.NETWORK_INTERFACE:
            return interface.keep(view, turn, told.needs)
        case Kind.VOLUME_SNAPSHOT if is_lost_with_pool(view, known, told.requests.cleared):
            return Keep(**turn.with_record(status=empty_status(known.key.kind)).course())
        case _:
            return Keep(**reported(view, turn).course())


def reported(view: View, turn: Turn) -> Turn:
    """With what is said of it, whatever becomes of it."""
    said = view.said(turn.known.key)
    if said is None or said.phase not in ("present", "unknown") or is_released(turn):
        return turn
    return observed(turn, said)


def is_released(turn: Turn) -> bool:
    """In this tick: what is reported is about an assignment that ended."""
    return turn.assignment is None and turn.known.record.assignment is not None


def is_lost_with_pool(view: View, snapshot: Known, cleared: Collection[Key]) -> bool:
    """Its data was on a host of which this tick follows that it is destroyed."""
    if not cleared or not isinstance(snapshot.object, VolumeSnapshot):
        return False
    volume = view.known.get(Key(Kind.VOLUME, snapshot.key.namespace, snapshot.object.spec.volume_ref.name))
    said = view.said(snapshot.key)
    pools = {volume.record.pool if volume is not None else "", said.pool if said is not None else ""}
    return any(Key(Kind.VOLUME_POOL, "", pool) in cleared for pool in pools)


def fact_of(view: View, turn: Turn, requests: PoolRequests) -> Fact:
    assignment, known = turn.assignment, turn.known
    if assignment is None:
        return Fact(ended=requests.ended)
    states = view.pools if known.key.kind is Kind.MACHINE else view.volume_pools
    state: PoolState | None = states.get(assignment.pool)
    is_lost = state is None or state.is_lost
    return Fact(view.said(known.key), is_lost, requests.ended)


def brought_by(view: View, owner: Need, now: datetime, requests: PoolRequests) -> Iterator[Need]:
    known = view.known[owner.key]
    if not known.is_staying or owner.record.is_deleting:
        return
    for each, expansion in generated.brought(view, owner, known):
        if each.is_staying and each.key not in view.absent:
            turn = begun(view, each, now, requests)
            yield generated.need(view, turn, expansion, owner, fact_of(view, turn, requests))


def evictions(view: View, needs: Iterable[Need], now: datetime) -> Iterator[Drain]:
    """The order to leave for as many as may leave at once, the least important first; the others wait for their turn."""
    needs = tuple(needs)
    ended = {need.key for need in needs if need.key in view.evicting and not is_evicted(need)}
    before = view.settings_before or view.settings
    free = min(view.settings.limits.evict, before.limits.evict) - (len(view.evicting) - len(ended))
    due = [need for need in needs if isinstance(need, Drain) and need.is_due]
    for place, need in enumerate(sorted(due, key=lambda each: (priority(view, each.key), each.key))):
        if place < free:
            yield machine.ordered(need, view.known[need.key], now)
        else:
            yield replace(need, due=now + QUEUED)


def is_evicted(need: Need) -> bool:
    status = need.record.status
    return isinstance(status, PLACED) and status.evict is not None


def priority(view: View, key: Key) -> int:
    found = view.known[key].object
    return found.spec.priority if isinstance(found, Machine) else 0


def remarked(view: View, need: Need, now: datetime) -> Need:
    """With what is to be said of any object: that its file is frozen, that a poollet claims what is not its own."""
    known = view.known.get(need.key)
    if known is None:
        return need
    refused, status = view.refused_claims(need.key), need.record.status
    is_said = status is not None and condition(status.conditions, CLAIM_REFUSED) is not None
    if known.standing is not Standing.FROZEN and not refused and not is_said:
        return need
    turn = Turn(known, need.record, now, need.deeds)
    if known.standing is Standing.FROZEN:
        turn = turn.says(ACCEPTED, "False", FROZEN, why := why_frozen(view, known))
        turn = turn.does(Action.BLOCKED, why) if turn.record != need.record else turn
    if refused:
        turn = turn.says(CLAIM_REFUSED, "True", "NotItsOwn", "; ".join(sorted(refused)[:3]))
    else:
        turn = turn.unsays(CLAIM_REFUSED)
    return need if turn.record == need.record else replace(need, record=turn.record, deeds=turn.deeds)


def why_frozen(view: View, known: Known) -> str:
    """What is said of itself, wherever it is declared now; else what is said of its file."""
    frozen = view.frozen
    own = [each for found in frozen.values() for each in found if each.object == str(known.key)]
    places = [place.path for place in (known.source, known.live) if place is not None]
    for problem in (*own, *(each for path in places for each in frozen.get(path, ()))):
        return f"{problem.file}: {problem.message}; it stays as it was"
    return "its file in the source cannot be used; it stays as it was"
