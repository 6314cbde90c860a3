"""Volumes of one request: all get a pool, or none does, and every reason against the whole is kept."""

from __future__ import annotations

import pytest

from reconciler.schedule.cluster_state import ClusterState, build_cluster_state
from reconciler.schedule.decision import Predicate, Reason
from reconciler.schedule.request import VolumePoolView, VolumeRequest
from reconciler.schedule.volumes import bind, unbound
from tests.reconciler.schedule.boards import GIB, ZONE, pool, volume, volume_pool


def volume_of(name: str, size: int, **changes: object) -> VolumeRequest:
    return volume(name, charge={"storage": size * GIB}, **changes)


def store(name: str, size: int, **changes: object) -> VolumePoolView:
    return volume_pool(name, allocatable={"storage": size * GIB}, **changes)


NEAR = frozenset({"p"})
FAR = frozenset({"q"})


def cluster_of(*stores: VolumePoolView) -> ClusterState:
    return build_cluster_state([pool("p"), pool("q", labels={ZONE: "b"})], stores)


@pytest.mark.parametrize(
    ("stores", "volumes", "want"),
    [
        pytest.param([], [], {}, id="no volumes"),
        pytest.param([], [volume_of("d", 1)], None, id="no volume pools"),
        pytest.param([store("x", 10), store("y", 90)], [volume_of("d", 5)], {"d": "y"}, id="the pool with the larger free share"),
        pytest.param([store("x", 10), store("y", 10)], [volume_of("d", 5)], {"d": "x"}, id="equal pools: the first by name"),
        pytest.param([store("x", 10), store("y", 90)], [volume_of("d", 5, pinned="x")], {"d": "x"}, id="a pin"),
        pytest.param([store("x", 10)], [volume_of("d", 10)], {"d": "x"}, id="exactly as much as there is"),
        pytest.param([store("x", 10)], [volume_of("d", 11)], None, id="more than there is"),
        pytest.param([store("x", 10)], [volume_of("a", 4), volume_of("b", 6)], {"a": "x", "b": "x"}, id="two that fill one pool"),
        pytest.param([store("x", 10)], [volume_of("a", 5), volume_of("b", 6)], None, id="each would fit, both do not"),
        pytest.param([store("x", 10), store("y", 6)], [volume_of("a", 6), volume_of("b", 10)], {"a": "y", "b": "x"}, id="the larger chooses first"),
        pytest.param([store("x", 10), store("y", 10)], [volume_of("b", 6), volume_of("a", 6)], {"a": "x", "b": "y"}, id="equal volumes choose by name"),
        pytest.param([store("x", 90, reachable_from=FAR)], [volume_of("d", 5)], None, id="the only pool is out of reach"),
        pytest.param([store("x", 90, reachable_from=FAR), store("y", 10, reachable_from=NEAR)], [volume_of("d", 5)], {"d": "y"}, id="a pool within reach before a larger one"),
        pytest.param([store("x", 90, is_cordoned=True), store("y", 10)], [volume_of("d", 5)], {"d": "y"}, id="a cordoned pool"),
        pytest.param([store("x", 90, classes=frozenset({"slow"})), store("y", 10)], [volume_of("d", 5)], {"d": "y"}, id="a pool of another class"),
        pytest.param([store("x", 10)], [volume_of("a", 5), volume_of("b", 1, pinned="gone")], None, id="one of two has no pool"),
    ],
)  # fmt: skip
def test_volumes_are_bound_together_or_not_at_all(
    stores: list[VolumePoolView], volumes: list[VolumeRequest], want: dict[str, str] | None
) -> None:
    cluster = cluster_of(*stores)
    bound = bind(cluster, cluster.pools["p"], tuple(volumes))
    assert (None if bound is None else {each.key.name: name for each, name in bound}) == want
    assert cluster.volume_free == {each.name: dict(each.allocatable) for each in stores}, (
        "to ask charges nothing"
    )
    reasons = list(unbound(cluster, cluster.pools["p"], tuple(volumes)))
    assert bool(reasons) is (want is None), "there is a reason exactly where there is no pool"


def test_a_volume_without_a_machine_may_go_to_every_volume_pool() -> None:
    cluster = cluster_of(store("x", 90, reachable_from=FAR), store("y", 10, reachable_from=NEAR))
    assert [name for _, name in bind(cluster, None, (volume_of("d", 5),)) or ()] == ["x"]


def test_bound_volumes_are_in_the_order_of_their_keys() -> None:
    bound = bind(cluster_of(store("x", 90)), None, (volume_of("b", 1), volume_of("c", 9), volume_of("a", 5)))
    assert [each.key.name for each, _ in bound or ()] == ["a", "b", "c"]


def about(reason: Reason) -> tuple[str, str, str, str, str]:
    return reason.volume, reason.volume_pool, reason.message, reason.need, reason.have


@pytest.mark.parametrize(
    ("stores", "volumes", "want"),
    [
        pytest.param([], [volume_of("d", 1)], [("default/d", "", "there are no volume pools", "", "")], id="no volume pools"),
        pytest.param(
            [store("x", 9, reachable_from=FAR)],
            [volume_of("d", 1)],
            [("default/d", "", "no volume pool reaches it", "", "")],
            id="none within reach",
        ),
        pytest.param(
            [store("x", 9)],
            [volume_of("d", 10)],
            [("default/d", "x", "storage is short", "10Gi", "9Gi")],
            id="too large",
        ),
        pytest.param(
            [store("x", 10)],
            [volume_of("a", 6), volume_of("b", 5)],
            [("default/b", "x", "storage is short", "11Gi", "10Gi")],
            id="the need includes what the volumes before take",
        ),
        pytest.param(
            [store("x", 9), store("y", 8, is_cordoned=True)],
            [volume_of("d", 10)],
            [
                ("default/d", "x", "storage is short", "10Gi", "9Gi"),
                ("default/d", "y", "it is cordoned (spec.unschedulable)", "", ""),
                ("default/d", "y", "storage is short", "10Gi", "8Gi"),
            ],
            id="every reason of every pool within reach",
        ),
        pytest.param(
            [store("x", 9), store("y", 9, reachable_from=FAR)],
            [volume_of("d", 5, pinned="y")],
            [
                ("default/d", "x", "volumePoolRef names y", "", ""),
                ("default/d", "y", "p cannot attach its volumes", "", ""),
            ],
            id="a pin out of reach",
        ),
    ],
)  # fmt: skip
def test_every_reason_against_the_volumes_of_a_machine_names_volume_and_pool(
    stores: list[VolumePoolView], volumes: list[VolumeRequest], want: list[tuple[str, str, str, str, str]]
) -> None:
    cluster = cluster_of(*stores)
    reasons = list(unbound(cluster, cluster.pools["p"], tuple(volumes)))
    assert [about(reason) for reason in reasons] == want
    assert {reason.predicate for reason in reasons} == {Predicate.VOLUME_CAPACITY}
