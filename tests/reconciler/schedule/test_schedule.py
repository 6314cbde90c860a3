"""Placement: what each predicate refuses, what is preferred, and the laws as properties over generated worlds."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.schedule import (
    AntiAffinity,
    Board,
    Fit,
    Placed,
    Policy,
    Pool,
    Predicate,
    Quota,
    Refusal,
    Rejection,
    Request,
    Spread,
    Unschedulable,
    VolumePool,
    VolumeRequest,
    board,
    explain,
    schedule,
)
from schemas.capacity import SHARE, WHOLE_HOST, share
from schemas.kinds import Key, Kind
from schemas.model.part import Taint, Toleration
from schemas.selector import Selector

GIB = 1 << 30
ZONE = "topology.ironcore.dev/zone"
WEB = Selector((("app", "web"),))


def pool(name: str, **changes: object) -> Pool:
    given_fields: dict[str, object] = {
        "allocatable": {"cpu": 8000, "memory": 32 * GIB},
        "classes": frozenset({"small", "big"}),
        "labels": {ZONE: "a"},
    }
    return Pool(name=name, **(given_fields | changes))  # type: ignore[arg-type]


def volume_pool(name: str, **changes: object) -> VolumePool:
    given_fields: dict[str, object] = {"allocatable": {"storage": 100 * GIB}, "classes": frozenset({"fast"})}
    return VolumePool(name=name, **(given_fields | changes))  # type: ignore[arg-type]


def machine(name: str, **changes: object) -> Request:
    given_fields: dict[str, object] = {
        "machine_class": "small",
        "charge": {"cpu": 1000, "memory": 4 * GIB},
        "labels": (("app", "web"),),
    }
    return Request(key=Key(Kind.MACHINE, "default", name), **(given_fields | changes))  # type: ignore[arg-type]


def volume(name: str, **changes: object) -> VolumeRequest:
    given_fields: dict[str, object] = {"volume_class": "fast", "charge": {"storage": 10 * GIB}}
    return VolumeRequest(key=Key(Kind.VOLUME, "default", name), **(given_fields | changes))  # type: ignore[arg-type]


def where(decisions: tuple[object, ...]) -> dict[str, str]:
    return {decision.key.name: decision.pool for decision in decisions if isinstance(decision, Placed)}


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
    ("rejected", pool("p"), machine("m", rejections=(Rejection("p", "image is missing"),)), {Predicate.REJECTED}),
    ("pinned elsewhere", pool("p"), machine("m", pinned="q"), {Predicate.PINNED}),
    ("volume pool gone", pool("p"), machine("m", volume_pools=("v",)), {Predicate.VOLUME}),
    ("no volume pool", pool("p"), machine("m", volumes=(volume("v"),)), {Predicate.VOLUME_CAPACITY}),
    ("spread without the label", pool("p", labels={}), machine("m", spread=Spread(WEB, ZONE)), {Predicate.SPREAD}),
    ("several at once", pool("p", is_cordoned=True, taints=(Taint(key="lab", effect="NoSchedule"),), allocatable={}), machine("m"), {Predicate.CORDON, Predicate.TAINT, Predicate.CAPACITY}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("only", "request_", "want"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_every_reason_is_kept(only: Pool, request_: Request, want: set[Predicate]) -> None:
    (decision,) = schedule([request_], board([only]))
    assert isinstance(decision, Unschedulable)
    rows = {refusal.pool: {reason.predicate for reason in refusal.reasons} for refusal in decision.refusals}
    assert rows["p"] == want


def test_capacity_tells_need_and_have() -> None:
    (decision,) = schedule([machine("m")], board([pool("p", allocatable={"cpu": 500, "memory": GIB})]))
    assert isinstance(decision, Unschedulable)
    assert [(reason.resource, reason.need, reason.have) for reason in decision.refusals[0].reasons] == [
        ("cpu", "1", "500m"),
        ("memory", "4Gi", "1Gi"),
    ]


def test_without_pools_it_says_so() -> None:
    (decision,) = schedule([machine("m")], board([]))
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
    assert where(schedule([machine("m")], board([pool("b"), pool("a")], used=used), policy)) == {"m": want}


def test_a_soft_taint_is_the_last_choice() -> None:
    on = board(
        [pool("a", taints=(Taint(key="lab", effect="PreferNoSchedule"),)), pool("b")],
        used={"b": {"cpu": 7000}},
    )
    assert where(schedule([machine("m1"), machine("m2")], on)) == {"m1": "b", "m2": "a"}


def test_a_pool_near_its_volumes_comes_first() -> None:
    """Reachable from both; the emptier one is in another zone than the volume."""
    on = board(
        [pool("a", labels={ZONE: "east"}), pool("b", labels={ZONE: "west"})],
        [volume_pool("v", labels={ZONE: "west"})],
        used={"b": {"cpu": 1000}},
    )
    assert where(schedule([machine("m")], on)) == {"m": "a"}
    assert where(schedule([machine("m", volume_pools=("v",))], on)) == {"m": "b"}


def test_priority_goes_first_then_size_then_name() -> None:
    on = board([pool("a", allocatable={"cpu": 2000, "memory": 64 * GIB})])
    asked = [
        machine("c"),
        machine("b"),
        machine("a"),
        machine("z", priority=1),
        machine("y", charge={"cpu": 1000, "memory": 8 * GIB}),
    ]
    assert set(where(schedule(asked, on))) == {"z", "y"}


def test_a_higher_priority_gets_the_room() -> None:
    on = board([pool("a", allocatable={"cpu": 1000, "memory": 4 * GIB})])
    assert where(schedule([machine("a"), machine("z", priority=1)], on)) == {"z": "a"}


def test_anti_affinity_keeps_apart_by_pool_and_by_zone() -> None:
    pools = [pool("a1"), pool("a2"), pool("b1", labels={ZONE: "b"})]
    apart = AntiAffinity(WEB)
    assert (
        len(
            set(
                where(
                    schedule([machine(f"m{i}", anti_affinity=apart) for i in range(4)], board(pools))
                ).values()
            )
        )
        == 3
    )
    apart = AntiAffinity(WEB, ZONE)
    assert len(where(schedule([machine(f"m{i}", anti_affinity=apart) for i in range(4)], board(pools)))) == 2


def test_anti_affinity_binds_those_who_come_later() -> None:
    on = board([pool("a")])
    on.hold("default", AntiAffinity(Selector((("app", "noisy"),))), "a")
    (noisy, quiet) = schedule([machine("n", labels=(("app", "noisy"),)), machine("q")], on)
    assert isinstance(noisy, Unschedulable)
    assert {reason.predicate for reason in noisy.refusals[0].reasons} == {Predicate.ANTI_AFFINITY}
    assert isinstance(quiet, Placed)


def test_another_namespace_is_not_counted() -> None:
    on = board([pool("a")])
    on.hold("other", AntiAffinity(WEB), "a")
    assert where(schedule([machine("m")], on)) == {"m": "a"}


def test_soft_anti_affinity_prefers_and_does_not_forbid() -> None:
    on = board([pool("a"), pool("b", allocatable={"cpu": 4000, "memory": 16 * GIB})])
    asked = [machine(f"m{i}", anti_affinity=AntiAffinity(WEB, is_required=False)) for i in range(4)]
    assert Counter(where(schedule(asked, on)).values()) == {"a": 2, "b": 2}


def test_spread_keeps_the_skew_and_waits_rather_than_break_it() -> None:
    pools = [pool("a"), pool("b", labels={ZONE: "b"}, allocatable={"cpu": 2000, "memory": 64 * GIB})]
    asked = [machine(f"m{i}", spread=Spread(WEB, ZONE, 1)) for i in range(8)]
    decisions = schedule(asked, board(pools))
    assert Counter(where(decisions).values()) == {"a": 3, "b": 2}
    waiting = next(decision for decision in decisions if isinstance(decision, Unschedulable))
    rows = {refusal.pool: {reason.predicate for reason in refusal.reasons} for refusal in waiting.refusals}
    assert rows == {"a": {Predicate.SPREAD}, "b": {Predicate.CAPACITY}}


def test_a_soft_spread_goes_on_where_there_is_room() -> None:
    pools = [pool("a"), pool("b", labels={ZONE: "b"}, allocatable={"cpu": 2000, "memory": 64 * GIB})]
    asked = [machine(f"m{i}", spread=Spread(WEB, ZONE, 1, is_required=False)) for i in range(8)]
    assert Counter(where(schedule(asked, board(pools))).values()) == {"a": 6, "b": 2}


def test_those_already_there_are_counted() -> None:
    on = board([pool("a"), pool("b", labels={ZONE: "b"})])
    on.population = lambda namespace, selector: {"a": 2} if (namespace, selector) == ("default", WEB) else {}
    assert Counter(
        where(schedule([machine(f"m{i}", spread=Spread(WEB, ZONE)) for i in range(3)], on)).values()
    ) == {"b": 2, "a": 1}


def test_a_machine_and_its_volumes_land_together_or_not_at_all() -> None:
    volume_pools = [
        volume_pool("va", reachable_from=frozenset({"a"}), allocatable={"storage": 15 * GIB}),
        volume_pool("vb", reachable_from=frozenset({"b"})),
    ]
    on = board([pool("a"), pool("b", allocatable={"cpu": 1000, "memory": 4 * GIB})], volume_pools)
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
        [alone], board([], [volume_pool("x"), volume_pool("y", allocatable={"storage": 200 * GIB})])
    )
    assert isinstance(placed, Placed)
    assert placed.volumes == ((Key(Kind.VOLUME, "default", "v"), "y"),)
    (refused,) = schedule([alone], board([], [volume_pool("x", is_cordoned=True)]))
    assert isinstance(refused, Unschedulable)
    assert refused.refusals[0].reasons[0].predicate is Predicate.CORDON


def test_a_volume_for_a_machine_that_stands_already_lands_where_that_reaches() -> None:
    def on() -> Board:
        stores = [
            volume_pool("large", allocatable={"storage": 900 * GIB}, reachable_from=frozenset({"q"})),
            volume_pool("near", reachable_from=frozenset({"p"})),
        ]
        return board([pool("p"), pool("q")], stores)

    wanted = volume("v")
    request_ = Request(key=wanted.key, volumes=(wanted,), beside="p")
    (decision,) = schedule([request_], on())
    assert isinstance(decision, Placed)
    assert decision.volumes == ((wanted.key, "near"),)
    (lost,) = schedule([Request(key=wanted.key, volumes=(wanted,), beside="gone")], on())
    assert isinstance(lost, Unschedulable)
    assert [row.pool for row in lost.refusals] == ["gone"]


def test_pools_that_tell_class_counts_only_are_not_overfilled_across_classes() -> None:
    stock = pool("p", allocatable={SHARE: WHOLE_HOST}, shares={"small": share(3), "big": share(1)})
    asked = [*(machine(f"m{i}") for i in range(9)), machine("big", machine_class="big", priority=-1)]
    assert len(where(schedule(asked, board([stock])))) == 3
    asked = [machine("big", machine_class="big", priority=1), *asked[:9]]
    assert set(where(schedule(asked, board([stock])))) == {"big"}


def test_quota_refuses_with_need_and_have() -> None:
    on = board([pool("a")])
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
    rows = explain(machine("m"), board([pool("a"), pool("b", is_cordoned=True)]))
    assert isinstance(rows[0], Fit)
    assert dict(rows[0].score.parts)["MostFree"] == rows[0].score.points
    assert isinstance(rows[1], Refusal)


# --- laws over generated worlds ---

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
        Pool(
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
        st.none() | st.builds(AntiAffinity, SELECTORS, KEYS, st.booleans()),
        st.none() | st.builds(Spread, SELECTORS, st.just(ZONE), st.integers(1, 2), st.booleans()),
        st.booleans(),
        st.integers(0, 2),
        st.sampled_from([(), (), ((ZONE, "a"),)]),
    ),
    max_size=9,
).map(
    lambda rows: [
        machine(f"m{i}", **{**row, "volumes": tuple(volume(f"m{i}-{n}") for n in range(row["volumes"]))})
        for i, row in enumerate(rows)
    ]
)
POLICIES = st.sampled_from(list(Policy))


def fresh(pools: list[Pool], volume_pools: list[VolumePool]) -> Board:
    return board(pools, volume_pools)


@given(POOLS, VOLUME_POOLS, MACHINES, POLICIES)
def test_never_overcommits_and_charges_once(
    pools: list[Pool], volume_pools: list[VolumePool], asked: list[Request], policy: Policy
) -> None:
    on = fresh(pools, volume_pools)
    decisions = schedule(asked, on, policy)
    assert sorted(decision.key for decision in decisions) == sorted(request.key for request in asked)
    charges = {request.key: request.charge for request in asked}
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
    pools: list[Pool],
    volume_pools: list[VolumePool],
    asked: list[Request],
    policy: Policy,
    draw: random.Random,
) -> None:
    want = schedule(asked, fresh(pools, volume_pools), policy)
    draw.shuffle(asked)
    draw.shuffle(pools)
    draw.shuffle(volume_pools)
    got = schedule(asked, fresh(pools, volume_pools), policy)
    assert {(d.key, getattr(d, "pool", None), getattr(d, "volumes", None)) for d in got} == {
        (d.key, getattr(d, "pool", None), getattr(d, "volumes", None)) for d in want
    }


@given(POOLS, VOLUME_POOLS, MACHINES, POLICIES)
@settings(max_examples=300)
def test_schedule_and_explain_agree(
    pools: list[Pool], volume_pools: list[VolumePool], asked: list[Request], policy: Policy
) -> None:
    """Whoever was refused last is refused by each pool; whoever is placed next would go where explain ranks it first."""
    on = fresh(pools, volume_pools)
    for request in sorted(asked, key=lambda one: one.key):
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


@given(POOLS, MACHINES)
def test_adding_a_pool_unplaces_nobody_who_asks_for_nothing_special(
    pools: list[Pool], asked: list[Request]
) -> None:
    """Capacity alone: with equal requests one more pool never makes fewer fit."""
    plain = [machine(request.key.name) for request in asked]
    before = where(schedule(plain, board(pools)))
    more = [*pools, pool("extra", allocatable={"cpu": 2000, "memory": 8 * GIB}, classes=frozenset({"small"}))]
    assert set(before) <= set(where(schedule(plain, board(more))))
