"""What a pool is said to be first: never Ready before its runtime was told what to offer."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from iri.host import RuntimeClasses
from iri.simulated.faults.fault_rules import FaultRule
from schemas.report import Report
from tests.iri.quick_host import PROFILE
from tests.poollet.fleet import REPORTS, Fleet, machine_class
from tests.poollet.stage import Run, StagedHost, Time

BARE = replace(PROFILE, classes=RuntimeClasses())  # offers what it is told, and nothing before


@pytest.fixture
def run() -> Run:
    fleet, time = Fleet(), Time()
    fleet.commit({"classes/small.yaml": machine_class()})
    return Run(fleet, time, StagedHost(time, profile=BARE))


def classes(report: Report) -> tuple[str, list[str]]:
    status = report.pools["host-1"].status
    return status.state, [one.name for one in status.available_machine_classes]


def turn_often(run: Run) -> None:
    """A turn that no new answer of the runtime comes before."""
    run.remote.fetch()
    run.agent.run_pass()
    run.remote.push()


def test_a_runtime_that_answered_too_early_is_waited_for(run: Run) -> None:
    run.connection.probe()
    turn_often(run)
    assert run.fleet.head(REPORTS + "host-1") is None, "nothing is said of a pool that is about to be Ready"
    run.connection.probe()
    turn_often(run)
    assert classes(run.report()) == ("Ready", ["small"])


def test_a_runtime_that_did_not_answer_yet_is_pending(run: Run) -> None:
    turn_often(run)
    assert classes(run.report()) == ("Pending", [])
    run.connection.probe()
    turn_often(run)
    assert classes(run.report()) == ("Ready", ["small"])


def test_a_runtime_that_fails_before_its_classes_are_known_is_reported_and_not_ready(run: Run) -> None:
    run.connection.probe()
    run.machine.faults.add(FaultRule(call="Version", code="UNAVAILABLE"))
    turn_often(run)
    run.connection.probe()
    turn_often(run)
    assert classes(run.report()) == ("Error", [])
    (ready,) = [one for one in run.report().pools["host-1"].status.conditions if one.type == "Ready"]
    assert (ready.status, ready.reason) == ("False", "RuntimeUnreachable")


def test_who_leaves_says_so_at_once(run: Run) -> None:
    run.connection.probe()
    run.agent.leaving = "leaving"
    turn_often(run)
    assert classes(run.report())[0] == "Offline"


def test_a_restart_says_nothing_of_a_pool_that_has_lost_its_classes_for_a_moment(run: Run) -> None:
    run.turn()
    before = run.fleet.head(REPORTS + "host-1")
    assert classes(run.report()) == ("Ready", ["small"])
    forgetful = StagedHost(run.time, profile=BARE)  # restarted with its poollet, and not configured yet
    again = Run(run.fleet, run.time, forgetful, instance=2)
    again.connection.probe()
    turn_often(again)
    assert run.fleet.head(REPORTS + "host-1") == before
    again.connection.probe()
    turn_often(again)
    assert classes(again.report()) == ("Ready", ["small"])
