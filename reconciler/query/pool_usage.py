"""Machines, volumes and free capacity of each pool, by the assignments on the target branch. The one charge, as everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reconciler.query.inventory import FleetInventory, InventoryItem
from schemas.kinds import Kind
from schemas.model import Machine, MachineClass, MachinePool, Volume, VolumePool
from schemas.model.capacity import Vector, add, stocks
from schemas.model.charge import machine_charge, volume_charge


@dataclass(frozen=True, slots=True)
class PoolUse:
    """One pool. `capacity` is what it may give away; what was never announced is empty."""

    pool: InventoryItem
    machines: tuple[InventoryItem, ...] = ()
    volumes: tuple[InventoryItem, ...] = ()
    used: Vector = field(default_factory=dict)
    capacity: Vector = field(default_factory=dict)

    @property
    def retained_count(self) -> int:
        """How many of the volumes are no longer declared; their data still uses capacity."""
        return sum(volume.is_retained for volume in self.volumes)


def list_machine_pools(inventory: FleetInventory) -> list[PoolUse]:
    by_pool: dict[str, list[InventoryItem]] = {}
    for item in inventory.of(Kind.MACHINE):
        by_pool.setdefault(pool_of(item), []).append(item)
    classes = {item.key.name: item.object for item in inventory.of(Kind.MACHINE_CLASS)}
    return [
        PoolUse(
            pool,
            tuple(by_pool.get(pool.key.name, ())),
            used=add(charge_item(item, classes) for item in by_pool.get(pool.key.name, ())),
            capacity=allocatable(pool),
        )
        for pool in inventory.of(Kind.MACHINE_POOL)
    ]


def list_volume_pools(inventory: FleetInventory) -> list[PoolUse]:
    by_pool: dict[str, list[InventoryItem]] = {}
    for item in inventory.of(Kind.VOLUME):
        by_pool.setdefault(pool_of(item), []).append(item)
    return [
        PoolUse(
            pool,
            volumes=tuple(by_pool.get(pool.key.name, ())),
            used=add(
                volume_charge(item.object.spec)
                for item in by_pool.get(pool.key.name, ())
                if isinstance(item.object, Volume)
            ),
            capacity=allocatable(pool),
        )
        for pool in inventory.of(Kind.VOLUME_POOL)
    ]


def pool_of(item: InventoryItem) -> str:
    """Where the reconciler put it; nowhere is empty."""
    found = item.object
    if not isinstance(found, Machine | Volume) or found.status.assignment is None:
        return ""
    return found.status.assignment.pool


def charge_item(item: InventoryItem, classes: Mapping[str, object]) -> Vector:
    machine = item.object
    assert isinstance(machine, Machine)
    machine_class = classes.get(machine.spec.machine_class_ref.name)
    return machine_charge(machine_class, machine.spec) if isinstance(machine_class, MachineClass) else {}


def allocatable(pool: InventoryItem) -> Vector:
    found = pool.object
    assert isinstance(found, MachinePool | VolumePool)
    return stocks(found.status.allocatable)
