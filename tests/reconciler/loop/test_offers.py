"""What ticks make of what hosts answer to offers: the next pool in the same commit, every reason kept, and never more than a moment of time."""

from __future__ import annotations

from datetime import timedelta

import pytest

from reconciler.decide.placement.offers import OfferAnswer, OfferedObject, Question
from reconciler.gitstore.repo import Refs
from reconciler.loop.outcome import Committed, NoChange
from reconciler.loop.tick import ProcessInputs, Reconciler
from reconciler.loop.tick_offers import OFFER_SECONDS, TickOffers
from reconciler.world.record import retry_at
from reconciler.write.tick_commit import CommitIdentity
from schemas.kinds import Key, Kind
from schemas.model import Machine, MachineStatus, Rejection, decode
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
from tests.reconciler.loop.offering import FULL, NO, YES, OfferingLink

WEB = Key(Kind.MACHINE, "default", "web")


class OfferingSite:
    """Hosts with a pool each, and a reconciler that offers."""

    def __init__(self, hosts: int = 2) -> None:
        self.world, self.clock = MemoryWorld(), Clock()
        self.people = People(self.world.client(), self.clock)
        self.hosts = [
            Host(self.world.client(), f"host-{number}", self.clock, room=4) for number in range(hosts)
        ]
        self.link = OfferingLink()
        around = ProcessInputs(start_wait=None, link=self.link)
        self.reconciler = Reconciler(self.world.client(), Refs(), CommitIdentity("one"), around=around)
        self.people.push({"gitvirt.yaml": SETTINGS, "classes/small.yaml": SMALL})
        self.settle()

    def settle(self) -> None:
        settle([self.reconciler], self.hosts, self.clock)

    def tick(self) -> Committed:
        self.clock.go(1)
        outcome = self.reconciler.tick(self.clock)
        assert isinstance(outcome, Committed), outcome
        return outcome

    def schedule(self, name: str = "web", spec: str = "") -> MachineStatus:
        """What one tick made of it."""
        self.people.push({f"m/{name}.yaml": machine(name, spec=spec)})
        self.tick()
        return self.status(name)

    def status(self, name: str = "web") -> MachineStatus:
        client = self.world.client()
        found = documents(client, take_snapshot(client).target, Kind.MACHINE)
        (object,) = [decode(each.kind, each.body) for each in found if each.key.name == name]
        assert isinstance(object, Machine)
        return object.status

    def placements(self) -> dict[str, tuple[str, bool]]:
        """By machine, its pool and whether its host accepted it."""
        client = self.world.client()
        names = [each.key.name for each in documents(client, take_snapshot(client).target, Kind.MACHINE)]
        assignments = {name: self.status(name).assignment for name in names}
        return {name: (each.pool, each.accepted) for name, each in assignments.items() if each is not None}

    def message(self) -> str:
        client = self.world.client()
        head = take_snapshot(client).target
        assert head is not None
        return client.read(head).decode()


@pytest.fixture
def site() -> OfferingSite:
    return OfferingSite()


def test_an_accepted_offer_shows_in_the_assignment(site: OfferingSite) -> None:
    site.link.answer_by_pool(host_0=YES, host_1=YES)
    assigned = site.schedule().assignment
    assert assigned is not None
    assert (assigned.accepted, len(site.link.offers)) == (True, 1)
    site.settle()
    assert site.status().state == "Running"
    assert site.status().assignment == assigned, "it stays what it was when it was made"


def test_the_next_pool_gets_an_offer_in_the_same_tick_until_one_accepts(site: OfferingSite) -> None:
    first = site.schedule("probe").assignment
    assert first is not None
    site.link.answer = lambda each: YES if each.question.pool != "host-1" else NO
    status = site.schedule()
    assert status.assignment is not None
    assert (status.assignment.pool, status.assignment.accepted) == ("host-0", True)
    pools = [question.pool for offers in site.link.offers for question in offers if question.key == WEB]
    assert pools == ["host-1", "host-0"], "the emptier one first"
    (refusal,) = status.rejections
    assert (refusal.pool, refusal.reason) == ("host-1", FULL.code)
    assert "cpu: 2 needed, 1 left" in refusal.message
    assert "host-1 refused it: cpu: 2 needed, 1 left" in site.message()


def test_every_reason_is_kept_where_all_refuse_and_they_get_another_offer_later(site: OfferingSite) -> None:
    site.link.answer_by_pool(host_0=NO, host_1=NO)
    status = site.schedule()
    assert status.assignment is None
    assert [each.pool for each in status.rejections] == ["host-0", "host-1"]
    (scheduled,) = [each for each in status.conditions if each.type == "Scheduled"]
    assert (scheduled.status, scheduled.reason) == ("False", "Unschedulable")
    assert "RejectedByPool" in scheduled.message
    site.link.answer_by_pool(host_0=YES, host_1=YES)
    for host in site.hosts:
        host.work()
    site.clock.go(1)
    assert isinstance(site.reconciler.tick(site.clock), NoChange), "their backoff is not over"
    until = min(at for each in status.rejections if (at := retry_at(each)) is not None)
    site.clock.now = until - timedelta(seconds=1)
    site.tick()
    assert site.status().assignment is not None


@pytest.mark.parametrize("connected", [frozenset(), frozenset({"host-0", "host-1"})])
def test_without_an_answer_it_is_placed_as_without_a_link(
    site: OfferingSite, connected: frozenset[str]
) -> None:
    site.link.connected = connected
    assigned = site.schedule().assignment
    assert assigned is not None
    assert not assigned.accepted
    assert bool(site.link.offers) == bool(connected)


def test_a_host_that_refuses_all_harms_no_other_pool(site: OfferingSite) -> None:
    site.link.answer_by_pool(host_0=NO, host_1=YES)
    site.people.push({f"m/{number}.yaml": machine(f"m{number}") for number in range(4)})
    site.tick()
    assert set(site.placements().values()) == {("host-1", True)}


def test_a_host_that_lies_cannot_make_a_pool_take_more_than_it_has(site: OfferingSite) -> None:
    site.link.answer = lambda _: YES
    site.people.push({f"m/{number}.yaml": machine(f"m{number}") for number in range(12)})
    site.tick()
    pools = [pool for pool, _ in site.placements().values()]
    assert {pool: pools.count(pool) for pool in set(pools)} == {"host-0": 4, "host-1": 4}


QUOTA = (
    "apiVersion: core.ironcore.dev/v1alpha1\nkind: ResourceQuota\nmetadata: {name: q}\n"
    "spec: {hard: {requests.cpu: 2}}\n"
)
APART = "  antiAffinity: {labelSelector: {matchLabels: {app: web}}, topologyKey: zone, required: true}\n"


def test_what_was_refused_uses_no_quota(site: OfferingSite) -> None:
    site.people.push({"quota.yaml": QUOTA})
    site.settle()
    site.link.answer_by_pool(host_0=NO, host_1=YES)
    assert site.schedule().assignment is not None, "one machine is all that the quota allows"


def test_what_was_refused_keeps_nothing_away() -> None:
    """Both pools are in one zone, where one of such machines may be."""
    site = OfferingSite()
    for host in site.hosts:
        host.labels = {"zone": "z"}
    site.settle()
    site.link.answer_by_pool(host_0=NO, host_1=YES)
    text = machine("web", spec=APART).replace("  name: web\n", "  name: web\n  labels: {app: web}\n")
    site.people.push({"m/web.yaml": text})
    site.tick()
    assert site.placements() == {"web": ("host-1", True)}


def key(name: str) -> Key:
    return Key(Kind.MACHINE, "default", name)


def test_a_pin_to_a_pool_that_refuses_goes_nowhere_else(site: OfferingSite) -> None:
    site.link.answer_by_pool(host_0=NO, host_1=YES)
    status = site.schedule(spec="  machinePoolRef: {name: host-0}\n")
    assert status.assignment is None
    assert [each.pool for each in status.rejections] == ["host-0"]


def test_a_former_rejection_counts_for_the_backoff_of_a_refused_offer(site: OfferingSite) -> None:
    site.link.answer_by_pool(host_0=NO, host_1=NO)
    first = site.schedule().rejections
    site.clock.go(11)
    site.tick()
    again = site.status().rejections
    assert [(each.pool, each.count) for each in again] == [("host-0", 2), ("host-1", 2)]
    assert last(first) < last(again)


def last(rejections: tuple[Rejection, ...]) -> str:
    return max(each.time for each in rejections)


class SlowLink(OfferingLink):
    """Its hosts take their time, and more of it than they have."""

    def __init__(self, takes: float) -> None:
        super().__init__()
        self.now, self.takes = 0.0, takes
        self.answer = lambda _: NO

    def offer(self, offered: object, seconds: float) -> dict[Question, OfferAnswer]:
        took = min(seconds, self.takes)
        self.now += took
        return dict(super().offer(offered, seconds)) if took == self.takes else {}  # type: ignore[arg-type]


def make_offered(name: str, pool: str) -> OfferedObject:
    text = {
        "apiVersion": "compute.ironcore.dev/v1alpha1",
        "metadata": {"name": name},
        "spec": {"machineClassRef": {"name": "small"}, "image": "x"},
    }
    object = decode(Kind.MACHINE, text)
    assert isinstance(object, Machine)
    return OfferedObject(Question(key(name), pool), name, pool, pool, 1, object)


@pytest.mark.parametrize("takes", [0.01, 0.1, 0.2999, 5.0])
def test_a_tick_waits_for_hosts_no_longer_than_its_time_in_all(takes: float) -> None:
    link = SlowLink(takes)
    offers = TickOffers(link, clock=lambda: link.now)
    for _ in range(2):  # a tick may plan twice
        offers.begin_plan()
        for number in range(100):
            offers.ask([make_offered("web", f"pool-{number}")])
    assert link.now <= OFFER_SECONDS + 1e-9
    assert offers.count() >= 1


def test_a_second_plan_of_a_tick_has_the_answers_of_the_first() -> None:
    link = OfferingLink(answer=lambda _: YES)
    offers = TickOffers(link)
    first = offers.ask([make_offered("web", "a")])
    offers.begin_plan()
    assert offers.ask([make_offered("web", "a"), make_offered("db", "a")]) == {
        **first,
        Question(key("db"), "a"): YES,
    }
    assert [len(each) for each in link.offers] == [1, 1]
    assert len(offers.rounds) == 1
