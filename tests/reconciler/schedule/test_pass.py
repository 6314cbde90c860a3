"""A pass over many requests decides as if each were decided alone, one after the other: what it keeps in between saves time only."""

from __future__ import annotations

import random
from typing import TypeVar

import pytest

from reconciler.schedule.cluster_state import ClusterState, Quota, build_cluster_state
from reconciler.schedule.decision import Placed, Predicate, Reason, Refusal, Unschedulable
from reconciler.schedule.ranking import PATIENCE, Fills, Ranking
from reconciler.schedule.request import (
    AntiAffinityRule,
    PastRejection,
    PoolView,
    Request,
    SpreadRule,
    VolumePoolView,
    VolumeRequest,
)
from reconciler.schedule.scheduler import schedule
from reconciler.schedule.scores import Policy
from schemas.kinds import Key, Kind
from schemas.model.part import Selector, Taint, Toleration

GIB = 1 << 30
T = TypeVar("T")
ZONE = "topology.ironcore.dev/zone"
TAINTS = (
    (),
    (),
    (Taint(key="lab", effect="NoSchedule"),),
    (Taint(key="slow", effect="PreferNoSchedule"),),
)
CHARGES = [{"cpu": 250, "memory": GIB}, {"cpu": 1000, "memory": 2 * GIB}, {"cpu": 2000, "memory": 8 * GIB}]


def pools(draw: random.Random, count: int, *, is_alike: bool) -> list[PoolView]:
    return [
        PoolView(
            name=f"p{i:03}",
            allocatable={"cpu": 16000 if is_alike else draw.randrange(1, 20) * 1000, "memory": 64 * GIB},
            labels={ZONE: f"z{i % 3}", "host": f"h{i}"} if i % 9 else {"host": f"h{i}"},
            taints=draw.choice(TAINTS),
            is_cordoned=i % 11 == 7,
            why_not_ready="no report" if i % 13 == 5 else "",
            classes=frozenset({"c0", "c1", "c2"}),
        )
        for i in range(count)
    ]


def volume_pools(draw: random.Random, count: int) -> list[VolumePoolView]:
    return [
        VolumePoolView(
            name=f"v{i:03}",
            allocatable={"storage": draw.randrange(5, 100) * GIB},
            classes=frozenset({"fast"}),
            labels={ZONE: f"z{i % 3}"},
            reachable_from=frozenset({f"p{i:03}", f"p{i * 7 % count:03}"}) if i % 4 else None,
        )
        for i in range(0, count, 2)
    ]


def machine(draw: random.Random, number: int, pool_count: int) -> Request:
    size, app = draw.randrange(3), f"app-{draw.randrange(8)}"
    same = Selector((("app", app),))
    volume = VolumeRequest(Key(Kind.VOLUME, "default", f"d{number}"), "fast", {"storage": 5 * GIB})
    apart = AntiAffinityRule(same, draw.choice(["", ZONE, "host"]), is_required=draw.random() < 0.5)
    spread = SpreadRule(
        same, draw.choice([ZONE, "host"]), draw.choice([1, 2]), is_required=draw.random() < 0.5
    )
    rejection = PastRejection(f"p{draw.randrange(pool_count):03}", "no image")

    def some(share: float, value: T, otherwise: T) -> T:
        return value if draw.random() < share else otherwise

    return Request(
        key=Key(Kind.MACHINE, "default", f"m{number:04}"),
        machine_class=f"c{size}",
        charge=CHARGES[size],
        labels=(("app", app),),
        priority=draw.choice([0, 0, 1]),
        selector=some(0.2, ((ZONE, f"z{draw.randrange(3)}"),), ()),
        tolerations=some(0.3, (Toleration(key="lab", operator="Exists"),), ()),
        anti_affinity=some(0.15, apart, None),
        spread=some(0.15, spread, None),
        volumes=some(0.1, (volume,), ()),
        volume_pools=some(0.05, (f"v{draw.randrange(0, pool_count, 2):03}",), ()),
        rejections=some(0.05, (rejection,), ()),
        pinned=some(0.05, f"p{draw.randrange(pool_count):03}", ""),
    )


def world(seed: int, count: int, machines: int) -> tuple[ClusterState, ClusterState, list[Request]]:
    """The same board twice, and who is to be placed."""
    draw = random.Random(seed)
    hosts, stores = pools(draw, count, is_alike=seed % 2 == 0), volume_pools(draw, count)
    used = {pool.name: {"cpu": 500 * draw.randrange(3)} for pool in hosts[:: 2 + seed % 2]}
    requests = [machine(draw, number, count) for number in range(machines)]
    return build_cluster_state(hosts, stores, used), build_cluster_state(hosts, stores, used), requests


@pytest.mark.parametrize("policy", list(Policy))
@pytest.mark.parametrize(("seed", "count"), [(0, 60), (1, 60), (2, 9), (3, 9)])
def test_a_pass_decides_as_one_by_one_would(seed: int, count: int, policy: Policy) -> None:
    at_once, in_turn, requests = world(seed, count, 4 * PATIENCE)
    by_key = {request.key: request for request in requests}
    found = schedule(requests, at_once, policy)
    assert sum(isinstance(decision, Placed) for decision in found) > len(requests) // 8
    for decision in found:
        assert schedule([by_key[decision.key]], in_turn, policy) == (decision,)
    assert at_once.free == in_turn.free
    assert at_once.volume_free == in_turn.volume_free


def test_updated_fills_equal_fills_computed_from_all_pools() -> None:
    on, _, requests = world(4, 60, 400)
    fills = Fills(on)
    for start in range(0, len(requests), 40):
        schedule(requests[start : start + 40], on)
        fills.update()
        assert sorted(fills.names.values()) == sorted(Fills(on).names.values())
        assert {name for names in fills.names.values() for name in names} == set(on.pools)


@pytest.mark.parametrize("policy", list(Policy))
def test_a_ranking_is_in_the_order_of_what_the_policy_gives(policy: Policy) -> None:
    on, _, requests = world(5, 60, 3 * PATIENCE)
    ranking = Ranking(Fills(on), policy, CHARGES[1])
    ranking.refresh()
    schedule(requests, on, policy)
    assert len(on.touched) > PATIENCE
    ranking.refresh()
    want = sorted((-ranking.points(name), name) for name in on.pools)
    assert [(rank, name) for rank, names in ranking.levels for name in names] == want


@pytest.mark.parametrize("words", [("x", "x", "x"), ("c", "b", "a"), ("a", "b", "a")])
def test_the_text_of_a_rejection_decides_nothing_and_each_request_keeps_its_own(
    words: tuple[str, str, str],
) -> None:
    requests = [
        Request(
            Key(Kind.MACHINE, "default", f"m{i}"),
            "c0",
            {"cpu": 1000},
            rejections=(PastRejection("b", words_of_one),),
        )
        for i, words_of_one in enumerate(words)
    ]
    pools = [PoolView(name, {"cpu": 1000}, classes=frozenset({"c0"})) for name in "ab"]
    first, *others = schedule(requests, build_cluster_state(pools))
    assert isinstance(first, Placed)
    assert (first.key.name, first.pool) == ("m0", "a")
    for decision, words_of_one in zip(others, words[1:], strict=True):
        assert isinstance(decision, Unschedulable)
        messages = {
            refusal.pool: [reason.message for reason in refusal.reasons] for refusal in decision.refusals
        }
        assert messages["b"] == [words_of_one]


def test_machines_that_differ_in_names_alone_are_explained_once() -> None:
    """A scan of all pools for each of 2,000 machines that fit nowhere would take longer than all else that a plan does."""
    volumes = tuple(
        VolumeRequest(Key(Kind.VOLUME, "default", f"v{i}"), "fast", {}, entry="data") for i in range(20)
    )
    requests = [
        Request(Key(Kind.MACHINE, "default", f"m{i}"), "c0", {"cpu": 1000}, volumes=(each,))
        for i, each in enumerate(volumes)
    ]
    pools = [PoolView(name, {"cpu": 2000}, classes=frozenset({"c0"})) for name in "ab"]
    refused = schedule(requests, build_cluster_state(pools))
    assert len({id(each.refusals) for each in refused if isinstance(each, Unschedulable)}) == 1
    reason = Reason(Predicate.VOLUME_CAPACITY, "there are no volume pools", volume="data")
    assert {each.refusals for each in refused if isinstance(each, Unschedulable)} == {
        (Refusal("a", (reason,)), Refusal("b", (reason,)))
    }


def test_quotas_that_have_room_make_no_explanation_of_their_own() -> None:
    """And who is over one is told that alone."""
    requests = [
        Request(Key(Kind.MACHINE, f"team-{team}", f"m{i}"), "c0", {"cpu": 1000}, quota={"requests.cpu": 1000})
        for team in range(3)
        for i in range(2)
    ]
    cluster = build_cluster_state([PoolView("a", {"cpu": 2000}, why_not_ready="it is off")])
    cluster.quotas = {f"team-{team}": (Quota("cpu", {"requests.cpu": 5000 * team}),) for team in range(3)}
    refused = [each for each in schedule(requests, cluster) if isinstance(each, Unschedulable)]
    assert len(refused) == 6
    predicates = {
        each.key.namespace: [row.predicate for one in each.refusals for row in one.reasons]
        for each in refused
    }
    assert predicates == {
        "team-0": [Predicate.QUOTA],
        "team-1": [Predicate.READY, Predicate.CLASS],
        "team-2": [Predicate.READY, Predicate.CLASS],
    }
    assert len({id(each.refusals) for each in refused}) == 2


def test_a_refusal_after_a_placement_tells_of_the_room_that_is_left() -> None:
    requests = [
        Request(Key(Kind.MACHINE, "default", f"m{priority}"), "c0", {"cpu": cpu}, priority)
        for priority, cpu in ((2, 3000), (1, 1000), (0, 3000))
    ]
    pool = PoolView("a", {"cpu": 2000}, classes=frozenset({"c0"}))
    first, placed, last = schedule(requests, build_cluster_state([pool]))
    assert isinstance(placed, Placed)
    for refused, have in ((first, "2"), (last, "1")):
        assert isinstance(refused, Unschedulable)
        assert [each.have for row in refused.refusals for each in row.reasons] == [have]
