"""What `live` orders of this host: to ensure an object, to retain one, to stop a machine, to remove an object, or to leave it as it is.

Theory of operation of the fence on the host. A pool is granted to one host on `live` (`status.host`, `status.epoch`), and each
assignment names the host and the epoch that it was made under. `is_granted` is the only place where a host asks whether an assignment is
its own:

    assignment names     the pool is granted to    epochs        this host
    this host            this host                 equal         acts on it
    this host            this host                 differ        leaves it alone: the reconciler is about to rewrite it
    this host            no host                                 leaves it alone: the grant was cleared
    this host            another host                            powers it off, keeps its data, reports an orphan
    another host                                                 powers it off, keeps its data, reports an orphan
    no host                                                      leaves it alone

All of it on a `live` that may be applied, and asked again right before each call (preconditions.py).

Must never happen: a host acts on an assignment because its pool has the right name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from poollet.decide.actions import RUNTIME_KINDS, Ref
from poollet.decide.decision import PoolletFacts
from poollet.decide.gates import CallEffect, GateInput, closed_gate
from poollet.sync.live_view import LiveDocument, LiveView, PoolGrant, PoolId, assigned_pool
from schemas import live_layout
from schemas.kinds import Key
from schemas.model import Machine, Volume, VolumeSnapshot
from schemas.model.part import Assignment

Ordered = Machine | Volume | VolumeSnapshot
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Ensure:
    """Make it so."""


@dataclass(frozen=True, slots=True)
class Retain:
    """It left the source and its data is retained: it is charged, and nothing is done to it."""


@dataclass(frozen=True, slots=True)
class Stop:
    """A machine that left the source, and is kept for an undo: it is off, and nothing of it is destroyed or created."""

    until: str


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Remove it, and say so once it is gone."""

    reason: str


@dataclass(frozen=True, slots=True)
class Skip:
    """Do nothing to it for now."""

    reason: str
    message: str


Intent = Ensure | Retain | Stop | Withdraw | Skip


@dataclass(frozen=True, slots=True)
class HostOrder:
    """`assignment` is what the report answers."""

    ref: Ref
    key: Key
    pool: str
    runtime: str
    assignment: str
    object: Ordered
    intent: Intent
    at: GateInput


def list_orders(view: LiveView, facts: PoolletFacts) -> tuple[HostOrder, ...]:
    """One for each uid, and one for each name: what is on its way out comes before what takes its name, and a retained volume, of which
    nothing has to be done, after it."""
    by_ref: dict[Ref, HostOrder] = {}
    for document in view.mine:
        object = document.object
        if isinstance(object, Machine | Volume | VolumeSnapshot):
            order = read_order(document, object, facts, view)
            if order is not None:
                by_ref.setdefault(order.ref, order)
    by_key: dict[Key, list[HostOrder]] = {}
    for order in by_ref.values():
        by_key.setdefault(order.key, []).append(order)
    return tuple(first_of(by_key[key]) for key in sorted(by_key))


def first_of(same: list[HostOrder]) -> HostOrder:
    """Of one name. A second one is not begun before the first has left the target branch. A retained volume never leaves by itself."""

    def rank(order: HostOrder) -> tuple[int, str]:
        return (0 if isinstance(order.intent, Withdraw) else 2 if order.at.is_retained else 1), order.ref.uid

    return min(same, key=rank)


def is_granted(assignment: Assignment, pool: PoolId, facts: PoolletFacts, view: LiveView) -> bool:
    """The fence: whether this host, and no other, may act on the assignment."""
    own = PoolGrant(facts.host_id, assignment.epoch)
    return assignment.host == facts.host_id and view.grants.get(pool) == own


def other_host(uid: str, facts: PoolletFacts, view: LiveView) -> str:
    """The host that `live` assigns the object to when it is not this one; empty when none other is named."""
    for document in view.by_uid.get(uid, ()):
        object = document.object
        pool = assigned_pool(object)
        if pool is None or not isinstance(object, Machine | Volume | VolumeSnapshot):
            continue
        assert object.status.assignment is not None, "it has a pool"
        grant = view.grants.get(pool)
        for host in (object.status.assignment.host, grant.host if grant is not None else ""):
            if host not in ("", facts.host_id):
                return host
    return ""


def other_pool(uid: str, labels: Mapping[str, str], facts: PoolletFacts, view: LiveView) -> str:
    """The pool of another poollet on this host that `live` assigns the object to, although it was created for one of this poollet's pools;
    else empty. Two poollets may share a runtime: an object that was created for that pool is the other one's."""
    for document in view.by_uid.get(uid, ()):
        pool, label = assigned_pool(document.object), labels.get(live_layout.POOL, "")
        if (
            pool is not None
            and pool not in facts.pools
            and label != pool[1]
            and (pool[0], label) in facts.pools
        ):
            return pool[1]
    return ""


def read_order(
    document: LiveDocument, object: Ordered, facts: PoolletFacts, view: LiveView
) -> HostOrder | None:
    """The order of one document; None where it orders nothing of this host."""
    assignment, pool_id = object.status.assignment, assigned_pool(object)
    if assignment is None or pool_id is None:
        return None
    if not UID.fullmatch(object.metadata.uid) or not UID.fullmatch(assignment.id):
        return None
    pool, same = facts.pools.get(pool_id), view.by_uid.get(object.metadata.uid, ())
    at = gate_input(document, object)._replace(
        is_granted=is_granted(assignment, pool_id, facts, view), documents=len(same)
    )
    if pool is None or closed_gate(at, CallEffect.REPORT):
        return None
    return HostOrder(
        ref=Ref(RUNTIME_KINDS[object.KIND], object.metadata.uid),
        key=object.key,
        pool=assignment.pool,
        runtime=pool.runtime,
        assignment=assignment.id,
        object=object,
        intent=gated_intent(at, document, object, same),
        at=at,
    )


def gate_input(document: LiveDocument, object: Ordered) -> GateInput:
    """What one document alone tells the gates. Grant, number of documents, and what the host knows are added
    by the callers."""
    is_paused = object.metadata.annotations.get(live_layout.PAUSED) == "true"
    return GateInput(is_retained=document.is_retained, is_paused=is_paused)


def gated_intent(
    at: GateInput, document: LiveDocument, object: Ordered, same: tuple[LiveDocument, ...]
) -> Intent:
    """What the document orders once the gates were asked. Several documents of one uid contradict each other:
    whichever is right, doing nothing is. A retained volume is charged and reported, any other closed gate
    leaves the object as it is."""
    gate = closed_gate(at, CallEffect.CHANGE)
    if gate is None:
        return ordered_intent(object)
    if at.documents > 1:
        places = ", ".join(sorted(f"{one.object.key}" for one in same))
        return Skip(gate.reason, f"{gate.message}: {places}")
    return Retain() if document.is_retained else Skip(gate.reason, gate.message)


def intent(document: LiveDocument, object: Ordered) -> Intent:
    """What one document orders, whatever other documents of its uid say."""
    return gated_intent(gate_input(document, object), document, object, ())


def ordered_intent(object: Ordered) -> Intent:
    """Deletion comes before eviction, and both before a stop. An eviction counts for the assignment that it names: an older one was
    answered. Snapshots are not evicted, because they are where their volume is."""
    if object.metadata.is_deleting:
        return Withdraw("deleted")
    if not isinstance(object, VolumeSnapshot):
        evict, assignment = object.status.evict, object.status.assignment
        if evict is not None and assignment is not None and evict.assignment == assignment.id:
            return Withdraw(evict.reason or "evicted")
    if isinstance(object, Machine) and object.status.undo is not None:
        return Stop(object.status.undo.until)
    return Ensure()
