"""What simulated guests and their host have used: lines through zero at their start, so a rate is constant for each boot of a guest.

    guest     a share of its processors, drawn for each boot; as much of its memory; bytes of disks and networks by the same share
    host      a tenth of its processors; the memory of the guests that run

A function of the record, the seed and the time. The host's processors do not add up from those of its guests: a counter that did would go back
when a guest ends.
"""

from __future__ import annotations

from collections.abc import Iterable

from iri.machine import RuntimeMachine
from iri.simulated.clock import SECOND_NS
from iri.simulated.host_model import HostModel
from iri.simulated.machine_lifecycle import HAS_SYSTEM, SimulatedMachine, boot_count
from iri.simulated.profile import Profile
from iri.usage import RuntimeDiskUsage, RuntimeHostUsage, RuntimeMachineUsage, RuntimeNetworkUsage

BYTES_PER_SECOND = 1 << 20  # of each device, by a guest that uses all of its share
PACKET_BYTES, BLOCK_BYTES = 1 << 10, 4 << 10
HOST_SHARE = 0.1


def measure_machines(
    guests: Iterable[SimulatedMachine], now_ns: int, model: HostModel
) -> tuple[RuntimeMachineUsage, ...]:
    """Of those that have a system."""
    return tuple(
        measure_machine(guest, now_ns, model.random.share("use", guest.machine.id, boot_count(guest)))
        for guest in guests
        if guest.phase in HAS_SYSTEM
    )


def measure_machine(guest: SimulatedMachine, now_ns: int, share: float) -> RuntimeMachineUsage:
    running_ns = max(0, now_ns - guest.booted_ns)
    moved = int(share * BYTES_PER_SECOND * running_ns / SECOND_NS)
    memory = guest.resources.get("memory", 0)
    used = int(memory * share)
    return RuntimeMachineUsage(
        machine_id=guest.machine.id,
        cpu_time_ns=int(guest.resources.get("cpu", 0) * share * running_ns),
        memory_used_bytes=used,
        guest_memory_bytes=memory,
        guest_available_bytes=memory - used,
        disks=measure_disks(guest.machine, moved),
        networks=tuple(
            RuntimeNetworkUsage(
                name=each.name,
                received_bytes=moved,
                sent_bytes=moved // 2,
                received_packets=moved // PACKET_BYTES,
                sent_packets=moved // 2 // PACKET_BYTES,
            )
            for each in guest.machine.spec.network_interfaces
        ),
    )


def measure_disks(machine: RuntimeMachine, moved: int) -> tuple[RuntimeDiskUsage, ...]:
    """A local disk fills with what was written, and no further than its size."""
    return tuple(
        RuntimeDiskUsage(
            name=disk.name,
            read_bytes=moved,
            written_bytes=moved // 2,
            reads=moved // BLOCK_BYTES,
            writes=moved // 2 // BLOCK_BYTES,
            used_bytes=min(moved // 2, disk.local_disk.size_bytes) if disk.local_disk else 0,
        )
        for disk in machine.spec.volumes
    )


def measure_host(
    machines: Iterable[RuntimeMachineUsage], running_ns: int, profile: Profile
) -> RuntimeHostUsage:
    """`running_ns`: since the host started."""
    cpus = profile.capacity.get("cpu", 0)
    return RuntimeHostUsage(
        cpu_time_ns=int(cpus * HOST_SHARE * running_ns),
        cpus=cpus,
        load=cpus * HOST_SHARE,
        memory_bytes=profile.capacity.get("memory", 0),
        memory_used_bytes=sum(each.memory_used_bytes for each in machines),
    )
