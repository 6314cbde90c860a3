"""A poollet on a stage: a remote in memory, simulated hosts without sockets, a clock that the test turns, no threads.

`decide` is what the test is about, or nothing at all.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from iri.runtime import Runtime
from iri.simulated.clock import SimulatedClock
from iri.simulated.faults.fault_injection import FaultInjectingRuntime, wrap_calls
from iri.simulated.faults.fault_rules import FaultRules
from iri.simulated.host import SimulatedHost
from iri.simulated.profile import Profile
from iri.simulated.runtime import SimulatedRuntime
from iri.simulated.seeded_random import SeededRandom
from poollet.agent import Agent, AgentIdentity, AgentParts
from poollet.clock import Clock
from poollet.decide.decision import Decision, DecisionInput
from poollet.runtimes.executor import Executor
from poollet.runtimes.runtime_client import MACHINE_KINDS, VOLUME_KINDS, RuntimeClient
from poollet.sync.git_sync import GitSync
from poollet.sync.live_policy import Trust
from poollet.sync.report_lease import ReportLease
from poollet.sync.report_publisher import ReportPublisher
from reconciler.gitstore.memory import Fault, no_fault
from reconciler.gitstore.repo import Refs, Repo
from reconciler.gitstore.signatures.signers import Signers
from reconciler.gitstore.signatures.trust import SignatureMode
from reconciler.gitstore.signatures.verifier import Verifier
from schemas.report import Report, read
from schemas.settings import fleet
from schemas.settings.fleet import FleetSettings
from schemas.settings.host import PoolSettings
from tests.iri.quick_host import PROFILE
from tests.poollet.fleet import LIVE, REPORTS, SETTINGS, START, Fleet, host_id

START_MS = int(START.timestamp() * 1000)


def nothing(inputs: DecisionInput) -> Decision:
    return Decision(memory=inputs.memory)


def settings() -> FleetSettings:
    found = fleet.parse(SETTINGS.encode())
    assert isinstance(found, FleetSettings)
    return found


@dataclass
class Time:
    """Everybody's."""

    ms: int = START_MS
    wall_ms: int = 0  # by how much the clock on the wall differs

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.ms + self.wall_ms, lambda: self.ms)

    def host_clock(self) -> SimulatedClock:
        return SimulatedClock(lambda: self.ms * 1_000_000)


@dataclass
class Note:
    """What a poollet notes beside its mirror: which of its reports landed last."""

    commit: str | None = None
    asks: str = ""

    def write(self, commit: str, asks: str) -> None:
        self.commit, self.asks = commit, asks

    def question_of(self, commit: str | None) -> str | None:
        return self.asks if self.commit is not None and self.commit == commit else None


@dataclass
class StagedHost:
    """A host below a poollet; it outlives the poollet's runs."""

    time: Time
    profile: Profile = PROFILE
    seed: int = 7
    host: SimulatedHost = field(init=False)
    faults: FaultRules = field(init=False)
    runtime: Runtime = field(init=False)

    def __post_init__(self) -> None:
        self.host = SimulatedHost(self.profile, self.seed, self.time.host_clock())
        self.faults = FaultRules(SeededRandom(self.seed))
        self.runtime = FaultInjectingRuntime(SimulatedRuntime(self.host), wrap_calls(self.host, self.faults))


@dataclass
class Run:
    """One run of a poollet's process, turned by hand."""

    fleet: Fleet
    time: Time
    machine: StagedHost
    name: str = "host-1"
    host_id: str = ""  # by default that of tests.poollet.fleet for the name
    instance: int = 1
    decide: Callable[[DecisionInput], Decision] = nothing
    fault: Fault = no_fault
    runtime: Runtime | None = None  # in front of the machine's own
    mode: SignatureMode = SignatureMode.OFF
    least_ms: int = 0
    more_pools: tuple[str, ...] = ()  # for machines
    storage_reaches: tuple[str, ...] = ()  # machine pools; by default its own
    hardware_id: str = ""
    boot_id: str = ""
    note: Note | None = None  # without one it never asks whether it may act
    workers: int = 0  # without any a step is over when the turn is
    repo: Repo = field(init=False)
    remote: GitSync = field(init=False)
    publisher: ReportPublisher = field(init=False)
    agent: Agent = field(init=False)
    connection: RuntimeClient = field(init=False)
    recheck_at_ms: int | None = None  # when the last turn asked to look again

    def __post_init__(self) -> None:
        self.host_id = self.host_id or host_id(self.name)
        clock, chance = self.time.clock, random.Random(self.instance)
        ref = REPORTS + self.name
        self.repo = self.fleet.client(Refs(source=None, target=LIVE, reports=ref), self.fault)
        trust = Trust(self.mode, Verifier(Signers(), os.environ))
        self.remote = GitSync(self.repo, trust, settings(), clock, lambda: None)
        instance = f"00000000-0000-4000-9000-{self.instance:012d}"
        lease = ReportLease(self.name, self.host_id, instance, ref, boot_id=self.boot_id)
        self.publisher = ReportPublisher(lease, clock, chance, self.least_ms)
        self.remote.publishers.append(self.publisher)
        if self.note is not None:
            self.publisher.on_landed = self.note.write
        runtime = self.runtime or self.machine.runtime
        self.connection = RuntimeClient("r1", runtime, (*MACHINE_KINDS, *VOLUME_KINDS), clock.moment_ms)
        names = (self.name, *self.more_pools)
        pools = (
            *(PoolSettings(name=name, runtime="r1") for name in names),
            PoolSettings(
                name=self.name,
                kind="VolumePool",
                runtime="r1",
                reachable_from=self.storage_reaches or (self.name,),
            ),
        )
        setup = AgentIdentity(
            self.name,
            self.host_id,
            instance,
            "0.0.0",
            pools,
            hardware_id=self.hardware_id,
            boot_id=self.boot_id,
        )
        self.agent = Agent(
            setup,
            AgentParts(
                self.remote,
                self.publisher,
                {"r1": self.connection},
                lambda ended, stands: Executor(
                    {"r1": runtime}, clock.moment_ms, chance, ended, self.workers, stands
                ),
                lambda _: None,
                clock,
                self.decide,
                question_of=self.note.question_of if self.note is not None else lambda _: "",
            ),
        )

    def turn(self) -> None:
        """Everything once: look at the remote and the runtime, decide, act, write."""
        self.remote.fetch()
        self.connection.probe()
        self.connection.fetch_lists()
        self.recheck_at_ms = self.agent.run_pass()
        if self.connection.state.is_preliminary:
            self.connection.probe()
            self.recheck_at_ms = self.agent.run_pass()
        self.remote.push()

    def report(self) -> Report:
        """The report on the ref."""
        return read(self.files())

    def files(self) -> dict[str, bytes]:
        repo = self.fleet.client(Refs())
        repo.snapshot()
        head = self.fleet.head(REPORTS + self.name)
        assert head is not None
        return {file.path: repo.read(file.id) for file in repo.files(head)}
