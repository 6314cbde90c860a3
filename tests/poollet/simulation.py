"""The whole system in memory and in turns: people, the reconciler, poollets and their hosts, each killed where it is asked for.

What a party had in its head is gone when it is killed; what it had written, and what runs on its host, is not. Laws are looked
at after every turn: no two objects have one uid, and nothing is removed that `live` does not order away.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from iri.identity import UID_LABELS
from iri.machine import RuntimeMachine
from iri.runtime import KIND_NAMES, AnyObject, Runtime, RuntimeKind
from iri.server.call_handlers import CallWrapper
from iri.simulated.faults.fault_injection import FaultInjectingRuntime
from iri.simulated.profile import Profile
from iri.volume import RuntimeVolume
from poollet.decide.decide import decide
from poollet.sync.live_index import LiveIndex
from reconciler.gitstore.remote.transport import RemoteUnavailable
from reconciler.gitstore.repo import Refs
from reconciler.loop.tick import Reconciler
from reconciler.write.tick_commit import CommitIdentity
from schemas.model import Machine as DeclaredMachine
from schemas.model import Object
from schemas.model import Volume as DeclaredVolume
from tests.iri.quick_host import PROFILE
from tests.poollet.fleet import LIVE, MAIN, REPORTS, Fleet
from tests.poollet.stage import Note, Run, StagedHost, Time

When = Literal["before", "after"]
ROUND_MS = 2_500
QUIET_ROUNDS = 3
MOST_ROUNDS = 150
RECONCILER = "reconciler"


class KilledError(BaseException):
    """No code catches it: the process is gone."""


@dataclass(frozen=True)
class Kill:
    """Party `who` dies at its call number `at`, before or after that has its effect."""

    who: str
    at: int
    when: When


@dataclass
class KillSwitch:
    """Counts a party's calls over all of its lives, and strikes once for each kill."""

    kills: frozenset[Kill] = frozenset()
    calls: int = 0
    struck: int = 0

    def transport(self, _call: str, when: When) -> RemoteUnavailable | None:
        self.calls += when == "before"
        self._strike(when)
        return None

    @contextmanager
    def around(self, _call: str) -> Iterator[None]:
        self.calls += 1
        self._strike("before")
        try:
            yield
        finally:
            self._strike("after")

    def _strike(self, when: When) -> None:
        for kill in self.kills:
            if (self.calls, when) == (kill.at, kill.when):
                self.struck += 1
                raise KilledError(f"{kill.who} at call {kill.at}, {when}")


class RemovalCheck:
    """What a host is told to remove is held against what `live` orders at that moment."""

    def __init__(self, simulation: Simulation, name: str, runtime: Runtime) -> None:
        self._simulation, self._name, self._runtime = simulation, name, runtime

    @contextmanager
    def around(self, call: str) -> Iterator[None]:
        before = self._simulation.uids(self._name) if call.startswith("Delete") else {}
        yield
        if call.startswith("Delete"):
            self._simulation.check_removed(self._name, before, self._simulation.leaving(self._name))


class RuntimeWithEmptyLists(FaultInjectingRuntime):
    """A runtime whose lists are empty in some rounds, although everything is there. Where time passes within a round, all later lists of it
    are whole: a host that lists nothing again later cannot be told from one that lost all."""

    def __init__(self, simulation: Simulation, name: str, runtime: Runtime, around: CallWrapper) -> None:
        super().__init__(runtime, around)
        self._simulation, self._name = simulation, name
        self._lied = -1, 0  # the last round in which it began to, and when

    def objects(self, kind: type[AnyObject]) -> Mapping[str, AnyObject]:
        found, now = super().objects(kind), self._simulation.rounds
        if now in self._simulation.empty.get(self._name, ()) and self._is_same_moment(now):
            return {}
        self._simulation.true_in[self._name] = now
        return found

    def _is_same_moment(self, now: int) -> bool:
        """Whether no time has passed since the first list of this round."""
        ms = self._simulation.time.ms
        round, first_ms = self._lied
        if round != now:
            self._lied = now, ms
        return round != now or first_ms == ms


@dataclass
class Simulation:
    """`script` says what people commit to the source in which round."""

    hosts: Sequence[str]
    script: Mapping[int, Mapping[str, str | None]]
    kills: Sequence[Kill] = ()
    profile: Profile = PROFILE
    by_hand: Mapping[int, Callable[[Simulation], None]] = field(default_factory=dict)
    empty: Mapping[str, range] = field(default_factory=dict)  # in which rounds a host's lists lack everything
    more_pools: tuple[str, ...] = ()  # for machines, of each host; its storage reaches them too
    true_in: dict[str, int] = field(default_factory=dict)  # the last round in which a host's lists were whole
    fleet: Fleet = field(init=False)
    time: Time = field(default_factory=Time)
    kill_switches: dict[str, KillSwitch] = field(default_factory=dict)
    machines: dict[str, StagedHost] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    reconciler: Reconciler | None = None
    host_ids: dict[str, str] = field(default_factory=dict)
    notes: dict[str, Note] = field(default_factory=dict)  # on the disks of hosts
    lives: int = 0
    rounds: int = 0

    def __post_init__(self) -> None:
        self.fleet = Fleet(is_bare=True)
        for who in (RECONCILER, *self.hosts):
            self.kill_switches[who] = KillSwitch(frozenset(kill for kill in self.kills if kill.who == who))
        for number, name in enumerate(self.hosts):
            self.machines[name] = StagedHost(self.time, self.profile, seed=number + 1)

    def settle(self) -> None:
        """Rounds until nothing is written any more but heartbeats. Then a person's commit takes along what was reported since the last one."""
        self._converge()
        self.fleet.commit({"README.md": f"{self.rounds}\n"}, MAIN)
        self._converge()

    def _converge(self) -> None:
        quiet, last = 0, max([*self.script, *self.by_hand])
        while quiet < QUIET_ROUNDS:
            assert self.rounds < MOST_ROUNDS, "it does not come to rest"
            before = self.state()
            self.round()
            is_quiet = self.state() == before and self.rounds > last + 1 and self.is_at_ease()
            quiet = quiet + 1 if is_quiet else 0

    def is_at_ease(self) -> bool:
        """All processes run, and none of them waits for a time to come."""
        runs = self.runs.values()
        is_waiting = any(
            run.recheck_at_ms is not None or not run.publisher.has_landed or run.publisher.asks != ""
            for run in runs
        )
        return self.reconciler is not None and len(runs) == len(self.hosts) and not is_waiting

    def round(self) -> None:
        if (edits := self.script.get(self.rounds)) is not None:
            self.fleet.commit(edits, MAIN)
        if (act := self.by_hand.get(self.rounds)) is not None:
            act(self)
        self._living(RECONCILER, self._reconcile)
        for name in self.hosts:
            self._living(name, lambda name=name: self._host(name))  # type: ignore[misc]
            self.check_unique()
        self.rounds += 1
        self.time.ms += ROUND_MS

    def state(self) -> dict[str, object]:
        """All refs by what they hold, but for what a heartbeat may change."""
        found: dict[str, object] = {LIVE: self.fleet.head(LIVE)}
        for name in self.hosts:
            if self.fleet.head(REPORTS + name) is not None:
                files = self.runs[name].files() if name in self.runs else {}
                found[name] = {path: data for path, data in files.items() if path != "poollet.json"}
        return found

    def live(self) -> LiveIndex:
        live, repo = LiveIndex(), self.fleet.client(Refs())
        repo.snapshot()
        if (head := self.fleet.head(LIVE)) is not None:
            live.advance(repo, head)
        return live

    def outcome(self) -> dict[str, object]:
        """The outcome: objects, where they are and how they are, without ids that depend on how it went."""
        found: dict[str, object] = {}
        for object in self.live().objects():
            if isinstance(object, DeclaredMachine):
                volumes = [(one.name, one.state) for one in object.status.volumes]
                found[str(object.key)] = (object.status.state, object.spec.power, tuple(volumes))
            elif isinstance(object, DeclaredVolume):
                size = {name: str(value) for name, value in object.status.resources.items()}
                found[str(object.key)] = (object.status.state, json.dumps(size))
        for kind in (RuntimeMachine, RuntimeVolume):
            names = [uid for name in self.hosts for uid in self.uids(name, kind).values()]
            found[KIND_NAMES[kind]] = len(names)
        return found

    def uids(self, name: str, kind: RuntimeKind | None = None) -> dict[str, str]:
        """Ids on a host with the uids that they carry."""
        state = self.machines[name].host.state
        found: dict[str, str] = {}
        if kind in (None, RuntimeMachine):
            objects = state.objects(RuntimeMachine).items()
            found |= {id: one.labels.get(UID_LABELS[RuntimeMachine], "") for id, one in objects}
        if kind in (None, RuntimeVolume):
            volumes = state.objects(RuntimeVolume).items()
            found |= {id: one.labels.get(UID_LABELS[RuntimeVolume], "") for id, one in volumes}
        return found

    def leaving(self, name: str) -> set[str]:
        state = self.machines[name].host.state
        machines, volumes = state.objects(RuntimeMachine), state.objects(RuntimeVolume)
        going = {id for id, one in machines.items() if one.deleted_at}
        return going | {id for id, one in volumes.items() if one.deleted_at}

    def check_unique(self) -> None:
        uids = [
            uid for name in self.hosts for id, uid in self.uids(name).items() if id not in self.leaving(name)
        ]
        assert len(uids) == len(set(uids)), f"two objects have one uid: {sorted(uids)}"

    def check_removed(self, name: str, before: Mapping[str, str], gone_or_going: set[str]) -> None:
        """Of host `name`."""
        ordered = {one.metadata.uid: is_ordered_away(one) for one in self.live().objects()}
        for id in gone_or_going & before.keys():
            assert ordered.get(before[id], True), f"{id} was removed, and live has no deletion order for it"

    def _living(self, who: str, turn: Callable[[], None]) -> None:
        try:
            turn()
        except KilledError:
            self.reconciler = None if who == RECONCILER else self.reconciler
            self.runs.pop(who, None)

    def _reconcile(self) -> None:
        if self.reconciler is None:
            repo = self.fleet.client(Refs(), self.kill_switches[RECONCILER].transport)
            self.reconciler = Reconciler(repo, Refs(), CommitIdentity("one"))
        self.reconciler.tick(self.time.clock.now)

    def _host(self, name: str) -> None:
        if name not in self.runs:
            self.lives += 1
            kill_switch, machine = self.kill_switches[name], self.machines[name]
            watched = FaultInjectingRuntime(machine.runtime, RemovalCheck(self, name, machine.runtime).around)
            self.runs[name] = Run(
                self.fleet,
                self.time,
                machine,
                name=name,
                host_id=self.host_ids.get(name, f"{name}'s own"),
                instance=self.lives,
                decide=decide,
                fault=kill_switch.transport,
                runtime=RuntimeWithEmptyLists(self, name, watched, kill_switch.around),
                note=self.notes.setdefault(name, Note()),
                more_pools=self.more_pools,
                storage_reaches=(name, *self.more_pools),
            )
        self.runs[name].turn()


def is_ordered_away(one: Object) -> bool:
    if one.metadata.deletion_timestamp:
        return True
    return isinstance(one, DeclaredMachine | DeclaredVolume) and one.status.evict is not None
