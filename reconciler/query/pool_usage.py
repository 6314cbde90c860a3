"""Machines, volumes and free capacity of each pool, by the assignments on the target branch. The one charge, as everywhere.

Assignments count, not what a host reports: a machine that is assigned and not yet created uses capacity, and so does a retained volume, whose data
is still there. A machine whose class is missing counts with an empty charge, because what it uses is unknown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from reconciler.query.inventory import FleetInventory, InventoryItem
from schemas.kinds import Kind
from schemas.model import Machine, MachineClass, MachinePool, Volume, VolumePool
from schemas.model.capacity import Vector, add, stocks
from schemas.model.charge import list_charged_classes, machine_charge, take_larger, volume_charge

# The kinds that the functions here look at.
COUNTED = (Kind.MACHINE_CLASS, Kind.MACHINE_POOL, Kind.MACHINE, Kind.VOLUME_POOL, Kind.VOLUME)


@dataclass(frozen=True, slots=True)
class PoolUse:
    """One pool, and what is assigned to it."""

    pool: InventoryItem
    machines: tuple[InventoryItem, ...] = ()
    volumes: tuple[InventoryItem, ...] = ()
    used: Vector = field(default_factory=dict)

    @property
    def capacity(self) -> Vector:
        """The allocatable amounts; empty if the pool was never announced."""
        found = self.pool.object
        assert isinstance(found, MachinePool | VolumePool)
        return stocks(found.status.allocatable)

    @property
    def retained_count(self) -> int:
        """How many of the volumes are no longer declared; their data still uses capacity."""
        return sum(volume.is_retained for volume in self.volumes)


def list_machine_pools(inventory: FleetInventory) -> list[PoolUse]:
    """Also pools without machines. A machine that is assigned to a pool which does not exist is in none of them."""
    classes = {item.key.name: item.object for item in inventory.of(Kind.MACHINE_CLASS)}
    return [
        PoolUse(pool, machines=machines, used=add(charge_item(item, classes) for item in machines))
        for pool, machines in group_by_pool(inventory, Kind.MACHINE_POOL, Kind.MACHINE)
    ]


def list_volume_pools(inventory: FleetInventory) -> list[PoolUse]:
    """Like `list_machine_pools`. A volume is charged by its own size; its class only says where it may be."""
    return [
        PoolUse(
            pool,
            volumes=volumes,
            used=add(volume_charge(item.object.spec) for item in volumes if isinstance(item.object, Volume)),
        )
        for pool, volumes in group_by_pool(inventory, Kind.VOLUME_POOL, Kind.VOLUME)
    ]


def group_by_pool(
    inventory: FleetInventory, pools: Kind, kind: Kind
) -> Iterator[tuple[InventoryItem, tuple[InventoryItem, ...]]]:
    """Each pool, with the objects of a kind that are assigned to it."""
    by_pool: defaultdict[str, list[InventoryItem]] = defaultdict(list)
    for item in inventory.of(kind):
        by_pool[pool_of(item)].append(item)
    return ((pool, tuple(by_pool[pool.key.name])) for pool in inventory.of(pools))


def pool_of(item: InventoryItem) -> str:
    """The pool that the reconciler chose; empty if none. The assignment counts and not `machinePoolRef`, which may be a pin to a pool that
    refused it."""
    found = item.object
    if not isinstance(found, Machine | Volume) or found.status.assignment is None:
        return ""
    return found.status.assignment.pool


def charge_item(item: InventoryItem, classes: Mapping[str, object]) -> Vector:
    """The same charge as in scheduling and in the host's admission; nothing where the class is missing."""
    machine = item.object
    assert isinstance(machine, Machine)
    names = list_charged_classes(machine.spec, machine.status, classes)
    sizes = (size for name in names if isinstance(size := classes.get(name), MachineClass))
    return take_larger(machine_charge(size, machine.spec) for size in sizes)
