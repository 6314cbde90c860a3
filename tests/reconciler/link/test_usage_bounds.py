"""What is kept of a measurement that was made to harm: each part by itself, and all of it for its size."""

from __future__ import annotations

import math

import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import (
    DiskUsage,
    Heartbeat,
    MachineUsage,
    NetworkUsage,
    NodeUsage,
    Usage,
)
from reconciler.link.usage_bounds import (
    LONGEST_DEVICE,
    LONGEST_NAME,
    MOST_DEVICES_OF_HOST,
    MOST_DEVICES_OF_MACHINE,
    MOST_MACHINES,
    bound_usage,
)

DISK = DiskUsage(name="vda", read_bytes=1, written_bytes=2, reads=3, writes=4, used_bytes=5)
NETWORK = NetworkUsage(name="net0", received_bytes=1, sent_bytes=2, received_packets=3, sent_packets=4)
WEB = MachineUsage(
    uid="u",
    namespace="default",
    name="web",
    cpu_time=Duration(seconds=7, nanos=8),
    memory_used_bytes=9,
    disks=[DISK],
    networks=[NETWORK],
    guest_memory_bytes=10,
    guest_available_bytes=11,
)
NODE = NodeUsage(
    cpu_time=Duration(seconds=70),
    load=1.5,
    memory_used_bytes=12,
    disks=[DISK],
    networks=[NETWORK],
    cpus=8,
    memory_bytes=13,
)
HONEST = Usage(time=Timestamp(seconds=100, nanos=1), node=NODE, machines=[WEB])


def test_an_honest_measurement_stays_as_it_is() -> None:
    assert bound_usage(HONEST) == HONEST
    assert bound_usage(Usage()) == Usage(time=Timestamp())
    assert not bound_usage(Usage(machines=[WEB])).HasField("node")


@pytest.mark.parametrize(
    "machines",
    [
        [MachineUsage(uid="u", name="x" * (LONGEST_NAME + 1))],
        [MachineUsage(uid="u" * 100_000)],
        [MachineUsage(uid="u", namespace="x" * 100_000)],
    ],
    ids=["name", "uid", "namespace"],
)
def test_a_machine_with_a_long_text_is_left_out(machines: list[MachineUsage]) -> None:
    found = bound_usage(Usage(machines=[*machines, WEB]))
    assert list(found.machines) == [WEB]


def test_lists_end_at_their_bounds() -> None:
    disks = [DiskUsage(name=f"vd{number}") for number in range(10_000)]
    long = [NetworkUsage(name="x" * (LONGEST_DEVICE + 1)), NETWORK]
    machines = [MachineUsage(uid=f"u{number}") for number in range(MOST_MACHINES + 10)]
    whole = Usage(
        node=NodeUsage(disks=disks, networks=long),
        machines=[MachineUsage(uid="first", disks=disks, networks=long), *machines, *machines],
    )
    found = bound_usage(whole)
    assert len(found.node.disks) == MOST_DEVICES_OF_HOST
    assert list(found.node.networks) == [NETWORK]
    assert len(found.machines) == MOST_MACHINES
    assert len(found.machines[0].disks) == MOST_DEVICES_OF_MACHINE
    assert len({each.uid for each in found.machines}) == MOST_MACHINES


@pytest.mark.parametrize("load", [math.inf, -math.inf, math.nan])
def test_numbers_that_are_none_are_zero(load: float) -> None:
    node = NodeUsage(load=load, memory_used_bytes=-1, disks=[DiskUsage(name="sda", reads=-5, writes=5)])
    found = bound_usage(Usage(node=node)).node
    assert (found.load, found.memory_used_bytes) == (0.0, 0)
    assert (found.disks[0].reads, found.disks[0].writes) == (0, 5)


def test_fields_that_no_measurement_has_are_not_passed_on() -> None:
    """A mebibyte in a field of a later version, at the top and within a part that is copied whole."""
    stuffed = b"\x7a\x80\x80\x40" + b"x" * (1 << 20)  # field 15, 1 MiB
    time = Timestamp.FromString(Timestamp(seconds=100).SerializeToString() + stuffed)
    found = bound_usage(Usage.FromString(Usage(time=time, machines=[WEB]).SerializeToString() + stuffed))
    assert found.ByteSize() < 1000
    assert found.time.seconds == 100
    assert Heartbeat.FromString(stuffed).ByteSize() > 1 << 20, "protobuf keeps what it does not know"
