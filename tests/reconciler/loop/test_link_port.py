"""What ticks make of the link: hosts that lost it get nothing new, no commit says so, and hosts are told of commits that concern them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import pytest

from reconciler.gitstore.repo import Refs
from reconciler.loop.outcome import Committed, NoChange
from reconciler.loop.tick import ProcessInputs, Reconciler
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
class RecordedLink:
    """A LinkPort without a network: it says what a test lets it say, and keeps what it is told."""

    clock: Clock
    ended: set[str] = field(default_factory=set)
    settings: list[FleetSettings] = field(default_factory=list)
    nudges: list[frozenset[str] | None] = field(default_factory=list)

    def read(self) -> LinkInput:
        return LinkInput(True, {}, dict.fromkeys(self.ended, self.clock()))

    def follow(self, settings: FleetSettings) -> None:
        self.settings.append(settings)

    def nudge(self, commit: str, poollets: Collection[str] | None) -> None:
        self.nudges.append(None if poollets is None else frozenset(poollets))


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
