"""The entry of a machine in the report, with its conditions: dependencies that are missing, calls that failed, what its runtime states. Pure.

    condition                      a pending machine                         an existing machine
    -----------------------------  ----------------------------------------  ------------------------------------------
    VolumesReady                   each volume can be attached               each volume is ready, and attached unless it is off
    NetworkInterfacesReady         each network exists                       each interface is ready, and attached unless it is off
    SecretsReady, ClassReady       ignition and class can be used            -
    ImageReady                     only while the runtime lacks an image     only while the runtime says so
    UpToDate                       only while its creation fails             only while a change fails or is impossible
    Ready                          False, with the first reason above        True while it runs

A condition that is reported only while it is false keeps the report of a converged machine short.
"""

from __future__ import annotations

from collections.abc import Mapping

from iri.machine import AttachmentState, AttachmentStatus, MachineState, RuntimeMachine
from poollet.decide import create_errors
from poollet.decide.actions import CallError, EventText
from poollet.decide.assignments import HostOrder
from poollet.decide.create_errors import NO_ERRORS, CreateErrors
from poollet.decide.decision_pass import DecisionPass
from poollet.decide.dependencies import MachineDependencies, not_ready
from poollet.decide.secrets import NotReady
from poollet.report import iri_to_report
from poollet.report.conditions import (
    CLASS_READY,
    IMAGE_READY,
    INTERFACES_READY,
    READY,
    SECRETS_READY,
    UP_TO_DATE,
    VOLUMES_READY,
    condition,
    sort_conditions,
    summarize_problems,
)
from poollet.report.entries import Conditions, explain_state, without_types
from schemas import live_layout, report
from schemas.model import Machine

# The condition of the part that an error of creation is about.
PART_OF_ERROR = {
    create_errors.NETWORK_NOT_READY: INTERFACES_READY,
    create_errors.IMAGE_NOT_RESOLVABLE: IMAGE_READY,
}


def report_machine(
    order: HostOrder,
    machine: Machine,
    there: RuntimeMachine,
    known: Conditions,
    current: DecisionPass,
    needs: MachineDependencies | None = None,
) -> report.MachineReport:
    """The entry of an existing machine: conditions of the poollet first, then those of its runtime."""
    before = current.status_before(order, report.ReportedMachineStatus)
    mapping: Mapping[str, tuple[str, str]] = needs.mapping if needs is not None else {}
    ours = (*known, *ready_conditions(there, known, current.inputs.explanations.get(order.ref)))
    others = without_types(iri_to_report.runtime_conditions(there), ours)
    status = report.ReportedMachineStatus(
        machine_id=iri_to_report.full_id(current.provider(order.runtime), there.id),
        state=iri_to_report.machine_state(there),
        observed_revision=before.observed_revision if before is not None else "",
        conditions=sort_conditions((*ours, *others)),
        volumes=iri_to_report.attached_volumes(machine, there, current.view.volume_users),
        network_interfaces=iri_to_report.attached_interfaces(machine, there, mapping),
        restart=there.annotations.get(live_layout.RESTART, "")[: iri_to_report.LONGEST_NAME],
        machine_class_ref=iri_to_report.other_class(machine, there),
    )
    return report.MachineReport(order.ref.uid, order.assignment, "present", order.pool, status=status)


def ready_conditions(
    there: RuntimeMachine, known: Conditions, explanation: EventText | None = None
) -> Conditions:
    """Ready or not, with the runtime's own reason if it states one, else with what its provider's events say."""
    if any(one.type == READY for one in known):
        return ()
    state = iri_to_report.machine_state(there) or "Unknown"
    is_ready = state == "Running" and not there.deleted_at
    error = creation_error(there)
    if is_ready or there.deleted_at or error is None:
        is_waiting = not is_ready and not there.deleted_at
        return (condition(READY, is_ready, *explain_state(state, explanation if is_waiting else None)),)
    part = PART_OF_ERROR.get(error.code)
    types = (READY,) if part is None else (part, READY)
    return tuple(condition(type, False, error.code, error.message) for type in types)


def stopped_message(until: str) -> str:
    """Of a machine that is kept for an undo."""
    return f"deleted; it is off, and its disks are kept until {until}"


def creation_error(there: RuntimeMachine) -> CallError | None:
    """Why the runtime cannot create the machine, if the runtime states a reason."""
    for one in iri_to_report.runtime_conditions(there):
        if one.type == READY and one.status == "False" and one.reason and one.message:
            return create_errors.classify_error(CallError(one.reason, one.message), there)
    return None


def attachment_conditions(needs: MachineDependencies, there: RuntimeMachine) -> Conditions:
    """Dependencies that are not ready, and the devices that are not attached yet of a guest that runs or starts."""
    volumes: list[tuple[str, str]] = [*not_ready(*needs.disks.values())]
    interfaces: list[tuple[str, str]] = [*not_ready(*needs.interfaces.values())]
    if there.status.state in (MachineState.RUNNING, MachineState.PENDING):
        volumes += list_not_attached("volume", needs.disks, there.status.volumes)
        interfaces += list_not_attached(
            "network interface", needs.interfaces, there.status.network_interfaces
        )
    return summarize_problems(VOLUMES_READY, volumes), summarize_problems(INTERFACES_READY, interfaces)


def list_not_attached(
    kind: str, desired: Mapping[str, object], there: tuple[AttachmentStatus, ...]
) -> list[tuple[str, str]]:
    """Devices of a guest that the runtime has accepted and not attached yet."""
    arrived = {entry.name for entry in there if entry.state is AttachmentState.ATTACHED}
    return [
        ("NotAttached", f"{kind} {name} is not attached yet")
        for name, found in desired.items()
        if name not in arrived and not isinstance(found, NotReady)
    ]


def pending_conditions(
    needs: MachineDependencies, in_use: tuple[NotReady, ...] = (), errors: CreateErrors = NO_ERRORS
) -> Conditions:
    """What a machine that is not created yet waits for. `errors`: why its runtime did not create it."""
    return (
        summarize_problems(VOLUMES_READY, (*not_ready(*needs.disks.values()), *in_use)),
        summarize_problems(INTERFACES_READY, (*not_ready(*needs.interfaces.values()), *errors.networks)),
        summarize_problems(SECRETS_READY, not_ready(needs.ignition)),
        summarize_problems(CLASS_READY, not_ready(needs.class_problem)),
        # Reported only while they are false.
        *(
            summarize_problems(type, found)
            for type, found in ((IMAGE_READY, errors.images), (UP_TO_DATE, errors.others))
            if found
        ),
    )
