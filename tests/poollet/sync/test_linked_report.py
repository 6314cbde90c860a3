"""The report of a host that is connected over the link: how often it is pushed, and which commit a heartbeat there may stand for."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from poollet.sync.report_lease import Acquire, RefContents, ReportLease, StepDown, Wait
from reconciler.gitstore.remote.transport import RemoteErrorKind, RemoteUnavailable
from schemas.report import PoolletReport
from schemas.settings.fleet import FleetSettings
from tests.poollet.fleet import FLEET, REPORTS, Fleet, machine_class, uid
from tests.poollet.stage import Run, StagedHost, Time

pytestmark = pytest.mark.clock

REF = REPORTS + "host-1"
INTERVAL_MS = 15_000
GONE = RemoteUnavailable(RemoteErrorKind.NETWORK, "no route", "wait")


@dataclass
class LinkedRun:
    """One run, whose link is steady or not as a test says."""

    time: Time = field(default_factory=Time)
    is_steady: bool = False
    is_gone: bool = False

    def __post_init__(self) -> None:
        self.fleet = Fleet({"classes/small.yaml": machine_class(memory="1Gi")})
        self.run = Run(self.fleet, self.time, StagedHost(self.time), fault=self._fault)
        self.run.agent.name_interval = self._name_interval
        self.run.turn()
        self.run.turn()

    def _name_interval(self, settings: FleetSettings) -> str:
        return "5m" if self.is_steady else settings.heartbeat.interval

    def _fault(self, call: str, when: str) -> RemoteUnavailable | None:
        return GONE if self.is_gone else None

    def count_pushes(self, seconds: int) -> int:
        heads = set()
        for _ in range(seconds):
            self.time.ms += 1000
            self.run.turn()
            heads.add(self.fleet.head(REF))
        return len(heads) - 1

    @property
    def standing(self) -> str | None:
        return self.run.publisher.find_heartbeat_commit(INTERVAL_MS)

    def interval(self) -> str:
        by = self.run.report().poollet
        assert by is not None
        return by.interval


def test_a_steady_link_makes_pushes_rare_and_its_end_makes_them_frequent_at_once() -> None:
    linked = LinkedRun()
    assert linked.count_pushes(60) == 5
    linked.is_steady = True
    linked.run.turn()
    assert linked.interval() == "5m"
    assert linked.count_pushes(230) <= 1
    linked.is_steady = False
    linked.run.turn()
    assert linked.interval() == "15s"
    assert linked.count_pushes(60) == 5


def test_heartbeats_to_git_go_on_until_the_longer_interval_has_landed() -> None:
    linked = LinkedRun()
    linked.is_steady = linked.is_gone = True
    linked.count_pushes(30)
    linked.is_gone = False
    linked.count_pushes(61)
    assert linked.interval() == "5m"


def test_a_heartbeat_stands_for_the_report_that_the_ref_has() -> None:
    linked = LinkedRun()
    assert linked.standing == linked.fleet.head(REF)


def test_it_stands_for_none_while_news_waits_for_too_long() -> None:
    linked = LinkedRun()
    linked.is_steady = linked.is_gone = True  # the report has to name another interval now
    linked.run.turn()
    before = linked.fleet.head(REF)
    assert linked.standing == before
    linked.count_pushes(INTERVAL_MS // 1000 + 1)
    assert linked.standing is None
    linked.is_gone = False
    linked.count_pushes(61)
    assert linked.standing == linked.fleet.head(REF) != before


def test_it_stands_for_none_before_a_report_has_landed_and_after_the_end() -> None:
    linked = LinkedRun()
    other = Run(linked.fleet, linked.time, StagedHost(linked.time), name="host-2")
    assert other.publisher.find_heartbeat_commit(INTERVAL_MS) is None
    linked.run.publisher.end("over")
    assert linked.standing is None


@pytest.mark.parametrize("is_welcome", [True, False])
def test_after_an_unclean_end_a_connected_host_waits_for_the_usual_timeout(is_welcome: bool) -> None:
    """The former run named five minutes: its place at the servers went to this one, so it would push at once."""
    former = PoolletReport(
        fleet=FLEET, name="p", host_id="mine", instance=uid(7), interval="5m", boot_id="another boot"
    )
    lease = ReportLease("p", "mine", uid(1), "refs/poollets/p", boot_id="this boot")
    lease.answers_by = lambda: 1000 + 75_000 if is_welcome else None
    there = RefContents("c", {}, "c")
    assert isinstance(lease.judge(there, former, {}, 0), Wait)
    assert isinstance(lease.judge(there, former, {}, 75_999), Wait)
    assert isinstance(lease.judge(there, former, {}, 76_000), Acquire if is_welcome else Wait)
    if not is_welcome:
        assert isinstance(lease.judge(there, former, {}, 25 * 60_000), Acquire)


def test_a_former_run_that_is_alive_still_ends_this_one() -> None:
    former = PoolletReport(
        fleet=FLEET, name="p", host_id="mine", instance=uid(7), interval="5m", boot_id="another boot"
    )
    lease = ReportLease("p", "mine", uid(1), "refs/poollets/p", boot_id="this boot")
    lease.answers_by = lambda: 76_000
    assert isinstance(lease.judge(RefContents("c", {}, "c"), former, {}, 0), Wait)
    assert isinstance(lease.judge(RefContents("d", {}, "d"), former, {}, 10_000), StepDown)
