"""What a volume that stays needs. Pure. Its data is never moved: no taint and no pin takes a volume off its pool.

The first row that applies decides, after its assignment followed its grant:

    paused                                            Keep, and only its status is written
    -- then what its pool reports is applied, and its claim is granted or released --
    unassigned, one host reports it                   Adopt
    unassigned, several hosts report it               Blocked
    unassigned in this tick, and nothing ordered it   Keep; the next commit places it (`handover`)
    unassigned, without a class                       Keep: it is provided from outside
    unassigned, an obstacle                           Blocked
    unassigned, its machine is placed                 Place, near the pool of the machine
    unassigned, its machine is not placed             Keep: it is placed together with the machine
    unassigned                                        Place
    its pool is lost                                  PoolUnreachable
    an obstacle                                       Blocked; what has it attached keeps it
    otherwise                                         Keep
"""

from __future__ import annotations

from reconciler.decide.apply_report import PoolFact, apply_report, next_retry
from reconciler.decide.deletion import is_paused
from reconciler.decide.handover import must_wait, wait_for_next_commit
from reconciler.decide.need import Need, Place
from reconciler.decide.object_edit import ObjectEdit
from reconciler.decide.obstacles import first_obstacle
from reconciler.decide.outcome import adopt_reported, block, keep, pause, recover, wait_for_pool
from reconciler.decide.references import machines_of, owner_of
from reconciler.decide.volume_claim import drop_rewound_claim, is_requested_by, update_claim
from reconciler.world.objects.object_state import ObjectState
from reconciler.world.record import ACCEPTED, SCHEDULED
from reconciler.world.view import View
from schemas.model import Volume


def decide_volume(view: View, edit: ObjectEdit, fact: PoolFact) -> Need:
    """By the table above, for declared and for generated volumes."""
    edit = drop_rewound_claim(view, edit)
    if (recovered := recover(view, edit, fact)) is not None:
        return recovered
    if is_paused(edit.known):
        return pause(view, edit, fact)
    edit = update_claim(view, apply_report(edit, fact))
    if edit.assignment is None:
        return decide_unassigned(view, edit, fact)
    pool = edit.assignment.pool
    if fact.is_lost:
        return wait_for_pool(view, edit, pool)
    edit = edit.set_condition(SCHEDULED, "True", "Placed", f"on {pool}")
    if found := first_obstacle(view, edit.known):
        return block(edit, *found)
    return keep(edit.clear_condition(ACCEPTED))


def decide_unassigned(view: View, edit: ObjectEdit, fact: PoolFact) -> Need:
    known = edit.known
    if (adopted := adopt_reported(view, edit, fact)) is not None:
        return adopted
    if must_wait(edit, fact):
        return keep(wait_for_next_commit(edit))
    if isinstance(known.object, Volume) and known.object.spec.volume_class_ref is None:
        # Provided from outside: there is nothing to place.
        return keep(edit.clear_condition(ACCEPTED, SCHEDULED))
    if found := first_obstacle(view, known):
        return block(edit, *found)
    edit = edit.clear_condition(ACCEPTED).recheck_by(next_retry(edit.rejections, edit.now))
    standing = users_of(view, known)
    placed = next((each for each in standing if each.record.assignment is not None), None)
    if placed is not None:
        return Place(**edit.need_fields(), near_pool=placed.record.pool)
    if standing:
        message = f"waiting to be placed together with machine {standing[0].key.name}"
        return keep(edit.set_condition(SCHEDULED, "False", "WaitingForMachine", message))
    return Place(**edit.need_fields())


def users_of(view: View, known: ObjectState) -> tuple[ObjectState, ...]:
    """Machines that stay and need it, sorted by key; its owner is one even before `live` has the volume."""
    owner = owner_of(known)
    return tuple(
        each
        for each in machines_of(view, known)
        if each.is_active and (each.key == owner or is_requested_by(known.key, each))
    )
