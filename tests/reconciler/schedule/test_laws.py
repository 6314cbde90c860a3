"""The laws of placement, as properties over generated worlds."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.schedule.cluster_state import ClusterState, build_cluster_state
from reconciler.schedule.decision import Placed, Unschedulable
from reconciler.schedule.request import (
    AntiAffinityRule,
    PoolView,
    Request,
    SpreadRule,
    VolumePoolView,
    VolumeRequest,
)
from reconciler.schedule.scheduler import Fit, explain, schedule
from reconciler.schedule.scores import Policy
from schemas.model.part import Selector, Taint, Toleration
from tests.reconciler.schedule.boards import GIB, WEB, ZONE, machine, pool, volume, volume_pool, where

NAMES = st.sampled_from(["a", "b"])
SELECTORS = st.sampled_from([WEB, Selector((("app", "db"),)), Selector()])
KEYS = st.sampled_from(["", ZONE])
POOLS = st.lists(
    st.builds(
        lambda cpu, zone, taint, cordoned, count: (cpu, zone, taint, cordoned, count),
        st.integers(0, 6),
        st.sampled_from(["a", "b", None]),
        st.sampled_from(
            [(), (Taint(key="lab", effect="NoSchedule"),), (Taint(key="lab", effect="PreferNoSchedule"),)]
        ),
        st.booleans(),
        st.integers(0, 4),
    ),
    min_size=1,
    max_size=5,
).map(
    lambda rows: [
        PoolView(
            name=f"p{i}",
            allocatable={"cpu": cpu * 1000, "memory": 16 * GIB, "class/machine.small": count},
            labels={} if zone is None else {ZONE: zone},
            taints=taints,
            is_cordoned=cordoned and i > 1,
            classes=frozenset({"small"}),
        )
        for i, (cpu, zone, taints, cordoned, count) in enumerate(rows)
    ]
)
VOLUME_POOLS = st.lists(
    st.tuples(st.integers(0, 40), st.sampled_from([None, frozenset({"p0"}), frozenset({"p1", "p2"})])),
    max_size=3,
).map(
    lambda rows: [
        volume_pool(f"v{i}", allocatable={"storage": size * GIB}, reachable_from=reach)
        for i, (size, reach) in enumerate(rows)
    ]
)


def disks(name: str, count: int) -> tuple[VolumeRequest, ...]:
    return tuple(volume(f"{name}-{n}", entry=f"disk-{n}") for n in range(count))


MACHINES = st.lists(
    st.builds(
        lambda app, cpu, priority, anti, spread, tolerates, volumes, selector: {
            "labels": (("app", app),),
            "charge": {"cpu": cpu * 500, "memory": GIB, "class/machine.small": 1},
            "priority": priority,
            "anti_affinity": anti,
            "spread": spread,
            "tolerations": (Toleration(key="lab", operator="Exists"),) if tolerates else (),
            "volumes": volumes,
            "selector": selector,
        },
        st.sampled_from(["web", "db"]),
        st.integers(1, 3),
        st.integers(0, 1),
        st.none() | st.builds(AntiAffinityRule, SELECTORS, KEYS, st.booleans()),
        st.none() | st.builds(SpreadRule, SELECTORS, st.just(ZONE), st.integers(1, 2), st.booleans()),
        st.booleans(),
        st.integers(0, 2),
        st.sampled_from([(), (), ((ZONE, "a"),)]),
    ),
    max_size=9,
).map(
    lambda rows: [
        machine(f"m{i}", **{**row, "volumes": disks(f"m{i}", row["volumes"])}) for i, row in enumerate(rows)
    ]
)
POLICIES = st.sampled_from(list(Policy))


def fresh(pools: list[PoolView], volume_pools: list[VolumePoolView]) -> ClusterState:
    return build_cluster_state(pools, volume_pools)


@given(POOLS, VOLUME_POOLS, MACHINES, POLICIES)
def test_never_overcommits_and_charges_once(
    pools: list[PoolView], volume_pools: list[VolumePoolView], requests: list[Request], policy: Policy
) -> None:
    on = fresh(pools, volume_pools)
    decisions = schedule(requests, on, policy)
    assert sorted(decision.key for decision in decisions) == sorted(request.key for request in requests)
    charges = {request.key: request.charge for request in requests}
    for each in pools:
        here = [
            charges[decision.key]
            for decision in decisions
            if isinstance(decision, Placed) and decision.pool == each.name
        ]
        for resource, whole in each.allocatable.items():
            used = sum(charge.get(resource, 0) for charge in here)
            assert used <= whole
            assert on.free[each.name][resource] == whole - used
    for storage in volume_pools:
        count = sum(
            name == storage.name
            for decision in decisions
            if isinstance(decision, Placed)
            for _, name in decision.volumes
        )
        assert count * 10 * GIB <= storage.allocatable["storage"]


@given(POOLS, VOLUME_POOLS, MACHINES, POLICIES, st.randoms(use_true_random=False))
def test_the_order_of_input_does_not_matter(
    pools: list[PoolView],
    volume_pools: list[VolumePoolView],
    requests: list[Request],
    policy: Policy,
    draw: random.Random,
) -> None:
    want = schedule(requests, fresh(pools, volume_pools), policy)
    draw.shuffle(requests)
    draw.shuffle(pools)
    draw.shuffle(volume_pools)
    got = schedule(requests, fresh(pools, volume_pools), policy)
    assert {(d.key, getattr(d, "pool", None), getattr(d, "volumes", None)) for d in got} == {
        (d.key, getattr(d, "pool", None), getattr(d, "volumes", None)) for d in want
    }


@given(POOLS, VOLUME_POOLS, MACHINES, POLICIES)
@settings(max_examples=300)
def test_schedule_and_explain_agree(
    pools: list[PoolView], volume_pools: list[VolumePoolView], requests: list[Request], policy: Policy
) -> None:
    """Whoever was refused last is refused by each pool; whoever is placed next would go where explain ranks it first."""
    on = fresh(pools, volume_pools)
    for request in sorted(requests, key=lambda one: one.key):
        fits = [row for row in explain(request, on, policy) if isinstance(row, Fit)]
        (decision,) = schedule([request], on, policy)
        if isinstance(decision, Unschedulable):
            assert not fits
            continue
        assert decision.pool in {row.pool for row in fits}
        if request.spread is None and (request.anti_affinity is None or request.anti_affinity.is_required):
            best = min(fits, key=lambda row: (-row.score.points, row.pool))
            assert decision.pool == best.pool
            assert decision.score == best.score


@given(POOLS, VOLUME_POOLS, MACHINES, POLICIES)
@settings(max_examples=300)
def test_a_pass_decides_and_explains_as_one_request_after_the_other(
    pools: list[PoolView], volume_pools: list[VolumePoolView], requests: list[Request], policy: Policy
) -> None:
    """Refusals of equal requests are kept, and each still says what is true at its turn."""
    decisions = schedule(requests, fresh(pools, volume_pools), policy)
    alone, by_key = fresh(pools, volume_pools), {request.key: request for request in requests}
    for decision in decisions:
        request = by_key[decision.key]
        if isinstance(decision, Unschedulable):
            rows = explain(request, alone, policy)
            assert decision.refusals == rows
        assert schedule([request], alone, policy) == (decision,)
    silent = schedule(requests, fresh(pools, volume_pools), policy, is_explained=False)
    assert [each for each in silent if isinstance(each, Placed)] == [
        each for each in decisions if isinstance(each, Placed)
    ]


@given(POOLS, MACHINES)
def test_one_more_pool_never_makes_a_plain_machine_unschedulable(
    pools: list[PoolView], requests: list[Request]
) -> None:
    """Capacity alone: with equal requests one more pool never makes fewer fit."""
    plain = [machine(request.key.name) for request in requests]
    before = where(schedule(plain, build_cluster_state(pools)))
    more = [*pools, pool("extra", allocatable={"cpu": 2000, "memory": 8 * GIB}, classes=frozenset({"small"}))]
    assert set(before) <= set(where(schedule(plain, build_cluster_state(more))))
