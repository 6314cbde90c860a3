"""What a volume that stays needs. Pure. Its data is never moved: no taint and no pin takes a volume off its pool."""

from __future__ import annotations

from reconciler.decide import rejection
from reconciler.decide.apply_report import Fact, adopted, claims_on, settled
from reconciler.decide.deletion import is_paused
from reconciler.decide.machine import blocked, keep
from reconciler.decide.need import Adopt, Lost, Need, Place
from reconciler.decide.object_edit import Turn
from reconciler.decide.obstacles import obstacle
from reconciler.decide.references import machines_of, owner_of
from reconciler.decide.view import View
from reconciler.decide.volume_claim import claimed, is_asked_for
from reconciler.world.known import Known
from reconciler.world.record.condition import ACCEPTED, SCHEDULED
from schemas.model import Volume


def volume(view: View, turn: Turn, fact: Fact) -> Need:
    if is_paused(turn.known):
        return keep(turn.unsays(ACCEPTED))
    turn = claimed(view, settled(turn, fact))
    if turn.assignment is None:
        return unplaced(view, turn, fact)
    pool = turn.assignment.pool
    if fact.is_lost:
        said = f"pool {pool} was not heard of for its grace"
        return Lost(**turn.says("Ready", "Unknown", "PoolLost", said).course(), pool=pool)
    turn = turn.says(SCHEDULED, "True", "Placed", f"on {pool}")
    if found := obstacle(view, turn.known):
        return blocked(turn, *found)
    return keep(turn.unsays(ACCEPTED))


def unplaced(view: View, turn: Turn, fact: Fact) -> Need:
    known = turn.known
    claims = claims_on(view, turn, fact)
    if len(claims) > 1:
        who = " and ".join(sorted(each.poollet for each in claims))
        return blocked(turn, "ReportedTwice", f"reported by {who}: one of them has to give it up")
    if claims and (taken := adopted(view, turn, claims[0])) is not None:
        return Adopt(**taken.course())
    if isinstance(known.object, Volume) and known.object.spec.volume_class_ref is None:
        return keep(turn.unsays(ACCEPTED))  # provided from outside: there is nothing to place
    if found := obstacle(view, known):
        return blocked(turn, *found)
    turn = turn.unsays(ACCEPTED).by(rejection.next_end(turn.rejections, turn.now))
    standing = users_of(view, known)
    placed = next((each for each in standing if each.record.assignment is not None), None)
    if placed is not None:
        return Place(**turn.course(), near_pool=placed.record.pool)
    if standing:
        said = f"it is placed together with machine {standing[0].key.name}"
        return keep(turn.says(SCHEDULED, "False", "WaitsForMachine", said))
    return Place(**turn.course())


def users_of(view: View, known: Known) -> tuple[Known, ...]:
    """Machines that stay and ask for it; its owner is one even before live has it."""
    owner = owner_of(known)
    return tuple(
        each
        for each in machines_of(view, known)
        if each.is_staying and (each.key == owner or is_asked_for(known.key, each))
    )
