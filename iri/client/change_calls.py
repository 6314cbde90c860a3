"""Which call carries a change, and with which request. Pure.

Every change of iri.change is exactly one call. Resize is a call of gitvirt's host service, because IronCore has none.
"""

from __future__ import annotations

from typing import assert_never

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
from iri.proto.gitvirt.host.v1alpha1 import api_pb2 as host_pb
from iri.proto.machine.v1alpha1 import api_pb2 as machine_pb
from iri.proto.volume.v1alpha1 import api_pb2 as volume_pb
from iri.wire.message_codec import fill

MACHINES = machine_pb.DESCRIPTOR.services_by_name["MachineRuntime"].methods_by_name
VOLUMES = volume_pb.DESCRIPTOR.services_by_name["VolumeRuntime"].methods_by_name
HOST = host_pb.DESCRIPTOR.services_by_name["Host"].methods_by_name


def build_change_call(id: str, change: RuntimeChange) -> tuple[MethodDescriptor, Message]:
    """`id` is the machine's, or the volume's for ExpandVolume."""
    match change:
        case SetAnnotations(annotations):
            return MACHINES["UpdateMachineAnnotations"], machine_pb.UpdateMachineAnnotationsRequest(
                machine_id=id, annotations=annotations
            )
        case SetPower(power):
            request = machine_pb.UpdateMachinePowerRequest(machine_id=id)
            request.power = machine_pb.Power.ValueType(int(power))
            return MACHINES["UpdateMachinePower"], request
        case Resize(class_name):
            return HOST["ResizeMachine"], host_pb.ResizeMachineRequest(machine_id=id, **{"class": class_name})
        case AttachVolume(disk):
            attach = machine_pb.AttachVolumeRequest(machine_id=id)
            fill(attach.volume, disk)
            return MACHINES["AttachVolume"], attach
        case UpdateVolume(disk):
            update = machine_pb.UpdateVolumeRequest(machine_id=id)
            fill(update.volume, disk)
            return MACHINES["UpdateVolume"], update
        case DetachVolume(name):
            return MACHINES["DetachVolume"], machine_pb.DetachVolumeRequest(machine_id=id, name=name)
        case AttachInterface(interface):
            plug = machine_pb.AttachNetworkInterfaceRequest(machine_id=id)
            fill(plug.network_interface, interface)
            return MACHINES["AttachNetworkInterface"], plug
        case DetachInterface(name):
            unplug = machine_pb.DetachNetworkInterfaceRequest(machine_id=id, name=name)
            return MACHINES["DetachNetworkInterface"], unplug
        case ExpandVolume(resources):
            expand = volume_pb.ExpandVolumeRequest(volume_id=id)
            fill(expand.resources, resources)
            return VOLUMES["ExpandVolume"], expand
        case _:
            assert_never(change)
