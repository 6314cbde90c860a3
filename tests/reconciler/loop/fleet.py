"""People, hosts and reconcilers around one remote, real or in memory: each as simple as its role allows.

A Host does what a poollet must do and no more: it makes what `live` assigns to its pool, removes what `live` orders gone,
and says so in its report. What it ever made is remembered, so that nothing can be made twice unseen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from reconciler.gitstore.repo import Draft, Edit, Identity, Pushed, Refs, Repo, Snapshot
from reconciler.loop.outcome import Committed, Conflict, NoChange, Outcome
from reconciler.loop.tick import ProcessInputs, Reconciler
from reconciler.world.record import record_of
from reconciler.write.tick_commit import CommitIdentity
from schemas.kinds import Key, Kind
from schemas.manifest import Document, parse
from schemas.model import MachinePoolStatus
from schemas.model import MachineStatus as RecordedStatus
from schemas.report import (
    MachineReport,
    PoolletReport,
    PoolReport,
    Report,
    ReportedMachineStatus,
    ReportedPoolStatus,
    render,
)
from schemas.report.objects import ObjectRef, ReportedCondition
from tests.reconciler.gitstore.worlds import World

FLEET = "7a1cbd1c-6d2c-4b6e-9b5e-0c5f6a1e3f00"
INSTANCE = "00000000-0000-4000-8000-000000000001"
MAIN, LIVE, REPORTS = "refs/heads/main", "refs/heads/live", "refs/poollets/"
SETTINGS = f"fleet:\n  id: {FLEET}\n"
SMALL = (
    "apiVersion: compute.ironcore.dev/v1alpha1\nkind: MachineClass\nmetadata:\n  name: small\n"
    "capabilities:\n  cpu: 2\n  memory: 4Gi\n"
)
START = datetime(2030, 1, 1, tzinfo=UTC)


def machine(name: str, comment: str = "", spec: str = "") -> str:
    return (
        f"apiVersion: compute.ironcore.dev/v1alpha1\nkind: Machine\nmetadata:\n  name: {name}{comment}\n"
        f"spec:\n  machineClassRef:\n    name: small\n{spec}"
    )


@dataclass
class Clock:
    now: datetime = START

    def __call__(self) -> datetime:
        return self.now

    def go(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@dataclass
class People:
    """A person with a clone, who pushes and, when others were first, tries again on top of theirs."""

    repo: Repo
    clock: Callable[[], datetime]
    name: str = "Ann"

    def push(self, files: Mapping[str, str | None], message: str = "change", **trailers: str) -> str:
        while True:
            head = take_snapshot(self.repo).source
            edits: dict[str, Edit] = {
                path: text.encode() if text is not None else None for path, text in files.items()
            }
            named = [(key.replace("_", "-"), value) for key, value in trailers.items()]
            who = Identity(self.name, f"{self.name.lower()}@example.org")
            done = self.repo.write(
                [
                    Draft(
                        ref=MAIN,
                        expected=head,
                        base=head,
                        edits=edits,
                        message=message,
                        author=who,
                        time=self.clock(),
                        trailers=named,
                        even_if_unchanged=True,
                    )
                ]
            )
            if isinstance(done, Pushed):
                return done.commits[MAIN]


@dataclass
class Host:
    repo: Repo
    name: str
    clock: Callable[[], datetime]
    room: int = 10
    rejects: frozenset[str] = frozenset()
    words: str = "as it should be"
    classes: tuple[str, ...] = ("small",)
    storage: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    failure: str = ""  # the reason why a change of its machines fails
    running: dict[str, str] = field(default_factory=dict)  # uid -> assignment
    made: list[tuple[str, str]] = field(default_factory=list)  # (uid, assignment), ever
    reported: dict[tuple[str, ...], MachineReport] = field(default_factory=dict)

    def work(self) -> None:
        found = take_snapshot(self.repo)
        epoch = self._epoch(found)
        machine_reports: dict[tuple[str, ...], MachineReport] = {}
        for document in documents(self.repo, found.target, Kind.MACHINE):
            record = record_of(document.kind, document.body)
            order = record.assignment
            if order is None or (order.pool, order.host, order.epoch) != (self.name, self.name, epoch):
                continue
            status = record.status
            assert isinstance(status, RecordedStatus)
            is_ordered = record.is_deleting or (
                status.evict is not None and status.evict.assignment == order.id
            )
            machine_reports[document.key.namespace, document.key.name] = self._obey(
                document.key, record.uid, order.id, is_ordered
            )
        self._report(found, machine_reports, epoch)

    def _epoch(self, found: Snapshot) -> int:
        """Of the grant of its pool, where that is its own on `live`; else 0."""
        for document in documents(self.repo, found.target, Kind.MACHINE_POOL):
            status = record_of(document.kind, document.body).status
            if document.key.name == self.name and isinstance(status, MachinePoolStatus):
                return status.epoch if status.host is not None and status.host.id == self.name else 0
        return 0

    def _obey(self, key: Key, uid: str, order: str, is_ordered: bool) -> MachineReport:
        if is_ordered:
            self.running.pop(uid, None)
            return MachineReport(uid=uid, assignment=order, pool=self.name, phase="gone")
        if key.name in self.rejects:
            return MachineReport(uid=uid, assignment=order, pool=self.name, phase="rejected")
        if uid not in self.running:
            self.running[uid] = order
            self.made.append((uid, order))
        ready = ReportedCondition(type="Ready", status="True", reason="Running", message=self.words)
        failed = ReportedCondition(type="UpToDate", status="False", reason=self.failure)
        conditions = (ready, failed) if self.failure else (ready,)
        status = ReportedMachineStatus(machine_id=f"sim://{uid}", state="Running", conditions=conditions)
        return MachineReport(uid=uid, assignment=order, pool=self.name, phase="present", status=status)

    def _report(
        self, found: Snapshot, machine_reports: Mapping[tuple[str, ...], MachineReport], epoch: int
    ) -> None:
        capacity: dict[str, str | int] = {"cpu": 2 * self.room, "memory": f"{4 * self.room}Gi"}
        if self.storage:
            capacity["storage"] = self.storage
        status = ReportedPoolStatus(
            state="Ready",
            available_machine_classes=tuple(ObjectRef(name=name) for name in self.classes),
            capacity=capacity,
        )
        report = Report(
            poollet=PoolletReport(
                fleet=FLEET, name=self.name, host_id=self.name, instance=INSTANCE, interval="15s"
            ),
            pools={self.name: PoolReport(status=status, epoch=epoch, labels=dict(self.labels))},
            machines=machine_reports,
        )
        edits: dict[str, Edit] = dict(render(report))
        self.repo.write(
            [
                Draft(
                    ref=REPORTS + self.name,
                    expected=found.reports.get(self.name),
                    base=None,
                    edits=edits,
                    message="report",
                    author=Identity(self.name, "host@example.org"),
                    time=self.clock(),
                    has_parents=False,
                    even_if_unchanged=True,
                )
            ]
        )


def take_snapshot(repo: Repo) -> Snapshot:
    found = repo.snapshot()
    assert isinstance(found, Snapshot), found
    return found


def texts(repo: Repo, commit: str | None) -> dict[str, str]:
    return {file.path: repo.read(file.id).decode() for file in repo.files(commit)} if commit else {}


def documents(repo: Repo, commit: str | None, kind: Kind) -> list[Document]:
    return [
        document
        for path, text in texts(repo, commit).items()
        if path.endswith(".yaml") and path != "gitvirt.yaml"
        for document in parse(path, text.encode()).documents
        if document.kind is kind
    ]


def reconciler(repo: Repo, name: str = "one", refs: Refs | None = None) -> Reconciler:
    """One that takes all known hosts for alive from its start, so that few ticks lead to a state of rest."""
    around = ProcessInputs(start_wait=None)
    return Reconciler(repo, refs or Refs(), CommitIdentity(name), around=around)


def settle(turns: list[Reconciler], hosts: list[Host], clock: Clock, rounds: int = 30) -> list[Outcome]:
    """Everybody in turn, until the reconcilers have nothing left to write. What they did."""
    done: list[Outcome] = []
    for _ in range(rounds):
        clock.go(1)
        for host in hosts:
            host.work()
        outcomes = [each.tick(clock) for each in turns]
        done += outcomes
        assert all(isinstance(each, Committed | NoChange | Conflict) for each in outcomes), outcomes
        if all(isinstance(each, NoChange) for each in outcomes):
            return done
    raise AssertionError(f"no rest after {rounds} rounds: {done[-5:]}")


class Cast:
    """Ann, a reconciler, hosts, and one who only looks, each with a client of its own."""

    def __init__(self, world: World, hosts: Sequence[str], room: int) -> None:
        self.clock = Clock()
        self.people = People(world.client(), self.clock)
        self.hosts = [Host(world.client(), name, self.clock, room) for name in hosts]
        self.reconciler = reconciler(world.client())
        self.looker = world.client()

    def settle(self) -> None:
        settle([self.reconciler], self.hosts, self.clock)

    def on_live(self, kind: Kind) -> list[Document]:
        return documents(self.looker, take_snapshot(self.looker).target, kind)
