"""What becomes of one machine: the calls that it needs next, and its entry in the report.

A machine that is missing is created here, one that is there is brought to the desired state by update.py, and either way
entry.py makes the entry.
"""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from iri.machine import RuntimeMachine
from poollet.decide import create_errors, dependencies
from poollet.decide.actions import CreateCall, EventText
from poollet.decide.assignments import Ensure, HostOrder, Retain, Skip, Withdraw
from poollet.decide.decision_pass import FINAL, DecisionPass, OrderedObject
from poollet.decide.inventory import Absent, Duplicates, InFlight, Present, UnconfirmedAbsent, Unknown
from poollet.decide.machine import diff as machine_diff
from poollet.decide.machine.conditions import pending_conditions, rejection_reasons, up_to_date_conditions
from poollet.decide.machine.entry import (
    reject,
    report_machine,
    report_pending,
    report_present,
    with_conditions,
)
from poollet.decide.machine.removal import removal_calls
from poollet.decide.machine.update import desired_machine, plan_existing
from poollet.report.conditions import CLASS_READY, READY, UP_TO_DATE, condition, duplicates_condition
from schemas import report
from schemas.kinds import Kind
from schemas.model import Machine


def plan_machine(
    ordered_object: OrderedObject,
    machine: Machine,
    shortfalls: tuple[report.ReportedReason, ...],
    current: DecisionPass,
) -> report.MachineReport:
    """`shortfalls`: why the machine does not fit into its pool."""
    order, before = ordered_object.order, current.before(ordered_object.order, report.MachineReport)
    if before is not None and before.phase in FINAL and not isinstance(order.intent, Withdraw):
        return before
    match ordered_object.presence:
        case Unknown():
            return replace(before or report_present(order), phase="unknown")
        case InFlight():
            current.keep_missing(order.ref)
            return before or report_pending(order, ())
        case UnconfirmedAbsent() as unconfirmed:
            current.remember_missing(order.ref, unconfirmed)
            return before or report_pending(order, ())
        case Duplicates(found):
            problem = duplicates_condition((one.runtime, one.object.id) for one in found)
            return with_conditions(before or report_pending(order, ()), (problem,))
        case Absent():
            current.keep_missing(order.ref)
            return plan_absent(order, machine, shortfalls, current)
        case Present(there):
            assert isinstance(there, RuntimeMachine)
            return plan_present(order, machine, there, current)
        case _:
            assert_never(ordered_object.presence)


def plan_absent(
    order: HostOrder, machine: Machine, shortfalls: tuple[report.ReportedReason, ...], current: DecisionPass
) -> report.MachineReport:
    match order.intent:
        case Withdraw():
            return report.MachineReport(order.ref.uid, order.assignment, "gone", order.pool)
        case Skip(reason, message):
            return report_pending(order, (condition(UP_TO_DATE, False, reason, message),))
        case Retain():
            return report_pending(order, ())
        case Ensure():
            return plan_missing(order, machine, shortfalls, current)
        case _:
            assert_never(order.intent)


def plan_missing(
    order: HostOrder, machine: Machine, shortfalls: tuple[report.ReportedReason, ...], current: DecisionPass
) -> report.MachineReport:
    was_there = current.was_reported(order)
    if shortfalls:
        return reject(order, shortfalls)
    needs = dependencies.resolve_machine(order, machine, current.lookups)
    if not current.ledger.is_known((Kind.MACHINE_POOL, order.pool)):
        problem = condition(
            CLASS_READY, False, "PoolUnknown", f"the capacity of pool {order.pool} is not known yet"
        )
        return report_pending(order, (*pending_conditions(needs), problem))
    in_use = machine_diff.find_volumes_in_use(needs, current.inventory.holders)
    if in_use or not needs.is_complete:
        return report_pending(order, pending_conditions(needs, in_use))
    desired = desired_machine(order, machine, needs, current)
    event = (
        EventText("Recreated", "the machine was missing on the host; recreating it", True)
        if was_there
        else EventText("Created", "created")
    )
    result = current.plan_action(order, (CreateCall(desired),), (event,))
    refused = create_errors.group_errors(result.errors, desired)
    if refused.rejections and not was_there:
        current.actions = [step for step in current.actions if step.ref != order.ref]
        return reject(order, rejection_reasons(refused.rejections))
    return report_pending(order, pending_conditions(needs, errors=refused))


def plan_present(
    order: HostOrder, machine: Machine, there: RuntimeMachine, current: DecisionPass
) -> report.MachineReport:
    match order.intent:
        case Withdraw(reason):
            found = current.plan_action(
                order, removal_calls(order.ref, there, current), (EventText("Removing", reason),)
            )
            ending = condition(READY, False, "Terminating", f"removing the machine: {reason}")
            return report_machine(order, machine, there, (ending, *up_to_date_conditions(found, ())), current)
        case Skip(reason, message):
            return report_machine(
                order, machine, there, (condition(UP_TO_DATE, False, reason, message),), current
            )
        case Retain():
            return report_machine(order, machine, there, (), current)
        case Ensure():
            return plan_existing(order, machine, there, current)
        case _:
            assert_never(order.intent)
