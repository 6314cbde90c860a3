"""Structs become messages and messages structs, without loss."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st

from iri.host import HostInfo, MachineOffer, RuntimeMachineClass, RuntimeVolumeClass, VolumeOffer
from iri.machine import (
    Disk,
    MachineDetail,
    MachineState,
    Power,
    RuntimeMachine,
    RuntimeMachineSpec,
    RuntimeMachineStatus,
    RuntimeNetworkInterface,
)
from iri.proto.gitvirt.host.v1alpha1 import api_pb2 as host_pb
from iri.proto.machine.v1alpha1 import api_pb2 as machine_pb
from iri.proto.volume.v1alpha1 import api_pb2 as volume_pb
from iri.runtime import EventType, RuntimeEvent
from iri.volume import (
    Access,
    Resources,
    RuntimeSnapshot,
    RuntimeVolume,
    RuntimeVolumeSpec,
    RuntimeVolumeStatus,
    SnapshotSpec,
    VolumeDetail,
)
from iri.wire.events import decode_event, encode_event
from iri.wire.message_codec import fill, freeze
from tests.iri.proto.messages import messages

# What a caller sends comes back byte for byte, unknown fields included; enums within their names.
SPECS: list[tuple[type[msgspec.Struct], type[Message]]] = [
    (Disk, machine_pb.Volume),
    (RuntimeNetworkInterface, machine_pb.NetworkInterface),
    (RuntimeMachineSpec, machine_pb.MachineSpec),
    (RuntimeVolumeSpec, volume_pb.VolumeSpec),
    (Resources, volume_pb.VolumeResources),
    (Access, volume_pb.VolumeAccess),
    (SnapshotSpec, volume_pb.VolumeSnapshotSpec),
]
# What a runtime says holds nothing unknown.
EXAMPLES: list[tuple[type[msgspec.Struct], type[Message]]] = [
    (RuntimeMachine, machine_pb.Machine),
    (RuntimeMachineStatus, machine_pb.MachineStatus),
    (RuntimeVolume, volume_pb.Volume),
    (RuntimeVolumeStatus, volume_pb.VolumeStatus),
    (RuntimeSnapshot, volume_pb.VolumeSnapshot),
    (RuntimeMachineClass, machine_pb.MachineClass),
    (MachineOffer, machine_pb.MachineClassStatus),
    (RuntimeVolumeClass, volume_pb.VolumeClass),
    (VolumeOffer, volume_pb.VolumeClassStatus),
    (HostInfo, host_pb.HostInfo),
    (MachineDetail, host_pb.MachineDescription),
    (VolumeDetail, host_pb.VolumeDescription),
]


def names(cases: list[tuple[type[msgspec.Struct], type[Message]]]) -> list[str]:
    return [struct.__name__ for struct, _ in cases]


def with_known_power(message: Any) -> None:
    if isinstance(message, machine_pb.MachineSpec):
        message.power = machine_pb.Power.ValueType(message.power & 1)


@pytest.mark.parametrize(("struct", "message_type"), SPECS, ids=names(SPECS))
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_message_is_equal_after_decoding_and_encoding(
    struct: type[msgspec.Struct], message_type: type[Message], data: st.DataObject
) -> None:
    sent = data.draw(messages(message_type.DESCRIPTOR))
    with_known_power(sent)
    returned = message_type()
    fill(returned, freeze(struct, sent))
    assert returned == sent


@pytest.mark.parametrize(("struct", "message_type"), EXAMPLES, ids=names(EXAMPLES))
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_struct_survives_the_wire(
    struct: type[msgspec.Struct], message_type: type[Message], data: st.DataObject
) -> None:
    value = freeze(struct, data.draw(messages(message_type.DESCRIPTOR, with_unknown=False)))
    message = message_type()
    fill(message, value)
    assert freeze(struct, message_type.FromString(message.SerializeToString())) == value


@pytest.mark.parametrize(("struct", "message_type"), SPECS + EXAMPLES, ids=names(SPECS + EXAMPLES))
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_state_on_disk_is_the_struct_as_msgpack(
    struct: type[msgspec.Struct], message_type: type[Message], data: st.DataObject
) -> None:
    value = freeze(struct, data.draw(messages(message_type.DESCRIPTOR)))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(value), type=struct) == value


def test_absent_and_empty_messages_differ() -> None:
    absent, empty = machine_pb.Volume(name="a"), machine_pb.Volume(name="a")
    empty.local_disk.SetInParent()
    assert freeze(Disk, absent) != freeze(Disk, empty)


def test_enum_number_without_a_name_is_unknown() -> None:
    spec = machine_pb.MachineSpec()
    spec.power = machine_pb.Power.ValueType(7)
    assert freeze(RuntimeMachineSpec, spec).power is Power.UNKNOWN
    status = machine_pb.MachineStatus()
    status.state = machine_pb.MachineState.ValueType(42)
    assert freeze(RuntimeMachineStatus, status).state is MachineState.UNKNOWN


@given(
    st.builds(
        RuntimeEvent,
        kind=st.sampled_from([RuntimeMachine, RuntimeVolume, RuntimeSnapshot]),
        id=st.text(max_size=5),
        labels=st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=2),
        type=st.sampled_from(EventType),
        reason=st.text(max_size=5),
        action=st.text(max_size=5),
        message=st.text(max_size=5),
        time=st.integers(0, 2**40),
    )
)
def test_event_survives_the_wire_with_its_kind(event: RuntimeEvent) -> None:
    assert decode_event(encode_event(event), RuntimeVolume) == event


def test_event_of_another_runtime_is_about_the_main_kind_of_its_service() -> None:
    message = encode_event(
        RuntimeEvent(kind=RuntimeMachine, id="m", reason="R", action="A", message="m", time=1)
    )
    message.spec.involved_object_meta.ClearField("annotations")
    message.spec.type = "Alarm"
    event = decode_event(message, RuntimeVolume)
    assert (event.kind, event.type) == (RuntimeVolume, EventType.NORMAL)
