"""Which volume pools reach which pools, found without asking each about each."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reconciler.schedule.cluster_state import build_cluster_state
from reconciler.schedule.decision import Reason, Refusal
from reconciler.schedule.request import PoolView, Request, VolumePoolView, VolumeRequest
from reconciler.schedule.scheduler import Fit, explain
from schemas.kinds import Key, Kind

HOSTS = ["a", "b", "c"]
pools = [PoolView(name, {"cpu": 8}, labels={"zone": name}, classes=frozenset({"small"})) for name in HOSTS]
volume_pools = st.lists(
    st.builds(
        VolumePoolView,
        name=st.sampled_from(["x", "y", "z", "v"]),
        allocatable=st.just({"storage": 10}),
        classes=st.just(frozenset({"fast"})),
        reachable_from=st.none() | st.frozensets(st.sampled_from([*HOSTS, "gone"])),
        machine_pool_selector=st.sampled_from([(), (), (("zone", "a"),)]),
    ),
    max_size=4,
    unique_by=lambda each: each.name,
)


@given(volume_pools)
def test_those_that_reach_are_those_that_say_so(found: list[VolumePoolView]) -> None:
    on = build_cluster_state(pools, found)
    for pool in pools:
        assert on.reaching(pool) == tuple(
            sorted((each for each in found if each.reaches(pool)), key=lambda each: each.name)
        )


def machine(pinned: str = "", size: int = 1) -> Request:
    key = Key(Kind.VOLUME, "default", "data")
    volume = VolumeRequest(key, "fast", {"storage": size}, pinned=pinned)
    return Request(Key(Kind.MACHINE, "default", "m"), "small", {"cpu": 1}, volumes=(volume,))


def local(name: str) -> VolumePoolView:
    return VolumePoolView(
        name, {"storage": 10}, classes=frozenset({"fast"}), reachable_from=frozenset({name})
    )


def test_a_pool_is_refused_for_the_volume_pools_that_reach_it_alone() -> None:
    on = build_cluster_state(pools, [local("a"), local("b")])
    rows = explain(machine(size=11), on)
    assert all(isinstance(row, Refusal) for row in rows)
    reasons = {row.pool: list(map(about, row.reasons)) for row in rows if isinstance(row, Refusal)}
    assert reasons == {
        "a": [("default/data", "a", "storage is short")],
        "b": [("default/data", "b", "storage is short")],
        "c": [("default/data", "", "no volume pool reaches it")],
    }


def about(reason: Reason) -> tuple[str, str, str]:
    return reason.volume, reason.volume_pool, reason.message


def test_a_pin_to_a_volume_pool_out_of_reach_is_a_reason() -> None:
    rows = explain(machine(pinned="a"), build_cluster_state(pools, [local("a"), local("b")]))
    assert [type(row) for row in rows] == [Fit, Refusal, Refusal]
    refused = rows[2]
    assert isinstance(refused, Refusal)
    assert list(map(about, refused.reasons)) == [("default/data", "a", "c cannot attach its volumes")]
