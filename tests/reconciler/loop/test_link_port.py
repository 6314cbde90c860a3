"""What ticks make of the link: hosts that lost it get nothing new, no commit says so, and hosts are told of commits that concern them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import pytest

from reconciler.gitstore.repo import Refs
from reconciler.loop.link_port import NoLink
from reconciler.loop.outcome import Committed, NoChange
from reconciler.loop.tick import ProcessInputs, Reconciler
from reconciler.picture.fleet_picture import PictureNews
from reconciler.world.reports.heartbeat import LinkInput
from reconciler.write.tick_commit import CommitIdentity
from schemas.kinds import Kind
from schemas.settings.fleet import FleetSettings
from tests.reconciler.gitstore.worlds import MemoryWorld
from tests.reconciler.loop.fleet import (
    SETTINGS,
    SMALL,
    Clock,
    Host,
    People,
    documents,
    machine,
    settle,
    take_snapshot,
)


@dataclass
class RecordedLink(NoLink):
    """A LinkPort without a network: it says what a test lets it say, and keeps what it is told."""

    clock: Clock
    ended: set[str] = field(default_factory=set)
    settings: list[FleetSettings] = field(default_factory=list)
    nudges: list[frozenset[str] | None] = field(default_factory=list)
    shown: list[PictureNews] = field(default_factory=list)
    has_viewers: bool = False
    is_broken: bool = False

    def read(self) -> LinkInput:
        return LinkInput(True, {}, dict.fromkeys(self.ended, self.clock()))

    def follow(self, settings: FleetSettings) -> None:
        self.settings.append(settings)

    def nudge(self, commit: str, poollets: Collection[str] | None) -> None:
        self.nudges.append(None if poollets is None else frozenset(poollets))

    def is_viewed(self, settings: FleetSettings) -> bool:
        return self.has_viewers

    def show(self, news: PictureNews) -> None:
        assert not self.is_broken, "a defect of a viewer"
        self.shown.append(news)


class LinkedSite:
    """Two hosts with their own pools, and a reconciler that serves a link."""

    def __init__(self) -> None:
        self.world, self.clock = MemoryWorld(), Clock()
        self.people = People(self.world.client(), self.clock)
        self.hosts = [Host(self.world.client(), name, self.clock) for name in ("host-0", "host-1")]
        self.link = RecordedLink(self.clock)
        around = ProcessInputs(start_wait=None, link=self.link)
        self.reconciler = Reconciler(self.world.client(), Refs(), CommitIdentity("one"), around=around)
        self.people.push({"gitvirt.yaml": SETTINGS, "classes/small.yaml": SMALL})
        self.settle()

    def settle(self) -> None:
        settle([self.reconciler], self.hosts, self.clock)

    def pools(self) -> dict[str, str]:
        """Of each machine on live."""
        client = self.world.client()
        found = documents(client, take_snapshot(client).target, Kind.MACHINE)
        specs = {each.key.name: each.body["spec"] for each in found}
        return {name: spec.get("machinePoolRef", {}).get("name", "") for name, spec in specs.items()}

    def push_and_tick(self, files: dict[str, str | None]) -> str:
        """What the tick committed."""
        self.people.push(files)
        self.clock.go(1)
        outcome = self.reconciler.tick(self.clock)
        assert isinstance(outcome, Committed), outcome
        return outcome.commit

    def head(self) -> str | None:
        return take_snapshot(self.world.client()).target


@pytest.fixture
def site() -> LinkedSite:
    return LinkedSite()


def test_a_host_that_lost_its_link_gets_nothing_new(site: LinkedSite) -> None:
    site.link.ended = {"host-0"}
    site.people.push({f"m/{number}.yaml": machine(f"m{number}") for number in range(4)})
    site.clock.go(1)
    assert isinstance(site.reconciler.tick(site.clock), Committed)
    assert set(site.pools().values()) == {"host-1"}


def test_what_only_a_lost_host_could_take_waits_without_a_commit(site: LinkedSite) -> None:
    site.link.ended = {"host-0", "host-1"}
    site.people.push({"m/web.yaml": machine("web")})
    outcomes = []
    for _ in range(4):
        site.clock.go(1)
        outcomes.append(site.reconciler.tick(site.clock))
    assert [type(each) for each in outcomes] == [Committed, NoChange, NoChange, NoChange]
    last = outcomes[-1]
    assert isinstance(last, NoChange)
    assert [str(each) for each in last.plan.postponed] == ["Machine/default/web"]
    assert last.plan.awaited
    site.link.ended = set()
    site.clock.go(1)
    assert isinstance(site.reconciler.tick(site.clock), Committed)
    assert site.pools()["web"]


def test_a_link_that_comes_and_goes_adds_no_commit(site: LinkedSite) -> None:
    before = site.head()
    for number in range(10):
        site.link.ended = {"host-0"} if number % 2 else set()
        site.clock.go(1)
        assert isinstance(site.reconciler.tick(site.clock), NoChange)
    assert site.head() == before


def test_a_commit_wakes_the_hosts_that_it_concerns(site: LinkedSite) -> None:
    site.settle()
    site.link.nudges.clear()
    site.people.push({"m/web.yaml": machine("web")})
    site.clock.go(1)
    site.reconciler.tick(site.clock)
    assert site.link.nudges == [frozenset({site.pools()["web"]})]


def test_a_new_class_wakes_all_hosts(site: LinkedSite) -> None:
    site.link.nudges.clear()
    site.people.push({"classes/large.yaml": SMALL.replace("small", "large")})
    site.clock.go(1)
    site.reconciler.tick(site.clock)
    assert site.link.nudges == [None]


def test_new_settings_are_in_force_once_they_are_on_live(site: LinkedSite) -> None:
    site.link.nudges.clear()
    site.people.push({"gitvirt.yaml": SETTINGS + "heartbeat: {interval: 20s}\n"})
    site.clock.go(1)
    assert isinstance(site.reconciler.tick(site.clock), Committed)
    assert site.link.settings[-1].heartbeat.interval == "20s"
    assert site.link.nudges == [None]


def test_a_picture_is_of_what_the_tick_wrote_and_names_what_may_differ(site: LinkedSite) -> None:
    site.link.has_viewers = True
    site.push_and_tick({f"m/{name}.yaml": machine(name) for name in ("web", "db")})
    assert site.link.shown[-1].keys is None, "the first one is whole"
    site.settle()
    site.link.shown.clear()
    commit = site.push_and_tick({"m/new.yaml": machine("new")})
    (news,) = site.link.shown
    assert news.picture.live == commit
    assert {key.name: each.pool for key, each in news.picture.instances.items()} == site.pools()
    assert news.keys is not None
    assert [key.name for key in news.keys] == ["new"]


def test_no_picture_is_painted_without_viewers(site: LinkedSite) -> None:
    site.push_and_tick({"m/web.yaml": machine("web")})
    assert site.link.shown == []


def test_a_defect_of_pictures_stops_no_tick(site: LinkedSite, caplog: pytest.LogCaptureFixture) -> None:
    site.link.has_viewers = site.link.is_broken = True
    site.push_and_tick({"m/web.yaml": machine("web")})
    assert "the picture for viewers of the API failed" in caplog.text
    assert site.link.nudges[-1] == frozenset({site.pools()["web"]})
    site.link.is_broken = False
    site.clock.go(1)
    site.reconciler.tick(site.clock)
    assert site.link.shown[-1].keys is None
