"""What the target branch orders of this host: to have an object, to keep one, to let one go, or to leave it as it is.

Only an order that stands there counts. Reads documents; knows no runtime.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TypeVar

from iri.machine import RuntimeMachine
from iri.runtime import RuntimeKind
from iri.volume import RuntimeSnapshot, RuntimeVolume
from poollet.decide.actions import Ref
from poollet.decide.host_facts import HostFacts, PoolFacts
from poollet.decide.memory import Entry, Memory, is_of_other_host
from poollet.sync.live_view import Document, LiveView
from schemas import live_layout
from schemas.kinds import Key, Kind
from schemas.model import Machine, Object, Volume, VolumeSnapshot

UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Have:
    """Make it so."""


@dataclass(frozen=True, slots=True)
class Keep:
    """It left the source and its data is retained: it is charged, and nothing is done to it."""


@dataclass(frozen=True, slots=True)
class Go:
    """Remove it, and say so once it is gone."""

    reason: str


@dataclass(frozen=True, slots=True)
class Leave:
    """Do nothing to it for now."""

    reason: str
    message: str


Intent = Have | Keep | Go | Leave
Ordered = Machine | Volume | VolumeSnapshot
AnyOrdered = TypeVar("AnyOrdered", Machine, Volume, VolumeSnapshot)


@dataclass(frozen=True, slots=True)
class Order:
    """`assignment` is what the report answers; a snapshot has none of its own and goes with its volume's."""

    ref: Ref
    key: Key
    pool: str
    runtime: str
    assignment: str
    object: Ordered
    intent: Intent


def orders(view: LiveView, facts: HostFacts, memory: Memory) -> tuple[Order, ...]:
    """One for each uid, and one for each name: what is on its way out comes before what takes its name."""
    found = [*machine_orders(view, facts), *volume_orders(view, facts)]
    found += snapshot_orders(view, facts, memory, found)
    by_ref: dict[Ref, list[Order]] = {}
    for order in found:
        by_ref.setdefault(order.ref, []).append(order)
    by_key: dict[Key, list[Order]] = {}
    for same in by_ref.values():
        order = same[0] if len(same) == 1 else contradictory(same)
        by_key.setdefault(order.key, []).append(order)
    return tuple(first_of(by_key[key]) for key in sorted(by_key))


def contradictory(same: list[Order]) -> Order:
    """Several documents of one uid: whichever is right, doing nothing is."""
    places = ", ".join(sorted(f"{order.key}" for order in same))
    return replaced(
        same[0], Leave("Contradictory", f"the target branch names this uid {len(same)} times: {places}")
    )


def first_of(same: list[Order]) -> Order:
    """Of one name. A second one is not begun before the first has left the target branch."""
    return min(same, key=lambda order: (not isinstance(order.intent, Go), order.ref.uid))


def replaced(order: Order, intent: Intent) -> Order:
    return Order(order.ref, order.key, order.pool, order.runtime, order.assignment, order.object, intent)


def machine_orders(view: LiveView, facts: HostFacts) -> Iterable[Order]:
    for document in view.mine:
        machine = document.object
        if isinstance(machine, Machine) and (order := assigned(document, machine, RuntimeMachine, facts)):
            yield order


def volume_orders(view: LiveView, facts: HostFacts) -> Iterable[Order]:
    for document in view.mine:
        volume = document.object
        if isinstance(volume, Volume) and (order := assigned(document, volume, RuntimeVolume, facts)):
            yield order


def assigned(
    document: Document, object: Machine | Volume, kind: RuntimeKind, facts: HostFacts
) -> Order | None:
    assignment = object.status.assignment
    if assignment is None or not UID.fullmatch(object.metadata.uid) or not UID.fullmatch(assignment.id):
        return None
    pool_kind = Kind.MACHINE_POOL if isinstance(object, Machine) else Kind.VOLUME_POOL
    pool = facts.pools.get((pool_kind, assignment.pool))
    if pool is None:
        return None
    return Order(
        ref=Ref(kind, object.metadata.uid),
        key=object.key,
        pool=assignment.pool,
        runtime=pool.runtime,
        assignment=assignment.id,
        object=object,
        intent=intent(document, object),
    )


def intent(document: Document, object: Ordered) -> Intent:
    if document.is_retained:
        return Keep()
    if object.metadata.annotations.get(live_layout.PAUSED) == "true":
        return Leave("Paused", f"paused by the annotation {live_layout.PAUSED}")
    if object.metadata.is_deleting:
        return Go("deleted")
    if not isinstance(object, VolumeSnapshot):
        evict, assignment = object.status.evict, object.status.assignment
        if evict is not None and assignment is not None and evict.assignment == assignment.id:
            return Go(evict.reason or "evicted")
    return Have()


def snapshot_orders(
    view: LiveView, facts: HostFacts, memory: Memory, volumes: Collection[Order]
) -> list[Order]:
    """A snapshot is where its volume is; one whose volume has left is where it was reported."""
    homes = {order.key: order for order in volumes if isinstance(order.object, Volume)}
    standing = frozenset(order.assignment for order in volumes)
    found = []
    for document in view.mine:
        snapshot = document.object
        if not isinstance(snapshot, VolumeSnapshot) or not UID.fullmatch(snapshot.metadata.uid):
            continue
        key = Key(Kind.VOLUME, snapshot.namespace, snapshot.spec.volume_ref.name)
        entry = memory.entries.get(snapshot.key)
        at: Order | Entry | None = homes.get(key)
        if entry is not None and entry.uid == snapshot.metadata.uid:
            at = at if is_past(entry, view.objects.get(key), standing) else entry
        if at is not None and (place := facts.pools.get((Kind.VOLUME_POOL, at.pool))) is not None:
            found.append(snapshot_order(document, snapshot, at, place))
    return found


def is_past(entry: Entry, volume: Object | None, standing: Collection[str]) -> bool:
    """It may be at another host, by an assignment of its volume that stands no more. Of a volume that has left nobody can tell."""
    if not is_of_other_host(entry) or entry.assignment in standing or not isinstance(volume, Volume):
        return False
    assignment = volume.status.assignment
    return assignment is None or assignment.id != entry.assignment


def snapshot_order(
    document: Document, snapshot: VolumeSnapshot, at: Order | Entry, place: PoolFacts
) -> Order:
    ref, found = Ref(RuntimeSnapshot, snapshot.metadata.uid), intent(document, snapshot)
    return Order(ref, snapshot.key, at.pool, place.runtime, at.assignment, snapshot, found)
