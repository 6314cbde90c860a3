"""Volumes whose data is retained: one that is declared again is what it was, and never an empty one of the same name; one whose pool
is destroyed is gone with it. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import msgspec

from reconciler.decide.need import DeletionPhase, Remove
from reconciler.decide.object_edit import ObjectEdit
from reconciler.decide.pool_requests import PoolRequests, status_of
from reconciler.plan.types import Action
from reconciler.world.objects.object_state import ObjectState, Origin
from reconciler.world.pools.grants import follow_grant
from reconciler.world.view import View
from schemas.kinds import Key, Kind


def retained_volume_for(view: View, known: ObjectState) -> ObjectState | None:
    """The volume of that name whose data was kept when it was declared no more, if there is exactly one."""
    if known.key.kind is not Kind.VOLUME or known.origin is not Origin.DECLARED or known.live is not None:
        return None
    kept = [each for each in view.retained_volumes.values() if each.key == known.key]
    return kept[0] if len(kept) == 1 else None


def restore(known: ObjectState, kept: ObjectState, now: datetime) -> ObjectEdit:
    """With its identity, its pool and its data."""
    record = msgspec.structs.replace(kept.record, deletion_timestamp="", claim=None)
    return ObjectEdit(known, record, now).log_change(Action.ADOPT, f"its data was retained on {record.pool}")


def is_being_restored(view: View, key: Key) -> bool:
    """It is assigned to its pool from this tick on: whatever needs it is placed by that, in the next one."""
    known = view.objects.get(key)
    return known is not None and retained_volume_for(view, known) is not None


def discard_destroyed(view: View, requests: PoolRequests, now: datetime) -> Iterator[Remove]:
    """Those whose host is destroyed: its successor never had that data. One that is declared again in this very tick is taken
    back, and released as all that was there."""
    for kept in view.retained_volumes.values():
        assignment = kept.record.assignment
        if assignment is None or kept.key in view.objects:
            continue
        pool = Key(Kind.VOLUME_POOL, "", assignment.pool)
        if follow_grant(assignment, requests.status.get(pool) or status_of(view, pool)) is None:
            reason = f"host {assignment.host} of pool {assignment.pool} is destroyed, and its retained data with it"
            edit = ObjectEdit(kept, kept.record, now).log_change(Action.REMOVE, reason)
            yield Remove(**edit.need_fields(), phase=DeletionPhase.DROP, reason=reason)
