"""A volume snapshot is assigned to the pool of its volume once that is made, and to no other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import pytest

from reconciler.decide.decide import decide_needs
from reconciler.decide.need import Adopt, Blocked, Keep, Need, PoolUnreachable
from reconciler.world.objects.object_state import ObjectState
from reconciler.world.reports.heartbeat import Heartbeat
from reconciler.world.reports.object_report import ObjectReport
from reconciler.world.source.source_head import SourceHead
from schemas import live_layout
from schemas.kinds import Key, Kind
from schemas.model import Assignment, VolumeSnapshotStatus
from schemas.validate.finding import Finding
from tests.reconciler.decide.small import NOW, SOURCE, Small, make_object, uid_of, volume

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
    found.claims[DAILY], found.is_lost = (report,), True
    return found


def claimed_wrongly() -> Small:
    """By a host that `live` never assigned it to."""
    found = with_claim("b")
    found.is_lost = False
    return found


def with_destroyed_host(snapshot_on: str = "") -> Small:
    """In this tick the host of its volume loses the grant, while the volume on live still names it."""
    return world(snapshot_on=snapshot_on).volume_pool("a", **LOST).confirm_destroyed("a")


TAKEN = {"snapshotID": "sim://2", "state": "Ready"}
REPORTED_LOST = {
    "snapshotID": "sim://2",
    "state": "Failed",
    "conditions": [{"type": "Ready", "status": "False", "reason": "Lost"}],
}
COPY = Key(Kind.VOLUME, "default", "copy")
FROM_DAILY = {"dataSource": {"volumeSnapshotRef": {"name": "daily"}}}


def write(into: Small, needs: Iterable[Need]) -> Small:
    """`live` after the tick that decided these, in the next tick."""
    for need in needs:
        into.add(msgspec.structs.replace(into.objects[need.key], record=need.record))
    into.head = SourceHead(SOURCE)
    return into


def after_destruction(*, made: bool = True) -> Small:
    """The snapshot's host was destroyed, and its volume is made again on another pool, with the same uid and empty."""
    found = world(snapshot_on="a", status=TAKEN if made else None)
    found.volume_pool("a", **LOST).confirm_destroyed("a")
    write(found, decide_needs(found, {DAILY, DATA}, NOW))
    return found.add(volume("data", on="b", status=MADE))


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
    "reported, and live was lost": (lambda: with_claim("b"), Adopt, "b"),
    "reported, and live is whole": (claimed_wrongly, Keep, ""),
    "paused": (lambda: world(annotations={live_layout.PAUSED: "true"}), Keep, ""),
}


@pytest.mark.parametrize(("make", "want", "pool"), TABLE.values(), ids=TABLE)
def test_a_snapshot_goes_with_its_volume(make: Callable[[], Small], want: type[Need], pool: str) -> None:
    (need,) = [each for each in decide_needs(make(), {DAILY}, NOW) if each.key == DAILY]
    assert (type(need), need.record.pool) == (want, pool)


def test_the_assignment_is_where_the_volume_is_and_has_an_id_of_its_own() -> None:
    """A host that deletes a snapshot ends its assignment: with the id of the volume no other snapshot of that could be taken."""
    made = world()
    (need,) = [each for each in decide_needs(made, {DAILY}, NOW) if each.key == DAILY]
    found, of_volume = need.record.assignment, made.objects[DATA].record.assignment
    assert isinstance(found, Assignment)
    assert of_volume is not None
    assert (found.pool, found.host, found.epoch) == (of_volume.pool, of_volume.host, of_volume.epoch)
    assert (found.host, found.epoch) == ("a", 1)
    assert found.id not in ("", of_volume.id)


def test_an_invalid_snapshot_gets_no_assignment() -> None:
    made = world()
    made.faults[DAILY] = (Finding("daily.yaml", 0, str(DAILY), "/spec", "GV310", "there is no Volume"),)
    (need,) = [each for each in decide_needs(made, {DAILY}, NOW) if each.key == DAILY]
    assert isinstance(need, Blocked)
    assert need.record.pool == ""


@pytest.mark.parametrize("made", [True, False], ids=["made", "assigned, and not reported yet"])
def test_a_snapshot_of_a_destroyed_host_is_lost_and_never_taken_again(*, made: bool) -> None:
    """The volume of that name has the same uid and no data: a restore would give an empty disk."""
    found = after_destruction(made=made)
    first = found.objects[DAILY].record
    for _ in range(2):
        write(found, decide_needs(found, {DAILY, DATA}, NOW))
        assert found.objects[DAILY].record == first
    assert isinstance(first.status, VolumeSnapshotStatus)
    assert (first.status.state, first.status.assignment, first.pool) == ("Failed", None, "")
    assert first.status.snapshot_id == ("sim://2" if made else "")
    shown = first.condition("Ready")
    assert shown is not None
    assert (shown.status, shown.reason) == ("False", "Lost")
    assert f"host a of pool a is destroyed (commit {SOURCE[:12]})" in shown.message
    assert "delete the file of the snapshot, and declare a new snapshot" in shown.message


def test_a_lost_snapshot_that_its_host_has_after_all_is_adopted() -> None:
    found = after_destruction()
    report = ObjectReport("a", "a", uid=uid_of("daily"), assignment="a1", phase="present", pool="a")
    found.claims[DAILY] = (report,)
    (need,) = [each for each in decide_needs(found, {DAILY}, NOW) if each.key == DAILY]
    assert (type(need), need.record.pool) == (Adopt, "a")


RESTORES: dict[str, tuple[Callable[[], Small], ObjectState, str]] = {
    "its snapshot is lost": (after_destruction, volume("copy", spec=FROM_DAILY), "SnapshotLost"),
    "it is assigned and not made, and its snapshot is lost": (
        after_destruction,
        volume("copy", on="b", spec=FROM_DAILY),
        "SnapshotLost",
    ),
    "it was made before its snapshot was lost": (
        after_destruction,
        volume("copy", on="b", spec=FROM_DAILY, status=MADE),
        "",
    ),
    "it is released with its snapshot in this tick": (
        lambda: with_destroyed_host("a"),
        volume("copy", on="a", spec=FROM_DAILY, status=MADE),
        "SnapshotLost",
    ),
    "its snapshot was reported lost": (
        lambda: world(snapshot_on="a", status=REPORTED_LOST),
        volume("copy", spec=FROM_DAILY),
        "SnapshotLost",
    ),
    "its snapshot is ready": (
        lambda: world(snapshot_on="a", status=TAKEN),
        volume("copy", spec=FROM_DAILY),
        "",
    ),
}


@pytest.mark.parametrize(("make", "copy", "want"), RESTORES.values(), ids=RESTORES)
def test_a_volume_of_a_lost_snapshot_is_blocked_with_that_reason(
    make: Callable[[], Small], copy: ObjectState, want: str
) -> None:
    (need,) = [each for each in decide_needs(make().add(copy), {DAILY}, NOW) if each.key == COPY]
    assert (need.reason if isinstance(need, Blocked) else "") == want
    if want:
        shown = need.record.condition("Accepted")
        assert shown is not None
        assert "the data of VolumeSnapshot daily is lost" in shown.message
