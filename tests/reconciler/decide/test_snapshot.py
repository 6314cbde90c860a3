"""A volume snapshot gets the assignment of its volume once that is made, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reconciler.decide.decide import decide_needs
from reconciler.decide.need import Adopt, Blocked, Keep, Need, PoolUnreachable
from reconciler.world.reports.heartbeat import Heartbeat
from reconciler.world.reports.reports import ObjectReport
from schemas import live_layout
from schemas.kinds import Key, Kind
from schemas.model import Assignment
from schemas.validate.finding import Finding
from tests.reconciler.decide.small import NOW, Small, make_object, uid_of, volume

DATA = Key(Kind.VOLUME, "default", "data")
DAILY = Key(Kind.VOLUME_SNAPSHOT, "default", "daily")
MADE = {"volumeID": "sim://1", "state": "Available"}
LOST = {"heartbeat": Heartbeat.EXPIRED}


def world(on: str = "a", *, made: bool = True, snapshot_on: str = "", **metadata: Any) -> Small:
    found = Small().volume_pool("a").volume_pool("b")
    found.add(volume("data", on=on, status=MADE if made else None))
    return found.add(
        make_object(
            Kind.VOLUME_SNAPSHOT, "daily", {"volumeRef": {"name": "data"}}, on=snapshot_on, **metadata
        )
    )


def with_claim(pool: str) -> Small:
    found = world("")
    report = ObjectReport(pool, pool, uid=uid_of("daily"), assignment="a1", phase="present", pool=pool)
    found.claims[DAILY] = (report,)
    return found


def with_destroyed_host(snapshot_on: str = "") -> Small:
    """In this tick the host of its volume loses the grant, while the volume on live still names it."""
    return world(snapshot_on=snapshot_on).volume_pool("a", **LOST).confirm_destroyed("a")


def without_volume() -> Small:
    found = world()
    del found.objects[DATA]
    return found


TABLE: dict[str, tuple[Callable[[], Small], type[Need], str]] = {
    "its volume is made": (world, Keep, "a"),
    "its volume is assigned and not made, so its pool may still reject it": (
        lambda: world(made=False),
        Keep,
        "",
    ),
    "its volume is on no pool": (lambda: world(""), Keep, ""),
    "its volume does not exist": (without_volume, Keep, ""),
    "the host of its volume is destroyed in this tick": (with_destroyed_host, Keep, ""),
    "assigned, and its host is destroyed in this tick": (lambda: with_destroyed_host("a"), Keep, ""),
    "assigned": (lambda: world(snapshot_on="a"), Keep, "a"),
    "assigned, and its volume is on no pool": (lambda: world("", snapshot_on="a"), Keep, "a"),
    "assigned, and its volume is on another pool now": (lambda: world("b", snapshot_on="a"), Keep, "a"),
    "assigned, reported": (lambda: world(snapshot_on="a").with_report(DAILY, "present"), Keep, "a"),
    "assigned, and a rejection changes nothing": (
        lambda: world(snapshot_on="a").with_report(DAILY, "rejected"),
        Keep,
        "a",
    ),
    "assigned, without a heartbeat": (
        lambda: world(snapshot_on="a").volume_pool("a", **LOST),
        PoolUnreachable,
        "a",
    ),
    "reported, and live does not know it": (lambda: with_claim("b"), Adopt, "b"),
    "paused": (lambda: world(annotations={live_layout.PAUSED: "true"}), Keep, ""),
}


@pytest.mark.parametrize(("make", "want", "pool"), TABLE.values(), ids=TABLE)
def test_a_snapshot_goes_with_its_volume(make: Callable[[], Small], want: type[Need], pool: str) -> None:
    (need,) = [each for each in decide_needs(make(), {DAILY}, NOW) if each.key == DAILY]
    assert (type(need), need.record.pool) == (want, pool)


def test_the_assignment_is_that_of_the_volume() -> None:
    made = world()
    (need,) = [each for each in decide_needs(made, {DAILY}, NOW) if each.key == DAILY]
    assert need.record.assignment == made.objects[DATA].record.assignment
    assert isinstance(need.record.assignment, Assignment)
    assert (need.record.assignment.host, need.record.assignment.epoch) == ("a", 1)


def test_an_invalid_snapshot_gets_no_assignment() -> None:
    made = world()
    made.faults[DAILY] = (Finding("daily.yaml", 0, str(DAILY), "/spec", "GV310", "there is no Volume"),)
    (need,) = [each for each in decide_needs(made, {DAILY}, NOW) if each.key == DAILY]
    assert isinstance(need, Blocked)
    assert need.record.pool == ""
