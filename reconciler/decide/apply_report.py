"""What a pool says of its assignment, taken into the record: what is reported, a rejection, the end, an adoption. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from reconciler.decide.object_edit import Turn
from reconciler.decide.pool_requests import PoolRequests, follow_grant, status_of
from reconciler.decide.rejection import noted
from reconciler.decide.view import View
from reconciler.plan.types import Action
from reconciler.world.record.condition import EVICTION, SCHEDULED
from reconciler.world.reports.authority import POOL_OF
from reconciler.world.reports.folding import folded
from reconciler.world.reports.said import Said
from schemas.kinds import Key
from schemas.model import VolumeStatus


@dataclass(frozen=True, slots=True)
class Fact:
    """About the pool that an object is assigned to. `said` is its word on that assignment; `ended` are the pools of which a
    host loses the grant in this tick."""

    said: Said | None = None
    is_lost: bool = False
    ended: Collection[Key] = frozenset()


def settled(turn: Turn, fact: Fact) -> Turn:
    """With what the pool's word means for the assignment. What a lost pool said last stays as it is on live."""
    assignment, said = turn.assignment, fact.said
    if assignment is None:
        return turn
    if said is None or fact.is_lost:
        return turn
    if said.phase in ("rejected", "gone") and has_data(turn):
        told = f"pool {assignment.pool} says that it is {said.phase}, and nobody ordered that; its data may be there"
        return turn.says("Ready", "Unknown", "Contradictory", told)
    match said.phase:
        case "rejected":
            rejections = noted(turn.rejections, assignment, said.reasons, turn.now)
            why = next(each.message for each in rejections if each.pool == assignment.pool)
            reason = f"{assignment.pool} rejected it: {why}"
            return turn.with_status(rejections=rejections).released().does(Action.WITHDRAW, reason)
        case "gone":
            reason = f"gone from {assignment.pool}" + (f": {turn.evict.reason}" if turn.evict else "")
            return turn.released().unsays(EVICTION).does(Action.WITHDRAW, reason)
        case "present" | "unknown":
            return observed(turn, said)


def under_grant(turn: Turn, requests: PoolRequests, view: View) -> Turn:
    """With its assignment as the grant of its pool has it after this tick: moved along, or released with a destroyed host.

    This holds whatever else is to happen to the object, also while it is paused: its host is gone, or another one.
    """
    assignment = turn.assignment
    if assignment is None:
        return turn
    key = Key(POOL_OF[turn.known.key.kind], "", assignment.pool)
    after = follow_grant(assignment, requests.status.get(key) or status_of(view, key))
    if after is None:
        reason = f"host {assignment.host} of pool {assignment.pool} is destroyed"
        return turn.released().unsays(EVICTION).does(Action.WITHDRAW, reason)
    if after != assignment:
        told = f"pool {assignment.pool} moved from host {assignment.host} to host {after.host}"
        turn = turn.with_status(assignment=after).does(Action.STATUS, told)
    return turn


def has_data(turn: Turn) -> bool:
    """A volume that was made. No word of its pool but on an order ends that: it would come back empty."""
    status = turn.record.status
    return isinstance(status, VolumeStatus) and status.volume_id != "" and turn.evict is None


def observed(turn: Turn, said: Said) -> Turn:
    """With what is reported as its status."""
    status = folded(turn.record, said, turn.now)
    if status == turn.record.status:
        return turn
    state = getattr(status, "state", "") or "Pending"
    before = getattr(turn.record.status, "state", "")
    told = state.lower() if state != before else f"{state.lower()}, as {said.poollet} reports"
    return turn.with_record(status=status).does(Action.STATUS, told)


def claims_on(view: View, turn: Turn, fact: Fact) -> tuple[Said, ...]:
    """Who says that it is there, now that live gives it to nobody. A host that loses its grant in this tick gets nothing."""
    if turn.known.record.assignment is not None:
        return ()
    kind = POOL_OF[turn.known.key.kind]
    return tuple(one for one in view.claimed(turn.known.key) if Key(kind, "", one.pool) not in fact.ended)


def adopted(view: View, turn: Turn, said: Said) -> Turn | None:
    """Back where a poollet has it, with the uid that it has there; None when that is another object of the same name."""
    if turn.record.uid not in ("", said.uid) and turn.before is not None and turn.before.uid:
        return None
    grant = view.grant(Key(POOL_OF[turn.known.key.kind], "", said.pool))
    turn = turn.with_record(uid=said.uid).assigned(said.pool, said.assignment, grant)
    turn = turn.says(SCHEDULED, "True", "Placed", f"on {said.pool}")
    turn = turn.with_record(status=folded(turn.record, said, turn.now))
    return turn.does(Action.ADOPT, f"{said.poollet} has it on {said.pool}")
