"""Plans one object: the calls that it needs next, and its entry in the report. Pure.

Theory of operation. The presence of the object and the intent of its order choose the plan; the first row that fits counts. Only
what a kind does to be created, changed or removed is in its own module (machine/plan.py, volumes.py, snapshots.py).

    presence           intent     plan
    any                not Withdraw, and the assignment was reported rejected or gone: that answer stays
    Unknown            any        the last entry, with the phase "unknown"
    InFlight           any        the last entry
    UnconfirmedAbsent  any        the last entry; the next list tells
    Duplicates         any        the last entry, and a person has to decide; all machines but one are powered off
    Absent             Withdraw   gone, once no creation can take effect any more (late_creation.py)
    Absent             Skip       pending, with the reason
    Absent             Retain     its data is lost; a machine has none and is pending
    Absent             Stop       pending: what is not here is not created either
    Absent             Ensure     created; if it existed and holds data, that is lost and it is not created again
    Present            Withdraw   removed, unless something blocks that
    Present            Skip       its state, with the reason
    Present            Retain     its state
    Present            Stop       powered off, and nothing else
    Present            Ensure     what differs is changed

Must never happen: an object with data that existed and is missing is created again, which would hide that its data is lost.
"""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from iri.change import SetPower
from iri.machine import MachineState, Power, RuntimeMachine
from iri.runtime import RuntimeObject
from iri.volume import RuntimeSnapshot, RuntimeVolume
from poollet.decide.actions import Call, EventText, Ref, remove_call, update_call
from poollet.decide.assignments import Ensure, HostOrder, Retain, Skip, Stop, Withdraw
from poollet.decide.decision_pass import DecisionPass, OrderedObject
from poollet.decide.fences import fence_duplicates
from poollet.decide.inventory import Absent, Duplicates, InFlight, Present, UnconfirmedAbsent, Unknown
from poollet.decide.late_creation import end_assignment, reject
from poollet.decide.machine.conditions import report_machine, stopped_message
from poollet.decide.machine.plan import change_machine, create_machine, stop_machine
from poollet.decide.memory import FINAL, Entry
from poollet.decide.secrets import NotReady
from poollet.decide.snapshots import create_snapshot, report_snapshot
from poollet.decide.volumes import (
    create_volume,
    expand_volume,
    must_keep_data,
    removal_blockers,
    report_volume,
)
from poollet.report.conditions import DELETED, LOST, READY, UP_TO_DATE, condition, duplicates_condition
from poollet.report.entries import (
    Conditions,
    Status,
    new_entry,
    report_pending,
    up_to_date_conditions,
    with_conditions,
)
from schemas import report
from schemas.kinds import Kind
from schemas.model import Machine, Volume, VolumeSnapshot

NOUNS = {Kind.MACHINE: "machine", Kind.VOLUME: "volume", Kind.VOLUME_SNAPSHOT: "snapshot"}
RETAINED = "Retained"
KEPT = "kept: the volume already holds data, and its deletionPolicy is not Delete"


def plan_object(ordered_object: OrderedObject, current: DecisionPass) -> Entry:
    """The plan by presence, as in the table. Every branch returns an entry: an ordered object is always
    reported."""
    order, before = ordered_object.order, current.before(ordered_object.order)
    if before is not None and before.phase in FINAL and not isinstance(order.intent, Withdraw):
        return before
    match ordered_object.presence:
        case Unknown():
            return replace(before or new_entry(order), phase="unknown")
        case InFlight():
            current.keep_missing(order.ref)
            return before or report_pending(order)
        case UnconfirmedAbsent() as unconfirmed:
            current.remember_missing(order.ref, unconfirmed)
            # Without a status: what `live` has of it, its id above all, stays until it is certain that it is missing.
            unknown = new_entry(order, "unknown") if current.was_made(order) else report_pending(order)
            return before or unknown
        case Duplicates(found):
            fence_duplicates(order, found, current)
            problem = duplicates_condition((one.runtime, one.object.id) for one in found)
            return with_conditions(before or report_pending(order), (problem,))
        case Absent():
            current.keep_missing(order.ref)
            return plan_absent(order, current)
        case Present(there):
            return plan_present(order, there, current)
        case _:
            assert_never(ordered_object.presence)


def plan_absent(order: HostOrder, current: DecisionPass) -> Entry:
    """By the intent of an object that does not exist here."""
    has_data = not isinstance(order.object, Machine)
    match order.intent:
        case Withdraw():
            current.forget_reported_error(order.ref)
            return end_assignment(order, current) or new_entry(order, "gone")
        case Skip(reason, message):
            return report_pending(order, (condition(UP_TO_DATE, False, reason, message),))
        case Retain():
            return report_lost(order, current) if has_data else report_pending(order)
        case Stop(until):
            return report_pending(order, (condition(UP_TO_DATE, False, DELETED, stopped_message(until)),))
        case Ensure() if has_data and current.was_made(order):
            return report_lost(order, current)
        case Ensure():
            return plan_missing(order, current)
        case _:
            assert_never(order.intent)


def report_lost(order: HostOrder, current: DecisionPass) -> Entry:
    """An object with data is missing: people have to know, and the host must not make a new one."""
    entry, before = new_entry(order, "unknown"), current.before(order)
    noun = NOUNS[order.key.kind]
    message = (
        f"the runtime no longer lists the {noun}. It is not created again, because an empty {noun} would hide the loss: "
        f"mount the disk that is missing; if the data is gone for good, declare a new {noun}"
    )
    status = (before.status if before is not None else None) or status_on_live(order)
    if isinstance(status, report.ReportedVolumeStatus):
        status = replace(status, state="Error", access=None)
    else:
        status = replace(status, state="Failed")
    problem = condition(READY, False, LOST, message)
    return replace(entry, status=replace(status, conditions=(problem,)))


def status_on_live(order: HostOrder) -> Status:
    """What `live` has of an object with data, for a report that says no more of it than that. The id stays, so that the object is never taken for
    one that was not made yet."""
    match order.object:
        case Volume(status=known):
            resources = {name: str(amount) for name, amount in known.resources.items()}
            return report.ReportedVolumeStatus(volume_id=known.volume_id, resources=dict(resources))
        case VolumeSnapshot(status=shot):
            return report.ReportedSnapshotStatus(snapshot_id=shot.snapshot_id)
        case Machine():
            return report.ReportedMachineStatus()


def plan_missing(order: HostOrder, current: DecisionPass) -> Entry:
    """Creates it, or rejects it with the shortfalls that admission found."""
    if reasons := current.refusals.get(order.ref):
        return reject(order, reasons, current)
    match order.object:
        case Machine() as machine:
            return create_machine(order, machine, current)
        case Volume() as volume:
            return create_volume(order, volume, current)
        case VolumeSnapshot() as snapshot:
            return create_snapshot(order, snapshot, current)


def plan_present(order: HostOrder, there: RuntimeObject, current: DecisionPass) -> Entry:
    """By the intent of an object that exists here."""
    match order.intent:
        case Withdraw(reason):
            return plan_removal(order, there, reason, current)
        case Skip(reason, message):
            known = (condition(UP_TO_DATE, False, reason, message),)
            return report_existing(order, there, known, current)
        case Retain():
            return report_existing(order, there, (), current)
        case Stop(until):
            assert isinstance(order.object, Machine), "no other kind is stopped"
            assert isinstance(there, RuntimeMachine)
            return stop_machine(order, order.object, there, until, current)
        case Ensure():
            return plan_existing(order, there, current)
        case _:
            assert_never(order.intent)


def plan_existing(order: HostOrder, there: RuntimeObject, current: DecisionPass) -> Entry:
    """Brings it to the desired state. A snapshot never changes."""
    match order.object, there:
        case Machine() as machine, RuntimeMachine():
            return change_machine(order, machine, there, current)
        case Volume() as volume, RuntimeVolume():
            return expand_volume(order, volume, there, current)
        case _:
            return report_existing(order, there, (), current)


def plan_removal(order: HostOrder, there: RuntimeObject, reason: str, current: DecisionPass) -> Entry:
    """Removes it, unless its data must be kept or something holds it. What blocks the removal is reported,
    and the calls wait for it."""
    calls = removal_calls(order.ref, there, current)
    blocked: tuple[NotReady, ...] = ()
    if isinstance(order.object, Volume) and isinstance(there, RuntimeVolume):
        if must_keep_data(order.object) and not there.deleted_at:
            return report_volume(order, there, (condition(UP_TO_DATE, False, RETAINED, KEPT),), current)
        blocked = removal_blockers(order, order.object, there, current)
    found = current.plan_action(order, () if blocked else calls, (EventText("Removing", reason),))
    message = f"removing the {NOUNS[order.key.kind]}: {reason}"
    ending = condition(READY, False, "Terminating", message)
    known = (ending, *up_to_date_conditions(found, blocked))
    return report_existing(order, there, known, current)


def removal_calls(ref: Ref, there: RuntimeObject, current: DecisionPass) -> tuple[Call, ...]:
    """The guest of a machine is powered off first, and after a while the machine is removed in any case."""
    remove = () if there.deleted_at else (remove_call(ref.kind, there),)
    if not isinstance(there, RuntimeMachine):
        return remove
    since_ms = current.inputs.memory.removing_since_ms.get(ref, current.now_ms)
    current.removing_since_ms[ref] = since_ms
    off = update_call(there, SetPower(Power.OFF))
    deadline_ms = since_ms + 1000 * current.inputs.facts.power_off_seconds
    is_refused = any(one.call == off and one.error is not None for one in current.retries_of(ref).attempts)
    is_running = there.status.state is MachineState.RUNNING
    if there.deleted_at or not is_running or is_refused or current.now_ms >= deadline_ms:
        return remove
    current.recheck_at(deadline_ms)
    return (off,) if there.spec.power is not Power.OFF else ()


def report_existing(
    order: HostOrder, there: RuntimeObject, known: Conditions, current: DecisionPass
) -> Entry:
    """The entry of an object that is there: the known conditions, and what its runtime states besides."""
    match order.object, there:
        case Machine() as machine, RuntimeMachine():
            return report_machine(order, machine, there, known, current)
        case Volume(), RuntimeVolume():
            return report_volume(order, there, known, current)
        case VolumeSnapshot(), RuntimeSnapshot():
            return report_snapshot(order, there, known, current)
        case _:
            raise AssertionError("the list of a kind has objects of that kind only")
