"""A measurement as a message of the link. Pure.

A message may have a mebibyte. A host with so many machines that theirs does not fit sends it without devices, and, if that is too large too,
with as many machines as fit: the rest of the stream must not suffer.
"""

from __future__ import annotations

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from msgspec.structs import asdict

from iri.proto.gitvirt.link.v1alpha1 import agent_pb2
from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import DiskUsage, NetworkUsage, NodeUsage, Usage
from iri.usage import RuntimeDiskUsage, RuntimeHostUsage, RuntimeNetworkUsage
from poollet.runtimes.usage_reader import MeasuredHost, MeasuredMachine

MOST_BYTES = 900 * 1024


def to_message(measured: MeasuredHost) -> Usage:
    """What is left out of one that is too large: devices first, because a machine without them still shows processors and memory."""
    time = Timestamp()
    time.FromNanoseconds(measured.time_ns)
    whole = Usage(time=time, node=to_node(measured.host), machines=map(to_machine, measured.machines))
    if whole.ByteSize() <= MOST_BYTES:
        return whole
    for machine in whole.machines:
        machine.ClearField("disks")
        machine.ClearField("networks")
    while whole.ByteSize() > MOST_BYTES:
        del whole.machines[len(whole.machines) // 2 :]
    return whole


def to_node(host: RuntimeHostUsage) -> NodeUsage:
    """The host itself, with what its use is a share of."""
    return NodeUsage(
        cpu_time=to_duration(host.cpu_time_ns),
        cpus=host.cpus,
        load=host.load,
        memory_bytes=host.memory_bytes,
        memory_used_bytes=host.memory_used_bytes,
        disks=to_disks(host.disks),
        networks=to_networks(host.networks),
    )


def to_machine(measured: MeasuredMachine) -> agent_pb2.MachineUsage:
    """With the names of the fleet; the server believes them only where `live` has them so."""
    used = measured.usage
    return agent_pb2.MachineUsage(
        uid=measured.uid,
        namespace=measured.namespace,
        name=measured.name,
        cpu_time=to_duration(used.cpu_time_ns),
        memory_used_bytes=used.memory_used_bytes,
        guest_memory_bytes=used.guest_memory_bytes,
        guest_available_bytes=used.guest_available_bytes,
        disks=to_disks(used.disks),
        networks=to_networks(used.networks),
    )


def to_disks(disks: tuple[RuntimeDiskUsage, ...]) -> list[DiskUsage]:
    """The runtime's struct and the message of the link have the same fields."""
    return [DiskUsage(**asdict(each)) for each in disks]


def to_networks(networks: tuple[RuntimeNetworkUsage, ...]) -> list[NetworkUsage]:
    """Likewise."""
    return [NetworkUsage(**asdict(each)) for each in networks]


def to_duration(nanoseconds: int) -> Duration:
    """Counters are in nanoseconds, as hypervisors count."""
    found = Duration()
    found.FromNanoseconds(nanoseconds)
    return found
