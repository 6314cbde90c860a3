"""A bounded part of the soak: fixed seeds, and in the long run new ones, and laws that are able to fail."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from iri.machine import RuntimeMachine
from reconciler.cli import main
from tests.soak.__main__ import LONG_STEPS, never_reached, show_speed
from tests.soak.kept_repo import keep_repo, live_long
from tests.soak.stage import HOSTS
from tests.soak.walk import BrokenError, Life

STEPS = 40


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", range(1, 181))
def test_what_was_lived_before_ends_well_again(seed: int) -> None:
    Life(seed, STEPS).live()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", range(1, 13))
def test_each_commit_of_a_life_is_computed_again(seed: int) -> None:
    """Whatever befalls the fleet: two reconcilers, backups, late pushes, hostile reports."""
    life = Life(seed, STEPS, is_audited=True)
    life.live()
    assert life.stage.audit is not None
    assert life.stage.audit.count > 5


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_ten_thousand_commits_are_computed_again() -> None:
    count, seed = 0, 100_000
    while count < 10_000:
        life = Life(seed, 100, is_audited=True)
        life.live()
        assert life.stage.audit is not None
        count, seed = count + life.stage.audit.count, seed + 1


@pytest.mark.long  # A seed by chance must not decide whether a change may be merged.
@pytest.mark.timeout(300)
def test_a_new_life_ends_well() -> None:
    Life(random.SystemRandom().randrange(1_000_000), STEPS).live()


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(4))
def test_many_lives_end_well(part: int) -> None:
    for seed in range(1000 * part, 1000 * part + 50):
        Life(seed, 100).live()


def test_a_long_life_is_kept_as_a_repo_that_verifies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With real Git, in another process's mirror: only what refs lead to is there."""
    keep_repo(live_long(40, 2), tmp_path / "fleet.git")
    code = main(["audit", "verify", "--repo", str(tmp_path / "fleet.git"), "--strict"])
    assert code == 0, capsys.readouterr().out


def test_the_same_seed_is_the_same_life() -> None:
    one, other = Life(9, 25), Life(9, 25)
    for _ in range(25):
        one.step()
        other.step()
    assert list(one.trace) == list(other.trace)
    assert one.stage.fleet.remote.refs == other.stage.fleet.remote.refs


def quiet_life() -> Life:
    """Three machines that run."""
    life = Life(3, 0)
    while len([1 for name in HOSTS for _ in life.stage.running(name)]) < 3:
        life.people.declare()
        for _ in range(3):
            for who in ("left", *HOSTS):
                life.turn(who)
            life.stage.time.ms += 2_500
    return life


def test_what_disappears_without_an_order_breaks_a_law_and_the_trace_is_shown() -> None:
    life = quiet_life()
    host = next(name for name in HOSTS if life.stage.running(name))
    run = life.stage.runs[host]
    id = next(iter(life.stage.uids(host, RuntimeMachine)))

    def act(_: Life) -> str:
        run.connection.runtime.remove(RuntimeMachine, id)
        return ""

    with pytest.raises(AssertionError, match="live has no order for it to go"):
        act(life)


def test_a_life_that_breaks_tells_how_to_see_it_again() -> None:
    life = quiet_life()
    life.people.fleet.commit({"machines.yaml": None}, "refs/heads/live", has_parents=False, base=None)
    with pytest.raises(
        BrokenError, match=r"does not descend from it(.|\n)*--seed 3 --steps 0 --rests 1 --lives 1"
    ):
        life.live()


def test_a_kind_of_event_that_a_long_run_never_reached_is_named() -> None:
    reached = {"burn": 3, "void": 0}
    assert never_reached(reached, LONG_STEPS) == ["void"]
    assert never_reached(reached, LONG_STEPS - 1) == []


def test_the_speed_is_shown_in_years_of_the_fleet_per_hour_of_the_processor() -> None:
    assert show_speed(2 * 365 * 86_400_000, 1800) == "4.00"
