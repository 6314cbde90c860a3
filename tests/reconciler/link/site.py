"""A reconciler that serves the link over real TLS, hosts in turns, and a client that looks on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from reconciler.gitstore.repo import Draft, Identity, Pushed, Refs
from reconciler.loop.outcome import Committed
from reconciler.loop.tick import ProcessInputs, Reconciler
from reconciler.write.tick_commit import CommitIdentity
from schemas.kinds import Key
from schemas.report import MachineReport, PoolletReport, Report, ReportedMachineStatus, render
from schemas.report.objects import ReportedCondition
from tests.reconciler.gitstore.worlds import MemoryWorld, World
from tests.reconciler.link.client import ApiClient, list_client
from tests.reconciler.link.serving import Served, serving
from tests.reconciler.loop.fleet import (
    FLEET,
    INSTANCE,
    REPORTS,
    SMALL,
    Clock,
    Host,
    People,
    settle,
    take_snapshot,
)
from tests.servers.link_certificates import LinkCertificate, link_settings, make_certificate


@dataclass
class StatedHost(Host):
    """`states` has state and reason of guests that do not run, by name."""

    states: dict[str, tuple[str, str]] = field(default_factory=dict)

    def leave(self) -> None:
        """Its last report: it says that it leaves, and has nothing any more."""
        last = PoolletReport(
            fleet=FLEET,
            name=self.name,
            host_id=self.name,
            instance=INSTANCE,
            interval="15s",
            leaving="leaving",
        )
        report = Draft(
            ref=REPORTS + self.name,
            expected=take_snapshot(self.repo).reports.get(self.name),
            base=None,
            edits=dict(render(Report(poollet=last))),
            message="report",
            author=Identity(self.name, "host@example.org"),
            time=self.clock(),
            has_parents=False,
        )
        assert isinstance(self.repo.write([report]), Pushed)

    def _obey(self, key: Key, uid: str, order: str, is_ordered: bool) -> MachineReport:
        found = super()._obey(key, uid, order, is_ordered)
        state, reason = self.states.get(key.name, ("", ""))
        if not state or found.status is None:
            return found
        ready = ReportedCondition(type="Ready", status="False", reason=reason, message=f"it is {state}")
        status = ReportedMachineStatus(machine_id=found.status.machine_id, state=state, conditions=(ready,))  # type: ignore[arg-type]
        return MachineReport(uid=uid, assignment=order, pool=self.name, phase="present", status=status)


class ViewedSite:
    """The reconciler ticks when it is told to; its server runs all the time."""

    def __init__(self, served: Served, hosts: tuple[str, ...], world: World | None = None) -> None:
        self.served, self.clock = served, Clock()
        self.world = world or MemoryWorld()
        self.people = People(self.world.client(), self.clock)
        self.hosts = [StatedHost(self.world.client(), name, self.clock) for name in hosts]
        self.certificates: dict[str, LinkCertificate] = {}
        self.clients: dict[str, str] = {}
        self.reconciler = self.new_reconciler()
        self.people.push({"classes/small.yaml": SMALL})

    def new_reconciler(self) -> Reconciler:
        around = ProcessInputs(start_wait=None, link=self.served.server)
        return Reconciler(self.world.client(), Refs(), CommitIdentity("one"), around=around)

    def permit(self, name: str, rights: tuple[str, ...], namespaces: tuple[str, ...]) -> ApiClient:
        """A client whose entry is on the source; the next tick lets it in."""
        own = self.certificates.setdefault(name, make_certificate(name))
        self.clients[name] = list_client(name, own, rights, namespaces)
        self.write_settings()
        return ApiClient(self.served.server.address, self.served.link, own)

    def write_settings(self, *poollets: str) -> None:
        more = "clients:\n" + "".join(self.clients.values()) if self.clients else ""
        hosts = {name: make_certificate(name) for name in poollets}
        text = link_settings(FLEET, ["127.0.0.1:7443"], self.served.link, hosts, more)
        self.people.push({"gitvirt.yaml": text})

    def push(self, files: Mapping[str, str | None]) -> str:
        return self.people.push(files)

    def tick(self, times: int = 1, seconds: float = 1.0) -> None:
        for _ in range(times):
            self.clock.go(seconds)
            self.reconciler.tick(self.clock)

    def settle(self) -> None:
        settle([self.reconciler], list(self.hosts), self.clock)

    def commit(self) -> str:
        self.clock.go(1)
        outcome = self.reconciler.tick(self.clock)
        assert isinstance(outcome, Committed), outcome
        return outcome.commit


@contextmanager
def viewed_site(folder: Path, hosts: tuple[str, ...] = ("host-0", "host-1")) -> Iterator[ViewedSite]:
    with serving(folder) as served:
        yield ViewedSite(served, hosts)
