"""The input of the scheduler, given a World."""

from __future__ import annotations

from datetime import timedelta

import pytest

from reconciler.decide import placement as placing
from reconciler.decide.need import Place
from reconciler.decide.placement.quotas import sum_used
from reconciler.schedule.decision import Decision, Placed, Predicate, Unschedulable
from reconciler.schedule.scheduler import schedule
from reconciler.world.record import NOTHING, Record, stamp
from reconciler.world.world import World
from schemas.kinds import Key, Kind
from schemas.live_layout import SHARE
from schemas.model import MachineStatus, Rejection, ResourceQuota
from schemas.model.capacity import WHOLE_HOST
from schemas.report import PoolReport, Report, ReportedPoolStatus
from schemas.report.objects import ObjectRef
from tests.reconciler.world.scene import (
    Scene,
    assignment_record,
    machine,
    pool,
    report,
    using,
    volume,
    volume_pool,
    with_record,
)

UID = "6d0d0f8e-8d5b-4a53-9b53-1c1c3a3b8f10"
SPREAD = "  antiAffinity:\n    labelSelector: {matchLabels: {app: web}}\n"
LABELLED = "  labels: {app: web}\n"


def place(key: Key, record: Record = NOTHING, near_pool: str = "") -> Place:
    return Place(key=key, before=None, record=record, near_pool=near_pool)


def key(name: str, kind: Kind = Kind.MACHINE) -> Key:
    return Key(kind, "default", name)


def ask_scheduler(scene: Scene, world: World, *asks: Place) -> dict[str, Decision]:
    requests = placing.requests(world, asks, scene.now)
    found = schedule(requests, placing.build_cluster_state(world, requests, asks), placing.policy(world))
    return {each.key.name: each for each in found}


def why(decision: Decision) -> set[Predicate]:
    assert isinstance(decision, Unschedulable), decision
    return {reason.predicate for refusal in decision.refusals for reason in refusal.reasons}


def test_a_machine_is_placed_along_with_its_volumes() -> None:
    scene = Scene({"web.yaml": machine("web-1", using("data")), "data.yaml": volume("data")})
    scene.report("pool-a", report("pool-a", volume_pools=("pool-a",)))
    world = scene.world()
    found = ask_scheduler(scene, world, place(key("web-1")), place(key("data", Kind.VOLUME)))
    assert list(found) == ["web-1"]
    placed = found["web-1"]
    assert isinstance(placed, Placed)
    assert (placed.pool, placed.volumes) == ("pool-a", ((key("data", Kind.VOLUME), "pool-a"),))


def test_a_volume_alone_is_placed_beside_its_machine() -> None:
    scene = Scene({"data.yaml": volume("data")})
    scene.report("pool-a", report("pool-a", volume_pools=("pool-a",)))
    found = ask_scheduler(scene, scene.world(), place(key("data", Kind.VOLUME), near_pool="pool-a"))
    assert isinstance(found["data"], Placed)


DAILY = "apiVersion: storage.ironcore.dev/v1alpha1\nkind: VolumeSnapshot\nmetadata: {name: daily}\nspec: {volumeRef: {name: data}}\n"
FROM_DAILY = "  dataSource:\n    volumeSnapshotRef: {name: daily}\n"


@pytest.mark.parametrize("taken_on", ["", "pool-a", "pool-b"])
def test_a_volume_from_a_snapshot_goes_only_where_the_snapshot_is(taken_on: str) -> None:
    scene = Scene({"new.yaml": volume("new", FROM_DAILY), "daily.yaml": DAILY})
    for name in ("pool-a", "pool-b"):
        scene.report(name, report(name, volume_pools=(name,)))
    if taken_on:
        order = assignment_record(taken_on, kind=Kind.VOLUME_SNAPSHOT)
        scene.live({"daily.yaml": with_record(DAILY, Kind.VOLUME_SNAPSHOT, order)})
    found = ask_scheduler(scene, scene.world(), place(key("new", Kind.VOLUME)))["new"]
    if taken_on:
        assert isinstance(found, Placed)
        assert found.volumes == ((key("new", Kind.VOLUME), taken_on),)
        return
    assert isinstance(found, Unschedulable)
    assert {each.pool for each in found.refusals} == {"pool-a", "pool-b"}
    assert why(found) == {Predicate.SNAPSHOT}


def test_a_machine_goes_where_the_snapshot_of_its_volume_is() -> None:
    scene = Scene(
        {
            "web.yaml": machine("web-1", using("new")),
            "new.yaml": volume("new", FROM_DAILY),
            "daily.yaml": DAILY,
        }
    )
    for name in ("pool-a", "pool-b"):
        scene.report(name, report(name, volume_pools=(name,), labels={"rack": name}))
        scene.source({f"{name}.yaml": volume_pool(name).replace("store-a", name)})
    order = assignment_record("pool-b", kind=Kind.VOLUME_SNAPSHOT)
    scene.live({"daily.yaml": with_record(DAILY, Kind.VOLUME_SNAPSHOT, order)})
    asks = place(key("web-1")), place(key("new", Kind.VOLUME))
    found = ask_scheduler(scene, scene.world(), *asks)["web-1"]
    assert isinstance(found, Placed)
    assert (found.pool, found.volumes) == ("pool-b", ((key("new", Kind.VOLUME), "pool-b"),))


def test_ephemeral_volumes_are_volumes_of_the_request() -> None:
    ephemeral = (
        "  volumes:\n    - name: scratch\n      ephemeral:\n        volumeTemplate:\n"
        "          spec: {volumeClassRef: {name: fast}, resources: {storage: 1Gi}}\n"
    )
    scene = Scene({"web.yaml": machine("web-1", ephemeral)})
    scene.report("pool-a", report("pool-a", volume_pools=("pool-a",)))
    placed = ask_scheduler(scene, scene.world(), place(key("web-1")))["web-1"]
    assert isinstance(placed, Placed)
    assert placed.volumes == ((key("web-1-scratch", Kind.VOLUME), "pool-a"),)


def test_an_assignment_takes_capacity_and_its_end_frees_it() -> None:
    web = with_record(machine("web-1"), Kind.MACHINE, assignment_record("pool-a", "1", UID))
    scene = Scene({"web.yaml": machine("web-1"), "b.yaml": machine("b")})
    scene.live({"web.yaml": web})
    scene.report("pool-a", report("pool-a", 1))
    world = scene.world()
    assert why(ask_scheduler(scene, world, place(key("b")))["b"]) == {Predicate.CAPACITY}
    assert isinstance(ask_scheduler(scene, world, place(key("web-1")))["web-1"], Placed)
    taken_back = place(key("b"), assignment_record("pool-a"))
    requests = placing.requests(world, [place(key("b"))], scene.now)
    room = placing.build_cluster_state(world, requests, [place(key("web-1")), taken_back])
    assert room.free["pool-a"] == {"cpu": 0, "memory": 0}
    assert room.machines["pool-a"] == 1


def test_a_pool_that_reports_only_class_counts_is_shared_by_them() -> None:
    status = ReportedPoolStatus(
        state="Ready",
        available_machine_classes=(ObjectRef(name="small"),),
        capacity={"class/machine.small": 2},
    )
    web = with_record(machine("web-1"), Kind.MACHINE, assignment_record("pool-a", "1", UID))
    scene = Scene({"web.yaml": machine("web-1"), "b.yaml": machine("b"), "c.yaml": machine("c")})
    scene.live({"web.yaml": web})
    base = report("pool-a")
    scene.report("pool-a", Report(poollet=base.poollet, pools={"pool-a": PoolReport(status=status)}))
    world = scene.world()
    requests = placing.requests(world, [place(key("b"))], scene.now)
    assert placing.build_cluster_state(world, requests).free["pool-a"] == {SHARE: WHOLE_HOST // 2}
    found = ask_scheduler(scene, world, place(key("b")), place(key("c")))
    assert isinstance(found["b"], Placed)
    assert why(found["c"]) == {Predicate.CAPACITY}


def test_anti_affinity_of_a_placed_machine_keeps_others_away() -> None:
    text = machine("web-1", SPREAD, LABELLED)
    scene = Scene({"web.yaml": text, "b.yaml": machine("b", meta=LABELLED), "c.yaml": machine("c")})
    scene.live({"web.yaml": with_record(text, Kind.MACHINE, assignment_record("pool-a", "1", UID))})
    scene.report("pool-a")
    world = scene.world()
    assert why(ask_scheduler(scene, world, place(key("b")))["b"]) == {Predicate.ANTI_AFFINITY}
    assert isinstance(ask_scheduler(scene, world, place(key("c")))["c"], Placed)
    # It may go back to where it was alone.
    assert isinstance(ask_scheduler(scene, world, place(key("web-1")))["web-1"], Placed)


def test_placement_counts_follow_the_world() -> None:
    text = machine("web-1", meta=LABELLED)
    apart = machine("b", SPREAD, LABELLED)
    scene = Scene({"web.yaml": text, "b.yaml": apart})
    scene.live()
    scene.report("pool-a")
    world = scene.world()
    assert isinstance(ask_scheduler(scene, world, place(key("b")))["b"], Placed)
    scene.live({"web.yaml": with_record(text, Kind.MACHINE, assignment_record("pool-a", "1", UID))})
    scene.step(world)
    assert why(ask_scheduler(scene, world, place(key("b")))["b"]) == {Predicate.ANTI_AFFINITY}


def test_a_rejection_counts_until_its_backoff_is_over() -> None:
    scene = Scene({"web.yaml": machine("web-1")})
    scene.report("pool-a")
    world = scene.world()
    refused = Rejection(pool="pool-a", reason="Full", message="no room", count=3, time=stamp(scene.now))
    ask = place(key("web-1"), Record(status=MachineStatus(rejections=(refused,))))
    for seconds, counts in ((0, True), (39, True), (41, False)):
        scene.now += timedelta(seconds=seconds)
        decision = ask_scheduler(scene, world, ask)["web-1"]
        assert (isinstance(decision, Unschedulable) and why(decision) == {Predicate.REJECTED}) == counts
        scene.now -= timedelta(seconds=seconds)


def test_a_pin_binds_and_a_reference_of_the_reconciler_does_not() -> None:
    pinned = machine("web-1", "  machinePoolRef: {name: pool-b}\n")
    scene = Scene({"web.yaml": pinned})
    scene.report("pool-a")
    world = scene.world()
    assert Predicate.PINNED in why(ask_scheduler(scene, world, place(key("web-1")))["web-1"])
    scene = Scene({"web.yaml": machine("web-1")})
    scene.live(
        {"web.yaml": with_record(machine("web-1"), Kind.MACHINE, assignment_record("pool-b", "1", UID))}
    )
    scene.source({"web.yaml": "a: ["})
    scene.report("pool-a")
    assert isinstance(ask_scheduler(scene, scene.world(), place(key("web-1")))["web-1"], Placed)


def quota(name: str, hard: str, scope: str = "") -> str:
    return (
        f"apiVersion: core.ironcore.dev/v1alpha1\nkind: ResourceQuota\nmetadata: {{name: {name}}}\n"
        f"spec:\n  hard: {{{hard}}}\n{scope}"
    )


def test_a_quota_counts_what_is_placed() -> None:
    machines = {f"{name}.yaml": machine(name) for name in ("a", "b", "c")}
    scene = Scene(
        {**machines, "q.yaml": quota("q", "requests.cpu: 4, count/machines.compute.ironcore.dev: 9")}
    )
    scene.live({"a.yaml": with_record(machine("a"), Kind.MACHINE, assignment_record("pool-a", "1", UID))})
    scene.report("pool-a")
    world = scene.world()
    declared = world.objects[Key(Kind.RESOURCE_QUOTA, "default", "q")].object
    assert isinstance(declared, ResourceQuota)
    assert sum_used(world, "default", declared) == {
        "count/machines": 1,
        "requests.cpu": 2000,
        "requests.memory": 4 << 30,
    }
    found = ask_scheduler(scene, world, place(key("b")), place(key("c")))
    assert isinstance(found["b"], Placed)
    assert isinstance(found["c"], Unschedulable)
    (reason,) = found["c"].refusals[0].reasons
    assert (reason.predicate, reason.resource, reason.need, reason.have) == (
        Predicate.QUOTA,
        "requests.cpu",
        "2",
        "0",
    )
    # An assignment that ends frees its quota.
    assert isinstance(ask_scheduler(scene, world, place(key("a")), place(key("b")))["a"], Placed)


def test_a_quota_of_some_classes_binds_them_alone() -> None:
    scope = (
        "  scopeSelector:\n    matchExpressions: [{scopeName: MachineClass, operator: In, values: [big]}]\n"
    )
    big = (
        "apiVersion: compute.ironcore.dev/v1alpha1\nkind: MachineClass\nmetadata: {name: big}\n"
        "capabilities: {cpu: 3, memory: 4Gi}\n"
    )
    scene = Scene(
        {
            "big.yaml": big,
            "a.yaml": machine("a"),
            "b.yaml": machine("b", size="big"),
            "q.yaml": quota("q", "requests.cpu: 2", scope),
        }
    )
    scene.report("pool-a", report("pool-a", classes=("small", "big")))
    found = ask_scheduler(scene, scene.world(), place(key("a")), place(key("b")))
    assert isinstance(found["a"], Placed)
    assert isinstance(found["b"], Unschedulable)
    (reason,) = found["b"].refusals[0].reasons
    assert (reason.resource, reason.need, reason.have) == ("requests.cpu of q", "3", "2")


def test_a_machine_of_a_missing_class_makes_no_request() -> None:
    scene = Scene({"web.yaml": machine("web-1", size="medium")})
    assert placing.requests(scene.world(), [place(key("web-1"), NOTHING)], scene.now) == ()


def test_a_pool_has_the_cordon_taints_and_overcommit_that_people_declare() -> None:
    spec = (
        'spec:\n  unschedulable: true\n  taints: [{key: lab, effect: NoSchedule}]\n  overcommit: {cpu: "2"}\n'
    )
    scene = Scene({"web.yaml": machine("web-1"), "p.yaml": pool("pool-a", spec)})
    scene.report("pool-a")
    world = scene.world()
    assert why(ask_scheduler(scene, world, place(key("web-1")))["web-1"]) == {
        Predicate.CORDON,
        Predicate.TAINT,
    }
    assert world.pools["pool-a"].allocatable["cpu"] == 40_000


def test_a_pool_that_is_not_announced_is_refused_for_that_alone() -> None:
    scene = Scene(
        {"web.yaml": machine("web-1", using("data")), "data.yaml": volume("data"), "p.yaml": pool("pool-a")}
    )
    world = scene.world()
    decision = ask_scheduler(scene, world, place(key("web-1")))["web-1"]
    assert isinstance(decision, Unschedulable)
    (refusal,) = decision.refusals
    assert [
        reason.predicate for reason in refusal.reasons if reason.predicate is not Predicate.VOLUME_CAPACITY
    ] == [Predicate.READY]
