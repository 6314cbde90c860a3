"""A fleet that lives: a repo in memory, the reconciler's real ticks, and hosts that do what live orders and report it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from dataclasses import replace as dataclass_replace
from datetime import timedelta
from typing import Any

from msgspec.structs import replace as msgspec_replace

from reconciler.gitstore.objects.commit import decode_commit
from reconciler.gitstore.repo import Snapshot
from reconciler.loop.outcome import Committed, Conflict, NoChange, Outcome, TickBlocked
from reconciler.loop.tick import Reconciler
from reconciler.plan.types import Plan
from reconciler.world.pools.grants import NO_GRANT, Grant
from reconciler.world.reports.heartbeat import HeartbeatSeen, Writer
from reconciler.world.world import World
from reconciler.write.tick_commit import CommitIdentity
from schemas import manifest
from schemas.kinds import Key, Kind
from schemas.model import Machine, Volume, VolumeSnapshot, decode
from schemas.report import Report, objects
from tests.reconciler.world import scene
from tests.reconciler.world.scene import LIVE, Scene

MOST_ROUNDS = 30
Assigned = Machine | Volume | VolumeSnapshot


@dataclass
class Host:
    """What a well-behaved poollet does, without any runtime behind it.

    It acts on what is assigned to its hostID under the epoch of the pool's grant, and on nothing else. What it has and another
    host got, it powers off and keeps.
    """

    name: str
    machines: int = 10
    labels: Mapping[str, str] = field(default_factory=dict)
    is_local: bool = False  # its volumes are reached from this host alone
    rejects: set[str] = field(default_factory=set)
    has: dict[Key, tuple[str, str]] = field(default_factory=dict)  # what is there: uid and assignment
    refused: dict[str, Key] = field(default_factory=dict)
    gone: dict[Key, tuple[str, str]] = field(default_factory=dict)
    kept: set[str] = field(
        default_factory=set
    )  # uids of earlier objects that another of their name came beside
    sizes: dict[str, str] = field(default_factory=dict)  # of volumes, as far as it says
    id: str = ""  # the hostID; empty, as the name
    epoch: int = 0  # of the grant that it last saw to be its own
    made: list[tuple[str, str]] = field(default_factory=list)  # uid and assignment, ever
    off: set[Key] = field(default_factory=set)  # machines powered off, because they are another host's now

    @property
    def host_id(self) -> str:
        return self.id or self.name

    def act(self, live: Mapping[Key, Assigned], grant: Grant = NO_GRANT) -> None:
        """`grant` is that of its pool on `live`. While `live` is lost it goes on to report the epoch that it saw last."""
        if grant.epoch:
            self.epoch = grant.epoch if grant.host == self.host_id else 0
        orders = {
            key: found
            for key, found in live.items()
            if found.status.assignment is not None
            and found.status.assignment.pool == self.name
            and (found.status.assignment.host, found.status.assignment.epoch) == (self.host_id, self.epoch)
        }
        self.off -= {key for key in self.off if key in orders}
        self.off |= {key for key in self.has if key not in orders and key.kind is Kind.MACHINE}
        self.gone = {key: ids for key, ids in self.gone.items() if key in orders}
        for key, found in sorted(orders.items()):
            self.obey(key, found)

    def obey(self, key: Key, found: Assigned) -> None:
        assignment, evict = found.status.assignment, getattr(found.status, "evict", None)
        assert assignment is not None
        ids = (found.metadata.uid, assignment.id)
        is_ordered = found.metadata.is_deleting or (evict is not None and evict.assignment == assignment.id)
        if assignment.id in self.refused or (key.name in self.rejects and key not in self.has):
            self.refused[assignment.id] = key
        elif is_ordered:
            if key.kind is Kind.VOLUME and self.holders(found):
                return
            self.has.pop(key, None)
            self.gone[key] = ids
        else:
            if key in self.has and self.has[key][0] != ids[0]:
                self.kept.add(self.has[key][0])
            if self.has.get(key) != ids and ids not in self.made:
                self.made.append(ids)
            self.has[key] = ids

    def holders(self, volume: Assigned) -> tuple[str, ...]:
        assert isinstance(volume, Volume)
        claim = volume.spec.claim_ref
        uids = {uid for key, (uid, _) in self.has.items() if key.kind is Kind.MACHINE}
        return (claim.uid,) if claim is not None and claim.uid in uids else ()

    def report(self, live: Mapping[Key, Assigned]) -> Report:
        machines: dict[tuple[str, str], object] = {}
        volumes: dict[tuple[str, str], object] = {}
        snapshots: dict[tuple[str, str], object] = {}
        orphans = []
        for key, (uid, id) in sorted(self.has.items()):
            there = live.get(key)
            stated = there.status.assignment if there is not None else None
            if stated is None or stated.id != id:
                orphans.append(self.orphan(key, uid))
            elif key.kind is Kind.MACHINE:
                status = objects.ReportedMachineStatus(machine_id=f"sim://{uid}", state="Running")
                if isinstance(there, Machine) and there.status.undo is not None:
                    stopped = objects.ReportedCondition(type="Ready", status="False", reason="Deleted")
                    status = msgspec_replace(status, state="Shutdown", conditions=(stopped,))
                machines[key.namespace, key.name] = objects.MachineReport(
                    uid, id, "present", self.name, status=status
                )
            elif key.kind is Kind.VOLUME_SNAPSHOT:
                taken = objects.ReportedSnapshotStatus(snapshot_id=f"sim://{uid}", state="Ready")
                snapshots[key.namespace, key.name] = objects.SnapshotReport(
                    uid, id, "present", self.name, status=taken
                )
            else:
                resources: dict[str, str | int] = {"storage": self.sizes[uid]} if uid in self.sizes else {}
                made = objects.ReportedVolumeStatus(
                    volume_id=f"sim://{uid}", state="Available", resources=resources
                )
                held = self.holders(there) if isinstance(there, Volume) else ()
                volumes[key.namespace, key.name] = objects.VolumeReport(
                    uid, id, "present", self.name, attached_to=held, status=made
                )
        self.add_ends(live, {Kind.MACHINE: machines, Kind.VOLUME: volumes, Kind.VOLUME_SNAPSHOT: snapshots})
        found = scene.report(
            self.name,
            self.machines,
            volume_pools=(self.name,),
            entries=machines,
            volumes=volumes,
            orphans=orphans,
            labels=self.labels,
            host=self.host_id,
            epochs={self.name: self.epoch} if self.epoch else None,
        )
        found = dataclass_replace(found, snapshots=snapshots)  # type: ignore[arg-type]
        own = found.pools[self.name]
        roomy = msgspec_replace(own.status, capacity={**own.status.capacity, "storage": "1Ti"})
        found = dataclass_replace(found, pools={self.name: msgspec_replace(own, status=roomy)})
        if self.is_local:
            stored = found.volume_pools[self.name]
            near = msgspec_replace(stored.status, reachable_from=(self.name,))
            found = dataclass_replace(found, volume_pools={self.name: msgspec_replace(stored, status=near)})
        return found

    def add_ends(
        self,
        live: Mapping[Key, Assigned],
        reports: Mapping[Kind, dict[tuple[str, str], object]],
    ) -> None:
        reason = (objects.ReportedReason(code="Full", message="there is no room"),)
        for key, (uid, id) in sorted(self.gone.items()):
            reports[key.kind][key.namespace, key.name] = entry(key, uid, id, "gone", self.name)
        for id, key in sorted(self.refused.items()):
            there = live.get(key)
            if there is not None and there.status.assignment is not None and there.status.assignment.id == id:
                reports[key.kind][key.namespace, key.name] = entry(
                    key, there.metadata.uid, id, "rejected", self.name, reasons=reason
                )

    def orphan(self, key: Key, uid: str) -> objects.Orphan:
        return objects.Orphan(
            kind=key.kind.value,  # type: ignore[arg-type]
            pool=self.name,
            id=f"sim://{uid}",
            uid=uid,
            namespace=key.namespace,
            name=key.name,
        )


def entry(key: Key, *values: Any, **more: Any) -> object:
    kinds = {Kind.MACHINE: objects.MachineReport, Kind.VOLUME: objects.VolumeReport}
    return kinds.get(key.kind, objects.SnapshotReport)(*values, **more)


class Fleet(Scene):
    """`tick` is the reconciler's own; `settle` lets it and the hosts go on until nothing changes any more."""

    def __init__(self, files: Mapping[str, str] | None = None, *hosts: Host) -> None:
        super().__init__(files or {})
        self.hosts = {host.name: host for host in hosts}
        self.silent: set[str] = set()
        self.plans: list[Plan] = []
        self.before: Snapshot | None = None  # where the refs stood at the last tick
        self.reconciler = self.another()
        self.hosts_report()
        self.tick()  # sees the reports for the first time
        self.hosts_report()

    def another(self, heartbeats_seen: Mapping[Writer, HeartbeatSeen] | None = None) -> Reconciler:
        """A reconciler that remembers nothing but, where asked, when reports were seen to change."""
        found = Reconciler(self.store, self.refs, CommitIdentity("one"))
        found.world = World(heartbeats_seen=heartbeats_seen)
        return found

    def now_later(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def tick(self, seconds: float = 1) -> Outcome:
        self.now += timedelta(seconds=seconds)
        self.before = self.snapshot()
        outcome = self.reconciler.tick(lambda: self.now)
        assert isinstance(outcome, Committed | NoChange | TickBlocked | Conflict), outcome
        if isinstance(outcome, Committed):
            self.heads[LIVE] = outcome.commit
        if isinstance(outcome, Committed | NoChange):
            self.plans.append(outcome.plan)
        return outcome

    def hosts_report(self) -> None:
        live = self.assignable()
        for name in sorted(self.hosts.keys() - self.silent):
            self.hosts[name].act(live, self.grant(name))
            self.report(name, self.hosts[name].report(live))

    def grant(self, name: str, kind: Kind = Kind.MACHINE_POOL) -> Grant:
        """As `live` has it."""
        for _, key, found in self.documents():
            if key == Key(kind, "", name):
                status = found.status
                return Grant(status.host.id if status.host is not None else "", status.epoch)
        return NO_GRANT

    def settle(self, seconds: float = 1) -> int:
        """How many commits it took."""
        for commits in range(MOST_ROUNDS):
            self.hosts_report()
            outcome = self.tick(seconds)
            if isinstance(outcome, NoChange | TickBlocked):
                self.hosts_report()
                outcome = self.tick(seconds)
                if isinstance(outcome, NoChange | TickBlocked):
                    return commits
        raise AssertionError(f"it never comes to rest: {self.plans[-1].changes}")

    # What is on live

    def texts(self) -> dict[str, str]:
        if LIVE not in self.heads:
            return {}
        return {file.path: self.store.read(file.id).decode() for file in self.store.files(self.heads[LIVE])}

    def documents(self) -> Iterator[tuple[str, Key, Any]]:
        for path, text in sorted(self.texts().items()):
            if path.endswith((".yaml", ".yml", ".json")) and path != "gitvirt.yaml":
                for document in manifest.parse(path, text.encode()).documents:
                    key = document.key
                    yield path, key, decode(key.kind, document.body)

    def objects(self) -> dict[Key, Machine | Volume]:
        """Those that are placed."""
        return {key: each for key, each in self.assignable().items() if not isinstance(each, VolumeSnapshot)}

    def assignable(self) -> dict[Key, Assigned]:
        """What hosts are concerned with; a retained volume is kept as it is by its host."""
        found: dict[Key, Assigned] = {}
        for path, key, each in self.documents():
            if isinstance(each, Assigned) and not path.startswith(".gitvirt/retained/"):
                found[key] = each
        return found

    def machine(self, name: str) -> Machine:
        found = self.objects()[Key(Kind.MACHINE, "default", name)]
        assert isinstance(found, Machine)
        return found

    def volume(self, name: str) -> Volume:
        found = self.objects()[Key(Kind.VOLUME, "default", name)]
        assert isinstance(found, Volume)
        return found

    def pool_of(self, name: str) -> str:
        assignment = self.machine(name).status.assignment
        return assignment.pool if assignment else ""

    def where(self) -> dict[str, str]:
        return {
            key.name: found.status.assignment.pool if found.status.assignment else ""
            for key, found in self.objects().items()
            if key.kind is Kind.MACHINE
        }

    def subjects(self) -> list[str]:
        return [message.split("\n")[0] for message in self.messages()]

    def messages(self) -> list[str]:
        """Of live, the newest first."""
        found, commit = [], self.heads.get(LIVE)
        while commit:
            read = decode_commit(self.store.read(commit))
            found.append(read.message)
            commit = read.first_parent
        return found
