"""Two measurements of a host → what it and its machines use per second. Pure.

A rate is the difference of two counters over the time between them. It is unknown (None) with one measurement alone, and where a counter is
smaller than before: then the guest, or the host, was started in between. Only devices that both measurements have are counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # gRPC's messages take longer to load than most verbs to run
    from google.protobuf.timestamp_pb2 import Timestamp

    from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import MachineUsage, NodeUsage
    from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import UsageReport

Counters = tuple[float, int, int, int, int]


@dataclass(frozen=True)
class Rates:
    """Per second; `cpu` in cores."""

    cpu: float | None = None
    disk_read: float | None = None
    disk_written: float | None = None
    received: float | None = None
    sent: float | None = None


@dataclass(frozen=True)
class MachineUse:
    """`memory_used` is what it takes of the host's; the guest's own numbers are 0 where its balloon driver says none."""

    namespace: str
    name: str
    host: str
    time: datetime
    rates: Rates
    memory_used: int
    guest_memory: int
    guest_available: int


@dataclass(frozen=True)
class HostUse:
    name: str
    time: datetime
    rates: Rates
    cpus: int
    load: float
    memory: int
    memory_used: int
    machines: int


def list_machines(report: UsageReport) -> Iterator[MachineUse]:
    before = {each.uid: each for each in report.previous.machines}
    seconds = seconds_between(report)
    for each in report.usage.machines:
        earlier = before.get(each.uid)
        yield MachineUse(
            each.namespace,
            each.name,
            report.node,
            to_time(report.usage.time),
            find_rates(earlier, each, seconds) if earlier is not None else Rates(),
            each.memory_used_bytes,
            each.guest_memory_bytes,
            each.guest_available_bytes,
        )


def find_host(report: UsageReport) -> HostUse | None:
    """None where the report is about machines alone."""
    if not report.usage.HasField("node"):
        return None
    node, has_earlier = report.usage.node, report.previous.HasField("node")
    return HostUse(
        report.node,
        to_time(report.usage.time),
        find_rates(report.previous.node, node, seconds_between(report)) if has_earlier else Rates(),
        node.cpus,
        node.load,
        node.memory_bytes,
        node.memory_used_bytes,
        len(report.usage.machines),
    )


def find_rates(before: MachineUsage | NodeUsage, now: MachineUsage | NodeUsage, seconds: float) -> Rates:
    shared = find_devices(before) & find_devices(now)
    earlier, later = count(before, shared), count(now, shared)
    if seconds <= 0 or any(second < first for first, second in zip(earlier, later, strict=True)):
        return Rates()
    return Rates(*((second - first) / seconds for first, second in zip(earlier, later, strict=True)))


def find_devices(use: MachineUsage | NodeUsage) -> frozenset[tuple[str, str]]:
    """Kind and name of each."""
    disks = (("disk", each.name) for each in use.disks)
    return frozenset((*disks, *(("network", each.name) for each in use.networks)))


def count(use: MachineUsage | NodeUsage, devices: Set[tuple[str, str]]) -> Counters:
    """In the order of Rates, of these devices together."""
    disks = [each for each in use.disks if ("disk", each.name) in devices]
    networks = [each for each in use.networks if ("network", each.name) in devices]
    return (
        use.cpu_time.ToNanoseconds() / 1e9,
        sum(each.read_bytes for each in disks),
        sum(each.written_bytes for each in disks),
        sum(each.received_bytes for each in networks),
        sum(each.sent_bytes for each in networks),
    )


def seconds_between(report: UsageReport) -> float:
    if not report.HasField("previous"):
        return 0.0
    return (report.usage.time.ToNanoseconds() - report.previous.time.ToNanoseconds()) / 1e9


def to_time(at: Timestamp) -> datetime:
    """Of a host, which may send any number."""
    try:
        return at.ToDatetime(UTC)
    except (ValueError, OverflowError):
        return datetime.fromtimestamp(0, UTC)
