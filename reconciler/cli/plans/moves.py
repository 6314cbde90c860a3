"""Machines that leave their pool, or have a cause to leave it: where each goes, by the scheduler itself. Pure.

    what the plan records about the machine         here
    an order to leave                               it moves now
    it waits for its turn, or for its toleration    it moves later
    data that no person gave up                     it stays, and the target says where it could go
    its pin names a pool that cannot take it        it stays

The scheduler is asked with all of them gone from their pools and everything else where the plan puts it, so two machines never
get the same room. What the plan deletes on a pool that is not ready stays there: its host confirms nothing now. Fields decide which row applies, never a message.

Limits: a prediction. The reconciler places a machine only after its host reports that it is gone; room may be taken by then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

import msgspec

from reconciler.decide import placement as placing
from reconciler.decide.need import Keep, Place
from reconciler.decide.successors import without_assignment
from reconciler.plan.types import Action, Change, Plan
from reconciler.schedule.decision import Placed, Refusal
from reconciler.schedule.scheduler import schedule
from reconciler.world.objects.relations import POOL_OF
from reconciler.world.pools.pool_state import PoolState
from reconciler.world.record import EVICTION, NOTHING, PLACED, Record
from reconciler.world.view import View
from schemas.kinds import Key, Kind

# Reasons of the condition Eviction: what they mean for the machine.
LATER = ("EvictionPending", "WithinTolerationSeconds")
CONSENT = "DataLossApprovalRequired"
STAYS = (CONSENT, "PinnedPoolUnavailable", "RecreationHeld")


@dataclass(frozen=True, slots=True)
class MachineMove:
    """`target` is empty where no pool takes it, and `refusals` say why. `is_held`: it stays until people decide."""

    key: Key
    source: str
    reason: str
    is_later: bool = False
    is_held: bool = False
    needs_consent: bool = False
    target: str = ""
    refusals: tuple[Refusal, ...] = ()


def find_moves(view: View, plan: Plan, now: datetime) -> dict[Key, MachineMove]:
    """All machines that the plan orders to leave, or newly records a cause to leave for, with their targets."""
    moves = {move.key: move for change in plan.changes if (move := _move_of(change)) is not None}
    movable = [move.key for move in moves.values() if not move.is_held or move.needs_consent]
    if not movable:
        return moves
    places = [
        Place(key=key, before=None, record=without_assignment(view.objects[key].record)) for key in movable
    ]
    requests = placing.requests(view, places, now)
    staying = {
        change.key
        for change in plan.changes
        if (kind := POOL_OF.get(change.key.kind)) is not None
        and is_removed_later(change, view.find_pool(Key(kind, "", change.pool)))
    }
    needs = [need for need in planned_records(plan) if need.key not in moves and need.key not in staying]
    needs += [Keep(key=each.key, before=None, record=each.record) for each in places]
    cluster = placing.build_cluster_state(view, requests, needs)
    for decision in schedule(requests, cluster, placing.policy(view)):
        if decision.key not in moves:
            continue
        move = moves[decision.key]
        if isinstance(decision, Placed):
            moves[move.key] = replace(move, target=decision.pool)
        else:
            others = tuple(each for each in decision.refusals if each.pool != move.source)
            moves[move.key] = replace(move, refusals=others)
    return moves


def _move_of(change: Change) -> MachineMove | None:
    """By the fields that the plan writes, and only if this plan writes them: what was so before is not news."""
    before, after = change.before, change.after
    if (
        change.key.kind is not Kind.MACHINE
        or after is None
        or not after.pool
        or change.action in (Action.MARK_DELETED, Action.STOP)
    ):
        return None
    condition, known = after.condition(EVICTION), before.condition(EVICTION) if before else None
    message = condition.message if condition is not None else ""
    if _is_evicted(after) and not (before is not None and _is_evicted(before)):
        return MachineMove(change.key, after.pool, message)
    if condition is None or (known is not None and known.reason == condition.reason):
        return None
    if condition.reason in LATER:
        return MachineMove(change.key, after.pool, message, is_later=True)
    if condition.reason in STAYS:
        needs_consent = condition.reason == CONSENT
        return MachineMove(change.key, after.pool, message, is_held=True, needs_consent=needs_consent)
    return None


def is_removed_later(change: Change, pool: PoolState | None) -> bool:
    """Whether an object that the plan deletes keeps its room and its quota until the host of its pool answers again."""
    is_silent = pool is None or bool(pool.why_not_ready)
    return change.action in (Action.MARK_DELETED, Action.STOP) and is_silent


def _is_evicted(record: Record) -> bool:
    return isinstance(record.status, PLACED) and record.status.evict is not None


def planned_records(plan: Plan, targets: Mapping[Key, str] | None = None) -> Iterator[Keep]:
    """Each changed object with its record once the plan has come true: what is deleted is gone, what moves is on its target."""
    targets = targets or {}
    for change in plan.changes:
        record = change.after or NOTHING
        if change.action in (Action.MARK_DELETED, Action.STOP):
            record = without_assignment(record)
        elif change.key in targets:
            record = msgspec.structs.replace(record, pool=targets[change.key])
        yield Keep(key=change.key, before=change.before, record=record)


def targets_of(moves: Iterable[MachineMove]) -> dict[Key, str]:
    """Where the machines are afterwards that leave. One that fits nowhere is on no pool; one that is held stays, and is not listed."""
    return {move.key: move.target for move in moves if not move.is_held}
