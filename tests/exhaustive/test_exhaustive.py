"""Every n-th deviation of each scenario, in the long run all of them; and a law, a limit and a stale look that are able to fail."""

from __future__ import annotations

import pytest

from iri.machine import RuntimeMachine
from tests.exhaustive.explore import deviations, live_plainly, live_through
from tests.exhaustive.explored import HOSTS, MOST_TICKS, RECONCILER, Deviation, Explored, Scenario
from tests.exhaustive.scenarios import SCENARIOS, busy, idle
from tests.poollet.fleet import LIVE
from tests.soak.walk import BrokenError

STRIDE = 24
PARTS = 6
BY_NAME = {each.name: each for each in SCENARIOS}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", BY_NAME)
def test_one_stale_look_or_fault_breaks_no_law(name: str) -> None:
    scenario = BY_NAME[name]
    found = list(deviations(live_plainly(scenario)))
    assert len(found) > 300
    for deviation in found[STRIDE // 2 :: STRIDE]:
        live_through(scenario, deviation)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", BY_NAME)
def test_no_stale_look_and_no_fault_breaks_a_law(name: str, part: int) -> None:
    scenario = BY_NAME[name]
    for deviation in list(deviations(live_plainly(scenario)))[part::PARTS]:
        live_through(scenario, deviation)


def vanish(life: Explored) -> None:
    host = next(name for name in HOSTS if life.stage.running(name))
    runtime = life.stage.runs[host].connection.runtime
    runtime.remove(RuntimeMachine, next(iter(life.stage.uids(host, RuntimeMachine))))


def test_what_is_removed_without_an_order_breaks_a_law_and_the_deviation_is_named() -> None:
    deviation = Deviation("skip", HOSTS[0], 1)
    with pytest.raises(BrokenError, match=r"vanish, Deviation.*skip.*live has no order for it to go"):
        live_through(Scenario("vanish", busy, {0: vanish}), deviation)


def test_what_never_comes_to_rest_breaks_the_limit() -> None:
    def tire(life: Explored) -> None:
        life.stage.is_at_ease = lambda: False  # type: ignore[method-assign]

    with pytest.raises(BrokenError, match=f"not at rest {MOST_TICKS} ticks after the fault"):
        live_through(Scenario("tired", idle, {0: tire}, rounds=1), Deviation("skip", HOSTS[0], 1))


def test_a_stale_look_shows_what_was() -> None:
    """The reconciler misses the commit of people for as long as the server lags."""

    def commit(life: Explored) -> None:
        life.people.commit()

    scenario = Scenario("lag", idle, {2: commit})
    plain = live_plainly(scenario)
    stale = [one for one in deviations(plain) if one.fault == "lagging" and one.who == RECONCILER]
    shown = {plain.states[one.state].get(LIVE) for one in stale}
    assert stale
    assert live_through(scenario, stale[0]).explored.recorded.states != plain.states
    assert shown <= {state.get(LIVE) for state in plain.states}
