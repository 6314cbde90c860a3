"""The fleet of a soak: several reconcilers, poollets and their hosts, with a weather each, in turns and on one clock.

Owns who lives and what each may reach. It must not know what people wish for, nor decide what happens next.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from msgspec.structs import replace

from iri.errors import IRIError
from iri.host import RuntimeClasses, RuntimeMachineClass, RuntimeVolumeClass
from iri.identity import UID_LABELS
from iri.machine import RuntimeMachine
from iri.simulated import machine_calls
from iri.simulated.faults.fault_injection import FaultInjectingRuntime
from iri.simulated.machine_calls import GuestAction
from iri.simulated.machine_lifecycle import IS_ON, MachinePhase, SimulatedMachine
from poollet.decide.actions import EndCall, RemoveCall
from poollet.decide.decide import decide
from poollet.sync.live_index import LiveIndex
from reconciler.gitstore.remote.transport import RemoteErrorKind
from reconciler.gitstore.repo import Refs
from reconciler.gitstore.store import Store
from reconciler.loop.outcome import Committed, Conflict, Failed, NoChange, Outcome, RefsChanged
from reconciler.loop.tick import Reconciler
from reconciler.plan.types import Plan
from reconciler.write.tick_commit import CommitIdentity
from schemas.kinds import Key, Kind
from schemas.model import Machine as Declared
from schemas.model import MachinePool, Volume, VolumePool
from schemas.settings.fleet import DEFAULT_INPUTS
from tests.iri.quick_host import PROFILE
from tests.poollet.fleet import LIVE, REPORTS
from tests.poollet.simulation import (
    KilledError,
    RemovalCheck,
    RuntimeWithEmptyLists,
    Simulation,
)
from tests.poollet.stage import Note, Run, StagedHost
from tests.soak import hostile_reports, laws
from tests.soak.commit_audit import CommitAudit
from tests.soak.disk_images import DiskImage
from tests.soak.hidden import Hidden
from tests.soak.slow_runtime import SlowRuntime
from tests.soak.weather import Weather

REFS = Refs(inputs=DEFAULT_INPUTS)
GIB = 1 << 30
HOSTS = ("host-1", "host-2", "host-3")
SHARED_STORAGE = "host-1"  # its volumes can be attached on every host
RECONCILERS = ("left", "right")
PARTIES = RECONCILERS + HOSTS
CLASSES = RuntimeClasses(
    machines=(
        RuntimeMachineClass(name="small", resources={"cpu": 1, "memory": GIB}),
        RuntimeMachineClass(name="large", resources={"cpu": 2, "memory": 2 * GIB}),
    ),
    volumes=(RuntimeVolumeClass(name="standard", tps=1 << 20, iops=100),),
)
ROOM = {"cpu": 3, "memory": 3 * GIB, "storage": 40 * GIB}
HOST = replace(PROFILE, classes=CLASSES, capacity=ROOM)
SOON_MS = 40_000


@dataclass
class Clone:
    """A second host with the disks, the name and the hostID of another. `seen` is the report at its last turn."""

    key: str  # of its machine
    run: Run | None = None
    seen: str | None = None


@dataclass
class Stage(Simulation):
    """`removals` are looked at as they happen; everything else is for the laws to look at between turns."""

    reconcilers: dict[str, Reconciler] = field(default_factory=dict)
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    weathers: dict[str, Weather] = field(default_factory=dict)
    plan: Plan | None = None
    ids: dict[str, list[int]] = field(
        default_factory=dict
    )  # that each host has had since it was last replaced, the present one last
    replaced: dict[str, int] = field(default_factory=dict)  # how often a host was replaced by an empty one
    slow: dict[str, SlowRuntime] = field(default_factory=dict)  # in front of each host's runtime
    boots: dict[str, int] = field(default_factory=dict)
    clones: dict[str, Clone] = field(default_factory=dict)  # by the host that each is a copy of
    # What an old disk image, or a restored `live`, left on hosts beside what is ordered: hosts and uids.
    remains: set[tuple[str, str]] = field(default_factory=set)
    hidden: Hidden = field(default_factory=Hidden)
    ordered_before: set[str] = field(default_factory=set)  # uids that a lost `live` ordered to be removed
    audit: CommitAudit | None = None  # of each commit that a reconciler writes
    _busy: set[str] = field(default_factory=set)
    _live: LiveIndex = field(default_factory=LiveIndex)
    _reader: Store = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.weathers = {who: Weather() for who in (*RECONCILERS, *self.hosts)}
        self._reader = self.fleet.client(Refs())
        self.ids = {name: [0] for name in self.hosts}
        for name in self.hosts:
            self.slow_down(name)

    def turn(self, who: str) -> None:
        """Of one party; it never begins in the middle of its own turn."""
        if who in self._busy:
            return
        self._busy.add(who)
        try:
            self._tick(who) if who in RECONCILERS else self._host(who)
        except KilledError:
            self.end(who)
        finally:
            self._busy.discard(who)

    def end(self, who: str) -> None:
        """Its process is over."""
        self.reconcilers.pop(who, None)
        self.runs.pop(who, None)

    def forget(self, who: str) -> None:
        """Its process is over, and its disk with it."""
        self.end(who)
        self.notes.pop(who, None)

    def live(self) -> LiveIndex:
        self._reader.snapshot()
        self._live.advance(self._reader, self.fleet.head(LIVE))
        return self._live

    def is_descendant(self, commit: str, ancestor: str) -> bool:
        self._reader.snapshot()
        return self._reader.is_descendant(commit, ancestor)

    def texts(self) -> dict[str, str]:
        """All files of live."""
        head = self.fleet.head(LIVE)
        self._reader.snapshot()
        if head is None:
            return {}
        return {file.path: self._reader.read(file.id).decode() for file in self._reader.files(head)}

    def check_removed(self, name: str, before: Mapping[str, str], gone_or_going: set[str]) -> None:
        laws.removed_by_order(self, name, {before[id] for id in gone_or_going & before.keys()})

    def running(self, name: str) -> list[str]:
        """The uids of the machines that are on."""
        guests = self.machines[name].host.state.list_records(SimulatedMachine).values()
        return [
            one.machine.labels.get(UID_LABELS[RuntimeMachine], "") for one in guests if one.phase in IS_ON
        ]

    def writers(self, name: str) -> list[tuple[str, str]]:
        """Handles of attached volumes, and the machines that run with them. Without those that a forged report hid."""
        guests = self.machines[name].host.state.list_records(SimulatedMachine).values()
        return [
            (entry.handle, one.machine.id)
            for one in guests
            if one.phase in IS_ON
            and (name, one.machine.labels.get(UID_LABELS[RuntimeMachine], "")) not in self.hidden.things
            for entry in one.machine.status.volumes
            if entry.handle
        ]

    def reboot(self, name: str, seconds: int, *, is_crash: bool) -> None:
        host = self.machines[name].host
        with host.lock(even_when_down=True) as now_ns:
            machine_calls.restart_host(host, seconds * 1_000_000_000, now_ns, is_crash=is_crash)
        self.slow[name].late.clear()
        self.boots[name] = self.boots.get(name, 0) + 1

    def upset(self, name: str, number: int, action: GuestAction) -> str:
        """Something happens in a guest."""
        host = self.machines[name].host
        with host.lock(even_when_down=True) as now_ns:
            guests = [
                one
                for _, one in sorted(host.state.list_records(SimulatedMachine).items())
                if one.phase is MachinePhase.RUNNING
            ]
            if not guests:
                return ""
            guest = guests[number % len(guests)]
            machine_calls.act(host, guest, action, now_ns)
            return guest.machine.id

    def host_id(self, name: str) -> str:
        return f"{name}-id-{self.ids[name][-1]}"

    def rename(self, name: str) -> None:
        """The host goes on with what it has, under a new hostID."""
        self.end(name)
        self.clones.pop(name, None)
        self.ids[name].append(max(self.ids[name]) + 1)

    def burn(self, name: str) -> None:
        """The host is replaced by an empty one of the same name."""
        self.rename(name)
        self.notes.pop(name, None)
        self.ids[name] = self.ids[name][-1:]
        self.replaced[name] = self.replaced.get(name, 0) + 1
        seed = self.hosts.index(name) + 1 + 10 * self.replaced[name]
        self._replace(name, StagedHost(self.time, self.profile, seed=seed))

    def restore_host(self, name: str, image: DiskImage) -> None:
        """It comes back from an older image of its disks."""
        there = set(self.uids(name).values())
        self.end(name)
        self.notes[name] = dataclasses.replace(image.note)
        self.clones.pop(name, None)
        staged = StagedHost(self.time, self.profile, seed=image.host.seed)
        image.boot(staged)
        self._replace(name, staged)
        self.reboot(name, 1, is_crash=True)
        self.remains |= {(name, uid) for uid in self.uids(name).values() if uid not in there}

    def add_clone(self, name: str, image: DiskImage) -> None:
        key = f"{name} clone"
        self.machines[key] = StagedHost(self.time, self.profile, seed=image.host.seed)
        image.boot(self.machines[key])
        self.notes[key] = dataclasses.replace(image.note)
        host = self.machines[key].host
        with host.lock(even_when_down=True) as now_ns:
            machine_calls.restart_host(host, 1_000_000_000, now_ns, is_crash=True)
        self.clones[name] = Clone(key)

    def turn_clone(self, name: str) -> None:
        """Its first look, or one after which the original has reported: two hosts of one hostID cannot be told apart once one of them is
        cut off, and the other one goes on as that."""
        clone, original = self.clones[name], self.runs.get(name)
        head = self.fleet.head(REPORTS + name)
        found = hostile_reports.report_of(self.fleet, name)
        by = found.poollet if found is not None else None
        if original is None or by is None or by.instance != original.publisher.lease.instance:
            return
        if clone.run is not None and clone.seen == head:
            return
        clone.run = clone.run or self._run_clone(name, clone.key)
        clone.seen = head
        clone.run.turn()
        if clone.run.publisher.ended:
            clone.run = None

    def _replace(self, name: str, machine: StagedHost) -> None:
        self.machines[name] = machine
        self.boots[name] = self.boots.get(name, 0) + 1
        self.slow_down(name)

    def slow_down(self, name: str) -> None:
        """What waited in the host's runtime so far is lost."""
        runtime = self.machines[name].runtime
        around = RemovalCheck(self, name, runtime).around
        is_stock, is_shared = self.profile.behavior != "gitvirt", name == SHARED_STORAGE
        self.slow[name] = SlowRuntime(runtime, around, self.time, is_stock=is_stock, is_shared=is_shared)

    def mismatch(self, name: str) -> tuple[str, str] | None:
        """What people have to say where live grants a pool of the host to another hostID than it has."""
        for kind in (Kind.MACHINE_POOL, Kind.VOLUME_POOL):
            pool = self.live().get(Key(kind, "", name))
            if not isinstance(pool, MachinePool | VolumePool) or pool.status.host is None:
                continue
            granted = pool.status.host.id
            if granted in {f"{name}-id-{number}" for number in self.ids[name][:-1]}:
                return "Pool-Host", f"{name}={self.host_id(name)}"
            if granted != self.host_id(name):
                return "Pool-Destroyed", f"{name}={granted}"
        return None

    def is_trying(self) -> bool:
        """Whether an object waits for a pool that refused, or a host for a call that fails: both are tried again for ever."""
        return any(
            (one.status.rejections and not one.status.assignment)
            or any(each.type == "UpToDate" and each.status == "False" for each in one.status.conditions)
            for one in self.live().objects()
            if isinstance(one, Declared | Volume)
        )

    def is_at_ease(self) -> bool:
        runs = self.runs.values()
        soon_ms = self.time.ms + SOON_MS  # what is hopeless is tried again every few minutes for ever
        is_waiting = any(
            (run.recheck_at_ms is not None and run.recheck_at_ms < soon_ms)
            or not run.publisher.has_landed
            or not run.publisher.is_flushed
            or is_removing(run)
            for run in runs
        )
        has_rested = all(isinstance(self.outcomes.get(who), NoChange) for who in RECONCILERS)
        return has_rested and len(runs) == len(self.hosts) and not is_waiting

    def _tick(self, who: str) -> None:
        reconciler = self.reconcilers.get(who)
        if reconciler is None:
            repo = self.fleet.client(REFS, self.weathers[who].transport)
            reconciler = self.reconcilers[who] = Reconciler(repo, REFS, CommitIdentity(who))
        outcome = reconciler.tick(self.time.clock.now)
        self.outcomes[who] = outcome
        match outcome:
            case Committed(plan, commit, _):
                self.plan = plan
                if self.audit is not None:
                    self.audit.check(commit)
            case NoChange(plan):
                self.plan = plan
            case Failed(trouble, cause, _) if trouble != RemoteErrorKind.NETWORK:
                raise AssertionError(f"a tick failed: {trouble}: {cause}")
            case RefsChanged():
                raise AssertionError("a tick wants other refs")
            case Conflict():
                pass

    def _host(self, name: str) -> None:
        if name not in self.runs:
            self.runs[name] = self._run(name)
        run = self.runs[name]
        run.turn()
        if run.publisher.ended:
            self.end(name)  # another run has its ref: it ends, and is started again

    def _run(self, name: str) -> Run:
        self.lives += 1
        weather, machine = self.weathers[name], self.machines[name]
        with suppress(IRIError):  # as each start of a poollet does; a stock provider has no such call
            machine.runtime.hold_starts(release=False)
        return Run(
            self.fleet,
            self.time,
            machine,
            name=name,
            host_id=self.host_id(name),
            instance=self.lives,
            decide=decide,
            fault=weather.transport,
            runtime=RuntimeWithEmptyLists(self, name, self.slow[name], weather.around),
            boot_id=f"{name}-boot-{self.boots.get(name, 0)}",
            note=self.notes.setdefault(name, Note()),
            storage_reaches=tuple(self.hosts) if name == SHARED_STORAGE else (),
        )

    def _run_clone(self, name: str, key: str) -> Run:
        self.lives += 1
        runtime = self.machines[key].runtime
        return Run(
            self.fleet,
            self.time,
            self.machines[key],
            name=name,
            host_id=self.host_id(name),
            instance=self.lives,
            decide=decide,
            runtime=FaultInjectingRuntime(runtime, RemovalCheck(self, key, runtime).around),
            boot_id=f"{key}-boot",
            note=self.notes.setdefault(key, Note()),
            storage_reaches=tuple(self.hosts) if name == SHARED_STORAGE else (),
        )

    def state(self) -> dict[str, object]:
        found: dict[str, object] = {LIVE: self.fleet.head(LIVE)}
        for name, run in sorted(self.runs.items()):
            if self.fleet.head(REPORTS + name) is not None:
                files = run.files()
                found[name] = {path: data for path, data in files.items() if path != "poollet.json"}
        return found


def is_removing(run: Run) -> bool:
    """A removal that failed often is tried again only in minutes, and then it goes. A runtime that cannot end an assignment is given as long
    to carry out the last creation."""
    results = run.agent.executor.state().results.values()
    return any(
        isinstance(one.call, RemoveCall | EndCall) and one.error is not None
        for each in results
        for one in each
    )
