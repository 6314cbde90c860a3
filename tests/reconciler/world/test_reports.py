"""What the world makes of the reports of hosts."""

from __future__ import annotations

import dataclasses

import msgspec
import pytest

from reconciler.world.objects.object_state import Origin
from reconciler.world.pools.pool_status import update_pool_status
from reconciler.world.reports.heartbeat import Heartbeat
from reconciler.world.world import World
from schemas.report import Orphan
from tests.reconciler.world.scene import (
    FLEET,
    SMALL,
    Scene,
    machine,
    pool,
    report,
)
from tests.reconciler.world.situations import A0, POOL_A, UID, WEB, web_entries, web_on_pool


def test_what_a_host_keeps_back_is_not_given_away() -> None:
    """Its own admission counts so: a scheduler that did not would be rejected for ever."""
    scene = Scene({"pool.yaml": pool("pool-a", "spec: {reserved: {cpu: 1}}\n")})
    reported = report("pool-a")
    status = msgspec.structs.replace(
        reported.pools["pool-a"].status, allocatable={"cpu": 18, "memory": "30Gi"}
    )
    pools = {"pool-a": msgspec.structs.replace(reported.pools["pool-a"], status=status)}
    scene.report("pool-a", dataclasses.replace(reported, pools=pools))
    world = scene.world()
    assert world.pools["pool-a"].allocatable == {"cpu": 17_000, "memory": 30 << 30}
    known = world.objects[POOL_A]
    shown = update_pool_status(world.pools["pool-a"], known.record, scene.now)
    assert shown is not None
    assert {name: str(amount) for name, amount in shown.allocatable.items()} == {
        "cpu": "17",
        "memory": "30Gi",
    }
    assert str(shown.capacity["cpu"]) == "20"


def test_a_pool_is_what_is_declared_and_what_is_announced() -> None:
    scene = Scene({"pool.yaml": pool("pool-a", "spec: {unschedulable: true}\n", "{zone: z1}")})
    scene.report("pool-a", report("pool-a", labels={"zone": "z9", "topology.ironcore.dev/rack": "r1"}))
    state = scene.world().pools["pool-a"]
    assert (state.is_declared, state.is_cordoned, state.poollet) == (True, True, "pool-a")
    assert state.labels["zone"] == "z1"
    assert state.labels["topology.openkcm.dev/rack"] == "r1"
    assert state.allocatable == {"cpu": 20_000, "memory": 40 << 30}
    assert state.why_not_ready == ""


def test_an_announced_pool_is_known_before_live_has_it() -> None:
    scene = Scene({})
    scene.report("pool-a")
    world = scene.world()
    assert (world.objects[POOL_A].origin, world.objects[POOL_A].live) == (Origin.ANNOUNCED, None)


def test_where_pools_are_declared_an_announced_one_is_not_taken() -> None:
    scene = Scene({"gitvirt.yaml": f"fleet:\n  id: {FLEET}\npools: declared\n"})
    scene.report("pool-a")
    world = scene.world()
    assert POOL_A not in world.objects
    assert world.pools["pool-a"].why_not_ready


def test_classes_that_are_equal_are_offered_alike() -> None:
    scene = Scene(
        {
            "more.yaml": SMALL.replace("small", "same")
            + "---\n"
            + SMALL.replace("{name: small}", "{name: big}").replace("cpu: 2", "cpu: 9")
        }
    )
    scene.report("pool-a")
    world = scene.world()
    assert world.pools["pool-a"].classes == {"small", "same"}
    scene.source({"more.yaml": None})
    scene.step(world)
    assert world.pools["pool-a"].classes == {"small"}


def fresh(world: World) -> Heartbeat | None:
    return world.pools["pool-a"].heartbeat


def test_a_heartbeat_expires_when_the_report_does_not_change_for_its_timeout() -> None:
    scene = web_on_pool()
    scene.report("pool-a")
    world = scene.world()
    assert fresh(world) is Heartbeat.UNCONFIRMED
    scene.report("pool-a")
    scene.step(world)
    assert fresh(world) is Heartbeat.ALIVE
    assert scene.step(world, 73).dirty == frozenset()
    found = scene.step(world, 2)
    assert fresh(world) is Heartbeat.EXPIRED
    assert {POOL_A, WEB} <= found.dirty
    scene.report("pool-a")
    assert {POOL_A, WEB} <= scene.step(world).dirty
    assert world.pools["pool-a"].why_not_ready == ""


def test_the_heartbeat_timeout_is_that_of_the_report() -> None:
    scene = Scene({})
    scene.report("pool-a", report("pool-a", interval="1m"))
    world = scene.world()
    assert scene.step(world, 290).due is not None
    assert fresh(world) is Heartbeat.UNCONFIRMED
    scene.step(world, 20)
    assert fresh(world) is Heartbeat.EXPIRED


def test_who_leaves_is_offline_at_once_and_who_stops_is_not() -> None:
    scene = Scene({})
    scene.report("pool-a", report("pool-a", leaving="stopping"))
    world = scene.world()
    assert world.pools["pool-a"].why_not_ready == ""
    scene.report("pool-a", report("pool-a", leaving="leaving"))
    scene.step(world)
    assert fresh(world) is Heartbeat.LEFT


def test_a_report_of_another_fleet_says_nothing() -> None:
    scene = Scene({"pool.yaml": pool("pool-a")})
    scene.report("pool-a", report("pool-a", fleet="11111111-1111-4111-8111-111111111111"))
    world = scene.world()
    assert world.pools["pool-a"].announced is None
    assert "GV621" in {problem.code for problem in scene.step(world).problems}


def test_a_pool_of_another_poollet_is_not_announced() -> None:
    scene = Scene({"pool.yaml": pool("pool-a")})
    scene.report("eve", report("eve", pools=("eve", "pool-a")))
    world = scene.world()
    assert world.pools["pool-a"].announced is None
    assert world.pools["eve"].announced is not None
    assert "GV622" in {problem.code for problem in scene.step(world).problems}


def test_a_report_that_cannot_be_read_makes_its_pool_unknown_and_takes_nothing_away() -> None:
    scene = web_on_pool()
    scene.source({"pool.yaml": pool("pool-a")})
    scene.report("pool-a")
    world = scene.world()
    scene._commit("refs/poollets/pool-a", {"poollet.json": b"{"}, {}, has_parents=True)
    scene.step(world)
    assert world.pools["pool-a"].announced is None  # live says nothing of it yet
    assert "GV620" in {problem.code for problem in scene.step(world).problems}
    assert world.ledger.usage(POOL_A)["cpu"] == 2000


def test_the_word_of_the_pool_that_has_it_counts() -> None:
    scene = web_on_pool()
    scene.report("pool-a")
    world = scene.world()
    scene.report("pool-a", report("pool-a", entries=web_entries()))
    assert WEB in scene.step(world).dirty
    word = world.accepted_reports(WEB).report
    assert word is not None
    assert (word.phase, word.poollet) == ("present", "pool-a")


@pytest.mark.parametrize(
    ("poollet", "what", "is_refused"),
    [
        ("pool-b", web_entries(pool_name="pool-b"), True),  # not assigned there
        ("pool-b", web_entries(pool_name="pool-a"), True),  # not its pool
        ("pool-b", web_entries(A0, "gone", pool_name="pool-b"), False),  # an assignment that is over
        ("pool-a", web_entries(A0, "rejected"), False),
    ],
)
def test_the_word_of_others_does_not(
    poollet: str, what: dict[tuple[str, str], object], is_refused: bool
) -> None:
    scene = web_on_pool()
    scene.report(poollet, report(poollet, entries=what))
    world = scene.world()
    assert world.accepted_reports(WEB).report is None
    assert world.accepted_reports(WEB).claims == ()
    assert bool(world.accepted_reports(WEB).refused) == is_refused


def test_after_a_lost_live_reports_claim_what_they_have() -> None:
    scene = Scene({"web.yaml": machine("web-1")})
    scene.report("pool-a", report("pool-a", entries=web_entries()))
    world = scene.world()
    assert world.is_live_lost
    assert world.missing_hosts
    assert [(each.pool, each.uid) for each in world.accepted_reports(WEB).claims] == [("pool-a", UID)]
    scene.report("pool-a", report("pool-a", entries=web_entries()))
    scene.step(world)
    assert not world.missing_hosts
    scene.report("pool-b", report("pool-b", entries=web_entries(pool_name="pool-b")))
    scene.step(world)
    assert len(world.accepted_reports(WEB).claims) == 2
    assert world.accepted_reports(WEB).refused


def test_orphans_are_charged_once() -> None:
    scene = web_on_pool()
    orphan = Orphan(kind="Machine", pool="pool-a", id="x1", charge={"cpu": "1", "memory": "1Gi"})
    same = Orphan(
        kind="Machine",
        pool="pool-a",
        id="x2",
        uid=UID,
        namespace="default",
        name="web-1",
        charge={"cpu": "9"},
    )
    scene.report("pool-a", report("pool-a", orphans=(orphan, same)))
    world = scene.world()
    assert world.ledger.usage(POOL_A)["cpu"] == 3000
    scene.report("pool-a")
    scene.step(world)
    assert world.ledger.usage(POOL_A)["cpu"] == 2000
