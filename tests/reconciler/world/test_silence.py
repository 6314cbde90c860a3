"""A report that is gone, or that is refused, has the same timeout as one that is not seen to change."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from reconciler.gitstore.repo import Snapshot
from reconciler.world.changes import WorldChanges
from reconciler.world.pools.pool_status import update_pool_status
from reconciler.world.record import Record
from reconciler.world.reports.heartbeat import Heartbeat
from reconciler.world.world import World
from schemas.kinds import Key, Kind
from schemas.model import MachinePoolStatus
from schemas.report import Orphan
from tests.reconciler.world.scene import (
    NOW,
    REPORTS,
    Scene,
    assignment_record,
    machine,
    pool,
    report,
    with_record,
)

WEB = Key(Kind.MACHINE, "default", "web")
UID = "6d0d0f8e-8d5b-4a53-9b53-1c1c3a3b8f10"
A1 = "00000000-0000-5000-8000-0000000000a1"
RESERVED = "spec:\n  reserved: {cpu: 2}\n"


class Quiet(Scene):
    """web on pool-a, whose report was seen to change; both are on live. `removed_refs` are refs that were removed."""

    def __init__(self) -> None:
        super().__init__({"pool.yaml": pool("pool-a", RESERVED), "web.yaml": machine("web")})
        self.removed_refs: set[str] = set()
        self.report("pool-a")
        status = update_pool_status(self.world().pools["pool-a"], Record(status=MachinePoolStatus()), NOW)
        texts = {
            "pool.yaml": with_record(pool("pool-a", RESERVED), Kind.MACHINE_POOL, Record(status=status)),
            "web.yaml": with_record(machine("web"), Kind.MACHINE, assignment_record("pool-a", A1, UID)),
        }
        self.live(texts)
        self.proven = self.world()
        self.report("pool-a")
        self.step(self.proven)

    def snapshot(self) -> Snapshot:
        found = super().snapshot()
        reports = {name: commit for name, commit in found.reports.items() if name not in self.removed_refs}
        return Snapshot(found.source, found.target, reports, found.default_branch)

    def pool_is(self, world: World) -> tuple[Heartbeat | None, bool]:
        """How far it can be relied on, and whether its status stays as live has it."""
        state, record = world.pools["pool-a"], world.objects[Key(Kind.MACHINE_POOL, "", "pool-a")].record
        return state.heartbeat, update_pool_status(state, record, self.now) == record.status


def is_lost(world: World) -> bool:
    return world.pools["pool-a"].is_lost


def remove_report(scene: Quiet) -> None:
    scene.removed_refs.add("pool-a")


def of_another_fleet(scene: Quiet) -> None:
    scene.report("pool-a", report("pool-a", fleet="5a1e9a5e-0d5c-4f0b-9a54-6d1b6f6f7f10"))


def broken(scene: Quiet) -> None:
    scene._commit(REPORTS + "pool-a", {"poollet.json": b"{"}, {})


def rename_in_report(scene: Quiet) -> None:
    scene.report("pool-a", report("pool-b"))


@pytest.mark.parametrize("silence", [remove_report, of_another_fleet, broken, rename_in_report])
def test_it_is_unknown_after_its_heartbeat_timeout_and_not_before(silence: Callable[[Quiet], None]) -> None:
    scene = Quiet()
    world = scene.proven
    assert scene.pool_is(world) == (Heartbeat.ALIVE, True)
    silence(scene)
    found: WorldChanges = scene.step(world)
    # Its host cannot be asked, so nothing new goes there; but nothing there is unknown yet.
    assert scene.pool_is(world) == (Heartbeat.UNCONFIRMED, True)
    assert not is_lost(world)
    assert "heartbeat timeout" in world.pools["pool-a"].why_not_ready
    assert found.due is not None
    assert found.due - scene.now <= timedelta(seconds=75)
    another = World(
        heartbeats_seen=world.reports.heartbeats_seen
    )  # after a failure, or another process that knows when reports changed
    scene.step(another)
    assert another.pools["pool-a"] == world.pools["pool-a"]
    # Refused reports that go on changing prove nothing.
    for _ in range(4):
        if silence is not remove_report:
            silence(scene)
        scene.step(world, 10)
        assert not is_lost(world)
    found = scene.step(world, 75)
    assert is_lost(world)
    assert not scene.pool_is(world)[1]
    assert WEB in found.dirty
    # Heard again, it is as it was.
    scene.removed_refs.clear()
    scene.report("pool-a")
    assert WEB in scene.step(world).dirty
    scene.report("pool-a")
    scene.step(world)
    assert scene.pool_is(world)[0] is Heartbeat.ALIVE
    assert world.pools["pool-a"].why_not_ready == ""


def test_a_report_that_comes_back_in_time_was_never_away() -> None:
    scene = Quiet()
    world, before = scene.proven, scene.proven.pools["pool-a"]
    remove_report(scene)
    scene.step(world, 30)
    scene.removed_refs.clear()
    scene.report("pool-a")
    scene.step(world)
    assert world.pools["pool-a"] == before
    scene.step(world, 70)
    assert not is_lost(world)  # its timeout began again


def test_its_room_is_what_live_has() -> None:
    scene = Quiet()
    before = scene.proven.pools["pool-a"].allocatable
    remove_report(scene)
    scene.step(scene.proven)
    assert scene.proven.pools["pool-a"].allocatable == before == {"cpu": 18_000, "memory": 40 << 30}


def test_a_poollet_that_never_reported_has_no_heartbeat_timeout() -> None:
    """There is nothing on live that could stay until then."""
    scene = Scene({"pool.yaml": pool("pool-a")})
    scene.live()
    world = scene.world()
    assert world.pools["pool-a"].heartbeat is None
    scene.report("pool-a", report("pool-b"))
    scene.step(world)
    assert world.pools["pool-a"].heartbeat is None


def test_one_that_left_stays_offline_when_its_ref_goes() -> None:
    scene = Quiet()
    world = scene.proven
    scene.report("pool-a", report("pool-a", leaving="leaving"))
    scene.step(world)
    assert world.pools["pool-a"].heartbeat is Heartbeat.LEFT
    remove_report(scene)
    scene.step(world)
    assert world.pools["pool-a"].why_not_ready


def test_orphans_of_a_silent_host_make_no_room() -> None:
    scene = Quiet()
    world = scene.proven
    orphan = Orphan(
        kind="Machine", pool="pool-a", id="x", uid=UID, namespace="default", name="x", charge={"cpu": "1"}
    )
    scene.report("pool-a", report("pool-a", orphans=[orphan]))
    scene.step(world)
    remove_report(scene)
    scene.step(world)
    assert world.pools["pool-a"].why_not_ready
