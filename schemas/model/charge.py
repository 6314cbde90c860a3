"""What objects use of a pool, and what a pool offers, as resource vectors. Computes only; the scheduler decides.

A charge depends on the declared object and its class alone, never on what a guest really uses: it has to be known before the
object exists. Where it is counted, and what a host reports beyond it, is up to `reconciler.world.pools.capacity_ledger`.
"""

from __future__ import annotations

from collections.abc import Mapping

from schemas.model.capacity import (
    CPU,
    MEMORY,
    STORAGE,
    Vector,
    add,
    allocatable,
    class_count,
    format_amount,
    needs,
    stocks,
)
from schemas.model.compute import LocalDisk, MachineClass, MachinePoolSpec, MachineSpec
from schemas.model.quantity import Quantity
from schemas.model.storage import VolumeSpec

MACHINE = "machine"
VOLUME = "volume"


def machine_charge(
    machine_class: MachineClass, machine: MachineSpec, *, is_counted: bool = False
) -> dict[str, int]:
    """What the machine uses, powered on or off: the capabilities of its class, and its local disks.

    A machine that is off counts too, because it may be started at any time without a new placement.
    `is_counted` adds one machine of its class, for pools that report how many machines of a class they take.
    """
    disks = sum(disk.source.size_bytes for disk in machine.volumes if isinstance(disk.source, LocalDisk))
    parts = [needs(machine_class.capabilities)]
    if disks:
        parts.append({STORAGE: disks})
    if is_counted:
        parts.append({class_count(MACHINE, machine_class.name): 1})
    return add(parts)


def local_disk_charge(machine: MachineSpec) -> dict[str, int]:
    """What the machine uses while it is kept for an undo, and off: its local disks. It does not start without asking for room."""
    disks = sum(disk.source.size_bytes for disk in machine.volumes if isinstance(disk.source, LocalDisk))
    return {STORAGE: disks} if disks else {}


def volume_charge(volume: VolumeSpec, *, is_counted: bool = False) -> dict[str, int]:
    """What the volume uses of its pool; empty if the volume exists outside of gitvirt. Pools count volume classes in bytes."""
    if volume.volume_class_ref is None:
        return {}
    charge = {STORAGE: volume.storage_bytes}
    if is_counted:
        charge[class_count(VOLUME, volume.volume_class_ref.name)] = volume.storage_bytes
    return charge


def pool_allocatable(pool: MachinePoolSpec, capacity: Mapping[str, Quantity]) -> dict[str, int]:
    """What a machine pool offers: its capacity minus the reserve, times overcommit. Never minus use.

    Class counts of a runtime are ignored if it also reports processors and memory: the counts are computed without
    reserve and overcommit, and the other resources say the same exactly.
    """
    stock = stocks(capacity)
    if CPU in stock and MEMORY in stock:
        stock = {resource: count for resource, count in stock.items() if not resource.startswith("class/")}
    factors = {CPU: pool.overcommit.cpu, MEMORY: pool.overcommit.memory}
    return allocatable(stock, needs(pool.reserved), factors)


def class_counts(free: Vector, classes: Mapping[str, Vector]) -> dict[str, int]:
    """How many machines of each class would fit if the pool took only that class: `class/machine.<name>`.

    For people and for clients of the IRI that schedule by such counts. The counts exclude each other, so they are not added up.
    """
    counts: dict[str, int] = {}
    for name, need in classes.items():
        limits = [free.get(resource, 0) // wanted for resource, wanted in need.items() if wanted > 0]
        counts[class_count(MACHINE, name)] = max(0, min(limits, default=0))
    return counts


def format_vector(vector: Vector) -> dict[str, str]:
    """The vector as a manifest writes it, without rounding: 1500m, 16Gi, 3."""
    return {resource: format_amount(resource, count) for resource, count in sorted(vector.items())}
