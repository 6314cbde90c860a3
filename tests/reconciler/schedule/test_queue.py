"""The order of decision, which requests are equal to the scheduler, and quotas and rows that concern no single pool."""

from __future__ import annotations

import pytest

from reconciler.schedule.cluster_state import ClusterState, Quota, build_cluster_state
from reconciler.schedule.decision import Predicate, Reason, Refusal
from reconciler.schedule.request import AntiAffinityRule, PastRejection, Request, SpreadRule
from reconciler.schedule.scheduler import Fit, explain, over_quota, queue, shape_of
from reconciler.schedule.terms import Term, Terms
from schemas.kinds import Key, Kind
from schemas.model.part import Toleration
from tests.reconciler.schedule.boards import GIB, WEB, ZONE, machine, pool, volume, volume_pool

SMALL, BIG = {"cpu": 1000, "memory": GIB}, {"cpu": 1000, "memory": 2 * GIB}


@pytest.mark.parametrize(
    ("requests", "want"),
    [
        pytest.param([], [], id="no requests"),
        pytest.param([machine("b"), machine("a")], [["a", "b"]], id="equal requests are one run, by key"),
        pytest.param([machine("a"), machine("b", priority=1)], [["b"], ["a"]], id="the higher priority first"),
        pytest.param([machine("a", priority=-1), machine("b")], [["b"], ["a"]], id="a negative priority last"),
        pytest.param([machine("a", charge=SMALL), machine("b", charge=BIG)], [["b"], ["a"]], id="more memory first"),
        pytest.param([machine("a", charge={"cpu": 1}), machine("b", charge={"cpu": 2})], [["b"], ["a"]], id="more cpu first"),
        pytest.param([machine("a", charge={"cpu": 9000, "memory": 1}), machine("b", charge=BIG)], [["b"], ["a"]], id="memory before cpu"),
        pytest.param([machine("a", charge=SMALL, priority=1), machine("b", charge=BIG)], [["a"], ["b"]], id="priority before size"),
        pytest.param([machine("a"), machine("b", pinned="p"), machine("c")], [["a", "c"], ["b"]], id="runs by the key of their first"),
        pytest.param([machine("a"), machine("b", volumes=(volume("v"),)), machine("c")], [["a", "c"], ["b"]], id="a machine with new volumes is a run of its own"),
    ],
)  # fmt: skip
def test_requests_are_decided_in_runs(requests: list[Request], want: list[list[str]]) -> None:
    for given in (requests, requests[::-1]):
        runs = queue(given, build_cluster_state([]))
        assert [[request.key.name for request in run] for _, run in runs] == want


@pytest.mark.parametrize(
    ("changes", "is_equal"),
    [
        pytest.param({}, True, id="another key"),
        pytest.param({"priority": 1}, True, id="another priority, which the queue looks at itself"),
        pytest.param({"labels": (("app", "web"), ("color", "red"))}, True, id="a label that no rule counts"),
        pytest.param({"labels": (("app", "db"),)}, False, id="a label that a rule counts"),
        pytest.param({"machine_class": "big"}, False, id="another class"),
        pytest.param({"charge": {"cpu": 1}}, False, id="another charge"),
        pytest.param({"selector": ((ZONE, "a"),)}, False, id="a selector"),
        pytest.param({"tolerations": (Toleration(operator="Exists"),)}, False, id="a toleration"),
        pytest.param({"anti_affinity": AntiAffinityRule(WEB)}, False, id="anti-affinity"),
        pytest.param({"spread": SpreadRule(WEB, ZONE)}, False, id="spread"),
        pytest.param({"volumes": (volume("v"),)}, False, id="volumes to place"),
        pytest.param({"volume_pools": ("v",)}, False, id="volumes that are placed"),
        pytest.param({"near_pool": "p"}, False, id="near a machine"),
        pytest.param({"rejections": (PastRejection("p", "no"),)}, False, id="a past rejection"),
        pytest.param({"pinned": "p"}, False, id="a pin"),
        pytest.param({"quota": {"requests.cpu": 1}}, False, id="a share of a quota"),
    ],
)
def test_the_signature_holds_everything_that_decides(changes: dict[str, object], is_equal: bool) -> None:
    terms = Terms([Term("default", WEB, ZONE)])
    found = shape_of(machine("a"), terms), shape_of(machine("b", **changes), terms)
    assert (found[0] == found[1]) is is_equal


def test_the_text_of_a_rejection_is_not_in_the_signature() -> None:
    one, two = (
        machine(name, rejections=(PastRejection("p", reason),)) for name, reason in (("a", "x"), ("b", "y"))
    )
    assert shape_of(one, Terms()) == shape_of(two, Terms())


def test_namespaces_differ_only_where_a_rule_or_a_quota_looks_at_them() -> None:
    def both(**changes: object) -> bool:
        here = machine("a", **changes)
        there = Request(Key(Kind.MACHINE, "other", "a"), here.machine_class, here.charge, **changes)  # type: ignore[arg-type]
        return shape_of(here, Terms()) == shape_of(there, Terms())

    assert both()
    assert not both(spread=SpreadRule(WEB, ZONE))
    assert not both(anti_affinity=AntiAffinityRule(WEB))
    assert not both(quota={"requests.cpu": 1})


@pytest.mark.parametrize(
    ("quotas", "need", "want"),
    [
        pytest.param([], {"requests.cpu": 1000}, [], id="no quota"),
        pytest.param([{"requests.cpu": 1000}], {"requests.cpu": 1000}, [], id="exactly the rest"),
        pytest.param(
            [{"requests.cpu": 999}],
            {"requests.cpu": 1000},
            [("team", "requests.cpu", "1", "999m")],
            id="one too many",
        ),
        pytest.param(
            [{"requests.cpu": -500}],
            {"requests.cpu": 1000},
            [("team", "requests.cpu", "1", "0")],
            id="a quota that is used up already has 0",
        ),
        pytest.param(
            [{"requests.cpu": 0}], {"requests.memory": GIB}, [], id="a resource that is not limited"
        ),
        pytest.param([{"requests.cpu": 0}], {}, [], id="a request that uses nothing of it"),
        pytest.param(
            [{"requests.memory": GIB, "requests.cpu": 0}],
            {"requests.cpu": 1000, "requests.memory": 2 * GIB},
            [("team", "requests.cpu", "1", "0"), ("team", "requests.memory", "2Gi", "1Gi")],
            id="every resource that is short",
        ),
        pytest.param(
            [{"requests.cpu": 5000}, {"requests.cpu": 0}],
            {"requests.cpu": 1000},
            [("team-2", "requests.cpu", "1", "0")],
            id="one of two quotas",
        ),
        pytest.param(
            [{"requests.cpu of team": 0}],
            {"requests.cpu of team": 1500},
            [("team", "requests.cpu of team", "1500m", "0")],
            id="a quota with a scope",
        ),
    ],
)
def test_a_quota_refuses_with_its_name_and_amounts(
    quotas: list[dict[str, int]], need: dict[str, int], want: list[tuple[str, str, str, str]]
) -> None:
    cluster = build_cluster_state([pool("p")])
    names = ("team", "team-2")
    cluster.quotas = {"default": tuple(Quota(name, free) for name, free in zip(names, quotas, strict=False))}
    request = machine("m", quota=need)
    reasons = tuple(
        Reason(Predicate.QUOTA, f"quota {name} of namespace default", *rest) for name, *rest in want
    )
    refusal = Refusal("", reasons) if reasons else None
    assert over_quota(request, cluster) == refusal
    first = explain(request, cluster)[0]
    assert first == refusal if refusal else isinstance(first, Fit)


ALONE = Key(Kind.VOLUME, "default", "v")


def volume_alone(near_pool: str = "", **changes: object) -> Request:
    return Request(ALONE, volumes=(volume("v", **changes),), near_pool=near_pool)


@pytest.mark.parametrize(
    ("cluster", "request_", "want"),
    [
        pytest.param(build_cluster_state([]), machine("m"), [("", "there are no machine pools")], id="no machine pools"),
        pytest.param(
            build_cluster_state([pool("a")]),
            machine("m", pinned="gone"),
            [("gone", "machinePoolRef names gone, which does not exist"), ("a", "machinePoolRef names gone")],
            id="a pin to a pool that does not exist",
        ),
        pytest.param(
            build_cluster_state([]),
            machine("m", pinned="gone"),
            [("", "there are no machine pools"), ("gone", "machinePoolRef names gone, which does not exist")],
            id="a pin, and no pools",
        ),
        pytest.param(build_cluster_state([]), volume_alone(), [("", "there are no volume pools")], id="a volume, and no volume pools"),
        pytest.param(
            build_cluster_state([], [volume_pool("x")]),
            volume_alone("gone"),
            [("gone", "its machine is on gone, which does not exist")],
            id="a volume of a machine on a pool that does not exist",
        ),
        pytest.param(
            build_cluster_state([pool("p")], [volume_pool("x", reachable_from=frozenset({"q"}))]),
            volume_alone("p"),
            [("x", "p cannot attach its volumes")],
            id="a volume pool that the machine's pool does not reach",
        ),
        pytest.param(
            build_cluster_state([], [volume_pool("x", is_cordoned=True), volume_pool("y")]),
            volume_alone(pinned="x"),
            [("x", "it is cordoned (spec.unschedulable)"), ("y", "volumePoolRef names x")],
            id="a volume with a pin",
        ),
        pytest.param(build_cluster_state([], [volume_pool("x")]), volume_alone(), [], id="a volume that fits"),
    ],
)  # fmt: skip
def test_rows_that_concern_more_than_one_pool_or_none(
    cluster: ClusterState, request_: Request, want: list[tuple[str, str]]
) -> None:
    rows = [row for row in explain(request_, cluster) if isinstance(row, Refusal)]
    assert [(row.pool, reason.message) for row in rows for reason in row.reasons] == want


def test_every_reason_is_one_word_in_camel_case() -> None:
    for predicate in Predicate:
        assert predicate.value.isalpha()
        assert predicate.value[0].isupper()
