"""What a machine waits for, as conditions: parts that are not at hand, calls that did not succeed, what its runtime says of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from iri.machine import AttachmentState, AttachmentStatus, MachineState, RuntimeMachine
from poollet.decide import create_errors
from poollet.decide.actions import CallError
from poollet.decide.create_errors import CreateErrors
from poollet.decide.dependencies import MachineDependencies
from poollet.decide.retry import RetryDecision
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
    summarize_problems,
)
from schemas import report
from schemas.live_layout import MAX_TEXT

NO_ERRORS = CreateErrors()


def ready_conditions(
    there: RuntimeMachine, said: tuple[report.ReportedCondition, ...]
) -> tuple[report.ReportedCondition, ...]:
    """Ready or not, and why by the runtime's own words where it has some."""
    if any(one.type == READY for one in said):
        return ()
    state = iri_to_report.machine_state(there) or "Unknown"
    is_ready = state == "Running" and not there.deleted_at
    trouble = creation_error(there)
    if is_ready or there.deleted_at or trouble is None:
        return (condition(READY, is_ready, state),)
    parts = [
        condition(type, False, trouble.code, trouble.message)
        for type, code in (
            (INTERFACES_READY, create_errors.NETWORK_NOT_READY),
            (IMAGE_READY, create_errors.IMAGE_NOT_RESOLVABLE),
        )
        if trouble.code == code
    ]
    return (*parts, condition(READY, False, trouble.code, trouble.message))


def creation_error(there: RuntimeMachine) -> CallError | None:
    """What keeps the machine from being made, when its runtime tells."""
    for one in iri_to_report.runtime_conditions(there):
        if one.type == READY and one.status == "False" and one.reason and one.message:
            return create_errors.classify_error(CallError(one.reason, one.message), there)
    return None


def attachment_conditions(
    needs: MachineDependencies, there: RuntimeMachine
) -> tuple[report.ReportedCondition, ...]:
    """What is not at hand, and in a guest that runs what has not arrived."""
    volumes, interfaces = list_not_ready(needs.disks), list_not_ready(needs.interfaces)
    if there.status.state is MachineState.RUNNING:
        volumes += list_not_attached("volume", needs.disks, there.status.volumes)
        interfaces += list_not_attached(
            "network interface", needs.interfaces, there.status.network_interfaces
        )
    return summarize_problems(VOLUMES_READY, volumes), summarize_problems(INTERFACES_READY, interfaces)


def list_not_ready(found: Mapping[str, object]) -> list[tuple[str, str]]:
    return [(one.reason, one.message) for one in found.values() if isinstance(one, NotReady)]


def list_not_attached(
    what: str, wanted: Mapping[str, object], there: tuple[AttachmentStatus, ...]
) -> list[tuple[str, str]]:
    arrived = {entry.name for entry in there if entry.state is AttachmentState.ATTACHED}
    return [
        ("NotAttached", f"{what} {name} is not attached yet")
        for name, found in wanted.items()
        if name not in arrived and not isinstance(found, NotReady)
    ]


def pending_conditions(
    needs: MachineDependencies, held: tuple[NotReady, ...] = (), refused: CreateErrors = NO_ERRORS
) -> tuple[report.ReportedCondition, ...]:
    """What a machine that is not made yet waits for. `refused`: why its runtime did not make it."""
    secrets = (
        [(needs.ignition.reason, needs.ignition.message)] if isinstance(needs.ignition, NotReady) else []
    )
    classes = (
        [(needs.class_problem.reason, needs.class_problem.message)] if needs.class_problem is not None else []
    )
    volumes = [*list_not_ready(needs.disks), *((one.reason, one.message) for one in held)]
    return (
        summarize_problems(VOLUMES_READY, volumes),
        summarize_problems(INTERFACES_READY, [*list_not_ready(needs.interfaces), *refused.networks]),
        summarize_problems(SECRETS_READY, secrets),
        summarize_problems(CLASS_READY, classes),
        *(summarize_problems(type, faults) for type, faults in error_conditions(refused)),
    )


def error_conditions(refused: CreateErrors) -> Iterable[tuple[str, tuple[CallError, ...]]]:
    """Only said while it is not so."""
    return [
        (type, found)
        for type, found in ((IMAGE_READY, refused.images), (UP_TO_DATE, refused.others))
        if found
    ]


def rejection_reasons(faults: Iterable[CallError]) -> tuple[report.ReportedReason, ...]:
    return tuple(report.ReportedReason(one.code, one.message[:MAX_TEXT]) for one in faults)


def up_to_date_conditions(
    found: RetryDecision, waits: tuple[NotReady, ...]
) -> tuple[report.ReportedCondition, ...]:
    """Only said while it is not."""
    faults: list[tuple[str, str]] = [*found.errors]
    # The last report told all of it in one condition, which stays until each call was made again.
    faults += [(one.reason, one.message) for one in waits] if found.retries.from_last_report is None else []
    return (summarize_problems(UP_TO_DATE, faults),) if faults else ()
