"""What one commit may take from a host and give to another: only what the host had lost before."""

from __future__ import annotations

import pytest

from reconciler.decide.decide import make_plan
from reconciler.world.changes import WorldChanges
from reconciler.world.objects.object_state import ObjectState
from reconciler.world.record import SCHEDULED, Record
from tests.reconciler.decide.small import NOW, Small, machine, order_eviction, volume

ROOM = {"cpu": 9000, "memory": 9, "storage": 9 << 30}


def plan_record(known: ObjectState, phase: str) -> Record:
    """Its record after the tick in which its pool reports that phase."""
    world = Small().add(known).pool("a", allocatable=ROOM).pool("b", allocatable=ROOM)
    world.volume_pool("a", allocatable=ROOM, classes=frozenset({"fast"}))
    world.volume_pool("b", allocatable=ROOM, classes=frozenset({"fast"})).with_report(known.key, phase)
    plan = make_plan(world, WorldChanges(frozenset({known.key})), NOW)
    (found,) = [each.after for each in plan.changes if each.key == known.key]
    assert found is not None
    return found


@pytest.mark.parametrize("known", [machine("web", on="a"), volume("data", on="a")], ids=["machine", "volume"])
def test_what_is_gone_without_an_order_is_withdrawn_by_one_commit_and_placed_by_the_next(
    known: ObjectState,
) -> None:
    found = plan_record(known, "gone")
    assert (found.pool, found.assignment) == ("", None)
    shown = found.condition(SCHEDULED)
    assert shown is not None
    assert (shown.status, shown.reason) == ("False", "Withdrawn")


def test_what_its_host_was_ordered_to_remove_is_placed_as_soon_as_it_is_gone() -> None:
    known = order_eviction(machine("web", on="a"))
    found = plan_record(known, "gone")
    assert found.assignment is not None
    assert known.record.assignment is not None
    assert found.assignment.id != known.record.assignment.id


@pytest.mark.parametrize("known", [machine("web", on="a"), volume("data", on="a")], ids=["machine", "volume"])
def test_what_its_host_rejected_is_placed_on_another_pool_at_once(known: ObjectState) -> None:
    assert plan_record(known, "rejected").pool == "b"
