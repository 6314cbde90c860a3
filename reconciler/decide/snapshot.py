"""What a volume snapshot that stays needs. Pure.

A snapshot is never placed: once its volume is made it gets the pool of the volume, with host and epoch, and keeps it when the volume goes. Its
assignment has an id of its own, so that it can outlive its volume, and be deleted by an order of its own: a host that deletes it ends the id, and
creates nothing under that any more.

When its host is destroyed, its data is gone. It stays `Failed` with the reason `Lost` (`apply_report.mark_lost`) and without an assignment until people
delete it: its volume comes back with the same uid and empty, and a snapshot of that would restore an empty disk. Only a host that reports
the snapshot itself gets it back.

Must never happen: a snapshot that was lost is taken again; a snapshot is assigned to a pool that does not have its volume, or under a grant that ends in this tick; an assigned
snapshot moves; two objects have one assignment.
"""

from __future__ import annotations

from reconciler.decide.apply_report import PoolFact, adopt, adoption_claims, apply_report
from reconciler.decide.claims import may_return
from reconciler.decide.deletion import is_paused, was_made
from reconciler.decide.need import Adopt, Blocked, Need
from reconciler.decide.object_edit import ObjectEdit, assignment_id
from reconciler.decide.obstacles import first_obstacle
from reconciler.decide.outcome import keep, pause, recover, wait_for_pool
from reconciler.plan.types import Action
from reconciler.world.pools.grants import Grant
from reconciler.world.record import ACCEPTED
from reconciler.world.view import View
from schemas.kinds import Key, Kind
from schemas.model import VolumeSnapshot, VolumeSnapshotStatus


def decide_snapshot(view: View, edit: ObjectEdit, fact: PoolFact) -> Need:
    """Paused, reported, unassigned, lost pool, assigned: in this order. An assigned one is not asked for obstacles: it exists already."""
    if (recovered := recover(view, edit, fact)) is not None:
        return recovered
    if is_paused(edit.known):
        return pause(view, edit, fact)
    edit = apply_report(edit, fact)
    if edit.assignment is None:
        return assign_with_volume(view, edit, fact)
    if fact.is_lost:
        return wait_for_pool(view, edit, edit.assignment.pool)
    return keep(edit.clear_condition(ACCEPTED))


def assign_with_volume(view: View, edit: ObjectEdit, fact: PoolFact) -> Need:
    """Adopt it, leave it lost, block it, or assign it to the pool of its volume.

    A volume that was not made yet gives none: its pool may still refuse it, and another pool would have it then.
    """
    snapshot = edit.known.object
    assert isinstance(snapshot, VolumeSnapshot), "by the kind of its key"
    claims = [each for each in adoption_claims(view, edit, fact) if may_return(view, edit.known, each)]
    if len(claims) == 1 and (adopted := adopt(view, edit, claims[0])) is not None:
        return Adopt(**adopted.need_fields())
    if isinstance(edit.record.status, VolumeSnapshotStatus) and edit.record.status.state == "Failed":
        return keep(edit.clear_condition(ACCEPTED))  # a host that has it reports it; without one it is lost
    if found := first_obstacle(view, edit.known):
        edit = edit.set_condition(ACCEPTED, "False", *found)
        if edit.record != edit.known.record:
            edit = edit.log_change(Action.BLOCKED, found.message)
        return Blocked(**edit.need_fields(), reason=found.reason)
    edit = edit.clear_condition(ACCEPTED)
    volume = view.objects.get(Key(Kind.VOLUME, snapshot.namespace, snapshot.spec.volume_ref.name))
    assignment = volume.record.assignment if volume is not None else None
    # A pool may still reject a volume that it has not made, and then it is placed elsewhere.
    if volume is None or assignment is None or not was_made(volume.record.status):
        return keep(edit)
    # What `live` says of the volume is older than what this tick makes of its pool's grant: it may be released, or another host's.
    if Key(Kind.VOLUME_POOL, "", assignment.pool) in fact.ended:
        return keep(edit)
    grant = Grant(assignment.host, assignment.epoch)
    edit = edit.assign(assignment.pool, assignment_id(edit.record.uid, view.live_commit), grant)
    return keep(edit.log_change(Action.SCHEDULE, f"with volume {volume.key.name}"))
