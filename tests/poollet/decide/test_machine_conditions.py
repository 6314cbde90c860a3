"""The conditions of a machine that is not ready, case by case."""

from __future__ import annotations

import pytest

from iri.machine import (
    AttachmentState,
    AttachmentStatus,
    Disk,
    MachineState,
    RuntimeCondition,
    RuntimeMachine,
    RuntimeMachineSpec,
    RuntimeMachineStatus,
    RuntimeNetworkInterface,
)
from iri.volume import RuntimeVolume, RuntimeVolumeStatus, VolumeState
from poollet.decide.actions import CallError, EventText
from poollet.decide.create_errors import CreateErrors
from poollet.decide.dependencies import MachineDependencies
from poollet.decide.machine.conditions import (
    attachment_conditions,
    pending_conditions,
    ready_conditions,
)
from poollet.decide.retry import Retries, RetryDecision
from poollet.decide.secrets import NotReady
from poollet.decide.volumes import runtime_conditions
from poollet.report.conditions import condition
from poollet.report.entries import rejection_reasons, up_to_date_conditions
from schemas.live_layout import MAX_TEXT
from schemas.report import ReportedCondition, ReportedReason

Statuses = dict[str, tuple[str, str]]
LATE = NotReady("VolumeNotReady", "not yet")
LAN = RuntimeNetworkInterface(name="lan", network_id="bridge:lan")
ERROR, OLD = CallError("Unavailable", "later"), CallError("Internal", "as the last report explanation")


def brief(found: tuple[ReportedCondition, ...]) -> Statuses:
    return {one.type: (one.status, one.reason) for one in found}


def guest(state: MachineState, *conditions: RuntimeCondition, deleted_at: int = 0) -> RuntimeMachine:
    return RuntimeMachine(
        id="m",
        deleted_at=deleted_at,
        spec=RuntimeMachineSpec(network_interfaces=(LAN,)),
        status=RuntimeMachineStatus(state=state, conditions=conditions),
    )


def unready(reason: str, message: str = "why", status: str = "False") -> RuntimeCondition:
    return RuntimeCondition(type="Ready", status=status, reason=reason, message=message)


READY: dict[str, tuple[RuntimeMachine, tuple[ReportedCondition, ...], Statuses]] = {
    "running": (guest(MachineState.RUNNING), (), {"Ready": ("True", "Running")}),
    "pending": (guest(MachineState.PENDING), (), {"Ready": ("False", "Pending")}),
    "off": (guest(MachineState.STOPPED), (), {"Ready": ("False", "Shutdown")}),
    "suspended": (guest(MachineState.SUSPENDED), (), {"Ready": ("False", "Shutdown")}),
    "ended": (guest(MachineState.TERMINATED), (), {"Ready": ("False", "Terminated")}),
    "running, being removed": (
        guest(MachineState.RUNNING, deleted_at=1),
        (),
        {"Ready": ("False", "Terminating")},
    ),
    "known already": (guest(MachineState.RUNNING), (condition("Ready", False, "Terminating"),), {}),
    "pending, the runtime says why": (
        guest(MachineState.PENDING, unready("NoSpace")),
        (),
        {"Ready": ("False", "NoSpace")},
    ),
    "pending, an image is missing": (
        guest(MachineState.PENDING, unready("ImageNotResolvable")),
        (),
        {"ImageReady": ("False", "ImageNotResolvable"), "Ready": ("False", "ImageNotResolvable")},
    ),
    "pending, a network is missing": (
        guest(MachineState.PENDING, unready("NetworkNotReady")),
        (),
        {"NetworkInterfacesReady": ("False", "NetworkNotReady"), "Ready": ("False", "NetworkNotReady")},
    ),
    "pending, the message quotes a network": (
        guest(MachineState.PENDING, unready("Failed", "no network with matching name 'lan'")),
        (),
        {"NetworkInterfacesReady": ("False", "NetworkNotReady"), "Ready": ("False", "NetworkNotReady")},
    ),
    "pending, a reason without a message": (
        guest(MachineState.PENDING, unready("NoSpace", "")),
        (),
        {"Ready": ("False", "Pending")},
    ),
    "pending, and ready by the runtime": (
        guest(MachineState.PENDING, unready("Fine", status="True")),
        (),
        {"Ready": ("False", "Pending")},
    ),
    "running, the runtime says otherwise": (
        guest(MachineState.RUNNING, unready("NoSpace")),
        (),
        {"Ready": ("True", "Running")},
    ),
    "being removed, the runtime says why": (
        guest(MachineState.PENDING, unready("NoSpace"), deleted_at=1),
        (),
        {"Ready": ("False", "Terminating")},
    ),
}


@pytest.mark.parametrize(("machine", "known", "want"), READY.values(), ids=READY.keys())
def test_a_machine_is_ready_or_says_why_not(
    machine: RuntimeMachine, known: tuple[ReportedCondition, ...], want: Statuses
) -> None:
    assert brief(ready_conditions(machine, known)) == want


WARNING, PROGRESS = EventText("PullFailed", "not found", is_warning=True), EventText("Pulling", "web.img")
EXPLAINED = {
    "a warning": (guest(MachineState.PENDING), (), WARNING, ("False", "PullFailed", "not found")),
    "progress": (guest(MachineState.PENDING), (), PROGRESS, ("False", "Pending", "Pulling: web.img")),
    "the runtime states a reason": (
        guest(MachineState.PENDING, unready("NoSpace")),
        (),
        WARNING,
        ("False", "NoSpace", "why"),
    ),
    "it runs": (guest(MachineState.RUNNING), (), WARNING, ("True", "Running", "")),
    "it is being removed": (
        guest(MachineState.PENDING, deleted_at=1),
        (),
        WARNING,
        ("False", "Terminating", ""),
    ),
}


@pytest.mark.parametrize(
    ("machine", "known", "explanation", "want"), EXPLAINED.values(), ids=EXPLAINED.keys()
)
def test_a_machine_that_waits_shows_what_its_provider_says(
    machine: RuntimeMachine,
    known: tuple[ReportedCondition, ...],
    explanation: EventText,
    want: tuple[str, str, str],
) -> None:
    (found,) = (one for one in ready_conditions(machine, known, explanation) if one.type == "Ready")
    assert (found.status, found.reason, found.message) == want


@pytest.mark.parametrize(
    ("state", "want"),
    [
        (VolumeState.ERROR, ("False", "PullFailed", "not found")),
        (VolumeState.AVAILABLE, ("True", "Available", "")),
    ],
)
def test_a_volume_that_failed_shows_what_its_provider_says(
    state: VolumeState, want: tuple[str, str, str]
) -> None:
    there = RuntimeVolume(id="v", status=RuntimeVolumeStatus(state=state))
    (found,) = runtime_conditions(there, (), WARNING)
    assert (found.status, found.reason, found.message) == want


def needing(
    disk: Disk | NotReady = Disk(name="data"),  # noqa: B008 - frozen
    interface: RuntimeNetworkInterface | NotReady = LAN,
    ignition: bytes | NotReady = b"",
    class_problem: NotReady | None = None,
) -> MachineDependencies:
    return MachineDependencies({"data": disk}, {"lan": interface}, {}, ignition, class_problem)


def with_devices(
    state: MachineState, disk: AttachmentState | None, nic: AttachmentState | None
) -> RuntimeMachine:
    return RuntimeMachine(
        id="m",
        status=RuntimeMachineStatus(
            state=state,
            volumes=() if disk is None else (AttachmentStatus(name="data", state=disk),),
            network_interfaces=() if nic is None else (AttachmentStatus(name="lan", state=nic),),
        ),
    )


IN, ON_ITS_WAY = AttachmentState.ATTACHED, AttachmentState.PENDING
RUNS, OFF = MachineState.RUNNING, MachineState.STOPPED
FINE, NO_NIC = ("True", "VolumesReady"), ("False", "NotAttached")

ATTACHED: dict[str, tuple[MachineDependencies, RuntimeMachine, tuple[str, str], tuple[str, str]]] = {
    "both attached": (needing(), with_devices(RUNS, IN, IN), FINE, ("True", "NetworkInterfacesReady")),
    "both pending": (needing(), with_devices(RUNS, ON_ITS_WAY, ON_ITS_WAY), NO_NIC, NO_NIC),
    "both missing": (needing(), with_devices(RUNS, None, None), NO_NIC, NO_NIC),
    "both missing, and off": (
        needing(),
        with_devices(OFF, None, None),
        FINE,
        ("True", "NetworkInterfacesReady"),
    ),
    "both on their way, and starting": (
        needing(),
        with_devices(MachineState.PENDING, ON_ITS_WAY, None),
        NO_NIC,
        NO_NIC,
    ),
    "a volume is not ready": (
        needing(LATE),
        with_devices(RUNS, None, IN),
        ("False", "VolumeNotReady"),
        ("True", "NetworkInterfacesReady"),
    ),
    "a volume is not ready, and off": (
        needing(LATE),
        with_devices(OFF, None, None),
        ("False", "VolumeNotReady"),
        ("True", "NetworkInterfacesReady"),
    ),
    "an interface is not ready": (
        needing(interface=NotReady("NetworkMissing", "no")),
        with_devices(RUNS, IN, None),
        FINE,
        ("False", "NetworkMissing"),
    ),
}


@pytest.mark.parametrize(
    ("needs", "machine", "volumes", "interfaces"), ATTACHED.values(), ids=ATTACHED.keys()
)
def test_devices_are_ready_once_a_running_guest_has_them(
    needs: MachineDependencies, machine: RuntimeMachine, volumes: tuple[str, str], interfaces: tuple[str, str]
) -> None:
    found = brief(attachment_conditions(needs, machine))
    assert found == {"VolumesReady": volumes, "NetworkInterfacesReady": interfaces}


GOOD: Statuses = {
    name: ("True", name) for name in ("VolumesReady", "NetworkInterfacesReady", "SecretsReady", "ClassReady")
}
PENDING: dict[str, tuple[MachineDependencies, tuple[NotReady, ...], CreateErrors, Statuses]] = {
    "nothing is missing": (needing(), (), CreateErrors(), {}),
    "a volume": (needing(LATE), (), CreateErrors(), {"VolumesReady": ("False", "VolumeNotReady")}),
    "a volume is in use": (
        needing(),
        (NotReady("VolumeHeld", "x"),),
        CreateErrors(),
        {"VolumesReady": ("False", "VolumeHeld")},
    ),
    "an interface": (
        needing(interface=NotReady("NetworkMissing", "x")),
        (),
        CreateErrors(),
        {"NetworkInterfacesReady": ("False", "NetworkMissing")},
    ),
    "ignition": (
        needing(ignition=NotReady("SecretMissing", "x")),
        (),
        CreateErrors(),
        {"SecretsReady": ("False", "SecretMissing")},
    ),
    "a class": (
        needing(class_problem=NotReady("ClassMissing", "x")),
        (),
        CreateErrors(),
        {"ClassReady": ("False", "ClassMissing")},
    ),
    "the runtime lacks a network": (
        needing(),
        (),
        CreateErrors(networks=(CallError("NetworkNotReady", "x"),)),
        {"NetworkInterfacesReady": ("False", "NetworkNotReady")},
    ),
    "the runtime lacks an image": (
        needing(),
        (),
        CreateErrors(images=(CallError("ImageNotResolvable", "x"),)),
        {"ImageReady": ("False", "ImageNotResolvable")},
    ),
    "the call failed": (needing(), (), CreateErrors(others=(ERROR,)), {"UpToDate": ("False", "Unavailable")}),
    "several at once": (
        needing(LATE, class_problem=NotReady("ClassMissing", "x")),
        (),
        CreateErrors(others=(ERROR,)),
        {
            "VolumesReady": ("False", "VolumeNotReady"),
            "ClassReady": ("False", "ClassMissing"),
            "UpToDate": ("False", "Unavailable"),
        },
    ),
}


@pytest.mark.parametrize(("needs", "in_use", "errors", "want"), PENDING.values(), ids=PENDING.keys())
def test_a_pending_machine_reports_all_that_is_missing(
    needs: MachineDependencies, in_use: tuple[NotReady, ...], errors: CreateErrors, want: Statuses
) -> None:
    assert brief(pending_conditions(needs, in_use, errors)) == GOOD | want


KEPT = NotReady("LocalDiskDiffers", "cannot change")
CURRENT: dict[str, tuple[RetryDecision, tuple[NotReady, ...], tuple[str, str] | None]] = {
    "no problems": (RetryDecision(), (), None),
    "an error": (RetryDecision(errors=(ERROR,)), (), ("Unavailable", "later")),
    "a part that cannot change": (RetryDecision(), (KEPT,), ("LocalDiskDiffers", "cannot change")),
    "both": (RetryDecision(errors=(ERROR,)), (KEPT,), ("Unavailable", "later; cannot change")),
    "as the last report explanation": (
        RetryDecision(errors=(OLD,), retries=Retries((), OLD)),
        (KEPT,),
        ("Internal", "as the last report explanation"),
    ),
}


@pytest.mark.parametrize(("found", "blocked", "want"), CURRENT.values(), ids=CURRENT.keys())
def test_up_to_date_is_reported_only_while_it_is_false(
    found: RetryDecision, blocked: tuple[NotReady, ...], want: tuple[str, str] | None
) -> None:
    got = [(one.type, one.status, one.reason, one.message) for one in up_to_date_conditions(found, blocked)]
    assert got == ([] if want is None else [("UpToDate", "False", *want)])


def test_reasons_of_a_rejection_have_messages_that_a_report_can_carry() -> None:
    long = CallError("Internal", "x" * (MAX_TEXT + 1))
    assert rejection_reasons((ERROR, long)) == (
        ReportedReason("Unavailable", "later"),
        ReportedReason("Internal", "x" * MAX_TEXT),
    )
