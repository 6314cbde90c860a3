"""From dirty keys to needs: which objects are looked at, by which rule, and whose turn it is to be evicted. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import msgspec

from reconciler.decide import generated, interface, machine, pool, removal, volume
from reconciler.decide.assignment import Fact, given_up, observed
from reconciler.decide.destroyed import Fate, Order, keys, orders
from reconciler.decide.identity import uid
from reconciler.decide.need import Drain, Keep, Need
from reconciler.decide.removal import Verdicts, verdicts
from reconciler.decide.retained import kept_for, lost, taken_back
from reconciler.decide.turn import Turn
from reconciler.decide.use import interfaces_of, machines_of, volumes_of
from reconciler.decide.view import View
from reconciler.plan.types import Action
from reconciler.world.known import Known, Standing
from reconciler.world.pool import PoolState
from reconciler.world.record import PLACED, condition, empty_status
from reconciler.world.record.condition import ACCEPTED, CLAIM_REFUSED, DELETION_HELD, FROZEN
from schemas.kinds import Key, Kind
from schemas.model import Machine

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
    ordered = orders(view)
    destroyed = frozenset(name for name, order in ordered.items() if order.fate is Fate.FOLLOWED)
    needs: dict[Key, Need] = {}
    told = Told(verdict, destroyed, needs, ordered)
    asked = {key for name in ordered for key in keys(name)}
    judge(view, scope(view, {*dirty, *asked}, destroyed), told, now, needs)
    needs |= {need.key: need for need in lost(view, destroyed, now)}
    if any(
        need.before is not None and need.before.pool not in ("", need.record.pool) for need in needs.values()
    ):
        # What was let go in this tick makes room for those who wait.
        judge(view, scope(view, view.waiting, ()) - needs.keys(), told, now, needs)
    for owner in [need for need in needs.values() if need.key.kind is Kind.MACHINE]:
        needs |= {need.key: need for need in brought_by(view, owner, now, destroyed)}
    needs |= {need.key: need for need in evictions(view, needs.values(), now)}
    return tuple(remarked(view, needs[key], now) for key in sorted(needs))


def judge(view: View, dirty: Iterable[Key], told: Told, now: datetime, needs: dict[Key, Need]) -> None:
    """Adds the need of each. Machines come before network interfaces, which take over what is seen of those."""
    for key in sorted(dirty):
        known = view.known.get(key)
        if known is not None:
            needs[key] = need_of(view, begun(view, known, now), told)


def scope(view: View, dirty: Collection[Key], destroyed: Collection[str]) -> set[Key]:
    """What is looked at: all that is dirty, what is decided together with it, and what waits for consent."""
    found = {*dirty, *view.absent}
    for name in destroyed:
        found |= {
            *view.on_pool(Key(Kind.MACHINE_POOL, "", name)),
            *view.on_pool(Key(Kind.VOLUME_POOL, "", name)),
        }
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


def begun(view: View, known: Known, now: datetime) -> Turn:
    """With an identity, and a status to write into."""
    record = known.record
    if (kept := kept_for(view, known)) is not None:
        return taken_back(known, kept, now)
    if not record.uid and known.standing is Standing.DECLARED:
        record = msgspec.structs.replace(
            record, uid=uid(view.settings.fleet.id, known.key, view.source or "")
        )
    if record.status is None:
        record = msgspec.structs.replace(record, status=empty_status(known.key.kind))
    turn = Turn(known, record, now)
    if isinstance(record.status, PLACED) and turn.assignment is None:
        return turn if record.status.state else turn.with_status(state="Pending")
    return turn


@dataclass(frozen=True, slots=True)
class Told:
    """What was found out before an object's turn."""

    verdict: Verdicts
    destroyed: Collection[str]
    needs: Mapping[Key, Need]  # of those before it
    orders: Mapping[str, Order]  # about pools


def need_of(view: View, turn: Turn, told: Told) -> Need:
    known = turn.known
    if known.key in view.absent and not removal.is_announced(view, known.key):
        return removal.absent(given_up(reported(view, turn), told.destroyed), told.verdict)
    if turn.record.is_deleting:
        return removal.leaving(view, reported(view, turn), told.destroyed)
    turn = turn.unsays(DELETION_HELD)
    match known.key.kind:
        case Kind.MACHINE:
            return machine.machine(view, turn, fact_of(view, known, told.destroyed))
        case Kind.VOLUME:
            return volume.volume(view, turn, fact_of(view, known, told.destroyed))
        case Kind.MACHINE_POOL | Kind.VOLUME_POOL:
            return pool.pool(view, turn, told.orders.get(known.key.name))
        case Kind.NETWORK_INTERFACE:
            return interface.keep(view, turn, told.needs)
        case _:
            return Keep(**reported(view, turn).course())


def reported(view: View, turn: Turn) -> Turn:
    """With what is said of it, whatever becomes of it."""
    said = view.said(turn.known.key)
    return turn if said is None or said.phase not in ("present", "unknown") else observed(turn, said)


def fact_of(view: View, known: Known, destroyed: Collection[str]) -> Fact:
    assignment = known.record.assignment
    if assignment is None:
        return Fact(destroyed=destroyed)
    states = view.pools if known.key.kind is Kind.MACHINE else view.volume_pools
    state: PoolState | None = states.get(assignment.pool)
    is_lost = state is None or state.is_lost
    return Fact(view.said(known.key), is_lost, destroyed)


def brought_by(view: View, owner: Need, now: datetime, destroyed: Collection[str]) -> Iterator[Need]:
    known = view.known[owner.key]
    if not known.is_staying or owner.record.is_deleting:
        return
    for each, expansion in generated.brought(view, owner, known):
        if each.is_staying and each.key not in view.absent:
            turn = begun(view, each, now)
            yield generated.need(view, turn, expansion, owner, fact_of(view, each, destroyed))


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
