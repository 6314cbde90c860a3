"""What a machine that is declared, or frozen as it was, needs. Pure; a placed one is left where it is unless a cause says otherwise."""

from __future__ import annotations

from datetime import datetime, timedelta

from reconciler.decide import rejection
from reconciler.decide.apply_report import Fact, adopted, claims_on, settled
from reconciler.decide.deletion import is_paused
from reconciler.decide.eviction import Expulsion, consents, expulsion, has_local_disk
from reconciler.decide.need import Adopt, Blocked, Drain, Keep, Lost, Need, Place
from reconciler.decide.object_edit import Turn
from reconciler.decide.obstacles import obstacle
from reconciler.decide.pin import hindrance
from reconciler.decide.references import volumes_of
from reconciler.decide.view import View
from reconciler.plan.types import Action
from reconciler.world.known import Known
from reconciler.world.pool import PoolState
from reconciler.world.record import moment
from reconciler.world.record.condition import ACCEPTED, EVICTION, SCHEDULED
from schemas.model import Evict, Machine


def machine(view: View, turn: Turn, fact: Fact) -> Need:
    if is_paused(turn.known):
        return keep(turn.unsays(ACCEPTED))
    turn = settled(turn, fact)
    if turn.assignment is None:
        return unplaced(view, turn, fact)
    return placed(view, turn)


def unplaced(view: View, turn: Turn, fact: Fact) -> Need:
    turn = turn.unsays(EVICTION)
    claims = claims_on(view, turn, fact)
    if len(claims) > 1:
        who = " and ".join(sorted(each.poollet for each in claims))
        return blocked(turn, "ReportedTwice", f"reported by {who}: one of them has to give it up")
    if claims and (taken := adopted(view, turn, claims[0])) is not None:
        return Adopt(**taken.course())
    if found := obstacle(view, turn.known):
        return blocked(turn, *found)
    turn = turn.unsays(ACCEPTED).by(rejection.next_end(turn.rejections, turn.now))
    return Place(**turn.course())


def placed(view: View, turn: Turn) -> Need:
    machine, assignment = turn.known.object, turn.assignment
    assert isinstance(machine, Machine), "by the kind of its key"
    assert assignment is not None, "the caller asked"
    pool = view.pools.get(assignment.pool)
    if turn.evict is not None:
        return Drain(**turn.course(), reason=turn.evict.reason, is_ordered=True)
    if pool is None or pool.is_lost:
        said = f"pool {assignment.pool} was not heard of for its grace; it may still run"
        return Lost(**turn.says("Ready", "Unknown", "PoolLost", said).course(), pool=assignment.pool)
    pin = machine.spec.machine_pool_ref.name if machine.spec.machine_pool_ref else ""
    vain = hindrance(view, turn.known.key, machine, pin) if pin not in ("", assignment.pool) else ""
    cause = expulsion(machine, assignment.pool, "" if vain else pin, pool.taints)
    if cause is not None:
        return drained(view, turn, machine, cause)
    turn = turn.unsays(EVICTION).says(SCHEDULED, "True", "Placed", f"on {assignment.pool}")
    if vain:
        turn = turn.says(EVICTION, "False", "PinInVain", f"it stays: {vain}")
    if found := obstacle(view, turn.known):
        return blocked(turn, *found)
    if said := outgrown(machine, pool):
        return blocked(turn, "ClassNotOffered", said)
    return keep(turn.unsays(ACCEPTED))


def drained(view: View, turn: Turn, machine: Machine, cause: Expulsion) -> Need:
    """It is to leave: when it is tolerated no longer, when people consent to what is lost by it, and when its turn comes."""
    bound = bound_here(view, turn, machine)
    if bound and not consents(machine, cause):
        said = f"{cause.message}; it stays for {bound}: drain --force or onPoolLost: Replace gives that up"
        turn = turn.says(EVICTION, "False", "NeedsConsent", said)
        return Drain(**turn.course(), reason=said, is_ordered=False)
    began = turn.said(EVICTION)
    if cause.after_seconds and (began is None or began.reason not in ("Due", "Ordered")):
        said = f"{cause.message}, tolerated for {cause.after_seconds} s"
        turn = turn.says(EVICTION, "Unknown", "Tolerated", said)
        began = turn.said(EVICTION)
        since = moment(began.last_transition_time) if began is not None else None
        ends = (since or turn.now) + timedelta(seconds=cause.after_seconds)
        if turn.now < ends:
            return Keep(**turn.by(ends).course())
    turn = turn.says(EVICTION, "True", "Due", cause.message)
    return Drain(**turn.course(), reason=cause.message, is_ordered=False, is_due=True)


def bound_here(view: View, turn: Turn, machine: Machine) -> str:
    """What of the machine is on this host and nowhere else, or nothing."""
    if has_local_disk(machine):
        return "its local disk"
    pool = turn.record.pool
    for key in volumes_of(machine):
        volume = view.known.get(key)
        where = view.volume_pools.get(volume.record.pool) if volume is not None else None
        if (
            where is not None
            and where.reachable_from == frozenset({pool})
            and not where.machine_pool_selector
        ):
            return f"volume {key.name}, which is on this host"
    return ""


def ordered(drain: Drain, known: Known, now: datetime) -> Drain:
    """The order to leave, when it is this machine's turn."""
    turn = Turn(known, drain.record, now, drain.deeds, drain.due)
    assignment = turn.assignment
    assert assignment is not None, "only a placed machine drains"
    turn = (
        turn.with_status(evict=Evict(assignment=assignment.id, reason=drain.reason))
        .says(EVICTION, "True", "Ordered", drain.reason)
        .does(Action.EVICT, drain.reason)
    )
    return Drain(**turn.course(), reason=drain.reason, is_ordered=True)


def outgrown(machine: Machine, pool: PoolState) -> str:
    name = machine.spec.machine_class_ref.name
    if pool.announced is None or name in pool.classes:
        return ""
    return f"its pool does not offer class {name}; it keeps running as it is"


def keep(turn: Turn) -> Keep:
    return Keep(**turn.course())


def blocked(turn: Turn, reason: str, message: str) -> Blocked:
    """A placed one keeps running; it just does not get what it cannot have."""
    said = turn.says(ACCEPTED, "False", reason, message)
    if turn.assignment is None:
        said = said.says(SCHEDULED, "False", "Blocked", message)
    if said.record != turn.known.record:
        said = said.does(Action.BLOCKED, message)
    return Blocked(**said.course(), reason=reason)
