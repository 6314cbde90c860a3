"""Orka's sequence of scheduling with real hosts over real TLS: a machine is offered to hosts in order until one accepts, as allowed and as denied.

The hosts are processes with their own admission. The reconciler ticks when it is told to, and waits for answers as long as a busy machine needs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from iri.address import UnixAddress
from iri.client import Client
from iri.machine import RuntimeMachine, RuntimeMachineSpec
from reconciler.decide.placement.offers import OfferedObject, Question
from reconciler.gitstore.repo import Refs
from reconciler.link.metrics import LinkMetrics
from reconciler.link.server import LinkServer
from reconciler.link.server_key import ServerKey
from reconciler.loop.link_port import LinkPort, NoLink
from reconciler.loop.loop import read_steady_clock
from reconciler.loop.outcome import Committed, Failed
from reconciler.loop.tick import ProcessInputs, Reconciler
from reconciler.write.tick_commit import CommitIdentity
from schemas.kinds import Key, Kind
from schemas.model import Machine, MachinePool, MachineStatus, Object, decode
from tests.e2e.linked_fleet import MACHINE, LinkedFleet, linked_fleet
from tests.reconciler.gitstore.worlds import MirrorWorld
from tests.reconciler.loop.fleet import documents, take_snapshot
from tests.servers.repository import hook

HOSTS = ("rack-1", "rack-2")
SECONDS = 60.0  # for answers: the hosts share this machine with other tests
# Refuses the reports of a host that a file names: what it has by then is known to itself alone.
REFUSE_REPORTS = '#!/bin/sh\n! [ -e "mute-${1#refs/poollets/}" ]\n'
LARGEST_IN_ALL = 16  # machines of class large that fill a host


@dataclass
class OfferingFleet:
    """`reconciler` serves the link in this process."""

    fleet: LinkedFleet
    server: LinkServer
    world: MirrorWorld
    reconciler: Reconciler = field(init=False)

    def __post_init__(self) -> None:
        self.looker = self.world.client()
        self.reconciler = self.new_reconciler(self.server)

    def new_reconciler(self, link: LinkPort) -> Reconciler:
        around = ProcessInputs(start_wait=None, link=link, offer_seconds=SECONDS)
        return Reconciler(self.world.client(), Refs(), CommitIdentity("one"), around=around)

    def tick(self, reconciler: Reconciler | None = None, later: float = 0.0) -> str | None:
        """What it committed. `later`: by a clock that is so many seconds ahead, which dates what is written."""

        def clock() -> datetime:
            return datetime.now(UTC) + timedelta(seconds=later)

        outcome = (reconciler or self.reconciler).tick(clock, read_steady_clock)
        assert not isinstance(outcome, Failed), outcome
        return outcome.commit if isinstance(outcome, Committed) else None

    def until(self, holds: object, later: float = 0.0) -> None:
        """Ticks until then."""
        assert callable(holds)
        self.fleet.until(lambda: (self.tick(later=later), holds())[1])

    def object(self, kind: Kind, name: str) -> Object | None:
        found = documents(self.looker, take_snapshot(self.looker).target, kind)
        return next((decode(each.kind, each.body) for each in found if each.key.name == name), None)

    def status(self, name: str) -> MachineStatus:
        found = self.object(Kind.MACHINE, name)
        assert isinstance(found, Machine), f"{name} is not on live"
        return found.status

    def epoch(self, host: str) -> int:
        found = self.object(Kind.MACHINE_POOL, host)
        return found.status.epoch if isinstance(found, MachinePool) else 0

    def is_ready(self) -> bool:
        """All hosts are connected, and both pools can be used."""
        are_there = all(self.server.may_offer(name, name) for name in HOSTS)
        return are_there and all(self.epoch(name) for name in HOSTS)

    def mute(self, host: str) -> None:
        (self.fleet.repo / f"mute-{host}").touch()

    def fill(self, host: str) -> None:
        """Machines that are not gitvirt's take all of it. Its reports do not say so: they are refused."""
        self.mute(host)
        with Client(UnixAddress(self.fleet.folder / f"{host}.sock")) as runtime:
            for number in range(LARGEST_IN_ALL):
                runtime.create(
                    RuntimeMachine(id=f"foreign-{number}", spec=RuntimeMachineSpec(class_name="large"))
                )
        self.fleet.until(lambda: not self.probe(host))

    def clear(self, host: str) -> None:
        with Client(UnixAddress(self.fleet.folder / f"{host}.sock")) as runtime:
            for id in tuple(runtime.objects(RuntimeMachine)):
                runtime.remove(RuntimeMachine, id)
        self.fleet.until(lambda: self.probe(host))

    def probe(self, host: str, count: int = 1) -> bool:
        """Whether the host accepts so many machines of its largest class: asked over the link, as a tick asks."""
        body = {
            "apiVersion": "compute.ironcore.dev/v1alpha1",
            "metadata": {"name": "probe"},
            "spec": {"machineClassRef": {"name": "large"}},
        }
        object = decode(Kind.MACHINE, body)
        assert isinstance(object, Machine)
        questions = [Question(Key(Kind.MACHINE, "default", f"probe-{each}"), host) for each in range(count)]
        batch = [
            OfferedObject(each, each.key.name, host, host, self.epoch(host), object) for each in questions
        ]
        answers = self.server.offer(batch, SECONDS)
        return len(answers) == count and all(each.is_accepted for each in answers.values())


@pytest.fixture
def site() -> Iterator[OfferingFleet]:
    with tempfile.TemporaryDirectory(prefix="gv-") as folder, offering_fleet(Path(folder)) as found:
        yield found


@contextmanager
def offering_fleet(folder: Path) -> Iterator[OfferingFleet]:
    with linked_fleet(folder, hosts=HOSTS) as fleet:
        fleet.commit({"classes/large.yaml": LARGE})
        hook(fleet.repo, "update", REFUSE_REPORTS)
        world = MirrorWorld(folder / "world")
        world.repo = fleet.repo
        own = ServerKey(folder / "link.key", folder / "link.crt", read_steady_clock)
        metrics = LinkMetrics(CollectorRegistry())
        listen = ("127.0.0.1", fleet.servers["one"])
        with LinkServer(listen, own, lambda: None, read_steady_clock, metrics, version="1") as server:
            made = OfferingFleet(fleet, server, world)
            for name in HOSTS:
                fleet.run_host(name)
            try:
                made.until(made.is_ready)
                yield made
            finally:
                fleet.end()
                world.close()


LARGE = (
    "apiVersion: compute.ironcore.dev/v1alpha1\nkind: MachineClass\nmetadata: {name: large}\n"
    "capabilities: {cpu: '4', memory: 4Gi}\n"
)


@pytest.mark.early
def test_hosts_get_an_offer_in_order_until_one_accepts(site: OfferingFleet) -> None:
    """Orka's diagram, as it is allowed: the first host refuses, the second accepts, and that is one commit."""
    site.fill("rack-1")
    site.fleet.commit({"machines/web.yaml": MACHINE.format(name="web")})
    before = len(site.fleet.live_commits())
    assert site.tick() is not None
    status = site.status("web")
    assert status.assignment is not None
    assert (status.assignment.pool, status.assignment.accepted) == ("rack-2", True)
    (refusal,) = status.rejections
    assert (refusal.pool, refusal.reason) == ("rack-1", "Insufficient")
    assert "cpu: 1 needed, 0 left" in refusal.message
    assert len(site.fleet.live_commits()) == before + 1
    site.until(lambda: site.status("web").state == "Running")


@pytest.mark.early
def test_where_all_refuse_every_reason_is_kept_until_one_has_room(site: OfferingFleet) -> None:
    """Orka's diagram, as it is denied by every host."""
    for name in HOSTS:
        site.fill(name)
    site.fleet.commit({"machines/web.yaml": MACHINE.format(name="web")})
    assert site.tick() is not None
    status = site.status("web")
    assert status.assignment is None
    assert {each.pool: each.reason for each in status.rejections} == dict.fromkeys(HOSTS, "Insufficient")
    (scheduled,) = [each for each in status.conditions if each.type == "Scheduled"]
    assert (scheduled.status, scheduled.reason) == ("False", "Unschedulable")
    site.clear("rack-2")
    site.until(lambda: site.status("web").assignment, later=15)  # their backoff is over by then
    assigned = site.status("web").assignment
    assert assigned is not None
    assert (assigned.pool, assigned.accepted) == ("rack-2", True)
    (site.fleet.repo / "mute-rack-2").unlink()
    site.until(lambda: site.status("web").state == "Running", later=15)


@pytest.mark.early
def test_reserved_room_holds_off_offers_and_never_an_order_of_live(site: OfferingFleet) -> None:
    """All of both hosts is reserved: what live says all the same is carried out."""
    assert site.probe("rack-1", LARGEST_IN_ALL)
    assert site.probe("rack-2", LARGEST_IN_ALL)
    site.fleet.commit({"machines/web.yaml": MACHINE.format(name="web")})
    other = site.new_reconciler(NoLink())
    assert site.tick(other) is not None
    assigned = site.status("web").assignment
    assert assigned is not None
    assert not assigned.accepted
    site.until(lambda: site.status("web").state == "Running")
    assert site.status("web").rejections == ()


def test_a_host_that_hangs_is_placed_on_as_without_a_link(site: OfferingFleet) -> None:
    """Its process is stopped: it answers nothing, and no tick waits for it twice."""
    for name in HOSTS:
        site.fleet.pause(name)
    hasty = ProcessInputs(start_wait=None, link=site.server, offer_seconds=0.3)
    site.reconciler = Reconciler(site.world.client(), Refs(), CommitIdentity("one"), around=hasty)
    site.fleet.commit({"machines/web.yaml": MACHINE.format(name="web")})
    assert site.tick() is not None
    assigned = site.status("web").assignment
    assert assigned is not None
    assert not assigned.accepted
    assert not site.server.may_offer(assigned.pool, assigned.pool)
