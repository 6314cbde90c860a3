"""What objects use of a pool, and what a pool offers, as resource vectors. Computes only; the scheduler decides.

A charge depends on the declared object and its class alone, never on what a guest really uses: it has to be known before the
object exists. Where it is counted, and what a host reports beyond it, is up to `reconciler.world.pools.capacity_ledger`.

A machine of another class than its order is charged by what may happen next. Its host alone admits the new class, and asks for room first:

    the host reports                                the charge
    no other class                                  the ordered class
    another class                                   the larger of both: the host may give it the ordered class in any pass
    another class, and that it cannot give the      the class that it has. Should that change, the host gives it the ordered
    ordered one (`UpToDate`: InsufficientForResize, class, and refuses what was placed into that room meanwhile
    ClassNotOffered or ClassMissing)
    another class, which exists no longer           the ordered class

So a pending class never makes a host give more than it has: the host charges what is there before it admits anything
(`poollet.decide.capacity_ledger`). The control plane may be late to know, and then a placement is refused, not overcommitted.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Protocol

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
from schemas.model.compute import LocalDisk, MachineClass, MachinePoolSpec, MachineSpec, MachineStatus
from schemas.model.quantity import Quantity
from schemas.model.storage import VolumeSpec

MACHINE = "machine"
VOLUME = "volume"
INSUFFICIENT_FOR_RESIZE = "InsufficientForResize"
# Reasons of UpToDate=False: the host makes no call for the ordered class.
_NO_RESIZE = frozenset({INSUFFICIENT_FOR_RESIZE, "ClassNotOffered", "ClassMissing"})


class StatedCondition(Protocol):
    """A condition as a host reports it, or as `live` has it."""

    @property
    def type(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def reason(self) -> str: ...


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


def list_charged_classes(spec: MachineSpec, status: object, known: Container[str]) -> tuple[str, ...]:
    """The classes of which a machine takes the larger, the one that counts first. `known` are the classes that exist."""
    ordered = spec.machine_class_ref.name
    has = status.machine_class_ref if isinstance(status, MachineStatus) else None
    if has is None or has.name == ordered or has.name not in known or not isinstance(status, MachineStatus):
        return (ordered,)
    return (has.name,) if is_resize_refused(status.conditions) else (ordered, has.name)


def is_resize_refused(conditions: Iterable[StatedCondition]) -> bool:
    """Whether the host says that it cannot give the ordered class. While it has another problem as well, that may be unknown."""
    return any(
        each.type == "UpToDate" and each.status == "False" and each.reason in _NO_RESIZE
        for each in conditions
    )


def take_larger(vectors: Iterable[Vector]) -> dict[str, int]:
    """For each resource the largest amount in any of the vectors: what an object takes, whether it is as observed or as ordered."""
    result: dict[str, int] = {}
    for vector in vectors:
        for resource, count in vector.items():
            result[resource] = max(result.get(resource, 0), count)
    return result


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
