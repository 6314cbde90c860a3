"""For every generated fleet and change: what `gitvirt plan` prints is what `run` does and what the hosts report."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reconciler.gitstore.repo import Refs
from tests.poollet import generated_fleets
from tests.poollet.effects_bench import Documents, files, list_lost, messages, plan_of
from tests.poollet.fleet import LIVE, MAIN
from tests.poollet.generated_fleets import HOSTS, Change, base, declare
from tests.poollet.plan_laws import (
    ReadPlan,
    check_forms,
    check_machines,
    check_messages,
    read_plan,
)
from tests.poollet.simulated_bench import GIB, SimulatedBench

BRANCH = "refs/heads/change"


@dataclass(frozen=True)
class Step:
    """What one merge changes, and which hosts are lost by then."""

    change: Change
    is_reverted: bool = False
    lost: str = ""


STEPS = st.lists(
    st.builds(
        Step,
        generated_fleets.changes(5),
        st.booleans(),
        st.sampled_from(["", "", "", *HOSTS[:2]]),
    ),
    min_size=1,
    max_size=3,
)
CAPACITIES = st.sampled_from([4, 6, 12])


def make_bench(fleet: Change, cpu: int) -> SimulatedBench:
    capacity = {"cpu": cpu, "memory": cpu * GIB, "storage": 400 * GIB}
    return SimulatedBench({}, declare(base(), fleet), HOSTS, capacity)


def merge(bench: SimulatedBench, objects: Documents) -> ReadPlan:
    """The plan of the change as a branch, which reads the same once it is merged."""
    fleet = bench.fleet
    fleet.remote.refs[BRANCH] = fleet.remote.refs[MAIN]
    written = {**removals(bench.objects, objects), **files(objects), "README.md": str(bench.now())}
    commit = fleet.commit(written, BRANCH)
    before = read_plan(plan_of(bench, Refs(source=BRANCH)))
    fleet.remote.refs[MAIN] = commit
    bench.objects = objects
    merged = read_plan(plan_of(bench))
    assert merged == before
    return merged


def removals(before: Documents, after: Documents) -> dict[str, str | None]:
    return {f"{name}.yaml": None for name in before.keys() - after.keys()}


def run(bench: SimulatedBench, objects: Documents) -> None:
    """Merges, and holds everything that happens against the plan."""
    before, head = bench.observe(), bench.fleet.head(LIVE)
    plan = merge(bench, objects)
    check_forms(plan)
    bench.come_to_rest()
    soon = bench.observe()
    lost = list_lost(before, soon)
    at_once, later = plan.losses(is_undoable=False), plan.losses(is_undoable=True)
    shown = "\n".join([plan.text, *messages(bench, head)])
    if not bench.lost:
        assert lost == at_once, shown
    assert lost <= at_once, shown
    if later:
        bench.pass_time(11)
        assert list_lost(before, bench.observe()) == at_once | later or bench.lost, shown
    check_machines(plan, (before, bench.observe()), objects, bench.lost)
    check_messages(lost, messages(bench, head), plan)


def live(fleet: Change, cpu: int, steps: list[Step]) -> None:
    bench = make_bench(fleet, cpu)
    for step in steps:
        if step.lost:
            bench.lose(step.lost)
        before = bench.objects
        run(bench, declare(before, step.change))
        if bench.lost:
            bench.bring_back()
        if step.is_reverted:
            run(bench, before)


def test_a_volume_has_new_snapshots_after_one_of_it_was_deleted() -> None:
    """Under the name of the deleted one, and under another one."""
    bench = make_bench((("add", "v1"), ("add", "v2"), ("snapshot", "v1"), ("snapshot", "v2")), 6)
    run(bench, declare(bench.objects, (("remove", "daily-v1"),)))
    other = {**declare(bench.objects, (("snapshot", "v1"),))}
    other["weekly"] = {**other["daily-v1"], "metadata": {"name": "weekly"}}
    run(bench, other)
    assert {name for name, _ in bench.observe().snapshots} == {"daily-v1", "daily-v2", "weekly"}


def test_a_machine_comes_back_beside_the_retained_volume_of_its_earlier_life() -> None:
    """Its new ephemeral volume has the name of the retained one."""
    bench = make_bench((("add", "m1"), ("add", "m2"), ("add", "m3"), ("disk", "m1", "kept")), 6)
    before = bench.objects
    for _ in range(4):
        run(bench, declare(before, (("remove", "m1"),)))
        run(bench, before)
        assert bench.observe().machines["m1"].is_on


QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@given(generated_fleets.fleets(), CAPACITIES, STEPS)
@settings(max_examples=4, deadline=None, suppress_health_check=QUIET)
def test_what_a_plan_prints_is_what_happens(fleet: Change, cpu: int, steps: list[Step]) -> None:
    live(fleet, cpu, steps)


@pytest.mark.long
@pytest.mark.timeout(3600)
@given(generated_fleets.fleets(), CAPACITIES, STEPS)
@settings(max_examples=150, deadline=None, suppress_health_check=QUIET)
def test_what_a_plan_prints_is_what_happens_in_many_fleets(
    fleet: Change, cpu: int, steps: list[Step]
) -> None:
    live(fleet, cpu, steps)
