"""How full the pools are before a plan and after it, by the reconciler's own charges. Pure.

    before   what objects charge as they were reconciled last
    after    what they charge once the plan has come true: what is deleted is gone, what moves is on its target, what grows has its new
             size, a retained volume still has its room, and what an undo brings back has all of it again; what is blocked stays as it is

The ledger of the World charges what the source declares now. So of each object that the plan or the source changes, three charges are
taken: that of the ledger, that of the old document, and that of the planned record. Every other object charges the same before and after.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec

from reconciler.cli.plans.moves import planned_records
from reconciler.plan.types import Action, Change, Plan, PoolUsage
from reconciler.world.objects.object_state import ObjectState, Origin
from reconciler.world.pools.capacity_ledger import Charge
from reconciler.world.record import NOTHING, Record
from reconciler.world.view import View
from schemas.kinds import Key, Kind
from schemas.model import decode

PLACED = (Kind.MACHINE, Kind.VOLUME)
Documents = Mapping[Key, Mapping[str, object]]


def pool_usage(
    view: View, plan: Plan, before: Documents, targets: Mapping[Key, str]
) -> tuple[PoolUsage, ...]:
    """Of the pools where anything comes, goes or changes its size. `before` has the changed documents as they were."""
    was, becomes = Counter[tuple[Key, str]](), Counter[tuple[Key, str]]()
    records = {need.key: need.record for need in planned_records(plan, targets)}
    bodies = {change.key: change for change in plan.changes if change.body is not None}
    blocked = {change.key for change in plan.changes if change.action is Action.BLOCKED}
    for key in sorted({*before, *records, *targets}):
        if key.kind in PLACED:
            for charge, sign, totals in _charges(view, key, before, records, bodies, key in blocked):
                for resource, amount in charge.vector.items():
                    for total in totals:
                        (was, becomes)[total][charge.pool, resource] += sign * amount
    found = []
    for pool in sorted({pool for pool, _ in (*was, *becomes)}):
        state = view.find_pool(pool)
        if state is None:
            continue
        used, given = view.ledger.usage(pool), state.allocatable
        old, new = (
            {
                name: used.get(name, 0) + total[pool, name]
                for name in used.keys() | given.keys()
                if name in given
            }
            for total in (was, becomes)
        )
        found.append(PoolUsage(pool, given, old, new))
    return tuple(found)


def _charges(
    view: View,
    key: Key,
    before: Documents,
    records: Mapping[Key, Record],
    bodies: Mapping[Key, Change],
    is_blocked: bool,
) -> Iterator[tuple[Charge, int, tuple[int, ...]]]:
    """What to add to which total: 0 is before, 1 is after. The ledger has the charge of `known` in both."""
    known = view.objects.get(key) or generated_state(key, bodies)
    if known is None:
        return
    record = records.get(key, known.record)
    old = known
    if key in before:
        old = msgspec.structs.replace(known, object=decode(key.kind, cast("dict[str, Any]", before[key])))
    new = msgspec.structs.replace(old if is_blocked else known, record=record)
    classes = view.offers[Kind.MACHINE_POOL].classes
    now = view.ledger.charge_of(known, classes)
    charges = [now, view.ledger.charge_of(old, classes), view.ledger.charge_of(new, classes)]
    if key in view.stopped:  # kept for an undo: charged with its disks, until it comes back
        off = view.ledger.charges.get(key)
        charges = [off, off, off if record.undo is not None else charges[2]]
    if charges[0] == charges[1] == charges[2]:
        return
    for charge, sign, totals in zip(charges, (-1, 1, 1), ((0, 1), (0,), (1,)), strict=True):
        if charge is not None:
            yield charge, sign, totals
    # A retained volume that comes back is charged under its uid until then.
    if record.uid in view.retained_volumes and (kept := view.ledger.charges.get(("retained", record.uid))):
        yield kept, -1, (1,)


def generated_state(key: Key, bodies: Mapping[Key, Change]) -> ObjectState | None:
    """An object that the plan generates is not in the World yet."""
    change = bodies.get(key)
    if change is None:
        return None
    made = decode(key.kind, cast("dict[str, Any]", change.body))
    return ObjectState(key=key, object=made, origin=Origin.GENERATED, record=NOTHING)
