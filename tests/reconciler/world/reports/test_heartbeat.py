"""What counts as a sign of life of which host: through report refs in a repo in memory."""

from __future__ import annotations

from datetime import timedelta

import pytest

from reconciler.gitstore.repo import Snapshot
from reconciler.gitstore.store import CALL_SECONDS
from reconciler.world.reports.heartbeat import (
    LATE,
    MIN_TIMEOUT,
    Heartbeat,
    HeartbeatSeen,
    LinkSign,
    ReadTimes,
)
from reconciler.world.reports.heartbeat_watch import HeartbeatWatch
from reconciler.world.reports.reports import Reports
from schemas.report import CandidateReport, Report, render
from schemas.settings.fleet import MIN_HEARTBEAT_TIMEOUT_MILLISECONDS
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
        self.reports.advance(
            self.store, Snapshot(None, None, heads), self.now, lambda found: found.poollet is not None
        )
        return {host: beat for (_, host), beat in self.reports.heartbeats.items()}

    def look_slowly(self, seconds: float) -> dict[str, Heartbeat]:
        """The answer to a question that is asked now takes so long; the refs are as they were when it was asked."""
        start, heads = self.now, {"a": self.heads[REPORTS + "a"]}
        self.now += timedelta(seconds=seconds)
        times = ReadTimes(start, self.now)
        self.reports.advance(self.store, Snapshot(None, None, heads), self.now, lambda found: True, times)
        return {host: beat for (_, host), beat in self.reports.heartbeats.items()}

    def write(self, host: str = "one") -> str:
        return self.report("a", report("a", host=host))

    def write_dated(self, offset: float) -> str:
        """By a host whose clock is wrong by so many seconds."""
        now = self.now
        self.now += timedelta(seconds=offset)
        commit = self.write()
        self.now = now
        return commit

    def restore(self, commit: str) -> None:
        self.heads[REPORTS + "a"] = self.remote.refs[REPORTS + "a"] = commit

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
        refs.reports = Reports(HeartbeatWatch(remembered))
        assert refs.look() == {"one": Heartbeat.UNCONFIRMED}
        assert refs.reports.by_poollet["a"].own_commit == own


def alive() -> Refs:
    refs = Refs()
    for _ in range(2):
        refs.write()
        refs.look()
    return refs


def test_every_call_to_the_remote_ends_before_the_least_heartbeat_timeout() -> None:
    least = MIN_HEARTBEAT_TIMEOUT_MILLISECONDS / 1000
    assert MIN_TIMEOUT.total_seconds() == least
    assert LATE.total_seconds() < CALL_SECONDS < least


def test_the_time_that_an_answer_takes_is_not_silence() -> None:
    refs = alive()
    assert refs.look(TIMEOUT - 60) == {"one": Heartbeat.ALIVE}
    assert refs.look_slowly(70) == {"one": Heartbeat.ALIVE}
    assert refs.reports.is_late
    refs.write()  # while the answer was on its way
    assert refs.look() == {"one": Heartbeat.ALIVE}
    assert not refs.reports.is_late


def test_a_change_is_dated_by_the_time_at_which_its_answer_was_here() -> None:
    refs = alive()
    refs.write()
    refs.look_slowly(8)
    assert refs.look(TIMEOUT - 1) == {"one": Heartbeat.ALIVE}
    assert refs.look(1) == {"one": Heartbeat.EXPIRED}


def test_a_late_answer_lets_no_heartbeat_expire_and_the_next_one_does() -> None:
    refs = alive()
    refs.now += timedelta(seconds=TIMEOUT + 10)
    assert refs.look_slowly(LATE.total_seconds() + 1) == {"one": Heartbeat.ALIVE}
    due = refs.reports.due()
    assert due is not None
    assert due <= refs.now
    assert refs.look() == {"one": Heartbeat.EXPIRED}


def test_an_older_report_neither_proves_nor_prolongs_anything() -> None:
    refs = Refs()
    older = [refs.write() for _ in range(3)]
    refs.write()
    assert refs.look() == {"one": Heartbeat.UNCONFIRMED}
    for commit in older[:2]:  # two restores in a row
        refs.restore(commit)
        assert refs.look(10) == {"one": Heartbeat.UNCONFIRMED}
    assert refs.look(TIMEOUT - 21) == {"one": Heartbeat.UNCONFIRMED}
    assert refs.look(1) == {"one": Heartbeat.EXPIRED}
    refs.write()
    assert refs.look() == {"one": Heartbeat.ALIVE}


def test_the_report_that_was_restored_and_is_back_is_no_sign_of_life() -> None:
    refs = Refs()
    older, newest = refs.write(), refs.write()
    refs.look()
    for commit in (older, newest, older, newest):
        refs.restore(commit)
        assert refs.look() == {"one": Heartbeat.UNCONFIRMED}
    assert refs.look(TIMEOUT) == {"one": Heartbeat.EXPIRED}


def test_two_reports_of_one_second_are_two_signs_of_life() -> None:
    refs = alive()
    first = refs.heads[REPORTS + "a"]
    refs.now -= timedelta(seconds=2)  # which the last look and this report add again
    refs.report("a", report("a", host="one", machines=3))
    second = refs.heads[REPORTS + "a"]
    seen = refs.reports.heartbeats_seen["a", "one"]
    assert refs.look(5) == {"one": Heartbeat.ALIVE}
    assert refs.reports.heartbeats_seen["a", "one"].since > seen.since
    since = refs.reports.heartbeats_seen["a", "one"].since
    for commit in (first, second):
        refs.restore(commit)
        refs.look()
    assert refs.reports.heartbeats_seen["a", "one"].since == since


@pytest.mark.parametrize("step", [-2, -3600, -86400 * 3650])
def test_a_host_whose_clock_is_set_back_never_looks_lost(step: float) -> None:
    refs = alive()
    for _ in range(20):
        refs.write_dated(step)
        assert refs.look(15) == {"one": Heartbeat.ALIVE}
    assert refs.look(TIMEOUT) == {"one": Heartbeat.EXPIRED}


@pytest.mark.parametrize("step", [3600, 86400 * 3650])
def test_a_host_whose_clock_is_set_forward_and_back_again_never_looks_lost(step: float) -> None:
    refs = alive()
    for offset in (step, 0, step, 0, 0, 0, 0, 0):
        refs.write_dated(offset)
        assert refs.look(15) == {"one": Heartbeat.ALIVE}, offset


def test_the_first_report_of_a_host_that_was_awaited_may_be_years_old() -> None:
    refs = Refs()
    older = refs.write("one")
    refs.write("two")
    refs.look()
    assert refs.reports.expect("a", "one") is Heartbeat.UNCONFIRMED
    refs.restore(older)
    assert refs.look()["one"] is Heartbeat.UNCONFIRMED


def test_an_outage_prolongs_a_timeout_until_the_next_sign_of_life() -> None:
    now, outage = Scene().now, timedelta(minutes=5)
    seen = HeartbeatSeen("c", now, outage=outage)
    assert seen.expires == now + MIN_TIMEOUT + outage
    later = now + timedelta(minutes=6)
    assert seen.with_sign(LinkSign("c", later, MIN_TIMEOUT)).expires == later + MIN_TIMEOUT
    assert seen.at("d", later, later, MIN_TIMEOUT).expires == later + MIN_TIMEOUT
    assert seen.at("c", now, later, MIN_TIMEOUT).expires == seen.expires
