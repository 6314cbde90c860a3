"""The entry of one machine in the report: present, pending or rejected, with its conditions in one order."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from iri.machine import RuntimeMachine
from poollet.decide.assignments import HostOrder
from poollet.decide.decision_pass import DecisionPass
from poollet.decide.dependencies import MachineDependencies
from poollet.decide.machine.conditions import ready_conditions
from poollet.report import iri_to_report
from poollet.report.conditions import READY, condition, sort_conditions
from schemas import live_layout, report
from schemas.model import Machine


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
