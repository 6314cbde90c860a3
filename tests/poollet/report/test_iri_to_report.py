"""Runtime objects as report status: case by case, and with whatever a runtime returns. A report never contains a secret."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from iri.machine import (
    AttachmentState,
    AttachmentStatus,
    Disk,
    InterfaceDetail,
    MachineDetail,
    MachineState,
    RuntimeCondition,
    RuntimeMachine,
    RuntimeMachineSpec,
    RuntimeMachineStatus,
    RuntimeNetworkInterface,
    VolumeConnection,
)
from iri.volume import Access, RuntimeSnapshot, RuntimeVolume, RuntimeVolumeStatus
from poollet.report import iri_to_report
from poollet.sync.volume_users import VolumeUsers
from schemas import report
from schemas.model import Machine, Volume
from tests.poollet.documents import interfaces, machine, referring, snapshot, volume
from tests.poollet.site import Site, site

TEXT = st.one_of(
    st.sampled_from(("", "True", "x" * 5000, "52:54:00:AB:cd:01", "10.0.0.1", "Ready", "a\n\x00b")), st.text()
)
ATTACHMENTS = st.lists(
    st.builds(
        AttachmentStatus,
        name=st.text(min_size=1, max_size=80),
        handle=TEXT,
        state=st.sampled_from(AttachmentState),
    ),
    max_size=3,
).map(tuple)


@cache
def lively() -> Site:
    spec = {"volumes": referring("data"), "networkInterfaces": interfaces("lan")}
    here = site(machine(spec=spec), volume(claim="web"))
    here.settle()
    here.put(snapshot())
    here.settle()
    return here


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_report_can_carry_whatever_a_runtime_returns(data: st.DataObject) -> None:
    draw = data.draw
    conditions = draw(
        st.lists(
            st.builds(RuntimeCondition, type=TEXT, status=TEXT, reason=TEXT, message=TEXT), max_size=4
        ).map(tuple)
    )
    details = draw(
        st.lists(
            st.builds(
                InterfaceDetail, name=st.just("lan"), mac=TEXT, ips=st.lists(TEXT, max_size=3).map(tuple)
            ),
            max_size=2,
        ).map(tuple)
    )
    access = Access(
        driver=draw(TEXT),
        handle=draw(TEXT),
        attributes=draw(st.dictionaries(TEXT, TEXT, max_size=3)),
        secret_data={"key": b"hush-hush"},
    )
    volumes, nics, token = draw(ATTACHMENTS), draw(ATTACHMENTS), draw(TEXT)

    def tamper_all(_place: object, objects: dict[str, object]) -> dict[str, object]:
        return {id: tamper_one(one) for id, one in objects.items()}

    def tamper_one(one: object) -> object:
        if isinstance(one, RuntimeMachine):
            status = replace(one.status, conditions=conditions, volumes=volumes, network_interfaces=nics)
            notes = {**one.annotations, "gitvirt.dev/restart": token}
            return replace(
                one, status=status, annotations=notes, detail=replace(one.detail, network_interfaces=details)
            )
        if isinstance(one, RuntimeVolume):
            return replace(one, status=replace(one.status, access=access))
        assert isinstance(one, RuntimeSnapshot)
        return one

    here = lively()
    here.tamper = tamper_all
    decision = here.decide()
    whole = report.Report(
        machines=decision.machines,
        volumes=decision.volumes,
        snapshots=decision.snapshots,
        orphans=decision.orphans,
    )
    tree = report.render(whole)
    unread = [problem.message[:200] for one in report.read(tree).unreadable for problem in one.problems]
    assert unread == []
    assert b"hush-hush" not in b"".join(tree.values())


ONLINE, PENDING = AttachmentState.ATTACHED, AttachmentState.PENDING
DATA = Disk(name="data", connection=VolumeConnection(driver="rbd", handle="h"))


def guest(*volumes: AttachmentStatus, disks: tuple[Disk, ...] = (), **more: Any) -> RuntimeMachine:
    status = RuntimeMachineStatus(volumes=volumes, network_interfaces=more.pop("nics", ()))
    spec = RuntimeMachineSpec(volumes=disks, network_interfaces=more.pop("wanted", ()))
    return RuntimeMachine(id="m", spec=spec, status=status, **more)


def attach(name: str, state: AttachmentState = ONLINE, handle: str = "dev") -> AttachmentStatus:
    return AttachmentStatus(name=name, state=state, handle=handle)


def model(**spec: Any) -> Machine:
    found = machine(spec=spec).object
    assert isinstance(found, Machine)
    return found


def on_live(name: str, handle: str) -> Volume:
    access = {"driver": "rbd", "handle": handle}
    found = volume(name, status={"state": "Available", "access": access}).object
    assert isinstance(found, Volume)
    return found


Row = tuple[str, str, str, str | None]
ON_LIVE = (on_live("former", "f"), on_live("present", "p"))
FORMER = Disk(name="present", connection=VolumeConnection(driver="rbd", handle="f"))
UNKNOWN = Disk(name="present", connection=VolumeConnection(driver="rbd", handle="x"))

# the machine's volumes, the machine on the host, (name, state, handle, Volume) of each
VOLUMES: dict[str, tuple[list[dict[str, Any]], RuntimeMachine, list[Row]]] = {
    "none": ([], guest(), []),
    "attached": (
        referring("data"),
        guest(attach("data"), disks=(DATA,)),
        [("data", "Attached", "dev", "data")],
    ),
    "on its way": (
        referring("data"),
        guest(attach("data", PENDING, ""), disks=(DATA,)),
        [("data", "Pending", "h", "data")],
    ),
    "not there yet": (referring("data"), guest(), [("data", "Pending", "", "data")]),
    "desired by the runtime, not there yet": (
        referring("data"),
        guest(disks=(DATA,)),
        [("data", "Pending", "h", "data")],
    ),
    "a local disk": (
        [{"name": "root", "localDisk": {"sizeLimit": "1Gi"}}],
        guest(attach("root")),
        [("root", "Attached", "dev", None)],
    ),
    "the machine's own volume": (
        [{"name": "root", "ephemeral": {"volumeTemplate": {"spec": {"resources": {"storage": "1Gi"}}}}}],
        guest(attach("root")),
        [("root", "Attached", "dev", "web-root")],
    ),
    "still attached, not declared any more": ([], guest(attach("old")), [("old", "Attached", "dev", None)]),
    "declared first, then the others by name": (
        referring("b", "a"),
        guest(attach("z"), attach("y"), attach("a")),
        [
            ("b", "Pending", "", "b"),
            ("a", "Attached", "dev", "a"),
            ("y", "Attached", "dev", None),
            ("z", "Attached", "dev", None),
        ],
    ),
    "names that a report cannot carry": ([], guest(attach(""), attach("x" * 254)), []),
    "its entry names another volume by now": (
        referring("present"),
        guest(attach("present"), disks=(FORMER,)),
        [("present", "Attached", "dev", "former")],
    ),
    "the former one is being detached": (
        referring("present"),
        guest(attach("present", handle="f")),
        [("present", "Attached", "f", "former")],
    ),
    "its entry names another volume, and live does not know this one": (
        referring("present"),
        guest(attach("present"), disks=(UNKNOWN,)),
        [("present", "Attached", "dev", None)],
    ),
    "its entry names a volume without a handle": (
        referring("data"),
        guest(attach("data"), disks=(replace(FORMER, name="data"),)),
        [("data", "Attached", "dev", "former")],
    ),
    "not declared any more, and known on live": (
        [],
        guest(attach("old", handle="f")),
        [("old", "Attached", "f", "former")],
    ),
}


@pytest.mark.parametrize(("declared", "there", "want"), VOLUMES.values(), ids=VOLUMES.keys())
def test_volumes_are_reported_as_the_host_has_them(
    declared: list[dict[str, Any]], there: RuntimeMachine, want: list[Row]
) -> None:
    found = iri_to_report.attached_volumes(model(volumes=declared), there, VolumeUsers(ON_LIVE))
    assert [
        (one.name, one.state, one.handle, one.volume_ref.name if one.volume_ref else None) for one in found
    ] == want


def with_interface(
    *nics: AttachmentStatus, mac: str = "", ips: tuple[str, ...] = (), declared_mac: str = ""
) -> RuntimeMachine:
    detail = MachineDetail(network_interfaces=(InterfaceDetail(name="lan", mac=mac, ips=ips),))
    wanted = (RuntimeNetworkInterface(name="lan", attributes={"mac": declared_mac} if declared_mac else {}),)
    return guest(nics=nics, wanted=wanted, detail=detail)


# the machine on the host, (name, state, MAC, addresses, NetworkInterface) of each
INTERFACES: dict[
    str, tuple[RuntimeMachine, list[tuple[str, str, str | None, tuple[str, ...], str | None]]]
] = {
    "not there yet": (guest(), [("lan", "Pending", None, (), "nic")]),
    "attached": (
        with_interface(attach("lan"), mac="52:54:00:AB:cd:01", ips=("10.0.0.1",)),
        [("lan", "Attached", "52:54:00:ab:cd:01", ("10.0.0.1",), "nic")],
    ),
    "the host knows no MAC": (
        with_interface(attach("lan"), declared_mac="02:00:00:00:00:01"),
        [("lan", "Attached", "02:00:00:00:00:01", (), "nic")],
    ),
    "a MAC that is none": (
        with_interface(attach("lan"), mac="52:54"),
        [("lan", "Attached", None, (), "nic")],
    ),
    "an address that a report cannot carry": (
        with_interface(attach("lan"), ips=("x" * 65, "10.0.0.1")),
        [("lan", "Attached", None, ("10.0.0.1",), "nic")],
    ),
    "still attached, not declared any more": (
        guest(nics=(attach("old"),)),
        [("lan", "Pending", None, (), "nic"), ("old", "Attached", None, (), None)],
    ),
}


@pytest.mark.parametrize(("there", "want"), INTERFACES.values(), ids=INTERFACES.keys())
def test_interfaces_are_reported_as_the_host_has_them(
    there: RuntimeMachine, want: list[tuple[str, str, str | None, tuple[str, ...], str | None]]
) -> None:
    declared = model(networkInterfaces=interfaces("lan"))
    found = iri_to_report.attached_interfaces(declared, there, {"lan": ("nic", "u1")})
    assert [
        (
            one.name,
            one.state,
            one.mac_address,
            one.ips,
            one.network_interface_ref.name if one.network_interface_ref else None,
        )
        for one in found
    ] == want


@pytest.mark.parametrize(
    ("state", "deleted_at", "want"),
    [
        (MachineState.PENDING, 0, "Pending"),
        (MachineState.RUNNING, 0, "Running"),
        (MachineState.SUSPENDED, 0, "Shutdown"),
        (MachineState.STOPPED, 0, "Shutdown"),
        (MachineState.TERMINATED, 0, "Terminated"),
        (MachineState.TERMINATING, 0, "Terminating"),
        (MachineState.RUNNING, 1, "Terminating"),
        (MachineState.STOPPED, 1, "Terminating"),
    ],
)
def test_each_state_of_a_machine_has_a_word(state: MachineState, deleted_at: int, want: str) -> None:
    there = RuntimeMachine(status=RuntimeMachineStatus(state=state), deleted_at=deleted_at)
    assert iri_to_report.machine_state(there) == want


SMALL = Access(driver="rbd", handle="h", attributes={"a": "b"}, secret_data={"key": b"s", "id": b"t"})
ACCESS: dict[str, tuple[Access, bool]] = {
    "whole": (SMALL, True),
    "empty": (Access(), True),
    "too many attributes": (replace(SMALL, attributes={str(n): "" for n in range(65)}), False),
    "an attribute that is too long": (replace(SMALL, attributes={"a": "x" * 4097}), False),
    "a driver that is too long": (replace(SMALL, driver="x" * 254), False),
    "a handle that is too long": (replace(SMALL, handle="x" * 4097), False),
}


@pytest.mark.parametrize(("access", "fits"), ACCESS.values(), ids=ACCESS.keys())
def test_access_data_is_reported_whole_or_not_at_all(access: Access, fits: bool) -> None:
    found = iri_to_report.volume_access(access)
    whole = report.ReportedVolumeAccess(access.driver, access.handle, dict(access.attributes))
    assert found == (whole if fits else None)


@pytest.mark.parametrize(("access", "keys"), [(None, None), (Access(), None), (SMALL, "id, key")])
def test_a_volume_reports_which_secrets_another_host_needs(access: Access | None, keys: str | None) -> None:
    found = iri_to_report.access_conditions(RuntimeVolume(status=RuntimeVolumeStatus(access=access)))
    assert [(one.type, one.status, one.message) for one in found] == (
        [] if keys is None else [("AccessSecret", "True", keys)]
    )
