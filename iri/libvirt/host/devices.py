"""Counters of the host's own disks and network devices, which libvirt does not keep: read from the kernel. Parsing is pure.

Only hardware counts: a device that is made of others, as a bridge, a tap or a logical volume, would count their bytes again. In a container
these are the container's devices, which may be none.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from iri.usage import RuntimeDiskUsage, RuntimeNetworkUsage

DISKS, NETWORKS = Path("/proc/diskstats"), Path("/proc/net/dev")
SYSTEM = Path("/sys")
SECTOR_BYTES = 512  # of the kernel's counters, whatever the disk has
DISK_FIELDS, NETWORK_FIELDS = 10, 10

IsHardware = Callable[[str], bool]


def measure_disks() -> tuple[RuntimeDiskUsage, ...]:
    return parse_disks(
        read(DISKS), lambda name: (SYSTEM / "block" / name.replace("/", "!") / "device").exists()
    )


def measure_networks() -> tuple[RuntimeNetworkUsage, ...]:
    return parse_networks(read(NETWORKS), lambda name: (SYSTEM / "class" / "net" / name / "device").exists())


def parse_disks(text: str, is_hardware: IsHardware) -> tuple[RuntimeDiskUsage, ...]:
    """Lines of /proc/diskstats: major, minor, name, reads, merged, sectors, ms, writes, merged, sectors, ..."""
    rows = [line.split() for line in text.splitlines()]
    return tuple(
        RuntimeDiskUsage(
            name=row[2],
            reads=int(row[3]),
            read_bytes=int(row[5]) * SECTOR_BYTES,
            writes=int(row[7]),
            written_bytes=int(row[9]) * SECTOR_BYTES,
        )
        for row in rows
        if len(row) >= DISK_FIELDS and is_hardware(row[2])
    )


def parse_networks(text: str, is_hardware: IsHardware) -> tuple[RuntimeNetworkUsage, ...]:
    """Lines of /proc/net/dev after its two titles: name: bytes, packets, 6 others, and the same of what was sent."""
    rows = [line.partition(":") for line in text.splitlines()[2:]]
    counted = [(name.strip(), counts.split()) for name, _, counts in rows]
    return tuple(
        RuntimeNetworkUsage(
            name=name,
            received_bytes=int(counts[0]),
            received_packets=int(counts[1]),
            sent_bytes=int(counts[8]),
            sent_packets=int(counts[9]),
        )
        for name, counts in counted
        if len(counts) >= NETWORK_FIELDS and is_hardware(name)
    )


def read(path: Path) -> str:
    """Empty where the kernel does not show it."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
