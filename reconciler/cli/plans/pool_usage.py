"""How full the pools are that a plan touches, before and after it. By the reconciler's own charges.

Before is what the ledger of the World has; after adds and removes what each change of the plan charges. It charges
by the same function as the scheduler, so the two agree on what fits.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, cast

import msgspec

from reconciler.plan.types import Change, Plan, PoolUsage
from reconciler.world.objects.object_state import ObjectState, Origin
from reconciler.world.pools.capacity_ledger import Charge
from reconciler.world.record import NOTHING
from reconciler.world.view import View
from schemas.kinds import Key, Kind
from schemas.model import decode


def pool_usage(view: View, plan: Plan) -> tuple[PoolUsage, ...]:
    """Of the pools where anything comes or goes."""
    moved: dict[Key, Counter[str]] = {}
    for change in plan.changes:
        old, new = (charge(view, change, is_after) for is_after in (False, True))
        if old == new:
            continue
        for part, sign in ((old, -1), (new, 1)):
            if part is not None:
                tally = moved.setdefault(part.pool, Counter())
                for resource, count in part.vector.items():
                    tally[resource] += sign * count
    found = []
    for key in sorted(moved):
        before = dict(view.ledger.usage(key))
        after = {name: before.get(name, 0) + moved[key][name] for name in before.keys() | moved[key].keys()}
        if (pool := view.find_pool(key)) is not None:
            given = pool.allocatable
            found.append(PoolUsage(key, given, keep_given(before, given), keep_given(after, given)))
    return tuple(found)


def keep_given(used: dict[str, int], given: Any) -> dict[str, int]:
    """Only the resources that the pool counts."""
    return {resource: count for resource, count in used.items() if resource in given}


def charge(view: View, change: Change, is_after: bool) -> Charge | None:
    """What a change's object charges to its pool, before the change or after it; None where it is on no pool. An
    object that the plan generates is not in the World yet, so it is decoded from the change."""
    record = change.after if is_after else change.before
    known = view.objects.get(change.key)
    if record is None or not record.pool:
        return None
    if known is None:
        if change.body is None:
            return None
        made = decode(change.key.kind, cast("dict[str, object]", change.body))
        known = ObjectState(key=change.key, object=made, origin=Origin.GENERATED, record=NOTHING)
    classes = view.offers[Kind.MACHINE_POOL].classes
    return view.ledger.charge_of(msgspec.structs.replace(known, record=record), classes)
