"""How each call refuses a wrong request: the status, and a message that names the field and never its value."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message

from iri.proto.gitvirt.host.v1alpha1 import api_pb2 as h
from iri.proto.machine.v1alpha1 import api_pb2 as m
from iri.proto.volume.v1alpha1 import api_pb2 as v
from iri.server.request_checks import LARGEST_OBJECT_BYTES
from iri.simulated.runtime import SimulatedRuntime
from tests.iri.quick_host import quick_host
from tests.iri.server.raw_client import METHODS, Raw, raw

SECRET = "s3cr3t"
DISK = m.Volume(name="data", device="odb", local_disk=m.LocalDisk(size_bytes=1))
CALL = tuple[str, Message, str]


def machine(**spec: Any) -> m.CreateMachineRequest:
    return m.CreateMachineRequest(machine=m.Machine(spec=m.MachineSpec(**{"class": "small"} | spec)))


def disk(**fields: Any) -> m.CreateMachineRequest:
    return machine(volumes=[m.Volume(**{"name": "a", "device": "oda"} | fields)])


def volume(**spec: Any) -> v.CreateVolumeRequest:
    given: dict[str, Any] = {"class": "standard", "resources": v.VolumeResources(storage_bytes=1)} | spec
    return v.CreateVolumeRequest(volume=v.Volume(spec=v.VolumeSpec(**given)))


def machine_class(name: str = "a", **resources: int) -> m.MachineClass:
    return m.MachineClass(name=name, capabilities=m.MachineClassCapabilities(resources=resources))


CONNECTED = m.VolumeConnection(driver="ceph")
INVALID: list[CALL] = [
    ("MachineRuntime.CreateMachine", m.CreateMachineRequest(), "machine is missing"),
    ("MachineRuntime.CreateMachine", m.CreateMachineRequest(machine=m.Machine()), "machine.spec is missing"),
    ("MachineRuntime.CreateMachine", machine(**{"class": ""}), "machine.spec.class is missing"),
    ("MachineRuntime.CreateMachine", machine(**{"class": "../x"}), "machine.spec.class must be"),
    ("MachineRuntime.CreateMachine", machine(**{"class": "nope"}), "nope"),
    ("MachineRuntime.CreateMachine", machine(power=7), "machine.spec.power"),
    (
        "MachineRuntime.CreateMachine",
        machine(ignition_data=b"x" * (LARGEST_OBJECT_BYTES + 1)),
        "machine has 41943",
    ),
    (
        "MachineRuntime.CreateMachine",
        machine(guest_config=m.GuestConfig(hostname="a b")),
        "guest_config.hostname",
    ),
    ("MachineRuntime.CreateMachine", disk(), "volumes[0] needs exactly one"),
    ("MachineRuntime.CreateMachine", disk(local_disk=m.LocalDisk(), connection=CONNECTED), "exactly one"),
    ("MachineRuntime.CreateMachine", disk(name="", local_disk=m.LocalDisk()), "volumes[0].name is missing"),
    ("MachineRuntime.CreateMachine", disk(device="", local_disk=m.LocalDisk()), "volumes[0].device"),
    ("MachineRuntime.CreateMachine", disk(device="/dev/vda", local_disk=m.LocalDisk()), "volumes[0].device"),
    ("MachineRuntime.CreateMachine", disk(local_disk=m.LocalDisk(size_bytes=-1)), "size_bytes is negative"),
    ("MachineRuntime.CreateMachine", disk(local_disk=m.LocalDisk(image=m.ImageSpec())), "image is missing"),
    ("MachineRuntime.CreateMachine", disk(connection=m.VolumeConnection()), "connection.driver is missing"),
    (
        "MachineRuntime.CreateMachine",
        disk(connection=m.VolumeConnection(driver="ceph", secret_data={"": SECRET.encode()})),
        "secret_data has an empty key",
    ),
    (
        "MachineRuntime.CreateMachine",
        disk(connection=m.VolumeConnection(driver="ceph", effective_storage_bytes=-1)),
        "effective_storage_bytes is negative",
    ),
    (
        "MachineRuntime.CreateMachine",
        machine(volumes=[DISK, DISK]),
        "the name of one of machine.spec.volumes",
    ),
    (
        "MachineRuntime.CreateMachine",
        machine(volumes=[DISK, m.Volume(name="b", device="odb", local_disk=m.LocalDisk())]),
        "the device of one of machine.spec.volumes",
    ),
    (
        "MachineRuntime.CreateMachine",
        machine(network_interfaces=[m.NetworkInterface(name="a", ips=["10.0.0.1", SECRET])]),
        "network_interfaces[0].ips[1] is not an IP address",
    ),
    (
        "MachineRuntime.CreateMachine",
        machine(network_interfaces=[m.NetworkInterface(name="a"), m.NetworkInterface(name="a")]),
        "the name of one of machine.spec.network_interfaces",
    ),
    ("MachineRuntime.DeleteMachine", m.DeleteMachineRequest(), "machine_id is missing"),
    ("MachineRuntime.DeleteMachine", m.DeleteMachineRequest(machine_id="x" * 254), "machine_id is longer"),
    ("MachineRuntime.UpdateMachineAnnotations", m.UpdateMachineAnnotationsRequest(), "machine_id is missing"),
    (
        "MachineRuntime.UpdateMachineAnnotations",
        m.UpdateMachineAnnotationsRequest(machine_id="x", annotations={"": ""}),
        "annotations has an empty key",
    ),
    (
        "MachineRuntime.UpdateMachineAnnotations",
        m.UpdateMachineAnnotationsRequest(machine_id="x", annotations={"a": "x" * LARGEST_OBJECT_BYTES}),
        "annotations has 41943",
    ),
    ("MachineRuntime.UpdateMachinePower", m.UpdateMachinePowerRequest(), "machine_id is missing"),
    ("MachineRuntime.AttachVolume", m.AttachVolumeRequest(volume=DISK), "machine_id is missing"),
    ("MachineRuntime.AttachVolume", m.AttachVolumeRequest(machine_id="x"), "volume is missing"),
    ("MachineRuntime.AttachVolume", m.AttachVolumeRequest(machine_id="x", volume=m.Volume()), "volume.name"),
    ("MachineRuntime.UpdateVolume", m.UpdateVolumeRequest(volume=DISK), "machine_id is missing"),
    ("MachineRuntime.UpdateVolume", m.UpdateVolumeRequest(machine_id="x"), "volume is missing"),
    ("MachineRuntime.DetachVolume", m.DetachVolumeRequest(name="a"), "machine_id is missing"),
    ("MachineRuntime.DetachVolume", m.DetachVolumeRequest(machine_id="x"), "name is missing"),
    ("MachineRuntime.AttachNetworkInterface", m.AttachNetworkInterfaceRequest(), "machine_id is missing"),
    (
        "MachineRuntime.AttachNetworkInterface",
        m.AttachNetworkInterfaceRequest(machine_id="x"),
        "network_interface is missing",
    ),
    (
        "MachineRuntime.DetachNetworkInterface",
        m.DetachNetworkInterfaceRequest(name="a"),
        "machine_id is missing",
    ),
    (
        "MachineRuntime.DetachNetworkInterface",
        m.DetachNetworkInterfaceRequest(machine_id="x"),
        "name is missing",
    ),
    ("MachineRuntime.Exec", m.ExecRequest(), "machine_id is missing"),
    ("VolumeRuntime.CreateVolume", v.CreateVolumeRequest(), "volume is missing"),
    ("VolumeRuntime.CreateVolume", v.CreateVolumeRequest(volume=v.Volume()), "volume.spec is missing"),
    ("VolumeRuntime.CreateVolume", volume(**{"class": ""}), "volume.spec.class is missing"),
    ("VolumeRuntime.CreateVolume", volume(resources=None), "storage_bytes must be greater than 0"),
    ("VolumeRuntime.CreateVolume", volume(resources=v.VolumeResources(storage_bytes=-5)), "greater than 0"),
    (
        "VolumeRuntime.CreateVolume",
        volume(
            volume_data_source=v.VolumeDataSource(
                image_data_source=v.ImageDataSource(image="i"),
                snapshot_data_source=v.SnapshotDataSource(snapshot_id="s"),
            )
        ),
        "both an image and a snapshot",
    ),
    (
        "VolumeRuntime.CreateVolume",
        volume(volume_data_source=v.VolumeDataSource(image_data_source=v.ImageDataSource())),
        "image_data_source.image is missing",
    ),
    (
        "VolumeRuntime.CreateVolume",
        volume(encryption=v.EncryptionSpec(secret_data={"": SECRET.encode()})),
        "secret_data has an empty key",
    ),
    ("VolumeRuntime.ExpandVolume", v.ExpandVolumeRequest(), "volume_id is missing"),
    ("VolumeRuntime.ExpandVolume", v.ExpandVolumeRequest(volume_id="x"), "resources is missing"),
    (
        "VolumeRuntime.ExpandVolume",
        v.ExpandVolumeRequest(volume_id="x", resources=v.VolumeResources()),
        "greater than 0",
    ),
    ("VolumeRuntime.DeleteVolume", v.DeleteVolumeRequest(), "volume_id is missing"),
    ("VolumeRuntime.CreateVolumeSnapshot", v.CreateVolumeSnapshotRequest(), "volume_snapshot is missing"),
    (
        "VolumeRuntime.CreateVolumeSnapshot",
        v.CreateVolumeSnapshotRequest(volume_snapshot=v.VolumeSnapshot(spec=v.VolumeSnapshotSpec())),
        "volume_id is missing",
    ),
    ("VolumeRuntime.DeleteVolumeSnapshot", v.DeleteVolumeSnapshotRequest(), "volume_snapshot_id is missing"),
    ("Host.ResizeMachine", h.ResizeMachineRequest(), "machine_id is missing"),
    ("Host.ResizeMachine", h.ResizeMachineRequest(machine_id="x"), "class is missing"),
    (
        "Host.SetClasses",
        h.SetClassesRequest(machine_classes=[machine_class(cpu=1)]),
        "resources[memory] must be greater than 0",
    ),
    (
        "Host.SetClasses",
        h.SetClassesRequest(machine_classes=[machine_class(cpu=1, memory=1)] * 2),
        "the name of one of machine_classes",
    ),
    (
        "Host.SetClasses",
        h.SetClassesRequest(volume_classes=[v.VolumeClass(name="")]),
        "volume_classes[0].name is missing",
    ),
    ("Host.EndAssignments", h.EndAssignmentsRequest(assignment_ids=[""]), "assignment_ids is missing"),
    ("Host.ReadConsoleLog", h.ReadConsoleLogRequest(tail_lines=3), "machine_id is missing"),
    (
        "Host.EndAssignments",
        h.EndAssignmentsRequest(assignment_ids=["x"] * 4097),
        "assignment_ids has 4097 entries and may have 4096",
    ),
]
NOT_FOUND: list[tuple[str, Message]] = [
    ("MachineRuntime.DeleteMachine", m.DeleteMachineRequest(machine_id="x")),
    ("MachineRuntime.UpdateMachineAnnotations", m.UpdateMachineAnnotationsRequest(machine_id="x")),
    ("MachineRuntime.UpdateMachinePower", m.UpdateMachinePowerRequest(machine_id="x")),
    ("MachineRuntime.AttachVolume", m.AttachVolumeRequest(machine_id="x", volume=DISK)),
    ("MachineRuntime.UpdateVolume", m.UpdateVolumeRequest(machine_id="x", volume=DISK)),
    ("MachineRuntime.DetachVolume", m.DetachVolumeRequest(machine_id="x", name="a")),
    (
        "MachineRuntime.AttachNetworkInterface",
        m.AttachNetworkInterfaceRequest(machine_id="x", network_interface=m.NetworkInterface(name="a")),
    ),
    ("MachineRuntime.DetachNetworkInterface", m.DetachNetworkInterfaceRequest(machine_id="x", name="a")),
    ("MachineRuntime.Exec", m.ExecRequest(machine_id="x")),
    (
        "VolumeRuntime.ExpandVolume",
        v.ExpandVolumeRequest(volume_id="x", resources=v.VolumeResources(storage_bytes=1)),
    ),
    ("VolumeRuntime.DeleteVolume", v.DeleteVolumeRequest(volume_id="x")),
    ("VolumeRuntime.DeleteVolumeSnapshot", v.DeleteVolumeSnapshotRequest(volume_snapshot_id="x")),
    (
        "VolumeRuntime.CreateVolumeSnapshot",
        v.CreateVolumeSnapshotRequest(
            volume_snapshot=v.VolumeSnapshot(spec=v.VolumeSnapshotSpec(volume_id="x"))
        ),
    ),
    ("Host.ResizeMachine", h.ResizeMachineRequest(machine_id="x", **{"class": "small"})),
]
# Any request suits these; an empty one is answered.
UNDEMANDING = [
    "MachineRuntime.Version",
    "MachineRuntime.ListEvents",
    "MachineRuntime.ListMachines",
    "MachineRuntime.Status",
    "VolumeRuntime.Version",
    "VolumeRuntime.ListEvents",
    "VolumeRuntime.ListVolumes",
    "VolumeRuntime.ListVolumeSnapshots",
    "VolumeRuntime.Status",
    "Host.GetHost",
    "Host.SetClasses",
    "Host.DescribeMachines",
    "Host.DescribeVolumes",
    "Host.WatchEvents",
    "Host.HoldStarts",
    "Host.GetUsage",
]


@pytest.fixture(scope="module")
def client() -> Iterator[Raw]:
    with (
        tempfile.TemporaryDirectory(prefix="iri") as directory,
        raw(SimulatedRuntime(quick_host()), Path(directory) / "s") as connected,
    ):
        yield connected


def test_table_covers_every_call() -> None:
    assert {name for name, *_ in INVALID} | set(UNDEMANDING) == set(METHODS)


@pytest.mark.parametrize(
    ("name", "request_", "words"), INVALID, ids=[f"{name}-{words}" for name, _, words in INVALID]
)
def test_wrong_request_is_an_invalid_argument(client: Raw, name: str, request_: Message, words: str) -> None:
    code, answer = client.refusal(name, request_)
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert words in answer
    assert SECRET not in answer


@pytest.mark.parametrize(("name", "request_"), NOT_FOUND, ids=[name for name, _ in NOT_FOUND])
def test_unknown_object_is_not_found(client: Raw, name: str, request_: Message) -> None:
    code, answer = client.refusal(name, request_)
    assert code is grpc.StatusCode.NOT_FOUND
    assert answer


@pytest.mark.parametrize("name", UNDEMANDING)
def test_empty_request_is_answered(client: Raw, name: str) -> None:
    assert client.send(METHODS[name], b"")[0] is grpc.StatusCode.OK


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("data", [b"\xff\xff\xff", b"\x0a\x05a"], ids=["garbage", "cut off"])
def test_bytes_that_are_not_a_message_are_an_invalid_argument(client: Raw, name: str, data: bytes) -> None:
    code, answer, _ = client.send(METHODS[name], data)
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert "not a valid" in answer


def test_message_beyond_the_limit_is_refused(client: Raw) -> None:
    code, answer, _ = client.send(METHODS["MachineRuntime.CreateMachine"], b"\x0a" + b"x" * (65 << 20))
    assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert answer


def test_unknown_call_is_unimplemented(client: Raw) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        client.channel.unary_unary("/machine.v1alpha1.MachineRuntime/Nope", None, None)(b"")
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_text_that_is_not_utf8_is_an_invalid_argument(client: Raw) -> None:
    code, _, _ = client.send(METHODS["MachineRuntime.DeleteMachine"], b"\x0a\x02\xff\xfe")
    assert code is grpc.StatusCode.INVALID_ARGUMENT
