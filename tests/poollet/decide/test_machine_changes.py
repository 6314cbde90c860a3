"""What differs between a machine and its desired state, part by part: power, restart, annotations, and what cannot change."""

from __future__ import annotations

from typing import Any

import pytest

from iri.change import AttachVolume, Resize, RuntimeChange, SetAnnotations, SetPower, UpdateVolume
from iri.machine import (
    Disk,
    MachineState,
    Power,
    RuntimeGuestConfig,
    RuntimeMachine,
    RuntimeMachineSpec,
    RuntimeMachineStatus,
    RuntimeNetworkInterface,
)
from poollet.decide import model_to_iri
from poollet.decide.dependencies import MachineDependencies
from poollet.decide.machine.plan import (
    annotation_changes,
    change_events,
    immutable_field_problems,
    is_restarting,
    power_changes,
    restart_token,
)
from poollet.decide.secrets import NotReady
from schemas.live_layout import RESTART
from schemas.model import Machine
from tests.poollet.documents import machine

ON, OFF = Power.ON, Power.OFF
RUNNING, STOPPED, PENDING = MachineState.RUNNING, MachineState.STOPPED, MachineState.PENDING
MISSING = NotReady("NetworkMissing", "Network lan does not exist on live")


def make_desired(power: str = "On", token: str = "", **more: Any) -> Machine:
    annotations = {RESTART: token} if token else {}
    found = machine(spec={"power": power, **more}, annotations=annotations).object
    assert isinstance(found, Machine)
    return found


def guest(state: MachineState = RUNNING, power: Power = ON, token: str = "", **more: Any) -> RuntimeMachine:
    annotations = {**more.pop("annotations", {}), **({RESTART: token} if token else {})}
    return RuntimeMachine(
        id="m",
        annotations=annotations,
        spec=RuntimeMachineSpec(power=power, **more),
        status=RuntimeMachineStatus(state=state),
    )


def needs(
    ignition: bytes | NotReady = b"", **interfaces: RuntimeNetworkInterface | NotReady
) -> MachineDependencies:
    return MachineDependencies({}, interfaces, {}, ignition, None)


# desired power, the guest, whether a restart is under way, the change
POWERS: dict[str, tuple[str, RuntimeMachine, bool, list[RuntimeChange]]] = {
    "on and running": ("On", guest(), False, []),
    "on and starting": ("On", guest(PENDING), False, []),
    "on, and it powered off by itself": ("On", guest(STOPPED), False, [SetPower(ON)]),
    "on, and it was off": ("On", guest(STOPPED, OFF), False, [SetPower(ON)]),
    "on, and still running after a power-off": ("On", guest(RUNNING, OFF), False, [SetPower(ON)]),
    "on, suspended": ("On", guest(MachineState.SUSPENDED), False, [SetPower(ON)]),
    "on, terminated": ("On", guest(MachineState.TERMINATED), False, [SetPower(ON)]),
    "off and off": ("Off", guest(STOPPED, OFF), False, []),
    "off and running": ("Off", guest(), False, [SetPower(OFF)]),
    "off, and running all the same": ("Off", guest(RUNNING, OFF), False, [SetPower(OFF)]),
    "off, stopped, and ordered on": ("Off", guest(STOPPED, ON), False, [SetPower(OFF)]),
    "restart of a running guest": ("On", guest(), True, [SetPower(OFF)]),
    "restart, powering off": ("On", guest(RUNNING, OFF), True, [SetPower(OFF)]),
    "restart, starting": ("On", guest(PENDING, OFF), True, []),
    "restart, and off": ("On", guest(STOPPED, OFF), True, [SetPower(ON)]),
}


@pytest.mark.parametrize(("power", "there", "restarting", "want"), POWERS.values(), ids=POWERS.keys())
def test_power_follows_the_manifest_and_a_restart_goes_through_off(
    power: str, there: RuntimeMachine, restarting: bool, want: list[RuntimeChange]
) -> None:
    assert power_changes(make_desired(power), there, is_restarting=restarting) == want


# desired power, requested token, the guest, the token to record, whether a restart is under way
TOKENS: dict[str, tuple[str, str, RuntimeMachine, str, bool]] = {
    "none": ("On", "", guest(), "", False),
    "none any more: the last one stays": ("On", "", guest(token="a"), "a", False),
    "carried out": ("On", "a", guest(token="a"), "a", False),
    "requested of a running guest": ("On", "b", guest(token="a"), "a", True),
    "requested for the first time": ("On", "b", guest(), "", True),
    "requested, and off": ("On", "b", guest(STOPPED, token="a"), "b", False),
    "requested of a guest that starts": ("On", "b", guest(PENDING, token="a"), "a", True),
    "requested of a machine that shall be off": ("Off", "b", guest(token="a"), "b", False),
}


@pytest.mark.parametrize(
    ("power", "token", "there", "want", "restarting"), TOKENS.values(), ids=TOKENS.keys()
)
def test_a_restart_is_recorded_once_the_guest_is_off(
    power: str, token: str, there: RuntimeMachine, want: str, restarting: bool
) -> None:
    given = make_desired(power, token)
    found = restart_token(given, there)
    assert (found, is_restarting(given, found)) == (want, restarting)


OWN = model_to_iri.machine_annotations(make_desired(), {}, "")
FOREIGN = {"example.org/owner": "team"}

# the token, the annotations there, whether an interface is missing, the annotations that are set
NOTES: dict[str, tuple[str, dict[str, str], bool, dict[str, str] | None]] = {
    "equal": ("", OWN, False, None),
    "missing": ("", {}, False, OWN),
    "foreign ones are sent along": ("", FOREIGN, False, FOREIGN | OWN),
    "foreign ones alone change nothing": ("", FOREIGN | OWN, False, None),
    "an own one that is not desired any more is dropped": ("", OWN | {RESTART: "a"}, False, OWN),
    "a token": ("a", OWN, False, OWN | {RESTART: "a"}),
    "an interface is missing: only the token": ("a", FOREIGN, True, FOREIGN | {RESTART: "a"}),
    "an interface is missing, no token": ("", FOREIGN, True, None),
    "an interface is missing, the token is there": ("a", {RESTART: "a"}, True, None),
}


@pytest.mark.parametrize(("token", "there", "is_missing", "want"), NOTES.values(), ids=NOTES.keys())
def test_annotations_are_replaced_as_a_whole_and_keep_those_of_others(
    token: str, there: dict[str, str], is_missing: bool, want: dict[str, str] | None
) -> None:
    parts = needs(lan=MISSING) if is_missing else needs()
    found = annotation_changes(make_desired(), guest(annotations=there), parts, token)
    assert found == ([] if want is None else [SetAnnotations(want)])


# the machine on the host, its ignition on `live`, the reasons
FIXED: dict[str, tuple[RuntimeMachine, bytes | NotReady, list[str]]] = {
    "nothing to compare": (guest(), b"", []),
    "equal": (guest(guest_config=RuntimeGuestConfig(hostname="web"), ignition_data=b"a"), b"a", []),
    "another host name": (guest(guest_config=RuntimeGuestConfig(hostname="old")), b"", ["HostnameDiffers"]),
    "a runtime without host names": (guest(guest_config=RuntimeGuestConfig(hostname="")), b"", []),
    "another ignition": (guest(ignition_data=b"a"), b"b", ["FirstBootDataDiffers"]),
    "ignition was dropped from the manifest": (guest(ignition_data=b"a"), b"", ["FirstBootDataDiffers"]),
    "a runtime that does not list ignition": (guest(), b"b", []),
    "ignition is not ready": (guest(ignition_data=b"a"), MISSING, []),
    "both": (
        guest(guest_config=RuntimeGuestConfig(hostname="old"), ignition_data=b"a"),
        b"b",
        ["HostnameDiffers", "FirstBootDataDiffers"],
    ),
}


@pytest.mark.parametrize(("there", "ignition", "want"), FIXED.values(), ids=FIXED.keys())
def test_what_a_guest_reads_at_first_boot_is_reported_and_not_changed(
    there: RuntimeMachine, ignition: bytes | NotReady, want: list[str]
) -> None:
    found = immutable_field_problems(make_desired(), there, needs(ignition))
    assert [one.reason for one in found] == want


def test_keys_that_a_guest_never_got_are_reported_where_the_runtime_lists_them() -> None:
    (found,) = immutable_field_problems(make_desired(), guest(), needs(b"keys"), lists_first_boot=True)
    assert found.reason == "FirstBootDataDiffers"
    assert "first-boot data (guestConfig, ignitionRef) cannot change" in found.message
    assert "`gitvirt replace`" in found.message
    assert immutable_field_problems(make_desired(), guest(), needs(), lists_first_boot=True) == ()


GROWN, ATTACHED = UpdateVolume(Disk(name="data")), AttachVolume(Disk(name="data"))

# the changes, whether the desired state was reached before, (reason, changes in the message, warning)
EVENTS: dict[str, tuple[tuple[RuntimeChange, ...], bool, tuple[str, str, bool] | None]] = {
    "nothing": ((), False, None),
    "nothing, reached before": ((), True, None),
    "ordered": ((Resize("large"), SetPower(ON)), False, ("Changed", "Resize, SetPower", False)),
    "drift": ((SetPower(ON),), True, ("DriftCorrected", "SetPower", True)),
    "a volume that grew": ((GROWN,), True, ("Changed", "UpdateVolume", False)),
    "a volume that grew, and drift": (
        (GROWN, ATTACHED),
        True,
        ("DriftCorrected", "UpdateVolume, AttachVolume", True),
    ),
}


@pytest.mark.parametrize(("changes", "is_drift", "want"), EVENTS.values(), ids=EVENTS.keys())
def test_an_event_distinguishes_drift_from_orders(
    changes: tuple[RuntimeChange, ...], is_drift: bool, want: tuple[str, str, bool] | None
) -> None:
    found = change_events(changes, is_drift=is_drift)
    assert len(found) == (0 if want is None else 1)
    for event in found:
        assert want is not None
        assert (event.reason, event.message.rpartition(": ")[2], event.is_warning) == want
