"""Fourth step of an update: capacity in use, pools, and orphans.

    changed                                     what is computed again
    an object                                   its charge
    a class                                     the charge of every machine of it; the PoolState of every pool of its kind
    a pool's document or its announcement       its PoolState; when the grant is another, all that reports say of objects there
    an object on a pool without a grant         its PoolState: the epoch of the next grant comes after the object's
    a quota                                     the list of quotas of its namespace
    anything                                    the charges of orphans and of machines that are kept for an undo, which are few

Whatever gives room back sets `frees_room`: then everything that waits for a pool is dirty. It may be set too often; were it
missing once, an object would wait although it fits, until something else happens.

Must never happen: an object is charged twice, as itself and as an orphan, or not at all while a host may have it.
"""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs

from reconciler.world.objects.object_state import ObjectState, Origin
from reconciler.world.objects.relations import pool_of
from reconciler.world.objects.validation import find_rivals
from reconciler.world.pools.announcement import pool_state, without_declaration
from reconciler.world.pools.capacity_ledger import Charge, orphan_charge
from reconciler.world.reports.orphan_index import pool_of_orphan
from reconciler.world.state import State
from reconciler.world.update.delta import POOL_OF_CLASS, POOLS, Changed, Delta
from schemas.kinds import Key, Kind
from schemas.model import MachineClass, VolumeClass


def account_changes(state: State, changed: Changed) -> Delta:
    """Charges first, pools next, orphans last: an orphan counts only on a pool that is granted to the host that reports it."""
    delta = Delta()
    charge_objects(state, changed, delta)
    update_pools(state, changed, delta)
    charge_kept(state, delta)
    charge_orphans(state, delta)
    return delta


def charge_objects(state: State, changed: Changed, delta: Delta) -> None:
    """A class that changed changes the charge of all its machines.

    Classes come first: `charge_of` reads them. A class that is gone leaves its machines charged for their local disks only.
    """
    recount: set[Key] = set()
    for key in changed:
        if key.kind in POOL_OF_CLASS:
            offer_class(state, key, state.objects.get(key))
            recount.update(state.relations.users.get(key))
            delta.frees_room = True
        elif key.kind is Kind.RESOURCE_QUOTA:
            quotas = state.quotas.setdefault(key.namespace, set())
            (quotas.add if key in state.objects else quotas.discard)(key)
            delta.frees_room = True
    classes = state.offers[Kind.MACHINE_POOL].classes
    for key in recount.union(changed):
        known = state.objects.get(key)
        delta.charge(state, key, state.ledger.charge_of(known, classes) if known else None)


def offer_class(state: State, key: Key, known: ObjectState | None) -> None:
    """Puts the class into the offer of its kind of pools, or takes it out, and drops the charges computed for each class."""
    found = known.object if known else None
    offer = state.offers[POOL_OF_CLASS[key.kind]]
    offer.set(key.name, found if isinstance(found, MachineClass | VolumeClass) else None)
    state.ledger.forget_class()


def update_pools(state: State, changed: Changed, delta: Delta) -> None:
    """A changed pool concerns all objects that are assigned to it; a changed grant concerns all objects in its reports.

    A pool exists while either is there: its document, or an announcement by a host that may make it.
    """
    keys = {key for key in changed if key.kind in POOLS}
    # The next grant of a pool without one comes after the epochs of the assignments there.
    placed = {pool_of(known) for pair in changed.values() for known in pair if known is not None}
    keys |= {pool for pool in placed if pool is not None and not state.grant(pool).host}
    # Whether an absence is certain changes with other files.
    keys |= {key for key in state.relations.absent if key.kind in POOLS}
    for kind in {POOL_OF_CLASS[key.kind] for key in changed if key.kind in POOL_OF_CLASS}:
        keys |= {pool.key for pool in state.pools_by_kind[kind].values()}
    for key in keys:
        pools, known, announcement = (
            state.pools_by_kind[key.kind],
            state.objects.get(key),
            state.announcement(key),
        )
        before, unverified = pools.get(key.name), why_still_declared(state, key)
        if known is not None and unverified:
            known = structs.replace(known, origin=Origin.FROZEN)
        elif known is not None and announcement is not None and state.rules.settings.pools == "open":
            known = without_declaration(known)
        if known is None and announcement is None:
            pools.pop(key.name, None)
            after = None
        else:
            is_reported = announcement is not None and announcement.host
            offer, fault = state.offers[key.kind], "" if is_reported else state.fault_of(key)
            found = pool_state(key, known, announcement, offer, fault)
            after = pools[key.name] = replace(found, why_not_ready=found.why_not_ready or unverified)
        if before != after:
            delta.frees_room = True
            delta.dirty.add(key)
            delta.dirty.update(state.relations.on_pool.get(key))
            if before is None or after is None or before.grant != after.grant:
                delta.dirty |= reported_on(state, key)


def why_still_declared(state: State, pool: Key) -> str:
    """Why a pool without a document in the source may still be declared. It is as it was declared last, like one of a malformed file, and
    takes nothing new."""
    why = state.why_unverified(pool) if pool in state.relations.absent else ""
    return f"it may still be declared: {why}" if why else ""


def charge_kept(state: State, delta: Delta) -> None:
    """Machines that are kept for an undo, as their hosts report them: one that is off takes its local disks alone, and what it
    has of volumes and addresses is free for others."""
    stopped = {key for key in state.relations.kept if state.is_reported_off(key)}
    classes = state.offers[Kind.MACHINE_POOL].classes
    for key in state.stopped - stopped:
        known = state.objects.get(key)
        delta.charge(state, key, state.ledger.charge_of(known, classes) if known else None)
    for key in stopped:
        delta.charge(state, key, state.ledger.charge_stopped(state.objects[key]))
    for key in state.stopped ^ stopped:
        known = state.objects.get(key)
        used = set(state.relations.uses.get(key, ()))
        rivals = set(find_rivals(known, used, state.relations)) if known is not None else set[Key]()
        delta.touched |= {key, *rivals}
        delta.dirty |= {key, *rivals, *used}
    state.stopped = stopped


def reported_on(state: State, pool: Key) -> set[Key]:
    """Objects on which another host's report counts when another host has the grant: those that a report places on the pool."""
    reports = state.reports
    return {
        key
        for name in reports.announcers(pool)
        for key, reported in reports.by_poollet[name].entries.items()
        if reported.pool == pool.name
    }


def charge_orphans(state: State, delta: Delta) -> None:
    """They are few, and counted again in each update. An orphan uses its host's capacity without an order of ours, so new
    objects must not be placed over it. One whose uid is assigned to that same pool is charged as the object already.
    """
    needed: dict[tuple[str, str, str], Charge] = {}
    for _, orphan in state.orphans():
        pool = pool_of_orphan(orphan)
        known = state.objects.get(Key(Kind(orphan.kind), orphan.namespace, orphan.name))
        is_charged = known is not None and orphan.uid == known.record.uid and known.record.pool == pool.name
        if not is_charged:
            needed["orphan", str(pool), orphan.id] = Charge(pool, "", "", orphan_charge(orphan))
    for name in state.orphaned - needed.keys():
        delta.charge(state, name, None)
    for name, charge in needed.items():
        delta.charge(state, name, charge)
    state.orphaned = set(needed)
