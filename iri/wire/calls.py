"""Which call does what: how each kind of object is listed, created and removed, and which call carries each change. Pure.

IronCore names the fields of a request after the kind ("machine", "machine_id"), so one class serves all three kinds.
Every change of iri.change is exactly one call: its request has the object's id first, then the fields of the change.
Resize is a call of gitvirt's host service, because IronCore has none.

A kind's row says everything that differs between the kinds on the wire. So client, server and `gitvirt iri` have one piece of code for
all of them, and a new kind is a new row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic

import msgspec
from google.protobuf import message_factory
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message

from iri.change import (
    AttachInterface,
    AttachVolume,
    DetachInterface,
    DetachVolume,
    ExpandVolume,
    Resize,
    RuntimeChange,
    SetAnnotations,
    SetPower,
    UpdateVolume,
)
from iri.errors import InvalidArgument
from iri.machine import MachineDetail, RuntimeMachine
from iri.proto.gitvirt.host.v1alpha1 import api_pb2 as host_pb
from iri.proto.machine.v1alpha1 import api_pb2 as machine_pb
from iri.proto.volume.v1alpha1 import api_pb2 as volume_pb
from iri.runtime import KIND_NAMES, AnyObject, RuntimeKind
from iri.volume import RuntimeSnapshot, RuntimeVolume, VolumeDetail
from iri.wire.message_codec import encode, fill, freeze

Methods = Mapping[str, MethodDescriptor]

# Beside a request that changes or removes an object: the assignment that it must have. IronCore's requests have no field for it.
ASSIGNMENT_METADATA = "gitvirt-assignment-bin"

MACHINE_SERVICE = machine_pb.DESCRIPTOR.services_by_name["MachineRuntime"]
VOLUME_SERVICE = volume_pb.DESCRIPTOR.services_by_name["VolumeRuntime"]
HOST_SERVICE = host_pb.DESCRIPTOR.services_by_name["Host"]
MACHINES: Methods = MACHINE_SERVICE.methods_by_name
VOLUMES: Methods = VOLUME_SERVICE.methods_by_name
HOST: Methods = HOST_SERVICE.methods_by_name

CHANGE_CALLS: Mapping[type[RuntimeChange], MethodDescriptor] = {
    SetAnnotations: MACHINES["UpdateMachineAnnotations"],
    SetPower: MACHINES["UpdateMachinePower"],
    Resize: HOST["ResizeMachine"],
    AttachVolume: MACHINES["AttachVolume"],
    DetachVolume: MACHINES["DetachVolume"],
    UpdateVolume: MACHINES["UpdateVolume"],
    AttachInterface: MACHINES["AttachNetworkInterface"],
    DetachInterface: MACHINES["DetachNetworkInterface"],
    ExpandVolume: VOLUMES["ExpandVolume"],
}


@dataclass(frozen=True)
class ObjectCalls(Generic[AnyObject]):
    """Of one kind. Builds requests and decodes responses; makes no call itself."""

    kind: type[AnyObject]
    message: type[Message]
    field: str
    service: Methods
    detail: type[msgspec.Struct] | None = None  # the host service describes objects of this kind

    @property
    def list(self) -> MethodDescriptor:
        return self.service[f"List{KIND_NAMES[self.kind]}s"]

    @property
    def create(self) -> MethodDescriptor:
        return self.service[f"Create{KIND_NAMES[self.kind]}"]

    @property
    def remove(self) -> MethodDescriptor:
        return self.service[f"Delete{KIND_NAMES[self.kind]}"]

    @property
    def describe(self) -> MethodDescriptor:
        """A call of the host service, for a kind with details."""
        return HOST[f"Describe{KIND_NAMES[self.kind]}s"]

    def list_request(self, id: str, labels: Mapping[str, str]) -> Message:
        """A complete list has no filter at all."""
        is_complete = not id and not labels
        return build_request(self.list, filter=None if is_complete else {"id": id, "label_selector": labels})

    def create_request(self, desired: AnyObject) -> Message:
        return build_request(self.create, **{self.field: encode(self.message, desired)})

    def remove_request(self, id: str) -> Message:
        return build_request(self.remove, **{f"{self.field}_id": id})

    def decode_created(self, response: Message) -> AnyObject:
        return freeze(self.kind, getattr(response, self.field))

    def encode(self, item: AnyObject) -> Message:
        """Everything but the detail, which another call carries."""
        return encode(self.message, item)

    def decode(self, data: bytes) -> AnyObject:
        return freeze(self.kind, self.message.FromString(data))

    def decode_detail(self, data: bytes) -> tuple[str, msgspec.Struct]:
        """The object's id and its detail, from one item of the answer to `describe`."""
        description = self.describe.output_type.fields[0].message_type
        assert description is not None
        assert self.detail is not None, "only for a kind with details"
        message = message_factory.GetMessageClass(description).FromString(data)
        return getattr(message, f"{self.field}_id"), freeze(self.detail, message)


MACHINE_CALLS = ObjectCalls(RuntimeMachine, machine_pb.Machine, "machine", MACHINES, MachineDetail)
VOLUME_CALLS = ObjectCalls(RuntimeVolume, volume_pb.Volume, "volume", VOLUMES, VolumeDetail)
SNAPSHOT_CALLS = ObjectCalls(RuntimeSnapshot, volume_pb.VolumeSnapshot, "volume_snapshot", VOLUMES)
OBJECT_CALLS: Mapping[RuntimeKind, ObjectCalls[Any]] = {
    calls.kind: calls for calls in (MACHINE_CALLS, VOLUME_CALLS, SNAPSHOT_CALLS)
}


def build_change_call(id: str, change: RuntimeChange) -> tuple[MethodDescriptor, Message]:
    """`id` is the machine's, or the volume's for ExpandVolume."""
    method = CHANGE_CALLS[type(change)]
    request = build_request(method, **{id_field(method): id})
    fill(request, change)
    return method, request


def id_field(method: MethodDescriptor) -> str:
    """The field of a change's request that names the object."""
    return method.input_type.fields[0].name


def build_request(method: MethodDescriptor, **fields: object) -> Message:
    return message_factory.GetMessageClass(method.input_type)(**fields)


def build_response(method: MethodDescriptor, **fields: object) -> Message:
    return message_factory.GetMessageClass(method.output_type)(**fields)


def assignment_metadata(assignment: str) -> tuple[tuple[str, bytes], ...]:
    """None for a call that is about whatever has the id."""
    return ((ASSIGNMENT_METADATA, assignment.encode()),) if assignment else ()


def read_assignment(metadata: Iterable[tuple[str, str | bytes]]) -> str:
    """The assignment that a caller named; empty if it named none. InvalidArgument for bytes that cannot be read as text."""
    value = next((value for name, value in metadata if name == ASSIGNMENT_METADATA), b"")
    try:
        return value if isinstance(value, str) else value.decode()
    except UnicodeDecodeError:
        raise InvalidArgument(f"the metadata {ASSIGNMENT_METADATA} is not UTF-8") from None
