"""What a machine needs that is declared, or frozen as it was. Pure; a placed one stays where it is unless there is a cause to leave.

Theory of operation
-------------------
The first row that applies decides. Before it, the assignment follows its grant (`under_grant`); deletions never come here.

    `live` is lost or rewound, and other hosts report it   Adopt, or Blocked if several have it (`outcome.recover`)
    paused                                                 Keep, and only its status is written
    -- then what its pool reports is applied --
    unassigned, one host reports it                        Adopt
    unassigned, several hosts report it                    Blocked
    unassigned, a host has one of its name as an orphan    Blocked
    unassigned in this tick, and nothing had ordered that  Keep; the next commit places it (`handover`)
    unassigned, an obstacle                                Blocked
    unassigned                                             Place
    kept for an undo until it was declared again           Return, or Blocked (`undo`)
    ordered to leave                                       Drain; the order is never taken back
    not confirmed, and its previous pool reports it        Drain, due at once (`unconfirmed`)
    its pool is lost                                       PoolUnreachable
    a cause to leave, and data that people did not give up   Drain, held by DataLossApprovalRequired
    a cause to leave, tolerated for now                    Keep, looked at again when the time is over
    a cause to leave                                       Drain, due: `order_evictions` gives the orders
    an obstacle, or a class that the pool does not offer   Blocked; the guest runs on
    otherwise                                              Keep

A lost pool comes before every cause to leave: an order that no host reads would only hold one of the few evictions at once.

Must never happen: a machine that may still run is placed a second time; silence of a pool moves a machine; an obstacle
stops a guest that runs.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from reconciler.decide.apply_report import PoolFact, apply_report, next_retry
from reconciler.decide.deletion import is_paused
from reconciler.decide.eviction import (
    HELD,
    EvictionCause,
    accepts_data_loss,
    eviction_cause,
    find_bound_volume,
    is_order_to_move,
    recreation_cause,
    why_pool_rejects,
)
from reconciler.decide.handover import must_wait, wait_for_next_commit
from reconciler.decide.need import Drain, Need, Place
from reconciler.decide.object_edit import ObjectEdit
from reconciler.decide.obstacles import first_obstacle
from reconciler.decide.outcome import adopt_reported, block, keep, pause, recover, wait_for_pool
from reconciler.decide.removal.undo import decide_return
from reconciler.decide.unconfirmed import why_withdrawn
from reconciler.plan.types import Action
from reconciler.world.objects.object_state import ObjectState
from reconciler.world.objects.relations import pin_of
from reconciler.world.pools.pool_state import PoolState
from reconciler.world.record import ACCEPTED, EVICTION, SCHEDULED, moment
from reconciler.world.view import View
from schemas.effects.removal import list_local_disks
from schemas.model import Evict, Machine
from schemas.settings.duration import format_duration


def decide_machine(view: View, edit: ObjectEdit, fact: PoolFact) -> Need:
    """By the table above. `fact` is about the pool of the assignment as it is after this tick's grants."""
    if (recovered := recover(view, edit, fact)) is not None:
        return recovered
    if is_paused(edit.known):
        return pause(view, edit, fact)
    edit = apply_report(edit, fact)
    if edit.assignment is None:
        return decide_unassigned(view, edit, fact)
    return decide_assigned(view, edit, fact)


def decide_unassigned(view: View, edit: ObjectEdit, fact: PoolFact) -> Need:
    """Adopt it, block it, or find a pool. A pool that refused it is asked again when its backoff ends, so the need is due then."""
    edit = edit.clear_condition(EVICTION)
    if (adopted := adopt_reported(view, edit, fact)) is not None:
        return adopted
    if must_wait(edit, fact):
        return keep(wait_for_next_commit(edit))
    if found := first_obstacle(view, edit.known):
        return block(edit, *found)
    edit = edit.clear_condition(ACCEPTED).recheck_by(next_retry(edit.rejections, edit.now))
    return Place(**edit.need_fields())


def decide_assigned(view: View, edit: ObjectEdit, fact: PoolFact) -> Need:
    """The lower half of the table: order, lost pool, cause to leave, obstacle.

    An assignment that its pool has not confirmed may end at once, also on a lost pool: its host creates the machine when it is back.
    A pin to a pool that cannot take the machine is not a cause to leave; a condition shows why it was not moved.
    """
    machine, assignment = edit.known.object, edit.assignment
    assert isinstance(machine, Machine), "by the kind of its key"
    assert assignment is not None, "the caller asked"
    pool = view.pools.get(assignment.pool)
    if edit.evict is None and edit.record.undo is not None:
        return decide_return(view, edit)
    if edit.evict is not None:
        return Drain(**edit.need_fields(), reason=edit.evict.reason, is_ordered=True)
    if why := why_withdrawn(view, edit, fact):
        edit = edit.set_condition(EVICTION, "True", "EvictionPending", why)
        return Drain(**edit.need_fields(), reason=why, is_ordered=False, is_due=True, is_unconfirmed=True)
    if pool is None or pool.is_lost:
        return wait_for_pool(view, edit, assignment.pool, "; the machine may still be running")
    pin, rejection = pin_of(machine), ""
    if is_order_to_move(assignment.pool, pin):
        rejection = why_pool_rejects(view, edit.known.key, machine, pin)
    cause, obstacle = recreation_cause(machine, assignment.id), None
    if cause is not None and (obstacle := first_obstacle(view, edit.known)) is not None:
        cause = None  # it could not be created again
    cause = cause or eviction_cause(machine, assignment.pool, "" if rejection else pin, pool.taints)
    if cause is not None:
        return drain(view, edit, machine, cause)
    edit = edit.clear_condition(EVICTION).set_condition(SCHEDULED, "True", "Placed", f"on {assignment.pool}")
    if rejection:
        edit = edit.set_condition(EVICTION, "False", "PinnedPoolUnavailable", f"not moved: {rejection}")
    if obstacle is not None:
        edit = edit.set_condition(EVICTION, "False", HELD, f"not recreated: {obstacle.message}")
    if found := first_obstacle(view, edit.known):
        return block(edit, *found)
    if message := class_not_offered(machine, pool):
        return block(edit, "ClassNotOffered", message)
    return keep(edit.clear_condition(ACCEPTED))


def drain(view: View, edit: ObjectEdit, machine: Machine, cause: EvictionCause) -> Need:
    """The need of a machine that has a cause to leave.

    First the data: what only this host has must be given up by people. Then the time: tolerationSeconds begin when the condition first
    shows the cause, so the start is on `live` and survives a restart. Last the turn, which `order_evictions` decides.
    """
    bound = data_on_host(view, edit, machine)
    if bound and not accepts_data_loss(machine, cause, edit.assignment.id if edit.assignment else ""):
        message = (
            f"{cause.message}. Not evicted: {bound}. "
            f"Use `gitvirt drain {edit.record.pool} --force` or `onPoolLost: Replace` to accept that"
        )
        edit = edit.set_condition(EVICTION, "False", "DataLossApprovalRequired", message)
        return Drain(**edit.need_fields(), reason=message, is_ordered=False)
    began = edit.condition(EVICTION)
    if cause.after_seconds and (began is None or began.reason not in ("EvictionPending", "Evicting")):
        message = f"{cause.message}, tolerated for {format_duration(cause.after_seconds)}"
        edit = edit.set_condition(EVICTION, "Unknown", "WithinTolerationSeconds", message)
        began = edit.condition(EVICTION)
        since = moment(began.last_transition_time) if began is not None else None
        ends = (since or edit.now) + timedelta(seconds=cause.after_seconds)
        if edit.now < ends:
            return keep(edit.recheck_by(ends))
    edit = edit.set_condition(EVICTION, "True", "EvictionPending", cause.message)
    return Drain(**edit.need_fields(), reason=cause.message, is_ordered=False, is_due=True)


def data_on_host(view: View, edit: ObjectEdit, machine: Machine) -> str:
    """Which data of the machine is on this host alone, for a message; empty when there is none."""
    if disks := list_local_disks(machine):
        return f"that would DESTROY {'; '.join(map(str, disks))}"
    volume = find_bound_volume(view, edit.record.pool, machine)
    return f"volume {volume} stays on this host, out of reach of the machine" if volume else ""


def order_eviction(drain: Drain, known: ObjectState, now: datetime) -> Drain:
    """The order to leave, when it is this machine's turn. The assignment stays until its pool reports that the machine is gone."""
    edit = ObjectEdit(known, drain.record, now, drain.change_reasons, drain.due)
    assignment = edit.assignment
    assert assignment is not None, "only a placed machine drains"
    edit = (
        edit.with_status(evict=Evict(assignment=assignment.id, reason=drain.reason))
        .set_condition(EVICTION, "True", "Evicting", drain.reason)
        .log_change(Action.EVICT, drain.reason)
    )
    return Drain(**edit.need_fields(), reason=drain.reason, is_ordered=True)


def class_not_offered(machine: Machine, pool: PoolState) -> str:
    """Why a placed machine does not fit its pool any more, or an empty text. A pool that reports nothing is not asked."""
    name = machine.spec.machine_class_ref.name
    if pool.announced is None or name in pool.classes:
        return ""
    return f"its pool does not offer class {name}; the machine keeps running unchanged"
