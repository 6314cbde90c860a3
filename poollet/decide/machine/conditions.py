"""The conditions of a machine that is not ready: dependencies that are missing, calls that failed, what its runtime states. Pure.

    condition                      a pending machine                         an existing machine
    -----------------------------  ----------------------------------------  ------------------------------------------
    VolumesReady                   each volume can be attached               each volume is ready; attached if it runs
    NetworkInterfacesReady         each network exists                       each interface is ready; attached if it runs
    SecretsReady, ClassReady       ignition and class can be used            -
    ImageReady                     only while the runtime lacks an image     only while the runtime says so
    UpToDate                       only while its creation fails             only while a change fails or is impossible
    Ready                          False, with the first reason above        True while it runs

A condition that is reported only while it is false keeps the report of a converged machine short.
"""

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
    there: RuntimeMachine, known: tuple[report.ReportedCondition, ...]
) -> tuple[report.ReportedCondition, ...]:
    """Ready or not, with the runtime's own reason if it states one."""
    if any(one.type == READY for one in known):
        return ()
    state = iri_to_report.machine_state(there) or "Unknown"
    is_ready = state == "Running" and not there.deleted_at
    error = creation_error(there)
    if is_ready or there.deleted_at or error is None:
        return (condition(READY, is_ready, state),)
    parts = [
        condition(type, False, error.code, error.message)
        for type, code in (
            (INTERFACES_READY, create_errors.NETWORK_NOT_READY),
            (IMAGE_READY, create_errors.IMAGE_NOT_RESOLVABLE),
        )
        if error.code == code
    ]
    return (*parts, condition(READY, False, error.code, error.message))


def creation_error(there: RuntimeMachine) -> CallError | None:
    """Why the runtime cannot create the machine, if the runtime states a reason."""
    for one in iri_to_report.runtime_conditions(there):
        if one.type == READY and one.status == "False" and one.reason and one.message:
            return create_errors.classify_error(CallError(one.reason, one.message), there)
    return None


def attachment_conditions(
    needs: MachineDependencies, there: RuntimeMachine
) -> tuple[report.ReportedCondition, ...]:
    """Dependencies that are not ready, and in a running guest the devices that are not attached yet."""
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
    kind: str, desired: Mapping[str, object], there: tuple[AttachmentStatus, ...]
) -> list[tuple[str, str]]:
    arrived = {entry.name for entry in there if entry.state is AttachmentState.ATTACHED}
    return [
        ("NotAttached", f"{kind} {name} is not attached yet")
        for name, found in desired.items()
        if name not in arrived and not isinstance(found, NotReady)
    ]


def pending_conditions(
    needs: MachineDependencies, in_use: tuple[NotReady, ...] = (), errors: CreateErrors = NO_ERRORS
) -> tuple[report.ReportedCondition, ...]:
    """What a machine that is not created yet waits for. `errors`: why its runtime did not create it."""
    secrets = (
        [(needs.ignition.reason, needs.ignition.message)] if isinstance(needs.ignition, NotReady) else []
    )
    classes = (
        [(needs.class_problem.reason, needs.class_problem.message)] if needs.class_problem is not None else []
    )
    volumes = [*list_not_ready(needs.disks), *((one.reason, one.message) for one in in_use)]
    return (
        summarize_problems(VOLUMES_READY, volumes),
        summarize_problems(INTERFACES_READY, [*list_not_ready(needs.interfaces), *errors.networks]),
        summarize_problems(SECRETS_READY, secrets),
        summarize_problems(CLASS_READY, classes),
        *(summarize_problems(type, problems) for type, problems in error_conditions(errors)),
    )


def error_conditions(errors: CreateErrors) -> Iterable[tuple[str, tuple[CallError, ...]]]:
    """Conditions that are reported only while they are false."""
    return [
        (type, found) for type, found in ((IMAGE_READY, errors.images), (UP_TO_DATE, errors.others)) if found
    ]


def rejection_reasons(problems: Iterable[CallError]) -> tuple[report.ReportedReason, ...]:
    return tuple(report.ReportedReason(one.code, one.message[:MAX_TEXT]) for one in problems)


def up_to_date_conditions(
    found: RetryDecision, blocked: tuple[NotReady, ...]
) -> tuple[report.ReportedCondition, ...]:
    """Reported only while it is false."""
    problems: list[tuple[str, str]] = [*found.errors]
    # The last report put all problems into one condition, which stays until each call was made again.
    problems += (
        [(one.reason, one.message) for one in blocked] if found.retries.from_last_report is None else []
    )
    return (summarize_problems(UP_TO_DATE, problems),) if problems else ()
