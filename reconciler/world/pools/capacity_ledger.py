"""The capacity in use of each pool, and the placed amounts of each namespace: updated object by object.

Every assigned object is charged once, to the pool that live assigns it to, whatever its state: ordered but not yet created,
silent, or being deleted. Its charge ends when live no longer assigns it. So a pool is never promised twice.

    charged                      under the name             how much
    machine                      its key                    its class and its local disks; while its host has it as another class,
                                                            what `schemas.model.charge` says
    kept for an undo, and off    its key                    its local disks; counted by no quota
    volume                       its key                    what is declared, or what its host has, whichever is more
    retained volume              ("retained", uid)          the same: its data is there until people delete it
    orphan                       ("orphan", pool, id)       what its host reports; counted by no quota

A class that no longer exists counts for its machines' disks alone. Amounts are whole numbers in the units of
schemas.model.capacity; they may pass what a pool offers, as when a class grows, and then nothing fits until it is less again.

Limits: pure counting. Who is charged is for update/account.py and update/load_files.py to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from reconciler.world.objects.object_state import ObjectState
from reconciler.world.record import Status
from reconciler.world.reports.status_update import amounts
from schemas.kinds import Key, Kind
from schemas.model import LocalDisk, Machine, MachineClass, MachineSpec, Volume, VolumeClass, VolumeStatus
from schemas.model.capacity import STORAGE, Vector, needs
from schemas.model.charge import (
    list_charged_classes,
    local_disk_charge,
    machine_charge,
    take_larger,
    volume_charge,
)
from schemas.report.objects import Orphan


@dataclass(slots=True)
class Account:
    """The capacity in use of one pool. `classes` counts machines by class, for pools that report nothing but such counts."""

    used: Counter[str] = field(default_factory=Counter)
    classes: Counter[str] = field(default_factory=Counter)


class Charge(NamedTuple):
    """What one object takes of one pool. Compared to find out whether anything changed, so it has no identity of its own."""

    pool: Key
    namespace: str  # empty: no quota counts it
    class_name: str
    vector: Vector


def orphan_charge(orphan: Orphan) -> Vector:
    """The charge of an object without an order, as its host reports it. There is no class or spec here to compute it from."""
    return needs(amounts(orphan.charge))


def bytes_there(status: Status | None) -> int:
    """The bytes of a volume on its host. They never get fewer, whatever is declared."""
    found = status.resources.get(STORAGE) if isinstance(status, VolumeStatus) else None
    return found.ceil() if found is not None else 0


class CapacityLedger:
    """Charges by name: the key of an object, the uid of a retained volume, or the id of an orphan."""

    def __init__(self) -> None:
        self.accounts: dict[Key, Account] = {}
        self.placed: dict[str, Counter[tuple[Kind, str]]] = {}  # namespace -> (kind, class) -> objects
        self.bytes: dict[str, Counter[str]] = {}  # namespace -> class -> bytes of volumes
        self.charges: dict[Hashable, Charge] = {}
        self._vectors: dict[tuple[str, int], Vector] = {}

    def usage(self, pool: Key) -> Mapping[str, int]:
        found = self.accounts.get(pool)
        return found.used if found else {}

    def classes(self, pool: Key) -> Mapping[str, int]:
        found = self.accounts.get(pool)
        return found.classes if found else {}

    def set(self, of: Hashable, charge: Charge | None) -> bool:
        """Replaces the charge of one name; None ends it. Returns whether anything may have become free by that.

        A charge that only changes counts as freeing: one resource may have become less.
        """
        before = self.charges.get(of)
        if before == charge:
            return False
        if before is not None:
            self._add(before, -1)
            del self.charges[of]
        if charge is not None:
            self.charges[of] = charge
            self._add(charge, 1)
        return before is not None

    def forget_class(self) -> None:
        """Drops the charges that were computed for each class, because a class may have changed."""
        self._vectors.clear()

    def charge_of(
        self, known: ObjectState, classes: Mapping[str, MachineClass | VolumeClass]
    ) -> Charge | None:
        """What an object takes where it is assigned; None when that is nowhere, and for kinds that take nothing.

        `classes` are the machine classes by name; volumes need none.
        """
        object, pool = known.object, known.record.pool
        if not pool:
            return None
        namespace = known.key.namespace
        vector: Vector
        match object:
            case Machine():
                names = list_charged_classes(object.spec, known.record.status, classes)
                vectors = [self._machine(object.spec, name, classes.get(name)) for name in names]
                vector = vectors[0] if len(vectors) == 1 else take_larger(vectors)
                return Charge(Key(Kind.MACHINE_POOL, "", pool), namespace, names[0], vector)
            case Volume():
                reference = object.spec.volume_class_ref
                has = bytes_there(known.record.status)
                charge = volume_charge(object.spec, is_counted=True)
                vector = {resource: max(count, has) for resource, count in charge.items()}
                return Charge(
                    Key(Kind.VOLUME_POOL, "", pool), namespace, reference.name if reference else "", vector
                )
            case _:
                return None

    def charge_stopped(self, known: ObjectState) -> Charge | None:
        """What a machine takes that is kept for an undo and off. It asks for room before it starts."""
        if not isinstance(known.object, Machine) or not known.record.pool:
            return None
        vector = local_disk_charge(known.object.spec)
        return Charge(Key(Kind.MACHINE_POOL, "", known.record.pool), "", "", vector)

    def _machine(self, spec: MachineSpec, name: str, size: MachineClass | VolumeClass | None) -> Vector:
        disks = sum(each.source.size_bytes for each in spec.volumes if isinstance(each.source, LocalDisk))
        keys = (name, disks)
        found = self._vectors.get(keys)
        if found is None:
            # Of a class that no longer exists only the disks can be counted.
            found = machine_charge(size, spec) if isinstance(size, MachineClass) else {STORAGE: disks}
            self._vectors[keys] = found
        return found

    def _add(self, charge: Charge, sign: int) -> None:
        account = self.accounts.setdefault(charge.pool, Account())
        for resource, count in charge.vector.items():
            account.used[resource] += sign * count
        kind = Kind.MACHINE if charge.pool.kind is Kind.MACHINE_POOL else Kind.VOLUME
        if charge.class_name and kind is Kind.MACHINE:
            account.classes[charge.class_name] += sign
        if charge.namespace:
            self.placed.setdefault(charge.namespace, Counter())[kind, charge.class_name] += sign
            if kind is Kind.VOLUME:
                storage = charge.vector.get(STORAGE, 0)
                self.bytes.setdefault(charge.namespace, Counter())[charge.class_name] += sign * storage
