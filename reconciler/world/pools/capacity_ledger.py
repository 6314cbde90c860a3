"""What of each pool is given away, and what each namespace has placed: kept up object by object.

Every assigned object is charged once, to the pool that live assigns it to, whatever its state. Pure counting.
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
from schemas.model.charge import machine_charge, volume_charge
from schemas.report.objects import Orphan


@dataclass(slots=True)
class Account:
    """One pool's. `classes` counts machines by class, for pools that tell nothing else."""

    used: Counter[str] = field(default_factory=Counter)
    classes: Counter[str] = field(default_factory=Counter)


class Charge(NamedTuple):
    pool: Key
    namespace: str  # empty: no quota counts it
    class_name: str
    vector: Vector


def orphan_charge(orphan: Orphan) -> Vector:
    """What an object without an order takes, as its host says."""
    return needs(amounts(orphan.charge))


def bytes_there(status: Status | None) -> int:
    """What a volume has on its host: it never gets smaller, whatever is declared."""
    found = status.resources.get(STORAGE) if isinstance(status, VolumeStatus) else None
    return found.ceil() if found is not None else 0


class CapacityLedger:
    """Charges are by whom they are of: a key, the uid of what is retained, an orphan's id."""

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
        """Whether anything became free by it."""
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
        """A class may be another now: what machines take is asked again."""
        self._vectors.clear()

    def charge_of(
        self, known: ObjectState, classes: Mapping[str, MachineClass | VolumeClass]
    ) -> Charge | None:
        """What an object takes where it is assigned; None when that is nowhere."""
        object, pool = known.object, known.record.pool
        if not pool:
            return None
        namespace = known.key.namespace
        vector: Vector
        match object:
            case Machine():
                name = object.spec.machine_class_ref.name
                vector = self._machine(object.spec, classes.get(name))
                return Charge(Key(Kind.MACHINE_POOL, "", pool), namespace, name, vector)
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

    def _machine(self, spec: MachineSpec, size: MachineClass | VolumeClass | None) -> Vector:
        disks = sum(each.source.size_bytes for each in spec.volumes if isinstance(each.source, LocalDisk))
        keys = (spec.machine_class_ref.name, disks)
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
