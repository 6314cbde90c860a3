"""Plans one machine: the calls that it needs next, and its entry in the report. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace as replaced
from typing import assert_never

from msgspec.structs import replace

from iri.change import Resize, RuntimeChange, SetAnnotations, SetPower, UpdateVolume
from iri.machine import MachineState, Power, RuntimeMachine, RuntimeMachineSpec
from poollet.decide import create_errors, dependencies, machine_diff, model_to_iri
from poollet.decide.actions import Call, CreateCall, EventText, UpdateCall
from poollet.decide.assignments import Ensure, HostOrder, Retain, Skip, Withdraw
from poollet.decide.decision_pass import FINAL, DecisionPass, OrderedObject
from poollet.decide.dependencies import MachineDependencies
from poollet.decide.inventory import Absent, Duplicates, InFlight, Present, UnconfirmedAbsent, Unknown
from poollet.decide.machine_conditions import (
    attachment_conditions,
    pending_conditions,
    ready_conditions,
    rejection_reasons,
    up_to_date_conditions,
)
from poollet.decide.removal import removal_calls
from poollet.decide.secrets import NotReady
from poollet.decide.unchanged_cache import TrackedLookup, find_unchanged, remember_machine
from poollet.report import iri_to_report
from poollet.report.conditions import CLASS_READY, READY, UP_TO_DATE, condition
from schemas import live_layout, report
from schemas.kinds import Kind
from schemas.model import Machine

OFF = frozenset((MachineState.SUSPENDED, MachineState.TERMINATED, MachineState.STOPPED))
DUPLICATES = "Duplicates"


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
        case UnconfirmedAbsent() as doubtful:
            current.doubt(order.ref, doubtful)
            return before or report_pending(order, ())
        case Duplicates(found):
            ids = ", ".join(f"{one.runtime}: {one.object.id}" for one in found)
            problem = condition(
                UP_TO_DATE,
                False,
                DUPLICATES,
                f"several objects have this uid: {ids}; remove all but one on the host",
            )
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
    result = current.step(order, (CreateCall(desired),), (event,))
    refused = create_errors.group_errors(result.errors, desired)
    if refused.rejections and not was_there:
        current.steps = [step for step in current.steps if step.ref != order.ref]
        return reject(order, rejection_reasons(refused.rejections))
    return report_pending(order, pending_conditions(needs, errors=refused))


def desired_machine(
    order: HostOrder, machine: Machine, needs: MachineDependencies, current: DecisionPass
) -> RuntimeMachine:
    """With complete dependencies. A new machine has nothing to restart, so its restart token counts as carried out."""
    token = machine.metadata.annotations.get(live_layout.RESTART, "")
    return RuntimeMachine(
        labels=model_to_iri.labels(order, current.inputs.facts.fleet),
        annotations=model_to_iri.machine_annotations(machine, needs.mapping, token),
        spec=desired_spec(machine, needs),
    )


def desired_spec(machine: Machine, needs: MachineDependencies) -> RuntimeMachineSpec:
    disks = [disk for disk in needs.disks.values() if not isinstance(disk, NotReady)]
    interfaces = [nic for nic in needs.interfaces.values() if not isinstance(nic, NotReady)]
    ignition = needs.ignition if isinstance(needs.ignition, bytes) else b""
    return model_to_iri.machine_spec(machine, ignition, disks, interfaces)


def plan_present(
    order: HostOrder, machine: Machine, there: RuntimeMachine, current: DecisionPass
) -> report.MachineReport:
    match order.intent:
        case Withdraw(reason):
            found = current.step(
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


def plan_existing(
    order: HostOrder, machine: Machine, there: RuntimeMachine, current: DecisionPass
) -> report.MachineReport:
    """Changes what differs from the desired state."""
    known = find_unchanged(order, there, current)
    if known is not None:
        current.step(order, ())
        current.unchanged[order.ref] = known
        return known.entry
    tracked = TrackedLookup(current.view.objects)
    needs = dependencies.resolve_machine(order, machine, replaced(current.lookups, objects=tracked))
    disks = machine_diff.diff_disks(needs, there, current.inventory.holders)
    interfaces = machine_diff.diff_interfaces(needs, there)
    token = restart_token(machine, there)
    resize, resize_problems = resize_changes(order, machine, there, needs, current)
    changes: list[RuntimeChange] = [
        *annotation_changes(machine, there, needs, token),
        *disks.changes,
        *interfaces.changes,
        *resize,
        *power_changes(machine, there, is_restarting=is_restarting(machine, token)),
    ]
    needed = () if there.deleted_at else tuple(UpdateCall(there.id, change) for change in changes)
    blocked = (
        *disks.blocked,
        *interfaces.blocked,
        *resize_problems,
        *immutable_field_problems(machine, there, needs),
    )
    digest = desired_digest(machine, needs)
    before = current.before(order, report.MachineReport)
    last_digest = before.status.observed_revision if before is not None and before.status is not None else ""
    is_drift = last_digest != "" and last_digest == digest
    found = current.step(order, needed, change_events(needed, is_drift=is_drift))
    is_converged = not (needed or blocked) and there.status.observed_generation >= there.generation
    conditions = (*attachment_conditions(needs, there), *up_to_date_conditions(found, blocked))
    entry = report_machine(order, machine, there, conditions, current, needs)
    assert entry.status is not None
    observed_digest = digest if is_converged and digest else last_digest
    entry = replace(entry, status=replace(entry.status, observed_revision=observed_digest))
    if is_converged and digest:
        remember_machine(order, machine, there, entry, tracked, current)
    return entry


def desired_digest(machine: Machine, needs: MachineDependencies) -> str:
    """Empty while a dependency is not ready."""
    if not needs.is_complete:
        return ""
    token = machine.metadata.annotations.get(live_layout.RESTART, "")
    return model_to_iri.spec_digest(
        desired_spec(machine, needs), model_to_iri.machine_annotations(machine, needs.mapping, token)
    )


def restart_token(machine: Machine, there: RuntimeMachine) -> str:
    """The restart token to record as carried out: the requested one once the machine is off, else the last one."""
    requested = machine.metadata.annotations.get(live_layout.RESTART, "")
    done = there.annotations.get(live_layout.RESTART, "")
    if not requested or requested == done:
        return requested or done
    is_off = there.status.state in OFF
    return requested if is_off or machine.spec.power == "Off" else done


def is_restarting(machine: Machine, token: str) -> bool:
    requested = machine.metadata.annotations.get(live_layout.RESTART, "")
    return requested != "" and requested != token


def annotation_changes(
    machine: Machine, there: RuntimeMachine, needs: MachineDependencies, token: str
) -> list[RuntimeChange]:
    """The runtime replaces annotations as a whole, so foreign ones are sent along. While interfaces are not ready only a restart is
    recorded: without the record it would be repeated again and again."""
    if any(isinstance(found, NotReady) for found in needs.interfaces.values()):
        noted = dict(there.annotations) | ({live_layout.RESTART: token} if token else {})
        return [] if noted == there.annotations else [SetAnnotations(noted)]
    desired = model_to_iri.machine_annotations(machine, needs.mapping, token)
    own = desired.keys() | model_to_iri.OWN_ANNOTATIONS
    rest = {key: value for key, value in there.annotations.items() if key not in own}
    annotations = rest | desired
    return [] if annotations == there.annotations else [SetAnnotations(annotations)]


def resize_changes(
    order: HostOrder,
    machine: Machine,
    there: RuntimeMachine,
    needs: MachineDependencies,
    current: DecisionPass,
) -> tuple[list[RuntimeChange], tuple[NotReady, ...]]:
    name = machine.spec.machine_class_ref.name
    if there.spec.class_name == name:
        return [], ()
    if needs.class_problem is not None:
        return [], (needs.class_problem,)
    reasons = current.resize_refusals.get(order.ref, ())
    if reasons:
        message = "; ".join(reason.message for reason in reasons)
        return [], (NotReady("InsufficientForResize", f"class {name} does not fit: {message}"),)
    return [Resize(name)], ()


def power_changes(machine: Machine, there: RuntimeMachine, *, is_restarting: bool) -> list[RuntimeChange]:
    """A guest that powered itself off is started again. A restart is off first, and on once the machine is off."""
    desired = model_to_iri.power(machine)
    if is_restarting and there.status.state not in OFF:
        desired = Power.OFF
    is_off = there.status.state in OFF
    if desired is Power.ON:
        return [SetPower(Power.ON)] if is_off or there.spec.power is not Power.ON else []
    is_running = there.status.state is MachineState.RUNNING
    return [SetPower(Power.OFF)] if is_running or there.spec.power is not Power.OFF else []


def immutable_field_problems(
    machine: Machine, there: RuntimeMachine, needs: MachineDependencies
) -> tuple[NotReady, ...]:
    """Fields that the guest reads at first boot, and that cannot change afterwards."""
    result = []
    hostname = there.spec.guest_config.hostname if there.spec.guest_config is not None else ""
    if hostname and hostname != machine.hostname:
        result.append(
            NotReady(
                "HostnameDiffers",
                "the host name is set at first boot and cannot change; recreate the machine to change it",
            )
        )
    if (
        there.spec.ignition_data
        and isinstance(needs.ignition, bytes)
        and there.spec.ignition_data != needs.ignition
    ):
        result.append(
            NotReady(
                "IgnitionDiffers",
                "ignition is read at first boot and cannot change; recreate the machine to change it",
            )
        )
    return tuple(result)


def change_events(needed: tuple[Call, ...], *, is_drift: bool) -> tuple[EventText, ...]:
    if not needed:
        return ()
    names = ", ".join(type(call.change).__name__ for call in needed if isinstance(call, UpdateCall))
    is_drift = is_drift and not all(
        isinstance(call, UpdateCall) and isinstance(call.change, UpdateVolume) for call in needed
    )  # a volume may have grown
    if is_drift:
        return (EventText("DriftCorrected", f"corrected drift on the host: {names}", True),)
    return (EventText("Changed", names),)


def report_machine(
    order: HostOrder,
    machine: Machine,
    there: RuntimeMachine,
    known: tuple[report.ReportedCondition, ...],
    current: DecisionPass,
    needs: MachineDependencies | None = None,
) -> report.MachineReport:
    """The entry of an existing machine: conditions of the poollet first, then those of its runtime."""
    before = current.before(order, report.MachineReport)
    last = before.status if before is not None else None
    mapping: Mapping[str, tuple[str, str]] = needs.mapping if needs is not None else {}
    ours = (*known, *ready_conditions(there, tuple(known)))
    types = {one.type for one in ours}
    others = tuple(one for one in iri_to_report.runtime_conditions(there) if one.type not in types)
    status = report.ReportedMachineStatus(
        machine_id=iri_to_report.full_id(current.provider(order.runtime), there.id),
        state=iri_to_report.machine_state(there),
        observed_revision=last.observed_revision if last is not None else "",
        conditions=sort_conditions((*ours, *others)),
        volumes=iri_to_report.attached_volumes(machine, there),
        network_interfaces=iri_to_report.attached_interfaces(machine, there, mapping),
        restart=there.annotations.get(live_layout.RESTART, "")[: iri_to_report.LONGEST_NAME],
    )
    return report.MachineReport(order.ref.uid, order.assignment, "present", order.pool, status=status)


def reject(order: HostOrder, reasons: tuple[report.ReportedReason, ...]) -> report.MachineReport:
    return report.MachineReport(order.ref.uid, order.assignment, "rejected", order.pool, reasons)


def report_present(order: HostOrder) -> report.MachineReport:
    return report.MachineReport(order.ref.uid, order.assignment, "present", order.pool)


def report_pending(order: HostOrder, known: tuple[report.ReportedCondition, ...]) -> report.MachineReport:
    """Accepted by this pool and not created yet, so without an id."""
    blocked = [one for one in known if one.status == "False" and one.type != READY]
    ready = condition(READY, False, blocked[0].reason if blocked else "Pending")
    status = report.ReportedMachineStatus(state="Pending", conditions=sort_conditions((*known, ready)))
    return replace(report_present(order), status=status)


def with_conditions(
    entry: report.MachineReport, known: tuple[report.ReportedCondition, ...]
) -> report.MachineReport:
    status = entry.status or report.ReportedMachineStatus()
    types = {one.type for one in known}
    others = tuple(one for one in status.conditions if one.type not in types)
    return replace(
        entry, phase="present", status=replace(status, conditions=sort_conditions((*known, *others)))
    )


def sort_conditions(found: tuple[report.ReportedCondition, ...]) -> tuple[report.ReportedCondition, ...]:
    return tuple(sorted(found, key=lambda one: one.type))
