"""How much of the host is promised: each machine by its class and its local disks, each volume by its size.

Promised, not used: what a guest really takes of its share does not count. A machine that is off by order takes its local disks alone, as on a
real host; to start it needs room again. One that ended by itself is charged in full, because it may start at any time.

Room is checked only where a record grows. So a host whose limit was lowered refuses new objects, and still starts, shrinks and
removes those that it has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from iri.errors import ResourceExhausted
from iri.machine import Disk
from iri.simulated.machine_lifecycle import MachinePhase, SimulatedMachine
from iri.simulated.state.records import Record
from iri.simulated.volume_lifecycle import SimulatedSnapshot, SimulatedVolume

STORAGE = "storage"


def charge(record: Record | None) -> Counter[str]:
    """What a record takes of each resource."""
    match record:
        case SimulatedMachine():
            return _machine_charge(record)
        case SimulatedVolume():
            return Counter({STORAGE: record.size_bytes})
        case SimulatedSnapshot() | None:
            return Counter()


def _machine_charge(guest: SimulatedMachine) -> Counter[str]:
    """While a new class waits for a boot, the larger of each resource is charged: the boot may come at any time."""
    if guest.phase is MachinePhase.OFF:
        return Counter({STORAGE: guest.local_bytes})
    charged = Counter(guest.resources)
    if guest.resources_at_boot is not None:
        charged |= Counter(guest.resources_at_boot)
    charged[STORAGE] += guest.local_bytes
    return charged


def sum_local_disks(disks: tuple[Disk, ...], default_bytes: int) -> int:
    """A disk that names no size takes `default_bytes`, the profile's."""
    local = (disk.local_disk for disk in disks)
    return sum(disk.size_bytes or default_bytes for disk in local if disk is not None)


class Usage:
    """The sum of all charges, kept by `update`."""

    def __init__(self) -> None:
        self._charged: Counter[str] = Counter()

    def totals(self) -> Mapping[str, int]:
        """By resource, without those of which nothing is promised."""
        return {resource: amount for resource, amount in self._charged.items() if amount}

    def update(self, before: Record | None, after: Record | None) -> None:
        """Follows one record."""
        if before is not None and after is not None and _is_same(before, after):
            return
        self._charged.subtract(charge(before))
        self._charged.update(charge(after))

    def require_room(self, limit: Callable[[str], int], before: Record | None, after: Record) -> None:
        """Raises ResourceExhausted, which names every resource that is short. A record that does not grow always fits."""
        had = charge(before)
        reasons = []
        for resource, amount in sorted(charge(after).items()):
            more, free = amount - had[resource], limit(resource) - self._charged[resource]
            if more > 0 and more > free:
                reasons.append(f"{resource}: {more} needed, {max(free, 0)} of {limit(resource)} free")
        if reasons:
            raise ResourceExhausted("the host is full: " + "; ".join(reasons))


def _is_same(before: Record, after: Record) -> bool:
    """Cheap, because it runs at every step of every object. False for equal records only costs time."""
    if isinstance(before, SimulatedMachine) and isinstance(after, SimulatedMachine):
        return (
            (before.phase is MachinePhase.OFF) == (after.phase is MachinePhase.OFF)
            and before.resources is after.resources
            and before.resources_at_boot is after.resources_at_boot
            and before.local_bytes == after.local_bytes
        )
    return (
        isinstance(before, SimulatedVolume)
        and isinstance(after, SimulatedVolume)
        and before.size_bytes == after.size_bytes
    )
