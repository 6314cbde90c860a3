"""Placement: what each predicate refuses, and what is preferred."""

from __future__ import annotations

from collections import Counter

import pytest

from reconciler.schedule.cluster_state import ClusterState, Quota, build_cluster_state
from reconciler.schedule.decision import Placed, Predicate, Refusal, Unschedulable
from reconciler.schedule.request import AntiAffinityRule, PastRejection, PoolView, Request, SpreadRule
from reconciler.schedule.scheduler import Fit, explain, schedule
from reconciler.schedule.scores import Policy
from schemas.kinds import Key, Kind
from schemas.live_layout import SHARE
from schemas.model.capacity import WHOLE_HOST, share
from schemas.model.part import Selector, Taint, Toleration
from tests.reconciler.schedule.boards import GIB, WEB, ZONE, machine, pool, volume, volume_pool, where

REFUSED = [
    ("not ready", pool("p", why_not_ready="no report for 60s"), machine("m"), {Predicate.READY}),
    ("cordoned", pool("p", is_cordoned=True), machine("m"), {Predicate.CORDON}),
    ("taint", pool("p", taints=(Taint(key="lab", effect="NoSchedule"),)), machine("m"), {Predicate.TAINT}),
    ("taint of another effect tolerated", pool("p", taints=(Taint(key="lab", effect="NoExecute"),)), machine("m", tolerations=(Toleration(key="lab", operator="Exists", effect="NoSchedule"),)), {Predicate.TAINT}),
    ("selector", pool("p"), machine("m", selector=((ZONE, "b"),)), {Predicate.SELECTOR}),
    ("class", pool("p"), machine("m", machine_class="huge"), {Predicate.CLASS}),
    ("cpu and memory", pool("p", allocatable={"cpu": 500, "memory": GIB}), machine("m"), {Predicate.CAPACITY}),
    ("a resource the pool does not name", pool("p"), machine("m", charge={"nvidia.com/gpu": 1}), {Predicate.CAPACITY}),
    ("class count", pool("p", allocatable={"cpu": 8000, "memory": 32 * GIB, "class/machine.small": 0}), machine("m", charge={"class/machine.small": 1}), {Predicate.CAPACITY}),
    ("rejected", pool("p"), machine("m", rejections=(PastRejection("p", "image is missing"),)), {Predicate.REJECTED}),
    ("pinned elsewhere", pool("p"), machine("m", pinned="q"), {Predicate.PINNED}),
    ("volume pool gone", pool("p"), machine("m", volume_pools=("v",)), {Predicate.VOLUME}),
    ("no volume pool", pool("p"), machine("m", volumes=(volume("v"),)), {Predicate.VOLUME_CAPACITY}),
    ("spread without the label", pool("p", labels={}), machine("m", spread=SpreadRule(WEB, ZONE)), {Predicate.SPREAD}),
    ("several at once", pool("p", is_cordoned=True, taints=(Taint(key="lab", effect="NoSchedule"),), allocatable={}), machine("m"), {Predicate.CORDON, Predicate.TAINT, Predicate.CAPACITY}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("only", "request_", "want"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_every_reason_is_kept(only: PoolView, request_: Request, want: set[Predicate]) -> None:
    (decision,) = schedule([request_], build_cluster_state([only]))
    assert isinstance(decision, Unschedulable)
    rows = {refusal.pool: {reason.predicate for reason in refusal.reasons} for refusal in decision.refusals}
    assert rows["p"] == want


def test_capacity_tells_need_and_have() -> None:
    (decision,) = schedule(
        [machine("m")], build_cluster_state([pool("p", allocatable={"cpu": 500, "memory": GIB})])
    )
    assert isinstance(decision, Unschedulable)
    assert [(reason.resource, reason.need, reason.have) for reason in decision.refusals[0].reasons] == [
        ("cpu", "1", "500m"),
        ("memory", "4Gi", "1Gi"),
    ]


def test_without_pools_it_says_so() -> None:
    (decision,) = schedule([machine("m")], build_cluster_state([]))
    assert isinstance(decision, Unschedulable)
    assert decision.refusals[0].reasons[0].predicate is Predicate.NO_POOLS


@pytest.mark.parametrize(
    ("toleration", "want"),
    [
        (Toleration(key="lab", operator="Exists"), True),
        (Toleration(key="lab", value="x"), True),
        (Toleration(key="lab", value="y"), False),
        (Toleration(operator="Exists"), True),
        (Toleration(key="other", operator="Exists"), False),
        (Toleration(key="lab", operator="Exists", effect="NoSchedule"), True),
        (Toleration(key="lab", operator="Exists", effect="NoExecute"), False),
    ],
)
def test_tolerations(toleration: Toleration, want: bool) -> None:
    assert toleration.tolerates(Taint(key="lab", effect="NoSchedule", value="x")) is want


PREFERRED = [
    ("most free", Policy.MOST_FREE, {"a": {"cpu": 6000}, "b": {"cpu": 2000}}, "b"),
    ("bin-packing", Policy.BIN_PACK, {"a": {"cpu": 6000}, "b": {"cpu": 2000}}, "a"),
    ("ties by name", Policy.MOST_FREE, {}, "a"),
]


@pytest.mark.parametrize(
    ("policy", "used", "want"), [row[1:] for row in PREFERRED], ids=[row[0] for row in PREFERRED]
)
def test_policies(policy: Policy, used: dict[str, dict[str, int]], want: str) -> None:
    assert where(
        schedule([machine("m")], build_cluster_state([pool("b"), pool("a")], used=used), policy)
    ) == {"m": want}


def test_a_soft_taint_is_the_last_choice() -> None:
    on = build_cluster_state(
        [pool("a", taints=(Taint(key="lab", effect="PreferNoSchedule"),)), pool("b")],
        used={"b": {"cpu": 7000}},
    )
    assert where(schedule([machine("m1"), machine("m2")], on)) == {"m1": "b", "m2": "a"}


def test_a_pool_near_its_volumes_comes_first() -> None:
    """Reachable from both; the emptier one is in another zone than the volume."""
    on = build_cluster_state(
        [pool("a", labels={ZONE: "east"}), pool("b", labels={ZONE: "west"})],
        [volume_pool("v", labels={ZONE: "west"})],
        used={"b": {"cpu": 1000}},
    )
    assert where(schedule([machine("m")], on)) == {"m": "a"}
    assert where(schedule([machine("m", volume_pools=("v",))], on)) == {"m": "b"}


def test_priority_goes_first_then_size_then_name() -> None:
    on = build_cluster_state([pool("a", allocatable={"cpu": 2000, "memory": 64 * GIB})])
    requests = [
        machine("c"),
        machine("b"),
        machine("a"),
        machine("z", priority=1),
        machine("y", charge={"cpu": 1000, "memory": 8 * GIB}),
    ]
    assert set(where(schedule(requests, on))) == {"z", "y"}


def test_a_higher_priority_gets_the_room() -> None:
    on = build_cluster_state([pool("a", allocatable={"cpu": 1000, "memory": 4 * GIB})])
    assert where(schedule([machine("a"), machine("z", priority=1)], on)) == {"z": "a"}


def test_anti_affinity_keeps_apart_by_pool_and_by_zone() -> None:
    pools = [pool("a1"), pool("a2"), pool("b1", labels={ZONE: "b"})]
    apart = AntiAffinityRule(WEB)
    assert (
        len(
            set(
                where(
                    schedule(
                        [machine(f"m{i}", anti_affinity=apart) for i in range(4)], build_cluster_state(pools)
                    )
                ).values()
            )
        )
        == 3
    )
    apart = AntiAffinityRule(WEB, ZONE)
    assert (
        len(
            where(
                schedule(
                    [machine(f"m{i}", anti_affinity=apart) for i in range(4)], build_cluster_state(pools)
                )
            )
        )
        == 2
    )


def test_anti_affinity_binds_those_who_come_later() -> None:
    on = build_cluster_state([pool("a")])
    on.hold("default", AntiAffinityRule(Selector((("app", "noisy"),))), "a")
    (noisy, quiet) = schedule([machine("n", labels=(("app", "noisy"),)), machine("q")], on)
    assert isinstance(noisy, Unschedulable)
    assert {reason.predicate for reason in noisy.refusals[0].reasons} == {Predicate.ANTI_AFFINITY}
    assert isinstance(quiet, Placed)


def test_another_namespace_is_not_counted() -> None:
    on = build_cluster_state([pool("a")])
    on.hold("other", AntiAffinityRule(WEB), "a")
    assert where(schedule([machine("m")], on)) == {"m": "a"}


def test_soft_anti_affinity_prefers_and_does_not_forbid() -> None:
    on = build_cluster_state([pool("a"), pool("b", allocatable={"cpu": 4000, "memory": 16 * GIB})])
    requests = [machine(f"m{i}", anti_affinity=AntiAffinityRule(WEB, is_required=False)) for i in range(4)]
    assert Counter(where(schedule(requests, on)).values()) == {"a": 2, "b": 2}


def test_spread_keeps_the_skew_and_waits_rather_than_break_it() -> None:
    pools = [pool("a"), pool("b", labels={ZONE: "b"}, allocatable={"cpu": 2000, "memory": 64 * GIB})]
    requests = [machine(f"m{i}", spread=SpreadRule(WEB, ZONE, 1)) for i in range(8)]
    decisions = schedule(requests, build_cluster_state(pools))
    assert Counter(where(decisions).values()) == {"a": 3, "b": 2}
    waiting = next(decision for decision in decisions if isinstance(decision, Unschedulable))
    rows = {refusal.pool: {reason.predicate for reason in refusal.reasons} for refusal in waiting.refusals}
    assert rows == {"a": {Predicate.SPREAD}, "b": {Predicate.CAPACITY}}


def test_a_soft_spread_goes_on_where_there_is_room() -> None:
    pools = [pool("a"), pool("b", labels={ZONE: "b"}, allocatable={"cpu": 2000, "memory": 64 * GIB})]
    requests = [machine(f"m{i}", spread=SpreadRule(WEB, ZONE, 1, is_required=False)) for i in range(8)]
    assert Counter(where(schedule(requests, build_cluster_state(pools))).values()) == {"a": 6, "b": 2}


def test_those_already_there_are_counted() -> None:
    on = build_cluster_state([pool("a"), pool("b", labels={ZONE: "b"})])
    on.population = lambda namespace, selector: {"a": 2} if (namespace, selector) == ("default", WEB) else {}
    assert Counter(
        where(schedule([machine(f"m{i}", spread=SpreadRule(WEB, ZONE)) for i in range(3)], on)).values()
    ) == {"b": 2, "a": 1}


@pytest.mark.parametrize(
    "rule", [{"spread": SpreadRule(WEB, ZONE)}, {"anti_affinity": AntiAffinityRule(WEB, ZONE)}]
)
def test_those_placed_before_in_the_same_pass_are_counted(rule: dict[str, object]) -> None:
    """Also those who ask for nothing themselves, and those of an earlier pass on the same board."""

    def on() -> ClusterState:
        return build_cluster_state([pool("a"), pool("b", labels={ZONE: "b"})], used={"b": {"cpu": 4000}})

    assert where(schedule([machine("m1", priority=1), machine("m2", **rule)], on())) == {"m1": "a", "m2": "b"}
    in_turn = on()
    assert where(schedule([machine("m1")], in_turn)) == {"m1": "a"}
    assert where(schedule([machine("m2", **rule)], in_turn)) == {"m2": "b"}


def test_a_machine_and_its_volumes_land_together_or_not_at_all() -> None:
    volume_pools = [
        volume_pool("va", reachable_from=frozenset({"a"}), allocatable={"storage": 15 * GIB}),
        volume_pool("vb", reachable_from=frozenset({"b"})),
    ]
    on = build_cluster_state(
        [pool("a"), pool("b", allocatable={"cpu": 1000, "memory": 4 * GIB})], volume_pools
    )
    both = (volume("v1"), volume("v2"))
    first, second = schedule(
        [machine("m1", volumes=both), machine("m2", volumes=tuple(volume(f"w{i}") for i in (1, 2)))], on
    )
    assert isinstance(first, Placed)
    assert (first.pool, {pool for _, pool in first.volumes}) == ("b", {"vb"})
    assert isinstance(second, Unschedulable)
    assert on.volume_free["va"] == {"storage": 15 * GIB}
    rows = {refusal.pool: {reason.predicate for reason in refusal.reasons} for refusal in second.refusals}
    assert rows == {"a": {Predicate.VOLUME_CAPACITY}, "b": {Predicate.CAPACITY}}


def test_a_volume_alone() -> None:
    alone = Request(key=Key(Kind.VOLUME, "default", "v"), volumes=(volume("v"),))
    (placed,) = schedule(
        [alone],
        build_cluster_state([], [volume_pool("x"), volume_pool("y", allocatable={"storage": 200 * GIB})]),
    )
    assert isinstance(placed, Placed)
    assert placed.volumes == ((Key(Kind.VOLUME, "default", "v"), "y"),)
    (refused,) = schedule([alone], build_cluster_state([], [volume_pool("x", is_cordoned=True)]))
    assert isinstance(refused, Unschedulable)
    assert refused.refusals[0].reasons[0].predicate is Predicate.CORDON


def test_a_volume_for_a_machine_that_stands_already_lands_where_that_reaches() -> None:
    def on() -> ClusterState:
        stores = [
            volume_pool("large", allocatable={"storage": 900 * GIB}, reachable_from=frozenset({"q"})),
            volume_pool("near", reachable_from=frozenset({"p"})),
        ]
        return build_cluster_state([pool("p"), pool("q")], stores)

    wanted = volume("v")
    request_ = Request(key=wanted.key, volumes=(wanted,), near_pool="p")
    (decision,) = schedule([request_], on())
    assert isinstance(decision, Placed)
    assert decision.volumes == ((wanted.key, "near"),)
    (lost,) = schedule([Request(key=wanted.key, volumes=(wanted,), near_pool="gone")], on())
    assert isinstance(lost, Unschedulable)
    assert [row.pool for row in lost.refusals] == ["gone"]


def test_pools_that_tell_class_counts_only_are_not_overfilled_across_classes() -> None:
    stock = pool("p", allocatable={SHARE: WHOLE_HOST}, shares={"small": share(3), "big": share(1)})
    requests = [*(machine(f"m{i}") for i in range(9)), machine("big", machine_class="big", priority=-1)]
    assert len(where(schedule(requests, build_cluster_state([stock])))) == 3
    requests = [machine("big", machine_class="big", priority=1), *requests[:9]]
    assert set(where(schedule(requests, build_cluster_state([stock])))) == {"big"}


def test_quota_refuses_with_need_and_have() -> None:
    on = build_cluster_state([pool("a")])
    on.quotas = {"default": (Quota("team", {"requests.cpu": 1500}),)}
    placed, refused = schedule(
        [machine(f"m{i}", quota={"requests.cpu": 1000, "requests.memory": GIB}) for i in range(2)], on
    )
    assert isinstance(placed, Placed)
    assert isinstance(refused, Unschedulable)
    (reason,) = refused.refusals[0].reasons
    assert (refused.refusals[0].pool, reason.predicate, reason.resource, reason.need, reason.have) == (
        "",
        Predicate.QUOTA,
        "requests.cpu",
        "1",
        "500m",
    )


def test_explain_gives_a_row_for_each_pool() -> None:
    rows = explain(machine("m"), build_cluster_state([pool("a"), pool("b", is_cordoned=True)]))
    assert isinstance(rows[0], Fit)
    assert dict(rows[0].score.parts)["MostFree"] == rows[0].score.points
    assert isinstance(rows[1], Refusal)
