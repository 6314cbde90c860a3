"""libvirt's counters of a domain as those of a machine: devices by the names of the machine's spec. Pure.

A device that is not one of ours, as the seed disk, is left out. So is one whose counters libvirt does not answer now, as while QEMU is busy: a
counter that falls to 0 means that it began again, and all that was counted before would be taken for new. Any other value is 0 then.
libvirt turns the counters of the host's end of the cable round: received is what the guest received.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from iri.libvirt.domain.names import Alias
from iri.libvirt.machines.guest import Guest
from iri.usage import RuntimeDiskUsage, RuntimeMachineUsage, RuntimeNetworkUsage

KIB = 1024
FIRST = {"block": "rd.bytes", "net": "rx.bytes"}  # libvirt has all counters of a device, or none
Stats = Mapping[str, Any]


def measure_guest(guest: Guest, stats: Stats) -> RuntimeMachineUsage:
    """Of one that runs; `stats` as connect.counters returns them."""
    live = guest.observed.current
    return RuntimeMachineUsage(
        machine_id=guest.id,
        cpu_time_ns=count(stats, "cpu.time"),
        memory_used_bytes=count(stats, "balloon.rss") * KIB,
        guest_memory_bytes=count(stats, "balloon.available") * KIB,
        guest_available_bytes=count(
            stats, "balloon.usable" if "balloon.usable" in stats else "balloon.unused"
        )
        * KIB,
        disks=tuple(
            RuntimeDiskUsage(
                name=name,
                read_bytes=count(stats, f"{at}.rd.bytes"),
                written_bytes=count(stats, f"{at}.wr.bytes"),
                reads=count(stats, f"{at}.rd.reqs"),
                writes=count(stats, f"{at}.wr.reqs"),
                used_bytes=count(stats, f"{at}.allocation"),
            )
            for name, at in named_devices(live.disks, stats, "block")
        ),
        networks=tuple(
            RuntimeNetworkUsage(
                name=name,
                received_bytes=count(stats, f"{at}.rx.bytes"),
                sent_bytes=count(stats, f"{at}.tx.bytes"),
                received_packets=count(stats, f"{at}.rx.pkts"),
                sent_packets=count(stats, f"{at}.tx.pkts"),
            )
            for name, at in named_devices(live.taps, stats, "net")
        ),
    )


def named_devices(devices: Mapping[Alias, str], stats: Stats, kind: str) -> Iterator[tuple[str, str]]:
    """The name of each device of the machine that has counters now, and their prefix."""
    names = {target: alias.name for alias, target in devices.items()}
    for index in range(count(stats, f"{kind}.count")):
        target, at = stats.get(f"{kind}.{index}.name"), f"{kind}.{index}"
        if target in names and f"{at}.{FIRST[kind]}" in stats:
            yield names[target], at


def count(stats: Stats, name: str) -> int:
    return int(stats.get(name, 0))
