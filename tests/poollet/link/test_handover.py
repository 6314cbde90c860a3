"""Heartbeats move between Git and the link without a host that lives ever counting as lost, and a host that died is found."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.world.reports.heartbeat import Heartbeat
from tests.poollet.link.handover import STEP_MS, Fault, Git, ModelHost, ModelServer, Network

MINUTES = 60_000
LENGTH_MS = 12 * MINUTES
FAULTS = st.builds(
    Fault,
    kind=st.sampled_from(("down", "slow", "flap", "moved")),
    server=st.integers(0, 1),
    at_ms=st.integers(0, LENGTH_MS),
    for_ms=st.sampled_from((250, 1000, 5000, 8000, 31_000, 2 * MINUTES, LENGTH_MS)),
)


def build(servers: int, faults: tuple[Fault, ...], push_ms: int, seed: int) -> tuple[Network, ModelServer]:
    """And a reconciler without a link."""
    git = Git(push_ms)
    addresses = tuple(str(number) for number in range(servers))
    listed = {address: ModelServer(address, 10_000) for address in addresses}
    network = Network(ModelHost(git, addresses), listed, faults, random.Random(seed))
    return network, ModelServer("", 10_000)


def live(
    network: Network, others: list[ModelServer], end_ms: int
) -> Iterator[tuple[int, ModelServer, Heartbeat]]:
    """Every judgement of every reconciler until then."""
    for now_ms in range(0, end_ms, STEP_MS):
        network.turn(now_ms)
        network.host.turn(now_ms)
        yield from judge(network, others, now_ms)


def judge(
    network: Network, others: list[ModelServer], now_ms: int
) -> Iterator[tuple[int, ModelServer, Heartbeat]]:
    for server in (*network.servers.values(), *network.former, *others):
        found = server.look(network.host.git, now_ms)
        if found is not None:
            yield now_ms, server, found


@settings(max_examples=60)
@given(
    servers=st.integers(1, 2),
    faults=st.lists(FAULTS, max_size=5).map(tuple),
    push_ms=st.sampled_from((50, 2000, 8000)),
    seed=st.integers(0, 1000),
)
def test_a_host_that_lives_is_never_lost(
    servers: int, faults: tuple[Fault, ...], push_ms: int, seed: int
) -> None:
    network, apart = build(servers, faults, push_ms, seed)
    for now_ms, server, found in live(network, [apart], LENGTH_MS):
        assert found is not Heartbeat.EXPIRED, f"at {now_ms} ms by {server.address or 'the one apart'}"


@settings(max_examples=40)
@given(
    servers=st.integers(1, 2),
    faults=st.lists(FAULTS, max_size=3).map(tuple),
    at_ms=st.integers(2 * MINUTES, LENGTH_MS),
    seed=st.integers(0, 1000),
)
def test_a_host_that_died_is_found_by_every_server_that_it_was_connected_to(
    servers: int, faults: tuple[Fault, ...], at_ms: int, seed: int
) -> None:
    """Within a heartbeat timeout of hosts without the link (75 s), the push that was under way and two polls; and never later than the
    interval of its last report says."""
    network, apart = build(servers, faults, 2000, seed)
    for _ in live(network, [apart], at_ms):
        pass
    named, listening = network.host.named, list(network.servers.values())
    listening += network.former
    reached = [each for each in listening if each.sign is not None and each.signs is not None]
    expired: dict[str, int] = {}
    for now_ms in range(at_ms, at_ms + 26 * MINUTES, 5000):
        for when, server, found in judge(network, [apart], now_ms):
            if found is Heartbeat.EXPIRED:
                expired.setdefault(server.address, when - at_ms)
    assert {each.address for each in (*network.servers.values(), apart)} <= expired.keys()
    if named == "5m":
        assert all(expired[each.address] <= 75_000 + 32_000 for each in reached)
    else:
        assert all(each <= 75_000 + 32_000 for each in expired.values())


def test_pushes_are_rare_while_all_servers_answer_and_frequent_while_one_does_not() -> None:
    fault = Fault("down", 1, 6 * MINUTES, 3 * MINUTES)
    network, _ = build(2, (fault,), 50, 1)
    for _ in live(network, [], LENGTH_MS):
        pass
    pushes = [at for at, _ in network.host.git.commits]
    steady = [at for at in pushes if MINUTES < at < 6 * MINUTES]
    apart = [at for at in pushes if 6 * MINUTES <= at < 9 * MINUTES]
    assert len(steady) <= 2
    assert len(apart) >= 3 * 60 // 12
    assert apart[0] - 6 * MINUTES <= 500


@pytest.mark.parametrize("seconds", [0.25, 1, 5, 29])
def test_a_break_of_any_length_brings_pushes_back(seconds: float) -> None:
    fault = Fault("down", 0, 2 * MINUTES, round(seconds * 1000))
    network, _ = build(1, (fault,), 50, 1)
    for _ in live(network, [], 3 * MINUTES):
        pass
    named = [interval for at, interval in network.host.git.commits if at >= 2 * MINUTES]
    assert named[0] == "15s"
