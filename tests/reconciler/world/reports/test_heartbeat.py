"""What counts as a sign of life of which host: through report refs in a repo in memory."""

from __future__ import annotations

from datetime import timedelta

import pytest

from reconciler.world.reports.heartbeat import Heartbeat
from reconciler.world.reports.reports import Reports
from schemas.report import CandidateReport, Report, render
from tests.reconciler.world.scene import INSTANCE, REPORTS, Scene, report

TIMEOUT = 75  # five of the intervals that these reports name


class Refs(Scene):
    """The report ref of `a`, and what is known of who writes it."""

    def __init__(self) -> None:
        super().__init__()
        self.reports = Reports()

    def look(self, seconds: float = 1) -> dict[str, Heartbeat]:
        """By hostID."""
        self.now += timedelta(seconds=seconds)
        heads = {
            ref.removeprefix(REPORTS): commit for ref, commit in self.heads.items() if ref.startswith(REPORTS)
        }
        self.reports.advance(self.store, heads, self.now, lambda found: found.poollet is not None)
        return {host: beat for (_, host), beat in self.reports.heartbeats.items()}

    def write(self, host: str = "one") -> None:
        self.report("a", report("a", host=host))

    def wait_beside(self, host: str = "two") -> None:
        waiting = CandidateReport(name="a", host_id=host, instance=INSTANCE)
        self._commit(REPORTS + "a", dict(render(Report(candidate=waiting))), {}, has_parents=True)

    def drop_candidate(self) -> None:
        self._commit(REPORTS + "a", {"candidate.json": None}, {}, has_parents=True)


def test_a_report_is_unconfirmed_until_it_changes() -> None:
    refs = Refs()
    refs.write()
    assert refs.look() == {"one": Heartbeat.UNCONFIRMED}
    assert refs.look(TIMEOUT - 2) == {"one": Heartbeat.UNCONFIRMED}
    assert refs.look(2) == {"one": Heartbeat.EXPIRED}


def test_an_equal_tree_is_a_heartbeat() -> None:
    refs = Refs()
    refs.write()
    refs.look()
    refs.write()
    assert refs.look() == {"one": Heartbeat.ALIVE}


@pytest.mark.parametrize("times", [1, 5])
def test_a_candidate_is_not_a_sign_of_life(times: int) -> None:
    refs = Refs()
    refs.write()
    refs.look()
    for number in range(times):
        refs.wait_beside(f"two-{number}")
        assert refs.look(TIMEOUT / 10) == {"one": Heartbeat.UNCONFIRMED}
    refs.drop_candidate()
    assert refs.look(TIMEOUT) == {"one": Heartbeat.EXPIRED}


def test_a_candidate_does_not_hide_that_the_host_itself_reports() -> None:
    refs = Refs()
    refs.write()
    refs.wait_beside()
    refs.look()
    own = refs.reports.by_poollet["a"].own_commit
    waiting = CandidateReport(name="a", host_id="two", instance=INSTANCE)
    refs.report("a", report("a", host="one", candidate=waiting))
    assert refs.look() == {"one": Heartbeat.ALIVE}
    assert refs.reports.by_poollet["a"].own_commit != own


def test_a_candidate_that_writes_with_every_start_hides_no_heartbeat() -> None:
    """The heartbeat and the next candidate come between two looks: the ref differs in candidate.json alone."""
    refs = Refs()
    refs.write()
    refs.wait_beside("two")
    refs.look()
    for number in range(10):
        refs.write()
        refs.wait_beside(f"two-{number}")
        assert refs.look(10) == {"one": Heartbeat.ALIVE}


def test_two_writers_of_a_ref_have_two_heartbeats() -> None:
    refs = Refs()
    for _ in range(2):
        refs.write("one")
        refs.look()
    refs.write("two")
    assert refs.look() == {"one": Heartbeat.ALIVE, "two": Heartbeat.UNCONFIRMED}
    for _ in range(8):
        refs.write("two")
        refs.look(10)
    assert refs.look() == {"one": Heartbeat.EXPIRED, "two": Heartbeat.ALIVE}
    assert {entry.host for entry in refs.reports.by_poollet["a"].entries.values()} <= {"two"}


def test_a_refused_report_is_not_a_sign_of_life() -> None:
    refs = Refs()
    refs.write()
    refs.look()
    for _ in range(3):
        refs._commit(REPORTS + "a", {"poollet.json": b"{"}, {}, has_parents=True)
        assert refs.look(10) == {"one": Heartbeat.UNCONFIRMED}
    assert refs.look(TIMEOUT) == {"one": Heartbeat.EXPIRED}


def test_a_host_whose_report_is_gone_has_its_timeout_and_is_forgotten_then() -> None:
    refs = Refs()
    refs.write()
    refs.look()
    refs.write()
    refs.look()
    del refs.heads[REPORTS + "a"]
    assert refs.look() == {"one": Heartbeat.ALIVE}
    assert refs.reports.has_absent_host()
    assert refs.look(TIMEOUT) == {}


def test_a_granted_host_of_which_there_is_no_trace_is_unconfirmed_for_its_timeout() -> None:
    refs = Refs()
    refs.write("two")
    refs.look()
    assert refs.reports.expect("a", "one") is Heartbeat.UNCONFIRMED
    assert refs.look(TIMEOUT)["one"] is Heartbeat.EXPIRED
    assert refs.reports.expect("a", "one") is Heartbeat.EXPIRED


def test_a_new_start_remembers_who_wrote_what() -> None:
    refs = Refs()
    refs.write()
    refs.look()
    own = refs.reports.by_poollet["a"].own_commit
    refs.wait_beside()
    for remembered in (dict(refs.reports.heartbeats_seen), None):
        refs.reports = Reports(remembered)
        assert refs.look() == {"one": Heartbeat.UNCONFIRMED}
        assert refs.reports.by_poollet["a"].own_commit == own
