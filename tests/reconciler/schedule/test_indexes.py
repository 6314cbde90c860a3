"""The indexes of a pass: each gives what a full scan over all pools gives, at every moment of the pass."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.schedule import filters, scores
from reconciler.schedule.candidates import Candidates, Queue, smallest
from reconciler.schedule.cluster_state import ClusterState, build_cluster_state
from reconciler.schedule.eligible import EligibleCache, Entry, domain_of, relevant_labels
from reconciler.schedule.ranking import PATIENCE, Fills, Ranking, without
from reconciler.schedule.request import AntiAffinityRule, PastRejection, Request, SpreadRule
from reconciler.schedule.scheduler import Fit, explain, schedule
from reconciler.schedule.scores import Policy
from reconciler.schedule.terms import Term
from schemas.model.part import Taint, Toleration
from tests.reconciler.schedule.boards import WEB, ZONE, machine, pool, volume_pool
from tests.reconciler.schedule.test_pass import world

SEEDS = range(6)
LAB = Taint(key="lab", effect="NoSchedule")


def fits_statically(cluster: ClusterState, name: str, request: Request) -> bool:
    """A full scan: every static filter, and the label that a required spread needs."""
    only = cluster.pools[name]
    if any(list(check(only, request)) for check in filters.STATIC_FILTERS):
        return False
    if list(filters.reachable(cluster, only, request)):
        return False
    spread = request.spread
    return spread is None or not spread.is_required or cluster.domain(spread.topology_key, name) is not None


@pytest.mark.parametrize("seed", SEEDS)
def test_pools_that_look_alike_pass_the_same_static_filters(seed: int) -> None:
    cluster, _, requests = world(seed, 40, 120)
    cache = EligibleCache(cluster, Policy.MOST_FREE)
    for request in requests:
        static = cache.get(request).static
        for name, only in cluster.pools.items():
            want = (
                scores.static_score(cluster, only, request)
                if fits_statically(cluster, name, request)
                else None
            )
            assert static.of(name) == want, (request, name)  # fmt: skip


@pytest.mark.parametrize("policy", list(Policy))
@pytest.mark.parametrize("seed", SEEDS)
def test_eligible_pools_come_in_the_order_of_a_full_sort(seed: int, policy: Policy) -> None:
    cluster, _, requests = world(seed, 40, 120)
    for request in requests[:60]:
        eligible = EligibleCache(cluster, policy).get(request)
        want = sorted(
            (-scores.score(cluster, only, request, policy).points, name)
            for name, only in cluster.pools.items()
            if fits_statically(cluster, name, request)
        )
        assert [(rank, name) for _, rank, name, _ in eligible.entries()] == want
        domains = {domain_of(cluster, request, name) for _, name in want}
        for domain in domains:
            found = [(rank, name) for _, rank, name, _ in eligible.of(domain)]
            assert found == [each for each in want if domain_of(cluster, request, each[1]) == domain]


def best_by_full_scan(cluster: ClusterState, request: Request, policy: Policy) -> str | None:
    """The emptiest domain first, then the fewest machines to keep apart from, then points, then the name."""
    spread, anti = request.spread, request.anti_affinity
    ranks = []
    for row in explain(request, cluster, policy):
        if isinstance(row, Fit):
            count = crowd = 0
            domain = domain_of(cluster, request, row.pool)
            if spread is not None:
                count = cluster.tally(Term(request.key.namespace, spread.selector, spread.topology_key))[
                    domain
                ]
            if anti is not None and (near := cluster.domain(anti.topology_key, row.pool)) is not None:
                crowd = cluster.tally(Term(request.key.namespace, anti.selector, anti.topology_key))[near]
            is_without_label = spread is not None and cluster.domain(spread.topology_key, row.pool) is None
            ranks.append((is_without_label, count, domain, crowd, -row.score.points, row.pool))
    return min(ranks)[-1] if ranks else None  # fmt: skip


@pytest.mark.parametrize("policy", list(Policy))
@pytest.mark.parametrize("seed", SEEDS)
def test_candidates_take_the_pool_that_a_full_scan_ranks_first(seed: int, policy: Policy) -> None:
    cluster, _, requests = world(seed, 30, 200)
    cache = EligibleCache(cluster, policy)
    for request in requests:
        want = best_by_full_scan(cluster, request, policy)
        found = Candidates(request, cache).take(request)
        assert (found and found[0]) == want, request
        if found is not None:
            assert found[1] == scores.BY_POLICY[policy](
                cluster, cluster.pools[found[0]], scores.scored_needs(request.charge)
            )
            cluster.place(request, found[0], found[2])


@pytest.mark.parametrize("policy", list(Policy))
@pytest.mark.parametrize(
    "rules",
    [
        pytest.param({}, id="no rule"),
        pytest.param({"spread": SpreadRule(WEB, ZONE)}, id="spread"),
        pytest.param({"spread": SpreadRule(WEB, ZONE, is_required=False)}, id="a preferred spread"),
        pytest.param({"anti_affinity": AntiAffinityRule(WEB)}, id="anti-affinity"),
        pytest.param({"anti_affinity": AntiAffinityRule(WEB, ZONE, is_required=False)}, id="a preferred distance"),
    ],
)  # fmt: skip
def test_candidates_of_one_group_stay_right_while_pools_get_fuller(
    policy: Policy, rules: dict[str, object]
) -> None:
    draw = random.Random(7)
    pools = [
        pool(
            f"p{n:02}",
            allocatable={"cpu": draw.randrange(1, 6) * 1000, "memory": 1 << 40},
            labels={ZONE: f"z{n % 3}"} if n % 5 else {},
        )
        for n in range(12)
    ]
    cluster = build_cluster_state(pools)
    requests = [machine(f"m{n:02}", **rules) for n in range(60)]
    candidates = Candidates(requests[0], EligibleCache(cluster, policy))
    placed = 0
    for request in requests:
        want = best_by_full_scan(cluster, request, policy)
        found = candidates.take(request)
        assert (found and found[0]) == want
        if found is None:
            break
        cluster.place(request, found[0], found[2])
        placed += 1
    assert placed >= 3


def test_a_preferred_spread_uses_pools_without_the_label_last() -> None:
    room = {"cpu": 2000, "memory": 1 << 40}
    labels = {"a": {ZONE: "a"}, "b": {ZONE: "b"}, "bare": {}}
    cluster = build_cluster_state(pool(name, labels=each, allocatable=room) for name, each in labels.items())
    rule = SpreadRule(WEB, ZONE, is_required=False)
    decisions = schedule([machine(f"m{n}", spread=rule) for n in range(6)], cluster)
    assert [getattr(each, "pool", None) for each in decisions] == ["a", "b", "a", "b", "bare", "bare"]


ENTRIES = st.lists(
    st.tuples(st.just(0), st.integers(-5, 5), st.sampled_from("abc"), st.integers(0, 3)), max_size=8
)


@given(ENTRIES, ENTRIES)
def test_a_queue_gives_the_smallest_of_what_comes_and_what_was_corrected(
    coming: list[Entry], corrected: list[Entry]
) -> None:
    queue = Queue(iter(sorted(coming)))
    queue.heap = sorted(corrected)
    found = []
    while (top := queue.top()) is not None:
        found.append(top)
        queue.heap.remove(top)
        queue.heap.sort()
    assert found == sorted([*coming, *corrected])


def test_a_queue_reads_no_further_than_it_must() -> None:
    read = []

    def come() -> Iterator[Entry]:
        for number in range(9):
            read.append(number)
            yield 0, number, "p", 0

    assert Queue(come()).top() == (0, 0, "p", 0)
    assert read == [0, 1]


@pytest.mark.parametrize(
    ("heap", "counts", "want", "top"),
    [
        pytest.param([], {}, 0, None, id="no domains"),
        pytest.param([(0, "a"), (0, "b")], {}, 0, "a", id="nothing was placed: the first by name"),
        pytest.param([(0, "a"), (0, "b")], {"a": 1}, 0, "b", id="an entry that is out of date"),
        pytest.param([(0, "a"), (0, "b")], {"a": 2, "b": 1}, 1, "b", id="all entries are out of date"),
        pytest.param([(0, "a"), (0, "b")], {"a": 1, "b": 1}, 1, "a", id="equal counts: the first by name"),
    ],
)
def test_the_smallest_count_is_right_although_entries_are_out_of_date(
    heap: list[tuple[int, str]], counts: dict[str, int], want: int, top: str | None
) -> None:
    assert smallest(heap, counts) == want
    assert (heap[0][1] if heap else None) == top


@given(st.sets(st.text("abcd", min_size=1, max_size=3)), st.data())
def test_names_without_some_of_them(names: set[str], data: st.DataObject) -> None:
    some = data.draw(st.lists(st.sampled_from(sorted(names)), unique=True)) if names else []
    before = sorted(names)
    assert without(before, some) == sorted(names - set(some))
    assert before == sorted(names), "a list that others may read is not changed"


@pytest.mark.parametrize(
    ("changes", "want"),
    [
        pytest.param({}, (), id="none"),
        pytest.param({"selector": (("disk", "ssd"), ("arch", "arm"))}, ("arch", "disk"), id="those of the selector"),
        pytest.param({"spread": SpreadRule(WEB, ZONE)}, (ZONE,), id="the topology key of spread"),
        pytest.param({"anti_affinity": AntiAffinityRule(WEB, ZONE)}, (), id="not that of anti-affinity, which no static filter reads"),
    ],
)  # fmt: skip
def test_static_filters_read_few_labels(changes: dict[str, object], want: tuple[str, ...]) -> None:
    assert relevant_labels(machine("m", **changes)) == want


@pytest.mark.parametrize(
    ("other", "is_shared"),
    [
        pytest.param({}, True, id="equal requests"),
        pytest.param({"labels": (("app", "db"),)}, True, id="other labels of the machine"),
        pytest.param({"priority": 9}, True, id="another priority"),
        pytest.param({"anti_affinity": AntiAffinityRule(WEB)}, True, id="anti-affinity"),
        pytest.param({"machine_class": "big"}, False, id="another class"),
        pytest.param({"charge": {"cpu": 1}}, False, id="another charge"),
        pytest.param({"selector": ((ZONE, "a"),)}, False, id="another selector"),
        pytest.param({"tolerations": (Toleration(key="lab", operator="Exists"),)}, False, id="another toleration"),
        pytest.param({"volume_pools": ("v",)}, False, id="volumes that are placed already"),
        pytest.param({"rejections": (PastRejection("p1", "no"),)}, False, id="a past rejection"),
        pytest.param({"pinned": "p1"}, False, id="a pin"),
        pytest.param({"spread": SpreadRule(WEB, ZONE)}, False, id="spread"),
    ],
)  # fmt: skip
def test_requests_of_one_sort_share_their_eligible_pools(other: dict[str, object], is_shared: bool) -> None:
    pools = [pool("p1"), pool("p2", labels={ZONE: "b"}, taints=(LAB,))]
    cache = EligibleCache(build_cluster_state(pools, [volume_pool("v")]), Policy.MOST_FREE)
    assert (cache.get(machine("m1")) is cache.get(machine("m2", **other))) is is_shared


@pytest.mark.parametrize(
    ("placed", "is_again"),
    [
        pytest.param(0, False, id="nothing was placed"),
        pytest.param(PATIENCE, False, id="as many as the patience allows"),
        pytest.param(PATIENCE + 1, True, id="one more"),
    ],
)
def test_a_ranking_is_computed_again_when_its_patience_is_over(placed: int, is_again: bool) -> None:
    cluster = build_cluster_state(
        [pool("a", allocatable={"cpu": 10**6}), pool("b", allocatable={"cpu": 10**6})]
    )
    ranking = Ranking(Fills(cluster), Policy.MOST_FREE, {"cpu": 1})
    ranking.refresh()
    assert [list(names) for _, names in ranking.levels] == [["a", "b"]]
    for number in range(placed):
        cluster.place(machine(f"m{number}", charge={"cpu": 1}), "a", ())
    ranking.refresh()
    assert ([list(names) for _, names in ranking.levels] == [["b"], ["a"]]) is is_again  # fmt: skip


def test_pools_that_are_filled_otherwise_and_worth_the_same_are_one_level() -> None:
    pools = [
        pool("b", allocatable={"cpu": 2000}),
        pool("a", allocatable={"cpu": 4000}),
        pool("c", allocatable={"cpu": 9}),
    ]
    cluster = build_cluster_state(pools, used={"b": {"cpu": 1000}, "a": {"cpu": 2000}})
    ranking = Ranking(Fills(cluster), Policy.MOST_FREE, {"cpu": 0})
    ranking.refresh()
    assert ranking.levels == ((-1_000_000, ["c"]), (-500_000, ["a", "b"]))  # fmt: skip
