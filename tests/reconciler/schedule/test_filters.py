"""Each filter alone: which pools it rejects, and that every reason carries what a program needs in fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from reconciler.schedule import filters as f
from reconciler.schedule.cluster_state import ClusterState, build_cluster_state
from reconciler.schedule.decision import Predicate, Reason
from reconciler.schedule.request import (
    AntiAffinityRule,
    PastRejection,
    PoolView,
    Request,
    SecretNeed,
    SpreadRule,
)
from schemas.encryption.locks import Lock
from schemas.model.part import Taint, Toleration
from tests.reconciler.schedule.boards import GIB, WEB, ZONE, machine, pool, volume, volume_pool

GPU = Taint(key="gpu", value="yes", effect="NoSchedule")
DRAINED = Taint(key="gitvirt.dev/drain", effect="NoExecute")
SOFT = Taint(key="slow", effect="PreferNoSchedule")
ANY = Toleration(key="", operator="Exists")
Static = Callable[[PoolView, Request], Iterable[Reason]]

BOOT = SecretNeed("default/boot", (Lock(recipients=frozenset({"age1x"})),))
STATIC = {
    "ready": (f.ready, pool("p"), machine("m"), []),
    "linked": (f.link_lost, pool("p"), machine("m"), []),
    "its link is lost": (
        f.link_lost,
        pool("p", has_lost_link=True),
        machine("m"),
        [
            Reason(
                Predicate.LINK, "its host is not connected to the link any more, and has not reported since"
            )
        ],
    ),
    "not ready": (
        f.ready,
        pool("p", why_not_ready="it left"),
        machine("m"),
        [Reason(Predicate.READY, "it left")],
    ),
    "schedulable": (f.cordon, pool("p"), machine("m"), []),
    "cordoned": (
        f.cordon,
        pool("p", is_cordoned=True),
        machine("m"),
        [Reason(Predicate.CORDON, "it is cordoned (spec.unschedulable)")],
    ),
    "without taints": (f.taints, pool("p"), machine("m"), []),
    "a soft taint": (f.taints, pool("p", taints=(SOFT,)), machine("m"), []),
    "a taint with a value": (
        f.taints,
        pool("p", taints=(GPU,)),
        machine("m"),
        [Reason(Predicate.TAINT, "taint gpu=yes:NoSchedule is not tolerated", taint="gpu=yes:NoSchedule")],
    ),
    "a taint that is tolerated": (f.taints, pool("p", taints=(GPU,)), machine("m", tolerations=(ANY,)), []),
    "two taints": (
        f.taints,
        pool("p", taints=(GPU, DRAINED)),
        machine("m", tolerations=(Toleration(key="gpu", operator="Exists"),)),
        [
            Reason(
                Predicate.TAINT,
                "taint gitvirt.dev/drain:NoExecute is not tolerated",
                taint="gitvirt.dev/drain:NoExecute",
            )
        ],
    ),
    "a label that is as wanted": (f.selector, pool("p"), machine("m", selector=((ZONE, "a"),)), []),
    "another value": (
        f.selector,
        pool("p"),
        machine("m", selector=((ZONE, "b"),)),
        [Reason(Predicate.SELECTOR, f"label {ZONE} differs", ZONE, "b", "a")],
    ),
    "without the label": (
        f.selector,
        pool("p", labels={}),
        machine("m", selector=((ZONE, "b"),)),
        [Reason(Predicate.SELECTOR, f"label {ZONE} differs", ZONE, "b", "no such label")],
    ),
    "a class that it offers": (f.offers, pool("p"), machine("m"), []),
    "a class that it does not offer": (
        f.offers,
        pool("p"),
        machine("m", machine_class="huge"),
        [Reason(Predicate.CLASS, "it does not offer the class huge")],
    ),
    "nothing is known of it": (f.offers, pool("p", is_known=False), machine("m", machine_class="huge"), []),
    "rejected by another pool": (
        f.rejections,
        pool("p"),
        machine("m", rejections=(PastRejection("q", "no"),)),
        [],
    ),
    "rejected by this pool": (
        f.rejections,
        pool("p"),
        machine("m", rejections=(PastRejection("p", "no image"),)),
        [Reason(Predicate.REJECTED, "no image")],
    ),
    "pinned here": (f.pin, pool("p"), machine("m", pinned="p"), []),
    "needs no Secret": (f.secrets, pool("p"), machine("m"), []),
    "its host can open the Secret": (
        f.secrets,
        pool("p", recipients=frozenset({"age1x"})),
        machine("m", secrets=(BOOT,)),
        [],
    ),
    "the text does not say who can open the Secret": (
        f.secrets,
        pool("p", recipients=frozenset({"age1x"})),
        machine("m", secrets=(SecretNeed("default/boot", (Lock(has_unnamed=True),)),)),
        [],
    ),
    "its host cannot open the Secret": (
        f.secrets,
        pool("p", recipients=frozenset({"age1y"})),
        machine("m", secrets=(BOOT,)),
        [
            Reason(
                Predicate.SECRET,
                "its host cannot open Secret default/boot: `gitvirt secret rekey default/boot`",
                "default/boot",
            )
        ],
    ),
    "its host has no key": (
        f.secrets,
        pool("p"),
        machine("m", secrets=(BOOT,)),
        [
            Reason(
                Predicate.SECRET,
                "its host has no key in gitvirt.yaml, and cannot open Secret default/boot: "
                "add poollets.NAME.age there, then `gitvirt secret rekey default/boot`",
                "default/boot",
            )
        ],
    ),
    "pinned elsewhere": (
        f.pin,
        pool("p"),
        machine("m", pinned="q"),
        [Reason(Predicate.PINNED, "machinePoolRef names q")],
    ),
}


@pytest.mark.parametrize(("check", "on", "request_", "want"), STATIC.values(), ids=STATIC)
def test_a_static_filter_reads_the_pool_and_the_request_alone(
    check: Static, on: PoolView, request_: Request, want: list[Reason]
) -> None:
    assert list(check(on, request_)) == want


def test_every_static_filter_has_a_row_that_rejects_and_one_that_does_not() -> None:
    for check in f.STATIC_FILTERS:
        rows = [bool(row[3]) for row in STATIC.values() if row[0] is check]
        assert set(rows) == {True, False}, check.__name__


def state(**changes: object) -> ClusterState:
    pools = [pool("a"), pool("b", labels={ZONE: "b"}), pool("c", labels={})]
    found = build_cluster_state(pools, [volume_pool("near", reachable_from=frozenset({"a"}))])
    for name, value in changes.items():
        setattr(found, name, value)
    return found


def crowded_state(*pools: str) -> ClusterState:
    """With a machine of WEB on each."""
    found = state()
    for number, name in enumerate(pools):
        found.place(machine(f"there-{number}", charge={}), name, ())
    return found


APART = AntiAffinityRule(WEB)
APART_BY_ZONE = AntiAffinityRule(WEB, ZONE)
DYNAMIC = {
    "room": (f.capacity, state(), "a", machine("m"), []),
    "no room": (
        f.capacity,
        state(free={"a": {"cpu": 500, "memory": 32 * GIB}}),
        "a",
        machine("m"),
        [Reason(Predicate.CAPACITY, "cpu is short", "cpu", "1", "500m")],
    ),
    "more used than there is": (
        f.capacity,
        state(free={"a": {"cpu": -500, "memory": 32 * GIB}}),
        "a",
        machine("m"),
        [Reason(Predicate.CAPACITY, "cpu is short", "cpu", "1", "0")],
    ),
    "its volume is within reach": (f.reachable, state(), "a", machine("m", volume_pools=("near",)), []),
    "its volume is out of reach": (
        f.reachable,
        state(),
        "b",
        machine("m", volume_pools=("near",)),
        [Reason(Predicate.VOLUME, "volumes of near cannot be attached here")],
    ),
    "the pool of its volume is gone": (
        f.reachable,
        state(),
        "a",
        machine("m", volume_pools=("lost",)),
        [Reason(Predicate.VOLUME, "its volume pool lost does not exist")],
    ),
    "apart from none": (f.anti_affinity, state(), "a", machine("m", anti_affinity=APART), []),
    "apart from one there": (
        f.anti_affinity,
        crowded_state("a"),
        "a",
        machine("m", anti_affinity=APART),
        [Reason(Predicate.ANTI_AFFINITY, "a has there-0, to be kept apart from it", "a", have="there-0")],
    ),
    "apart from one in its zone": (
        f.anti_affinity,
        crowded_state("a"),
        "a",
        machine("m", anti_affinity=APART_BY_ZONE),
        [
            Reason(
                Predicate.ANTI_AFFINITY,
                f"{ZONE}=a has there-0, to be kept apart from it",
                f"{ZONE}=a",
                have="there-0",
            )
        ],
    ),
    "apart from one in another zone": (
        f.anti_affinity,
        crowded_state("b"),
        "a",
        machine("m", anti_affinity=APART_BY_ZONE),
        [],
    ),
    "rather apart": (
        f.anti_affinity,
        crowded_state("a"),
        "a",
        machine("m", anti_affinity=AntiAffinityRule(WEB, is_required=False)),
        [],
    ),
    "even": (f.spread, state(), "a", machine("m", spread=SpreadRule(WEB, ZONE)), []),
    "uneven": (
        f.spread,
        crowded_state("a"),
        "a",
        machine("m", spread=SpreadRule(WEB, ZONE)),
        [Reason(Predicate.SPREAD, f"{ZONE}=a would have 2 more than the emptiest", "maxSkew", "2", "1")],
    ),
    "uneven as far as it may be": (
        f.spread,
        crowded_state("a"),
        "a",
        machine("m", spread=SpreadRule(WEB, ZONE, max_skew=2)),
        [],
    ),
    "rather even": (
        f.spread,
        crowded_state("a"),
        "a",
        machine("m", spread=SpreadRule(WEB, ZONE, is_required=False)),
        [],
    ),
    "no such label": (
        f.spread,
        state(),
        "c",
        machine("m", spread=SpreadRule(WEB, ZONE)),
        [Reason(Predicate.SPREAD, f"it has no label {ZONE}")],
    ),
}
Dynamic = Callable[[ClusterState, PoolView, Request], Iterable[Reason]]


@pytest.mark.parametrize(("check", "on", "name", "request_", "want"), DYNAMIC.values(), ids=DYNAMIC)
def test_a_dynamic_filter_reads_what_is_free_and_placed(
    check: Dynamic, on: ClusterState, name: str, request_: Request, want: list[Reason]
) -> None:
    assert list(check(on, on.pools[name], request_)) == want


def test_every_dynamic_filter_has_a_row_that_rejects_and_one_that_does_not() -> None:
    for check in f.DYNAMIC_FILTERS:
        rows = [bool(row[4]) for row in DYNAMIC.values() if row[0] is check]
        assert set(rows) == {True, False}, check.__name__


VOLUMES: dict[str, tuple[dict[str, object], dict[str, object], list[Predicate]]] = {
    "fits": ({}, {}, []),
    "pinned here": ({}, {"pinned": "v"}, []),
    "pinned elsewhere": ({}, {"pinned": "w"}, [Predicate.PINNED]),
    "not ready": ({"why_not_ready": "it left"}, {}, [Predicate.READY]),
    "cordoned": ({"is_cordoned": True}, {}, [Predicate.CORDON]),
    "out of reach": ({"reachable_from": frozenset({"q"})}, {}, [Predicate.VOLUME]),
    "reached by a selector": ({"machine_pool_selector": ((ZONE, "a"),)}, {}, []),
    "not reached by a selector": ({"machine_pool_selector": ((ZONE, "b"),)}, {}, [Predicate.VOLUME]),
    "tainted": ({"taints": (GPU,)}, {}, [Predicate.TAINT]),
    "tainted and tolerated": ({"taints": (GPU,)}, {"tolerations": (ANY,)}, []),
    "another label": ({}, {"selector": (("disk", "ssd"),)}, [Predicate.SELECTOR]),
    "rejected": ({}, {"rejections": (PastRejection("v", "full"),)}, [Predicate.REJECTED]),
    "another class": ({}, {"volume_class": "huge"}, [Predicate.CLASS]),
    "another class, which it counts by class": (
        {},
        {"volume_class": "huge", "charge": {"storage": GIB, "class/volume.huge": GIB}},
        [Predicate.CLASS],
    ),
    "no room for its class": ({}, {"charge": {"class/volume.fast": GIB}}, [Predicate.CAPACITY]),
    "no room": ({"allocatable": {"storage": GIB}}, {}, [Predicate.CAPACITY]),
    "nothing is known of it": ({"is_known": False, "allocatable": {}}, {"volume_class": "huge"}, []),
    "several at once": (
        {"is_cordoned": True, "allocatable": {}},
        {"volume_class": "huge"},
        [Predicate.CORDON, Predicate.CLASS, Predicate.CAPACITY],
    ),
}


@pytest.mark.parametrize(("store", "disk", "want"), VOLUMES.values(), ids=VOLUMES)
def test_a_volume_pool_is_rejected_for_every_reason(
    store: dict[str, object], disk: dict[str, object], want: list[Predicate]
) -> None:
    found = volume_pool("v", **store)
    cluster = build_cluster_state([pool("p")], [found])
    reasons = f.volume_reasons(cluster, found, cluster.pools["p"], volume("d", **disk))
    assert [reason.predicate for reason in reasons] == want


def test_machines_to_keep_apart_from_are_named_once() -> None:
    """Both have the rule, so each keeps the other away: that is one cause."""
    on = build_cluster_state([pool("a"), pool("b", labels={ZONE: "b"})])
    there = machine("web-1", anti_affinity=APART_BY_ZONE)
    on.place(there, "a", ())
    asking = machine("web-2", anti_affinity=APART_BY_ZONE)
    reasons = list(f.anti_affinity(on, on.pools["a"], asking))
    assert [each.message for each in reasons] == [f"{ZONE}=a has web-1, to be kept apart from it"]
    assert list(f.anti_affinity(on, on.pools["b"], asking)) == []
    for number in range(2, 7):
        on.place(machine(f"web-{number}", anti_affinity=APART_BY_ZONE), "a", ())
    (reason,) = f.anti_affinity(on, on.pools["a"], machine("web-9", anti_affinity=APART_BY_ZONE))
    assert reason.message == f"{ZONE}=a has web-1, web-2, web-3 and 3 more, to be kept apart from it"
