"""The lease never lets a machine run twice, in every order of everything; each rule is needed for that; and it lets machines run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.models.explore import Explored, explore
from tests.models.lease import Bounds, Lease, Rules, Settings, State

MOST = 400_000

WORLDS = {
    "late pushes": Bounds(may_be_late=True),
    "drift and restarts": Bounds(has_drift=True, may_restart=True),
    "two reconcilers": Bounds(reconcilers=2),
    "a peer that comes and goes": Bounds(settings=(Settings(2, 1), Settings(3, 1))),
    "a timeout that changes": Bounds(settings=(Settings(2, 3), Settings(2, 1)), vote=0),
    "a host that is disarmed": Bounds(settings=(Settings(2, 1), Settings(2, 1, is_armed=False)), vote=0),
}
NEEDED_IN = {
    "host_reads_live_after_its_push": "late pushes",
    "lease_counts_from_the_noted_time": "late pushes",
    "reconciler_reads_the_report_again": "late pushes",
    "only_the_live_that_was_read_is_replaced": "two reconcilers",
    "dead_after_is_longer_than_the_lease": "late pushes",
    "majority_acknowledges": "late pushes",
    "votes_bind": "late pushes",
    "votes_count_from_the_question": "late pushes",
    "a_peer_that_starts_waits": "drift and restarts",
    "hold_covers_drift": "drift and restarts",
    "every_list_since_the_report": "a peer that comes and goes",
    "longest_timeout_since_the_report": "a timeout that changes",
    "disarmed_since_the_report_is_no_proof": "a host that is disarmed",
    "a_question_ends_with_its_list": "a peer that comes and goes",
    "report_names_what_the_lease_rests_on": "a timeout that changes",
    "nothing_starts_without_a_lease": "drift and restarts",
}
# Larger than what fits into each run of the tests.
LARGE = {
    "two reconcilers, late pushes": Bounds(reconcilers=2, may_be_late=True),
    "two reconcilers, drift": Bounds(reconcilers=2, has_drift=True),
    "longer times": Bounds(settings=(Settings(2, 3),), vote=3),
    "lists and timeouts": Bounds(settings=(Settings(2, 2), Settings(3, 1))),
}


def explored(rules: Rules, bounds: Bounds, most: int = MOST) -> Explored[State]:
    model = Lease(rules, bounds)
    return explore(model.start(), model.steps, model.is_bad, model.fold, most)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("world", WORLDS)
def test_no_order_of_steps_makes_two_copies(world: str) -> None:
    found = explored(Rules(), WORLDS[world])
    assert found.bad is None, " | ".join(found.way_to(found.bad))
    assert found.count > 1_000


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("world", LARGE)
def test_no_order_of_steps_makes_two_copies_in_a_larger_world(world: str) -> None:
    found = explored(Rules(), LARGE[world], 20_000_000)
    assert found.bad is None, " | ".join(found.way_to(found.bad))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("rule", Rules.names())
def test_without_each_rule_there_are_two_copies(rule: str) -> None:
    found = explored(replace(Rules(), **{rule: False}), WORLDS[NEEDED_IN[rule]])
    assert found.bad is not None, f"the model is safe without {rule}"


@pytest.mark.timeout(600)
@pytest.mark.parametrize("world", ["late pushes", "a timeout that changes"])
def test_the_machine_of_a_host_that_never_comes_back_runs_elsewhere_in_the_end(world: str) -> None:
    """Whatever happened before, and with no step of that host or of people."""
    found = explored(Rules(), WORLDS[world])
    lost = found.list_lost(
        lambda state: state.is_elsewhere,
        lambda step: not step.startswith(("the host", "a push", "people")),
    )
    assert not lost, " | ".join(found.way_to(lost[0]))


@pytest.mark.parametrize("answers", [1, 0])
def test_while_git_is_away_a_host_lives_on_the_votes_of_half_of_its_peers(answers: int) -> None:
    model = Lease()
    state = model.start()
    for _ in range(1_000):
        steps = {step: each for step, each in model.question(state)}
        if "the host asks its peers" in steps:
            state = steps["the host asks its peers"]
        if answers:
            state = dict(model.question(state))["peer 0 votes"]
            state = dict(model.question(state))["the host lives on votes"]
        state = dict(model.time(state))["a tick"]
    assert model.runs_here(state) == bool(answers)
