"""The cluster state of a pass: what is free, which machines count where, and that each charge is made once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.schedule.cluster_state import ClusterState, Quota, build_cluster_state, take
from reconciler.schedule.request import AntiAffinityRule, Labels, Request, VolumePoolView
from reconciler.schedule.terms import Term
from schemas.live_layout import SHARE
from schemas.model.capacity import WHOLE_HOST, share
from schemas.model.part import Selector
from tests.reconciler.schedule.boards import GIB, WEB, ZONE, machine, pool, volume, volume_pool

POOLS = [pool("a1"), pool("a2"), pool("b1", labels={ZONE: "b"}), pool("bare", labels={})]


@pytest.mark.parametrize(
    ("topology_key", "name", "want"),
    [
        pytest.param("", "a1", "a1", id="without a key each pool is a domain"),
        pytest.param("", "bare", "bare", id="without a key labels do not matter"),
        pytest.param(ZONE, "a2", "a", id="the value of the label"),
        pytest.param(ZONE, "bare", None, id="a pool without the label has no domain"),
    ],
)
def test_the_domain_of_a_pool(topology_key: str, name: str, want: str | None) -> None:
    assert build_cluster_state(POOLS).domain(topology_key, name) == want


@pytest.mark.parametrize(
    ("used", "want"),
    [
        pytest.param({}, 8000, id="nothing"),
        pytest.param({"p": {"cpu": 3000}}, 5000, id="a part"),
        pytest.param({"p": {"cpu": 9000}}, -1000, id="more than there is: negative, not zero"),
        pytest.param({"gone": {"cpu": 3000}}, 8000, id="a pool that does not exist"),
    ],
)
def test_what_is_used_is_not_free(used: dict[str, dict[str, int]], want: int) -> None:
    cluster = build_cluster_state([pool("p")], [volume_pool("p")], used, {"p": {"storage": GIB}})
    assert cluster.free["p"]["cpu"] == want
    assert cluster.volume_free["p"] == {"storage": 99 * GIB}
    assert cluster.pools["p"].allocatable["cpu"] == 8000, "a pool itself is never changed"
    assert cluster.volume_pools["p"].allocatable["storage"] == 100 * GIB


@pytest.mark.parametrize(
    ("free", "charge", "want"),
    [
        pytest.param({"cpu": 5}, {"cpu": 2}, {"cpu": 3}, id="less is free"),
        pytest.param({"cpu": 5}, {"cpu": -2}, {"cpu": 7}, id="a negative charge gives back"),
        pytest.param({"cpu": 5}, {"gpu": 1}, {"cpu": 5, "gpu": -1}, id="a resource that is not named counts as zero"),
        pytest.param({"cpu": 5}, {}, {"cpu": 5}, id="nothing"),
    ],
)  # fmt: skip
def test_a_charge_is_taken_resource_by_resource(
    free: dict[str, int], charge: dict[str, int], want: dict[str, int]
) -> None:
    take(free, charge)
    assert free == want


@pytest.mark.parametrize(
    ("shares", "machine_class", "want"),
    [
        pytest.param(None, "small", {"cpu": 1000, "memory": 4 * GIB}, id="a pool with a vector"),
        pytest.param({"small": share(4)}, "small", {SHARE: WHOLE_HOST // 4}, id="a pool that reports class counts"),
        pytest.param({"small": share(4)}, "huge", {SHARE: WHOLE_HOST + 1}, id="a class without a count is larger than the host"),
        pytest.param({}, "small", {SHARE: WHOLE_HOST + 1}, id="no counts at all"),
    ],
)  # fmt: skip
def test_the_charge_of_a_request_depends_on_what_the_pool_reports(
    shares: dict[str, int] | None, machine_class: str, want: dict[str, int]
) -> None:
    cluster = build_cluster_state([pool("p", shares=shares)])
    assert cluster.charge("p", machine("m", machine_class=machine_class)) == want


@pytest.mark.parametrize(
    ("population", "placed", "want"),
    [
        pytest.param({}, [], {}, id="no machines"),
        pytest.param({"a1": 1, "a2": 2, "b1": 1}, [], {"a": 3, "b": 1}, id="pools of one zone count together"),
        pytest.param({"gone": 5, "a1": 1}, [], {"a": 1}, id="a pool that does not exist does not count"),
        pytest.param({"bare": 5, "a1": 1}, [], {"a": 1}, id="a pool without the label does not count"),
        pytest.param({"a1": 1}, ["b1", "a2", "bare"], {"a": 2, "b": 1}, id="those placed in this pass count too"),
    ],
)  # fmt: skip
def test_a_tally_counts_machines_by_domain(
    population: dict[str, int], placed: list[str], want: dict[str, int]
) -> None:
    cluster = build_cluster_state(POOLS)
    cluster.population = lambda namespace, selector: population if selector == WEB else {}
    for number, name in enumerate(placed):
        cluster.place(machine(f"m{number}"), name, ())
    assert dict(cluster.tally(Term("default", WEB, ZONE))) == want


SELECTORS = (WEB, Selector((("app", "db"),)), Selector())
TERMS = [Term(namespace, selector, key) for namespace in ("default", "other") for selector in SELECTORS for key in ("", ZONE)]  # fmt: skip
PLACED = st.lists(
    st.tuples(
        st.sampled_from([each.name for each in POOLS]),
        st.sampled_from([(("app", "web"),), (("app", "db"),), ()]),
    ),
    max_size=8,
)


@given(PLACED, st.integers(0, 8))
def test_a_tally_that_is_kept_up_to_date_equals_one_that_is_counted_at_the_end(
    placed: list[tuple[str, Labels]], at: int
) -> None:
    kept, counted = build_cluster_state(POOLS), build_cluster_state(POOLS)
    for number, (name, labels) in enumerate(placed):
        if number == at:
            for term in TERMS:
                kept.tally(term)
        for cluster in (kept, counted):
            cluster.place(machine(f"m{number}", labels=labels), name, ())
    for term in TERMS:
        assert +kept.tally(term) == +counted.tally(term)


APART_BY_ZONE = AntiAffinityRule(WEB, ZONE)


@pytest.mark.parametrize(
    ("namespace", "rule", "name", "want"),
    [
        pytest.param("default", APART_BY_ZONE, "a1", [{"a"}], id="by zone"),
        pytest.param("default", AntiAffinityRule(WEB), "a1", [{"a1"}], id="by pool"),
        pytest.param("default", AntiAffinityRule(WEB, is_required=False), "a1", [], id="a preference binds no other machine"),
        pytest.param("default", APART_BY_ZONE, "bare", [], id="a pool without the label is in no domain"),
        pytest.param("other", APART_BY_ZONE, "a1", [], id="another namespace"),
        pytest.param("default", AntiAffinityRule(SELECTORS[1]), "a1", [], id="the rule selects other machines"),
    ],
)  # fmt: skip
def test_a_required_distance_binds_machines_that_come_later(
    namespace: str, rule: AntiAffinityRule, name: str, want: list[set[str]]
) -> None:
    cluster = build_cluster_state(POOLS)
    cluster.hold(namespace, rule, name)
    assert [domains for _, domains in cluster.held_against(machine("m"))] == want


def test_domains_of_one_term_are_collected() -> None:
    cluster = build_cluster_state(POOLS)
    for name in ("a1", "a2", "b1"):
        cluster.hold("default", APART_BY_ZONE, name)
    assert list(cluster.held_against(machine("m"))) == [(Term("default", WEB, ZONE), {"a", "b"})]
    assert list(cluster.terms()) == [Term("default", WEB, ZONE)]


def test_a_placement_charges_pool_volumes_and_quota_once() -> None:
    cluster = build_cluster_state([pool("p")], [volume_pool("v")])
    quota = Quota("team", {"requests.cpu": 5000})
    cluster.quotas = {"default": (quota,)}
    disk = volume("d")
    request = machine("m", volumes=(disk,), quota={"requests.cpu": 1000, "requests.memory": GIB})
    cluster.place(request, "p", [(disk, "v")])
    assert cluster.free == {"p": {"cpu": 7000, "memory": 28 * GIB}}
    assert cluster.volume_free == {"v": {"storage": 90 * GIB}}
    assert quota.free == {"requests.cpu": 4000}, "what a quota does not limit is not in it"
    assert (cluster.machines["p"], cluster.touched, cluster.touched_at) == (1, ["p"], {"p": 1})


def test_a_volume_alone_touches_no_machine_pool() -> None:
    cluster = build_cluster_state([pool("p")], [volume_pool("v")])
    disk = volume("d")
    cluster.place(Request(disk.key, volumes=(disk,)), "", [(disk, "v")])
    assert cluster.volume_free == {"v": {"storage": 90 * GIB}}
    assert (cluster.free["p"]["cpu"], cluster.machines["p"], cluster.touched) == (8000, 0, [])


@pytest.mark.parametrize(
    ("quota", "namespace", "want"),
    [
        pytest.param({"requests.cpu": 1}, "default", ["team"], id="its namespace has a quota"),
        pytest.param({"requests.cpu": 1}, "other", [], id="another namespace has one"),
        pytest.param({}, "default", [], id="the request is not counted against quotas"),
    ],
)
def test_quotas_are_those_of_the_namespace(quota: dict[str, int], namespace: str, want: list[str]) -> None:
    cluster = build_cluster_state([])
    cluster.quotas = {namespace: (Quota("team", {"requests.cpu": 1}),)}
    assert [each.name for each in cluster.quota_of(machine("m", quota=quota))] == want


@pytest.mark.parametrize(
    ("changes", "want"),
    [
        pytest.param({}, {"a1", "a2", "b1", "bare"}, id="from everywhere"),
        pytest.param({"reachable_from": frozenset({"a1", "gone"})}, {"a1"}, id="from pools by name"),
        pytest.param({"reachable_from": frozenset()}, set(), id="from nowhere"),
        pytest.param({"machine_pool_selector": ((ZONE, "a"),)}, {"a1", "a2"}, id="from pools by label"),
        pytest.param({"machine_pool_selector": ((ZONE, "a"),), "reachable_from": frozenset({"b1"})}, {"a1", "a2"}, id="labels take precedence over names"),
        pytest.param({"machine_pool_selector": ((ZONE, "a"), ("disk", "ssd"))}, set(), id="every label must match"),
    ],
)  # fmt: skip
def test_a_volume_pool_is_reached_by_name_or_by_label(changes: dict[str, object], want: set[str]) -> None:
    store: VolumePoolView = volume_pool("v", **changes)
    cluster: ClusterState = build_cluster_state(POOLS, [store])
    assert {each.name for each in POOLS if store.reaches(each)} == want
    assert {each.name for each in POOLS if cluster.reaching(each) == (store,)} == want


def test_without_a_pool_its_machines_and_its_room_are_gone() -> None:
    cluster = build_cluster_state(POOLS)
    cluster.population = lambda *_: {"a1": 2, "b1": 1}
    for name in ("a1", "a2"):
        cluster.hold("default", APART_BY_ZONE, name)
    cluster.hold("default", AntiAffinityRule(WEB), "a1")
    made = cluster.without_pool("a1")
    assert "a1" not in made.pools
    assert "a1" not in made.free
    assert made.tally(Term("default", WEB, "")) == {"b1": 1}
    # a2 still holds the zone; the pool a1 held itself.
    assert {term: set(domains) for term, domains in made.held_against(machine("m"))} == {
        Term("default", WEB, ZONE): {"a"}
    }
    made.place(machine("m"), "a2", ())
    assert cluster.free["a2"] == build_cluster_state(POOLS).free["a2"]
