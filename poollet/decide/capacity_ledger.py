"""The capacity that is left in each pool during one decision pass: admission asks the same `fits` as the scheduler. Counts; orders
nothing.

Theory of operation. A ledger is made for each decision and only ever charged, in this order
(decide.admit):

    1. orders that are not new: the larger of actual and desired size; a machine whose new class did not fit in the last pass: with
       the class that it has
    2. objects without an order, and foreign ones: what is listed
    3. objects that shall grow, the highest priority first. One that was charged with the new size stays as it is where that
       overdraws the pool. A machine whose new class did not fit is charged with it as soon as it fits
    4. new objects, the highest priority first: charged if they fit, else rejected with each shortfall

What exists is charged whether it fits or not, so a pool may be overdrawn; then nothing new is admitted. A class that does not fit
holds up nothing: no call for it is under way, because the last report says that it was refused, and a refusal makes no call. Room that
becomes free goes to it before it goes to a new object.

    the runtime states             unit of the charge
    cpu and memory                 the vector of the class, and 1 of its class count where the runtime counts classes
    only counts of classes         shares of the host: a machine of a class that fits N times takes 1/N

Must never happen: a host takes an object that does not fit beside all that it is charged with.
"""

from __future__ import annotations

from collections.abc import Mapping

from iri.machine import RuntimeMachine
from iri.volume import RuntimeVolume
from poollet.decide.assignments import HostOrder, Ordered
from poollet.decide.decision import PoolFacts, PoolletFacts
from poollet.decide.inventory import ListedObject
from poollet.sync.live_view import Lookup, PoolId
from schemas import report
from schemas.kinds import Key, Kind
from schemas.live_layout import POOL, SHARE
from schemas.model import Machine, MachineClass, Volume
from schemas.model.capacity import (
    STORAGE,
    WHOLE_HOST,
    Shortfall,
    Vector,
    class_count,
    fits,
    format_amount,
    needs,
)
from schemas.model.charge import MACHINE, VOLUME, machine_charge, volume_charge


class FreeCapacity:
    """Free capacity by pool. Charges are only ever added. `left` is what another one had left, to go on from; else all is free."""

    def __init__(
        self, facts: PoolletFacts, classes: Lookup, left: Mapping[PoolId, Mapping[str, int]] | None = None
    ) -> None:
        self._facts = facts
        self._classes = classes
        known = {pool: found for pool, found in facts.pools.items() if found.allocatable is not None}
        stock = {pool: _stock(found) for pool, found in known.items()} if left is None else left
        self._free = {pool: dict(free) for pool, free in stock.items()}

    def is_known(self, pool: PoolId) -> bool:
        """A pool of unknown capacity admits nothing and rejects nothing."""
        return pool in self._free

    def charge(self, pool: PoolId, charge: Vector) -> None:
        """May go below zero: what exists is charged whether it fits or not."""
        free = self._free.get(pool)
        for resource, count in charge.items() if free is not None else ():
            free[resource] = free.get(resource, 0) - count  # type: ignore[index, union-attr]

    def find_shortfalls(self, pool: PoolId, need: Vector) -> tuple[report.ReportedReason, ...]:
        """Each reason why the need does not fit."""
        return tuple(_reason(short) for short in sorted(fits(need, self._free.get(pool, {}))))

    def find_growth_shortfalls(
        self, pool: PoolId, wants: Vector, has: Vector
    ) -> tuple[report.ReportedReason, ...]:
        """Why an object cannot grow from `has` to `wants`, with which it is charged already."""
        free = self._free.get(pool, {})
        more = {name: count - has.get(name, 0) for name, count in wants.items() if count > has.get(name, 0)}
        left = {name: free.get(name, 0) + count for name, count in more.items()}
        return tuple(_reason(short) for short in sorted(fits(more, left)))

    def copy_free(self) -> dict[PoolId, dict[str, int]]:
        """What is free now, by pool of known capacity: a copy."""
        return {pool: dict(free) for pool, free in self._free.items()}

    def order_charge(self, order: HostOrder) -> Vector:
        """What the order takes from its pool."""
        return self.charge_of(order.object, order.pool)

    def charge_of(self, object: Ordered, pool_name: str) -> Vector:
        """What an object takes from a pool of this host, by what is declared of it."""
        match object:
            case Machine() as machine:
                return self._machine(pool_name, machine)
            case Volume() as volume:
                pool = self._facts.pools[(Kind.VOLUME_POOL, pool_name)]
                name = volume.spec.volume_class_ref.name if volume.spec.volume_class_ref else ""
                return volume_charge(volume.spec, is_counted=_counts(pool, class_count(VOLUME, name)))
            case _:
                return {}

    def _machine(self, pool_name: str, machine: Machine) -> Vector:
        """A class without a known share takes more than the whole host, so it is never admitted."""
        name = machine.spec.machine_class_ref.name
        pool = self._facts.pools[(Kind.MACHINE_POOL, pool_name)]
        machine_class = self._class(name)
        if pool.shares is not None:
            return {SHARE: pool.shares.get(name, WHOLE_HOST + 1)}
        if machine_class is None:
            return {}
        counted = _counts(pool, class_count(MACHINE, name))
        return machine_charge(machine_class, machine.spec, is_counted=counted)

    def object_charge(self, pool: PoolId, found: ListedObject) -> Vector:
        """What an object on the host takes from its pool, as far as its class is known."""
        match found.object:
            case RuntimeMachine() as machine:
                return self._iri_machine(pool, machine)
            case RuntimeVolume() as volume:
                actual = volume.status.resources.storage_bytes if volume.status.resources else 0
                size = max(requested_bytes(volume), actual)
                charge = {STORAGE: size}
                counted = class_count(VOLUME, volume.spec.class_name)
                known = self._facts.pools.get(pool)
                return charge | {counted: size} if known is not None and _counts(known, counted) else charge
            case _:
                return {}

    def _iri_machine(self, pool: PoolId, machine: RuntimeMachine) -> Vector:
        """What a listed machine takes: its class, its local disks, and one of the class count. A class that
        is not on `live` takes what its disks take: its size is not known here."""
        name, known = machine.spec.class_name, self._facts.pools.get(pool)
        if known is not None and known.shares is not None:
            return {SHARE: known.shares.get(name, 0)}
        machine_class = self._class(name)
        charge = needs(machine_class.capabilities) if machine_class is not None else {}
        disks = sum(
            disk.local_disk.size_bytes for disk in machine.spec.volumes if disk.local_disk is not None
        )
        if disks:
            charge[STORAGE] = charge.get(STORAGE, 0) + disks
        counted = class_count(MACHINE, name)
        return charge | {counted: 1} if known is not None and _counts(known, counted) else charge

    def _class(self, name: str) -> MachineClass | None:
        found = self._classes.get(Key(Kind.MACHINE_CLASS, "", name))
        return found if isinstance(found, MachineClass) else None


def requested_bytes(volume: RuntimeVolume) -> int:
    """The size that the runtime was ordered to provide, which may be more than the volume has so far. 0 where it states none."""
    return volume.spec.resources.storage_bytes if volume.spec.resources is not None else 0


def _stock(pool: PoolFacts) -> dict[str, int]:
    """What a pool can give away in all: its vector, or the whole host in shares."""
    return dict(pool.allocatable or {}) if pool.shares is None else {SHARE: WHOLE_HOST}


def _counts(pool: PoolFacts, resource: str) -> bool:
    return resource in (pool.allocatable or {})


def _reason(short: Shortfall) -> report.ReportedReason:
    """A shortfall as the report carries it: resource, need and what is left, in the units of manifests."""
    need, have = format_amount(short.resource, short.need), format_amount(short.resource, max(0, short.have))
    message = f"{short.resource}: {need} needed, {have} left"
    return report.ReportedReason("Insufficient", message, short.resource, need, have)


def find_pool(found: ListedObject, facts: Mapping[PoolId, PoolFacts]) -> PoolId | None:
    """The pool of an object without an order: the one that its label names, else the first pool of its runtime."""
    kind = Kind.MACHINE_POOL if isinstance(found.object, RuntimeMachine) else Kind.VOLUME_POOL
    named = (kind, found.object.labels.get(POOL, ""))
    if named in facts and facts[named].runtime == found.runtime:
        return named
    return min(
        (pool for pool, known in facts.items() if pool[0] is kind and known.runtime == found.runtime),
        default=None,
    )
