"""Scores of pools that fit: each is a whole number of millionths, and each part of it has a table."""

from __future__ import annotations

import pytest

from reconciler.schedule import scores
from reconciler.schedule.cluster_state import ClusterState, build_cluster_state
from reconciler.schedule.decision import Score
from reconciler.schedule.request import PoolView, Request
from reconciler.schedule.scores import LOCAL, SOFT_TAINT, WHOLE, Policy
from schemas.model.part import Taint, Toleration
from tests.reconciler.schedule.boards import GIB, ZONE, machine, pool, volume_pool

SLOW = Taint(key="slow", effect="PreferNoSchedule")
OLD = Taint(key="old", effect="PreferNoSchedule")
GPU = Taint(key="gpu", effect="NoSchedule")


@pytest.mark.parametrize(
    ("charge", "want"),
    [
        pytest.param({}, (), id="nothing is charged"),
        pytest.param({"cpu": 1000, "memory": 2}, (("cpu", 1000), ("memory", 2)), id="a vector"),
        pytest.param({"cpu": 1000, "class/machine.small": 1}, (("cpu", 1000),), id="a class count beside a vector is left out"),
        pytest.param({"class/machine.small": 1}, (("class/machine.small", 1),), id="a class count alone is all there is to compare"),
    ],
)  # fmt: skip
def test_a_score_looks_at_vectors_before_class_counts(
    charge: dict[str, int], want: tuple[tuple[str, int], ...]
) -> None:
    assert scores.scored_needs(charge) == want


@pytest.mark.parametrize(
    ("needs", "free", "allocatable", "want"),
    [
        pytest.param({"cpu": 1000}, {"cpu": 8000}, {"cpu": 8000}, 875_000, id="an empty pool"),
        pytest.param({"cpu": 1000}, {"cpu": 4000}, {"cpu": 8000}, 375_000, id="a pool half in use"),
        pytest.param({"cpu": 8000}, {"cpu": 8000}, {"cpu": 8000}, 0, id="the last of it"),
        pytest.param({"cpu": 0}, {"cpu": -4000}, {"cpu": 8000}, -500_000, id="more in use than allocatable"),
        pytest.param({"cpu": 1000, "memory": 8}, {"cpu": 8000, "memory": 32}, {"cpu": 8000, "memory": 32}, 812_500, id="the mean of two resources"),
        pytest.param({"cpu": 1000, "gpu": 1}, {"cpu": 8000}, {"cpu": 8000}, 875_000, id="a resource that the pool does not name does not count"),
        pytest.param({"cpu": 1000, "gpu": 1}, {"cpu": 8000, "gpu": 0}, {"cpu": 8000, "gpu": 0}, 875_000, id="a resource of which the pool has zero does not count"),
        pytest.param({"gpu": 1}, {"cpu": 8000}, {"cpu": 8000}, 0, id="nothing to compare"),
        pytest.param({"cpu": 1000}, {}, {"cpu": 8000}, -125_000, id="nothing is known to be free"),
        pytest.param({"cpu": 0}, {"cpu": 2}, {"cpu": 3}, 666_666, id="rounded down to a whole millionth"),
    ],
)  # fmt: skip
def test_the_free_share_is_the_mean_over_needed_resources(
    needs: dict[str, int], free: dict[str, int], allocatable: dict[str, int], want: int
) -> None:
    assert scores.free_share(tuple(needs.items()), free, allocatable) == want


@pytest.mark.parametrize(
    ("policy", "used", "machines", "want"),
    [
        pytest.param(Policy.MOST_FREE, 0, 0, 875_000, id="MostFree of an empty pool"),
        pytest.param(Policy.MOST_FREE, 4000, 9, 375_000, id="MostFree of a pool half in use"),
        pytest.param(Policy.BIN_PACK, 0, 0, 125_000, id="BinPack of an empty pool"),
        pytest.param(Policy.BIN_PACK, 4000, 9, 625_000, id="BinPack of a pool half in use"),
        pytest.param(Policy.SPREAD, 0, 0, 1_000_000, id="Spread of an empty pool"),
        pytest.param(Policy.SPREAD, 4000, 9, 991_000, id="Spread counts machines and not their size"),
    ],
)
def test_each_policy_scores_a_pool_by_what_it_names(
    policy: Policy, used: int, machines: int, want: int
) -> None:
    cluster = build_cluster_state([pool("p")], used={"p": {"cpu": used}})
    cluster.machines["p"] = machines
    assert scores.BY_POLICY[policy](cluster, cluster.pools["p"], (("cpu", 1000),)) == want


def test_every_policy_has_a_score() -> None:
    assert scores.BY_POLICY.keys() == set(Policy)


@pytest.mark.parametrize(
    ("taints", "tolerations", "want"),
    [
        pytest.param((), (), 0, id="no taints"),
        pytest.param((SLOW,), (), SOFT_TAINT, id="a soft taint"),
        pytest.param((SLOW, OLD), (), 2 * SOFT_TAINT, id="two soft taints count twice"),
        pytest.param((SLOW,), (Toleration(key="slow", operator="Exists"),), 0, id="tolerated"),
        pytest.param((SLOW, OLD), (Toleration(key="slow", operator="Exists"),), SOFT_TAINT, id="one of two is tolerated"),
        pytest.param((GPU,), (), 0, id="a hard taint is for the filter"),
        pytest.param((SLOW,), (Toleration(key="slow", operator="Exists", effect="NoSchedule"),), SOFT_TAINT, id="another effect is tolerated"),
    ],
)  # fmt: skip
def test_each_soft_taint_without_a_toleration_costs(
    taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...], want: int
) -> None:
    assert scores.soft_taints(pool("p", taints=taints), machine("m", tolerations=tolerations)) == want


def test_a_soft_taint_outweighs_everything_else_that_a_score_can_give() -> None:
    assert -SOFT_TAINT > WHOLE + 3 * LOCAL


@pytest.mark.parametrize(
    ("labels", "volume_pools", "want"),
    [
        pytest.param({ZONE: "a"}, (), 0, id="no volumes"),
        pytest.param({ZONE: "a"}, ("near",), LOCAL, id="a volume in the same zone"),
        pytest.param({ZONE: "a"}, ("near", "near-2"), 2 * LOCAL, id="two volumes in the same zone"),
        pytest.param({ZONE: "a"}, ("near", "far"), LOCAL, id="one of two in the same zone"),
        pytest.param({ZONE: "a"}, ("far",), 0, id="a volume in another zone"),
        pytest.param({ZONE: "a"}, ("lost",), 0, id="the volume pool does not exist"),
        pytest.param({}, ("plain",), 0, id="neither pool has a zone"),
        pytest.param({ZONE: "a"}, ("plain",), 0, id="the volume pool has no zone"),
    ],
)
def test_volumes_of_the_same_zone_are_worth_points(
    labels: dict[str, str], volume_pools: tuple[str, ...], want: int
) -> None:
    stores = [
        volume_pool("near", labels={ZONE: "a"}),
        volume_pool("near-2", labels={ZONE: "a"}),
        volume_pool("far", labels={ZONE: "b"}),
        volume_pool("plain"),
    ]
    cluster = build_cluster_state([pool("p", labels=labels)], stores)
    assert scores.locality(cluster, cluster.pools["p"], machine("m", volume_pools=volume_pools)) == want


CPU = {"cpu": 1000}


def zone_cluster(**changes: object) -> ClusterState:
    return build_cluster_state([pool("p", **changes)], [volume_pool("near", labels={ZONE: "a"})])


@pytest.mark.parametrize(
    ("cluster", "request_", "policy", "want"),
    [
        pytest.param(
            zone_cluster(),
            machine("m", charge=CPU),
            Policy.MOST_FREE,
            Score(875_000, (("MostFree", 875_000),)),
            id="the policy alone",
        ),
        pytest.param(
            zone_cluster(taints=(SLOW,)),
            machine("m", charge=CPU),
            Policy.BIN_PACK,
            Score(-1_875_000, (("BinPack", 125_000), ("SoftTaints", -2_000_000))),
            id="a soft taint",
        ),
        pytest.param(
            zone_cluster(),
            machine("m", charge=CPU, volume_pools=("near",)),
            Policy.SPREAD,
            Score(1_250_000, (("Spread", 1_000_000), ("VolumeLocality", 250_000))),
            id="a volume of the zone",
        ),
        pytest.param(
            zone_cluster(taints=(SLOW,)),
            machine("m", charge=CPU, volume_pools=("near",)),
            Policy.MOST_FREE,
            Score(-875_000, (("MostFree", 875_000), ("SoftTaints", -2_000_000), ("VolumeLocality", 250_000))),
            id="all parts",
        ),
        pytest.param(
            zone_cluster(taints=(GPU,)),
            machine("m", charge={"cpu": 8000}),
            Policy.MOST_FREE,
            Score(0, (("MostFree", 0),)),
            id="a part of zero points is left out, except that of the policy",
        ),
    ],
)
def test_a_score_is_the_sum_of_its_parts(
    cluster: ClusterState, request_: Request, policy: Policy, want: Score
) -> None:
    only: PoolView = cluster.pools["p"]
    assert scores.score(cluster, only, request_, policy) == want
    by_policy = want.parts[0][1]
    assert scores.score(cluster, only, request_, policy, by_policy) == want
    assert scores.static_score(cluster, only, request_) == want.points - by_policy


def test_a_known_score_of_the_policy_is_not_computed_again() -> None:
    cluster = build_cluster_state([pool("p", allocatable={"cpu": 8000, "memory": 32 * GIB})])
    assert scores.score(cluster, cluster.pools["p"], machine("m"), Policy.MOST_FREE, 7) == Score(
        7, (("MostFree", 7),)
    )
