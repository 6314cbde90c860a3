"""Volumes whose data is retained: how one comes back, and how it ends. Pure.

Theory of operation
-------------------
`deletion` retains a volume: its document moves to `.gitvirt/retained/`, with uid, assignment and status, and the pool is still charged for it.

    event                                             effect
    a file declares a volume of that name, and        it is that volume again: same uid, same pool, same data, no claim
    exactly one of that name is retained
    ... and several of that name are retained         none comes back: a person must say which one is meant
    its host is destroyed (Pool-Destroyed)            the document goes: the data is lost with the host
    a rewound `live` has it on a host that lost the   it is that host's by now, where that one reports it; else the document
    grant since, to one that reports so               goes, as the assignments of all other objects there
    its pool is lost, or unknown                      nothing

To delete the data for good, people declare the volume again with `deletionPolicy: Delete`, and then remove it.

Must never happen: an empty volume under the name of one whose data is retained, while there is one only; a retained document that is
dropped because its pool is silent; two objects with one uid.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import msgspec

from reconciler.decide.need import DeletionPhase, Remove
from reconciler.decide.object_edit import ObjectEdit
from reconciler.decide.pool_requests import PoolRequests, PoolStatus, status_of
from reconciler.plan.types import Action
from reconciler.world.objects.object_state import ObjectState, Origin
from reconciler.world.pools.grants import follow_grant
from reconciler.world.view import View
from schemas.kinds import Key, Kind
from schemas.model import Assignment


def retained_volume_for(view: View, known: ObjectState) -> ObjectState | None:
    """The retained volume that this new declaration brings back: the only one of its name, or None.

    A generated volume never brings one back: it belongs to another life of its machine.
    """
    if known.key.kind is not Kind.VOLUME or known.origin is not Origin.DECLARED or known.live is not None:
        return None
    kept = [each for each in view.retained_volumes.values() if each.key == known.key]
    return kept[0] if len(kept) == 1 else None


def restore(known: ObjectState, kept: ObjectState, now: datetime) -> ObjectEdit:
    """The edit of a volume that comes back, with identity, pool and data. Its old claim and its deletion ended with its former life."""
    record = msgspec.structs.replace(kept.record, deletion_timestamp="", claim=None)
    return ObjectEdit(known, record, now).log_change(Action.ADOPT, f"its data was retained on {record.pool}")


def is_being_restored(view: View, key: Key) -> bool:
    """Whether a retained volume comes back in this tick. A machine that needs it is placed in the next one, where it can reach the volume."""
    known = view.objects.get(key)
    return known is not None and retained_volume_for(view, known) is not None


def follow_kept(view: View, kept: ObjectState, status: PoolStatus | None) -> Assignment | None:
    """The assignment of a retained volume as its pool's grant is after this tick (`status`). None: its data was on a host that is gone."""
    assignment = kept.record.assignment
    assert assignment is not None, "the caller asked"
    if not is_granted_since(view, assignment, status):
        return follow_grant(assignment, status)
    pool = Key(Kind.VOLUME_POOL, "", assignment.pool)
    if not has_moved(view, kept, pool):
        return None
    grant = view.grant(pool)
    return msgspec.structs.replace(assignment, host=grant.host, epoch=grant.epoch, accepted=False)


def is_granted_since(view: View, assignment: Assignment, status: PoolStatus | None) -> bool:
    """Whether `live` was rewound to before another host got the grant of the pool: reports show that, and no request of people does."""
    grant = view.grant(Key(Kind.VOLUME_POOL, "", assignment.pool))
    granted = status.host.id if status is not None and status.host is not None else ""
    return grant.is_new and granted not in ("", assignment.host)


def has_moved(view: View, kept: ObjectState, pool: Key) -> bool:
    """Whether the host that has the grant now has the volume, by an entry or an orphan in the report of the pool's own poollet: the lost `live`
    may have had it as declared, retained, or not at all."""
    state = view.find_pool(pool)
    report = view.reports.by_poollet.get(state.poollet) if state is not None else None
    if state is None or report is None or report.host != state.grant.host:
        return False
    entry = report.entries.get(kept.key)
    reported = {entry.uid} if entry is not None and entry.is_there else set()
    return kept.record.uid in reported | {each.uid for each in report.orphans}


def discard_destroyed(view: View, requests: PoolRequests, now: datetime) -> Iterator[Remove]:
    """Those whose host is destroyed: its successor never had that data. One that is declared again in this very tick is taken
    back, and released as all that was there."""
    for kept in view.retained_volumes.values():
        assignment = kept.record.assignment
        if assignment is None or kept.key in view.objects:
            continue
        pool = Key(Kind.VOLUME_POOL, "", assignment.pool)
        status = requests.status.get(pool) or status_of(view, pool)
        if follow_kept(view, kept, status) is None:
            reason = f"host {assignment.host} of pool {assignment.pool} is destroyed, and its retained data with it"
            if is_granted_since(view, assignment, status):
                host = view.grant(pool).host
                reason = (
                    f"pool {assignment.pool} was granted to host {host} since, which does not have its data"
                )
            edit = ObjectEdit(kept, kept.record, now).log_change(Action.REMOVE, reason)
            yield Remove(**edit.need_fields(), phase=DeletionPhase.DROP, reason=reason)
