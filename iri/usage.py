"""What machines and their host have used: counters as the hypervisor keeps them. Frozen structs; no gRPC.

Counters grow from the start of the guest, or of the host, and begin again at zero with the next start. So a rate is the difference of two
measurements, and one that would be negative says that there was a start in between.

A value that a runtime does not know is 0, and a list that it does not know is empty. Only machines that run are measured.
"""

from __future__ import annotations

import msgspec


class RuntimeDiskUsage(msgspec.Struct, frozen=True, kw_only=True):
    """`name` is that of the machine's disk; for a host, that of its device."""

    name: str = ""
    read_bytes: int = 0
    written_bytes: int = 0
    reads: int = 0
    writes: int = 0
    used_bytes: int = 0  # that the disk takes where it is stored


class RuntimeNetworkUsage(msgspec.Struct, frozen=True, kw_only=True):
    """`name` is that of the machine's network interface; for a host, that of its device. Seen from whoever has it."""

    name: str = ""
    received_bytes: int = 0
    sent_bytes: int = 0
    received_packets: int = 0
    sent_packets: int = 0


class RuntimeMachineUsage(msgspec.Struct, frozen=True, kw_only=True):
    """`memory_used_bytes` is what the guest takes of the host's memory. The guest's own numbers come from its balloon driver; 0 without one."""

    machine_id: str = ""
    cpu_time_ns: int = 0
    memory_used_bytes: int = 0
    guest_memory_bytes: int = 0  # that the guest has
    guest_available_bytes: int = 0  # of it, what programs could still get
    disks: tuple[RuntimeDiskUsage, ...] = ()
    networks: tuple[RuntimeNetworkUsage, ...] = ()


class RuntimeHostUsage(msgspec.Struct, frozen=True, kw_only=True):
    """`cpu_time_ns`: that the processors worked, all together. `cpus` are those that are online."""

    cpu_time_ns: int = 0
    cpus: int = 0
    load: float = 0.0
    memory_bytes: int = 0
    memory_used_bytes: int = 0
    disks: tuple[RuntimeDiskUsage, ...] = ()
    networks: tuple[RuntimeNetworkUsage, ...] = ()


class RuntimeUsage(msgspec.Struct, frozen=True, kw_only=True):
    """One measurement. `time_ns` is the wall clock, in Unix nanoseconds."""

    time_ns: int = 0
    host: RuntimeHostUsage = RuntimeHostUsage()
    machines: tuple[RuntimeMachineUsage, ...] = ()
