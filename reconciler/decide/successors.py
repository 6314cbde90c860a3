"""Machines that wait only until others are gone, as after a rename that keeps a volume or an address: where each will be placed then. Pure.

For predictions: a tick places such a machine once the others are reported gone, and not before.

Limits: the scheduler is asked with the fleet as a plan leaves it; room may be taken by then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime

import msgspec

from reconciler.decide.need import Keep, Place
from reconciler.decide.obstacles import VOLUME_IN_USE, obstacles
from reconciler.decide.placement import build_cluster_state, policy, requests
from reconciler.decide.references import owner_of
from reconciler.plan.types import Plan
from reconciler.schedule.decision import Placed
from reconciler.schedule.scheduler import schedule
from reconciler.world.objects.object_state import ObjectState
from reconciler.world.objects.validation import TEMPORARY as TAKEN
from reconciler.world.objects.validation import find_rivals
from reconciler.world.record import Record
from reconciler.world.view import View
from schemas.kinds import Key, Kind
from schemas.model import MachineStatus, VolumeStatus
from schemas.problem import Severity

# Obstacles that end by themselves: what another object has until it is gone, and a name or a volume of an earlier life.
TEMPORARY = TAKEN | {VOLUME_IN_USE, "RestoringRetainedVolume", "PreviousObjectDeleting"}


def place_successors(view: View, plan: Plan, needs: Sequence[Keep], now: datetime) -> Iterator[Keep]:
    """Machines that are on no pool after the plan only because others must be gone first, each where it fits then.

    Where nothing leaves, the scheduler would refuse again what the plan has as unschedulable.
    """
    records = {need.key: need.record for need in needs}
    held = {key for pending in plan.pending_approvals for key in pending.keys}
    refused = frozenset() if is_any_leaving(view, records) else {each.key for each in plan.unschedulable}
    places = [
        Place(key=key, before=None, record=without_assignment(records.get(key, known.record)))
        for key, known in sorted(view.objects.items())
        if key.kind is Kind.MACHINE
        and key not in refused
        and known.is_active
        and not records.get(key, known.record).pool
        and waits_for_others(view, known, held)
    ]
    if not places:
        return
    made = requests(view, places, now)
    cluster = build_cluster_state(view, made, needs)
    for decision in schedule(made, cluster, policy(view), is_explained=False):
        if isinstance(decision, Placed) and decision.key.kind is Kind.MACHINE:
            record = records.get(decision.key, view.objects[decision.key].record)
            yield Keep(
                key=decision.key, before=None, record=msgspec.structs.replace(record, pool=decision.pool)
            )


def is_any_leaving(view: View, records: Mapping[Key, Record]) -> bool:
    """Whether the plan, or an order that `live` has, takes any object off its pool."""
    relations = view.relations
    if relations.absent or relations.evicting or relations.kept or any(relations.leaving.values()):
        return True
    places = ((view.objects.get(key), record) for key, record in records.items())
    return any(known is not None and known.record.pool not in ("", record.pool) for known, record in places)


def waits_for_others(view: View, known: ObjectState, held: Collection[Key]) -> bool:
    """Whether all that blocks it ends when machines are gone that the source removes, and none of these deletions is `held`."""
    if any(fault.severity is Severity.ERROR for fault in view.faults.get(known.key, ())):
        return False
    before = {
        owner_of_rival(view, rival)
        for rival in find_rivals(known, view.relations.uses.get(known.key, ()), view.relations)
    }
    if any(each in held or is_staying(view, each) for each in before - {known.key}):
        return False
    return all(each.reason in TEMPORARY for each in obstacles(view, known))


def owner_of_rival(view: View, rival: Key) -> Key:
    """The machine that has the volume, the interface or the address; of what it generated, the machine itself."""
    found = view.objects.get(rival)
    return (owner_of(found) if found is not None else None) or rival


def is_staying(view: View, key: Key) -> bool:
    found = view.objects.get(key)
    return found is not None and found.is_active and found.record.pool != ""


def without_assignment(record: Record) -> Record:
    """The record as if the object was never placed. Only this copy changes."""
    status = record.status
    if isinstance(status, MachineStatus | VolumeStatus):
        status = msgspec.structs.replace(status, assignment=None)
    return msgspec.structs.replace(record, pool="", status=status)
