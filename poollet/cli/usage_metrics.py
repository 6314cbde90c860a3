"""What the machines of this host, and the host, have used, for Prometheus: one sample for each machine and device.

Each host says this of its own machines alone, so the number of samples in a scrape does not grow with the fleet. A scrape measures, and waits
for the runtimes for SECONDS at most.

    who              labels                          begins again at zero
    a machine        poollet, namespace, machine     with each start of its guest
    its disks        and device: the manifest's      likewise
    a host           poollet                         with each boot
    its devices      and device: the kernel's        likewise

Prometheus takes a counter that is smaller than before for one that began again, so `rate()` needs no care of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from iri.usage import RuntimeDiskUsage, RuntimeHostUsage, RuntimeMachineUsage, RuntimeNetworkUsage
from poollet.runtimes.usage_reader import MeasuredHost, UsageReader

SECONDS = 5.0
NANOSECONDS = 1e9
Used = TypeVar("Used", RuntimeMachineUsage, RuntimeHostUsage)

MACHINE_GAUGES: Mapping[str, tuple[str, Callable[[RuntimeMachineUsage], float]]] = {
    "memory_bytes": ("Memory of the host that the machine takes.", lambda use: use.memory_used_bytes),
    "guest_memory_bytes": (
        "Memory that the guest has, by its balloon driver.",
        lambda use: use.guest_memory_bytes,
    ),
    "guest_memory_available_bytes": (
        "Of it, what programs could still get.",
        lambda use: use.guest_available_bytes,
    ),
}
HOST_GAUGES: Mapping[str, tuple[str, Callable[[RuntimeHostUsage], float]]] = {
    "cpus": ("Processors that are online.", lambda use: use.cpus),
    "load": ("Load of the last minute.", lambda use: use.load),
    "memory_bytes": ("Memory of the host.", lambda use: use.memory_bytes),
    "memory_used_bytes": ("Of it, what is in use.", lambda use: use.memory_used_bytes),
}
DISK_COUNTERS = {
    "disk_read_bytes": ("Bytes read.", "read_bytes"),
    "disk_written_bytes": ("Bytes written.", "written_bytes"),
    "disk_reads": ("Reads.", "reads"),
    "disk_writes": ("Writes.", "writes"),
}
NETWORK_COUNTERS = {
    "network_received_bytes": ("Bytes received.", "received_bytes"),
    "network_sent_bytes": ("Bytes sent.", "sent_bytes"),
    "network_received_packets": ("Packets received.", "received_packets"),
    "network_sent_packets": ("Packets sent.", "sent_packets"),
}

# The field of a measurement → the counters of its devices: the name of each, its help, and its field.
DEVICES: Mapping[str, Mapping[str, tuple[str, str]]] = {"disks": DISK_COUNTERS, "networks": NETWORK_COUNTERS}


def collect_usage(readers: Mapping[str, UsageReader]) -> Iterator[Metric]:
    """Of each poollet by its name. One whose runtimes do not answer has no samples."""
    found = {name: measured for name, each in readers.items() if (measured := each.read(SECONDS)) is not None}
    yield from of_machines(found)
    yield from of_hosts(found)


def of_machines(found: Mapping[str, MeasuredHost]) -> Iterator[Metric]:
    """A machine is named as in the fleet, and beside the poollet that it is on."""
    uses: dict[tuple[str, ...], RuntimeMachineUsage] = {
        (name, each.namespace, each.name): each.usage
        for name, measured in found.items()
        for each in measured.machines
    }
    yield from describe("gitvirt_machine_", ["poollet", "namespace", "machine"], uses, MACHINE_GAUGES)


def of_hosts(found: Mapping[str, MeasuredHost]) -> Iterator[Metric]:
    """Poollets of one host each say the same of it."""
    uses: dict[tuple[str, ...], RuntimeHostUsage] = {(name,): each.host for name, each in found.items()}
    yield from describe("gitvirt_host_", ["poollet"], uses, HOST_GAUGES)


def describe(
    prefix: str,
    labels: list[str],
    uses: Mapping[tuple[str, ...], Used],
    gauges: Mapping[str, tuple[str, Callable[[Used], float]]],
) -> Iterator[Metric]:
    """The same counters for machines and hosts; `gauges` are what differs. `uses` are by the values of the labels."""
    cpu = CounterMetricFamily(f"{prefix}cpu_seconds", "Time that processors worked.", labels=labels)
    for labelled, used in uses.items():
        cpu.add_metric(labelled, used.cpu_time_ns / NANOSECONDS)
    yield cpu
    for name, (words, read) in gauges.items():
        gauge = GaugeMetricFamily(prefix + name, words, labels=labels)
        for labelled, used in uses.items():
            gauge.add_metric(labelled, read(used))
        yield gauge
    for of, counters in DEVICES.items():
        yield from describe_devices(
            prefix, labels, {at: getattr(use, of) for at, use in uses.items()}, counters
        )


def describe_devices(
    prefix: str,
    labels: list[str],
    devices: Mapping[tuple[str, ...], tuple[RuntimeDiskUsage, ...] | tuple[RuntimeNetworkUsage, ...]],
    counters: Mapping[str, tuple[str, str]],
) -> Iterator[Metric]:
    """One sample for each device. Those of a machine are named as in its manifest, so that a series survives another tap or target name."""
    for name, (words, field) in counters.items():
        counter = CounterMetricFamily(prefix + name, words, labels=[*labels, "device"])
        for names, found in devices.items():
            for device in found:
                counter.add_metric([*names, device.name], getattr(device, field))
        yield counter
