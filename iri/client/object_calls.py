"""How each kind of object is listed, created and removed: the calls, and the names of their fields.

IronCore names the fields of a request after the kind ("machine", "machine_id"), so one class serves all three kinds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic

from google.protobuf import message_factory
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message

from iri.client.change_calls import MACHINES, VOLUMES
from iri.machine import RuntimeMachine
from iri.proto.machine.v1alpha1 import api_pb2 as machine_pb
from iri.proto.volume.v1alpha1 import api_pb2 as volume_pb
from iri.runtime import AnyObject
from iri.volume import RuntimeSnapshot, RuntimeVolume
from iri.wire.message_codec import fill, freeze


@dataclass(frozen=True)
class ObjectCalls(Generic[AnyObject]):
    """Of one kind. Builds requests and decodes responses; makes no call itself."""

    kind: type[AnyObject]
    message: type[Message]
    field: str
    list: MethodDescriptor
    create: MethodDescriptor
    remove: MethodDescriptor

    def list_request(self, id: str, labels: Mapping[str, str]) -> Message:
        """A complete list has no filter at all."""
        request = build_request(self.list)
        if id or labels:
            request.filter.id = id  # type: ignore[attr-defined]
            request.filter.label_selector.update(labels)  # type: ignore[attr-defined]
        return request

    def create_request(self, desired: AnyObject) -> Message:
        request = build_request(self.create)
        fill(getattr(request, self.field), desired)
        return request

    def remove_request(self, id: str) -> Message:
        return build_request(self.remove, **{f"{self.field}_id": id})

    def decode_created(self, response: Message) -> AnyObject:
        return freeze(self.kind, getattr(response, self.field))

    def decode(self, data: bytes) -> AnyObject:
        return freeze(self.kind, self.message.FromString(data))


def build_request(method: MethodDescriptor, **fields: object) -> Message:
    return message_factory.GetMessageClass(method.input_type)(**fields)


MACHINE_CALLS = ObjectCalls(
    RuntimeMachine,
    machine_pb.Machine,
    "machine",
    MACHINES["ListMachines"],
    MACHINES["CreateMachine"],
    MACHINES["DeleteMachine"],
)
VOLUME_CALLS = ObjectCalls(
    RuntimeVolume,
    volume_pb.Volume,
    "volume",
    VOLUMES["ListVolumes"],
    VOLUMES["CreateVolume"],
    VOLUMES["DeleteVolume"],
)
SNAPSHOT_CALLS = ObjectCalls(
    RuntimeSnapshot,
    volume_pb.VolumeSnapshot,
    "volume_snapshot",
    VOLUMES["ListVolumeSnapshots"],
    VOLUMES["CreateVolumeSnapshot"],
    VOLUMES["DeleteVolumeSnapshot"],
)
