"""What is free on this host as the last pass saw it, and what is reserved of it: the answers to offers of the reconciler. Pure.

Theory of operation
-------------------
An offer asks whether objects would be admitted if `live` assigned them now. The answer is that of admission (capacity_ledger.py), with the
charges of the last pass. What is accepted is reserved, so that two offers in a row are not promised the same room:

    charged                              against offers          against orders on `live`
    what the last pass charged           yes                     yes, again in each pass
    reservations of other objects        until their time ends   never: `live` alone decides

A reservation is of one object, known by kind and name: the newest one takes the place of an older one, also where the reconciler decided again
and gave another uid. It counts no more once `live` orders the object here, because the order is charged.

No answer, so that the reconciler places without one: a pool that is not this host's, or of another grant than the host knows; a pool of unknown
capacity, which admits nothing and rejects nothing; an object that `live` orders here already.

Must never happen: a reservation makes the host refuse what `live` orders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from poollet.decide.capacity_ledger import FreeCapacity
from poollet.decide.decision import PoolletFacts
from poollet.decide.decision_pass import DecisionPass
from poollet.sync.live_view import PoolGrant, PoolId
from schemas import report
from schemas.kinds import Key, Kind
from schemas.model import Machine, Object, Volume
from schemas.model.capacity import Vector

LONGEST_RESERVE_MS = 10_000
MOST_RESERVATIONS = 10_000


@dataclass(frozen=True)
class OfferedOrder:
    """What the reconciler would order: the object on a pool, under this epoch of its grant."""

    key: Key
    uid: str
    pool: str
    epoch: int
    object: Machine | Volume

    @property
    def pool_id(self) -> PoolId:
        return (Kind.MACHINE_POOL if isinstance(self.object, Machine) else Kind.VOLUME_POOL), self.pool

    @property
    def priority(self) -> int:
        return self.object.spec.priority if isinstance(self.object, Machine) else 0


@dataclass(frozen=True)
class Reservation:
    uid: str
    pool: PoolId
    charge: Vector
    until_ms: int


Reservations = Mapping[Key, Reservation]


@dataclass(frozen=True)
class HostRoom:
    """`left` is what a pass left of each pool; a pool of unknown capacity is not in it. `ordered` are the uids that it charged."""

    facts: PoolletFacts
    left: Mapping[PoolId, Mapping[str, int]]
    classes: Mapping[Key, Object] = field(default_factory=dict)
    grants: Mapping[PoolId, PoolGrant] = field(default_factory=dict)
    ordered: frozenset[str] = frozenset()

    def knows(self, offered: OfferedOrder) -> bool:
        """Whether this host can judge it."""
        own = PoolGrant(self.facts.host_id, offered.epoch)
        is_granted = self.grants.get(offered.pool_id) == own
        return is_granted and offered.pool_id in self.left and offered.uid not in self.ordered


@dataclass(frozen=True)
class OfferVerdict:
    """By uid, why each is refused: no reason for what is accepted. `reserved` are all reservations from now on."""

    reasons: Mapping[str, tuple[report.ReportedReason, ...]]
    reserved: Reservations


def find_room(current: DecisionPass, ordered: frozenset[str]) -> HostRoom:
    """After admission has charged all that there is."""
    facts, view = current.inputs.facts, current.view
    names = {name for pool in facts.pools.values() for name in pool.classes}
    keys = [Key(Kind.MACHINE_CLASS, "", name) for name in names]
    classes = {key: found for key in keys if (found := view.objects.get(key)) is not None}
    return HostRoom(facts, current.ledger.copy_free(), classes, dict(view.grants), ordered)


def judge_offer(
    offered: Sequence[OfferedOrder], room: HostRoom, reserved: Reservations, now_ms: int, reserve_ms: int
) -> OfferVerdict:
    """Admission of each in the order of orders: the highest priority first. Those of one offer make no room for each other."""
    keys = {each.key for each in offered}
    kept = {
        key: one
        for key, one in reserved.items()
        if key not in keys and now_ms < one.until_ms and one.uid not in room.ordered
    }
    free = FreeCapacity(room.facts, room.classes, room.left)
    for one in kept.values():
        free.charge(one.pool, one.charge)
    reasons: dict[str, tuple[report.ReportedReason, ...]] = {}
    until_ms = now_ms + min(reserve_ms, LONGEST_RESERVE_MS)
    for each in sorted(offered, key=lambda each: (-each.priority, each.key)):
        if not room.knows(each):
            continue
        charge = free.charge_of(each.object, each.pool)
        reasons[each.uid] = free.find_shortfalls(each.pool_id, charge)
        if reasons[each.uid]:
            continue
        free.charge(each.pool_id, charge)
        if len(kept) < MOST_RESERVATIONS:
            kept[each.key] = Reservation(each.uid, each.pool_id, charge, until_ms)
    return OfferVerdict(reasons, kept)
