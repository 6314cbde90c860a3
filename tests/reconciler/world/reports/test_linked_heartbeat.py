"""Heartbeats over the link, judged with those of report refs: through report refs in a repo in memory."""

from __future__ import annotations

from datetime import timedelta

import pytest

from reconciler.gitstore.repo import Snapshot
from reconciler.world.reports.heartbeat import STEADY, Heartbeat, LinkInput, LinkSign, ReadTimes
from reconciler.world.reports.reports import Reports
from tests.reconciler.world.scene import REPORTS, Scene, report

TIMEOUT = timedelta(seconds=75)
LINKED = 25 * 60  # five of the intervals that a connected host names
WRITER = ("a", "one")


class LinkedRefs(Scene):
    """The report ref of `a`, which names five minutes, and a link that says what a test lets it say."""

    def __init__(self, interval: str = "5m") -> None:
        super().__init__()
        self.reports = Reports()
        self.link = LinkInput(is_served=True)
        self.commit = self.write(interval)

    def write(self, interval: str = "5m") -> str:
        self.commit = self.report("a", report("a", host="one", interval=interval))
        return self.commit

    def sign(self, commit: str = "", late: float = 0) -> None:
        """A heartbeat that answers a question of so many seconds ago."""
        at = self.now - timedelta(seconds=late)
        self.link = LinkInput(True, {"a": LinkSign(commit or self.commit, at, TIMEOUT)})

    def end(self) -> None:
        """Its stream ends now."""
        self.link = LinkInput(True, self.link.signs, {"a": self.now})

    def look(self, seconds: float = 1, *, is_accepted: bool = True) -> Heartbeat:
        self.now += timedelta(seconds=seconds)
        times = ReadTimes(self.now, self.now, self.link)
        snapshot = Snapshot(None, None, {"a": self.heads[REPORTS + "a"]})
        self.reports.advance(self.store, snapshot, self.now, lambda _: is_accepted, times)
        return self.reports.heartbeats[WRITER]

    def has_lost_link(self) -> bool:
        return self.reports.has_lost_link(WRITER, TIMEOUT)


def test_a_heartbeat_over_the_link_confirms_a_report_that_does_not_change() -> None:
    refs = LinkedRefs()
    assert refs.look() is Heartbeat.UNCONFIRMED
    refs.sign()
    assert refs.look() is Heartbeat.ALIVE


def test_a_host_that_falls_silent_expires_by_the_timeout_that_its_heartbeat_promised() -> None:
    refs = LinkedRefs()
    refs.look()
    refs.sign()
    assert refs.look(TIMEOUT.total_seconds() - 1) is Heartbeat.ALIVE
    assert refs.look(1) is Heartbeat.EXPIRED


def test_a_heartbeat_is_dated_by_its_question() -> None:
    refs = LinkedRefs()
    refs.look()
    refs.look(100)
    refs.sign(late=70)
    assert refs.look(4) is Heartbeat.ALIVE
    assert refs.look(1) is Heartbeat.EXPIRED


def test_a_heartbeat_for_another_commit_says_nothing() -> None:
    refs = LinkedRefs()
    refs.look()
    refs.sign("f" * 40)
    assert refs.look() is Heartbeat.UNCONFIRMED


def test_a_late_heartbeat_takes_nothing_back() -> None:
    refs = LinkedRefs()
    refs.look()
    refs.sign()
    refs.look(10)
    refs.sign(late=60)
    assert refs.look(64) is Heartbeat.ALIVE


def test_a_refused_report_is_not_confirmed() -> None:
    refs = LinkedRefs()
    refs.sign()
    assert refs.look(is_accepted=False) is Heartbeat.UNCONFIRMED
    assert refs.look(is_accepted=False) is Heartbeat.UNCONFIRMED


def test_an_older_report_is_not_confirmed() -> None:
    """A backup of the repo put it there, while the host goes on."""
    refs = LinkedRefs()
    refs.look()
    old = refs.commit
    refs.write()
    refs.look()
    refs.heads[REPORTS + "a"] = refs.remote.refs[REPORTS + "a"] = old
    refs.look()
    refs.sign(old)
    refs.look()
    assert not refs.reports.is_fresh(WRITER)


@pytest.mark.parametrize(
    ("between", "expires"),
    [
        pytest.param(STEADY.total_seconds() - 5, 75, id="a push right after a heartbeat: as promised there"),
        pytest.param(STEADY.total_seconds() + 5, LINKED, id="a later push: of a host connected to others"),
    ],
)
def test_a_push_after_the_last_heartbeat(between: float, expires: float) -> None:
    refs = LinkedRefs()
    refs.look()
    refs.sign()
    refs.look(0)
    refs.now += timedelta(seconds=between - 1)
    refs.write()  # takes a second
    refs.look(0)
    assert refs.look(expires - 1) is Heartbeat.ALIVE
    assert refs.look(1) is Heartbeat.EXPIRED


def test_without_a_heartbeat_here_the_interval_of_the_report_counts() -> None:
    refs = LinkedRefs()
    refs.look()
    refs.write()
    refs.look()
    assert refs.look(LINKED - 1) is Heartbeat.ALIVE
    assert refs.look(1) is Heartbeat.EXPIRED


def test_a_lost_link_is_over_with_the_next_sign_of_life() -> None:
    refs = LinkedRefs()
    refs.look()
    refs.sign()
    refs.look()
    assert not refs.has_lost_link()
    refs.end()
    refs.look()
    assert refs.has_lost_link()
    refs.write("15s")
    refs.look()
    assert not refs.has_lost_link()


def test_a_host_that_was_connected_before_a_start_is_awaited() -> None:
    """Its report names five minutes: it was connected to every server, and is not connected to this one."""
    refs = LinkedRefs()
    refs.look()
    assert refs.has_lost_link()
    refs.sign()
    refs.look()
    assert not refs.has_lost_link()


def test_a_host_without_the_link_is_not_awaited() -> None:
    refs = LinkedRefs("15s")
    refs.look()
    assert not refs.has_lost_link()


def test_without_a_server_of_the_link_none_is_awaited() -> None:
    refs = LinkedRefs()
    refs.link = LinkInput()
    refs.look()
    assert not refs.has_lost_link()
