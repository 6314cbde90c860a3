"""A host without Git: documents, simulated runtimes on a clock that the test turns, and decisions carried out one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from iri.change import DetachInterface, DetachVolume
from iri.errors import IRIError, NotFound
from iri.host import RuntimeClasses, RuntimeVolumeClass
from iri.identity import UID_LABELS
from iri.machine import RuntimeMachine
from iri.runtime import Runtime, RuntimeKind
from iri.simulated.clock import SECOND_NS, SimulatedClock
from iri.simulated.faults.fault_injection import FaultInjectingRuntime, wrap_calls
from iri.simulated.faults.fault_rules import FaultRules
from iri.simulated.host import SimulatedHost
from iri.simulated.profile import Profile
from iri.simulated.runtime import SimulatedRuntime
from iri.simulated.seeded_random import SeededRandom
from iri.volume import RuntimeSnapshot, RuntimeVolume
from poollet.decide.actions import (
    Call,
    CallError,
    CallResult,
    CreateCall,
    EndCall,
    ExecutorState,
    ObjectAction,
    Ref,
    RemoveCall,
    UpdateCall,
)
from poollet.decide.decide import decide
from poollet.decide.decision import Decision, DecisionInput, HostSecrets, PoolFacts, PoolletFacts
from poollet.decide.gates import OPEN, HostPermissions
from poollet.decide.memory import Memory, restore_memory
from poollet.runtimes.runtime_lists import ListFailed, Listing, ListKey, RuntimeLists
from poollet.sync.live_view import (
    LiveDocument,
    LiveView,
    OrphanOrder,
    PoolGrant,
    PoolId,
    assigned_pool,
    is_current,
)
from poollet.sync.volume_users import VolumeUsers
from schemas.kinds import Key, Kind
from schemas.model import Object
from tests.poollet.documents import CLASSES, EPOCH, FLEET, GIB, HOST

KINDS: tuple[RuntimeKind, ...] = (RuntimeMachine, RuntimeVolume, RuntimeSnapshot)
START_MS = 1_700_000_000_000
A = (Kind.MACHINE_POOL, "a")
DISKS = (Kind.VOLUME_POOL, "disks")
POOLS = {
    A: PoolFacts(
        runtime="sim",
        classes=frozenset(("small", "medium", "large")),
        allocatable={"cpu": 64_000, "memory": 256 * GIB, "storage": 4096 * GIB},
    ),
    DISKS: PoolFacts(
        runtime="sim", classes=frozenset(("standard", "static")), allocatable={"storage": 4096 * GIB}
    ),
}
CLASSES_THERE = RuntimeClasses(
    machines=Profile().classes.machines,
    volumes=(
        RuntimeVolumeClass(name="standard", tps=100 << 20, iops=1000),
        RuntimeVolumeClass(name="static", tps=100 << 20, iops=1000),
    ),
)
Edit = Callable[[ListKey, dict[str, object]], dict[str, object]]


@dataclass
class Runner:
    """A simulated runtime, its faults, and what it was told."""

    host: SimulatedHost
    faults: FaultRules
    runtime: Runtime


def runner(now_ms: Callable[[], int], profile: Profile | None = None, seed: int = 1) -> Runner:
    host = SimulatedHost(
        profile or Profile(classes=CLASSES_THERE),
        seed,
        SimulatedClock(lambda: now_ms() * (SECOND_NS // 1000)),
    )
    faults = FaultRules(SeededRandom(seed))
    return Runner(host, faults, FaultInjectingRuntime(SimulatedRuntime(host), wrap_calls(host, faults)))


@dataclass
class Site:
    """`round` is one turn of the loop: list, decide, carry out."""

    documents: list[LiveDocument] = field(default_factory=list)
    profile: Profile | None = None
    facts: PoolletFacts = field(
        default_factory=lambda: PoolletFacts(
            FLEET, POOLS, {"sim": "gitvirt-simulated"}, power_off_seconds=30, host_id=HOST
        )
    )
    orphan_orders: tuple[OrphanOrder, ...] = ()
    unread: tuple[str, ...] = ()
    host: HostPermissions = OPEN
    grants: dict[PoolId, PoolGrant] = field(
        default_factory=lambda: dict.fromkeys(POOLS, PoolGrant(HOST, EPOCH))
    )
    now_ms: int = START_MS
    memory: Memory = field(default_factory=Memory)
    ended_ms: dict[Ref, int] = field(default_factory=dict)
    results: dict[Ref, tuple[CallResult, ...]] = field(default_factory=dict)
    numbers: dict[ListKey, int] = field(default_factory=dict)
    last: dict[ListKey, Listing] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    tamper: Edit = lambda _place, objects: objects
    decider: Callable[[DecisionInput], Decision] = decide
    tamper_lookup: Callable[[dict[str, object]], dict[str, object]] = lambda objects: objects
    removed: list[tuple[int, Ref]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.runners = {"sim": runner(lambda: self.now_ms, self.profile)}

    @property
    def sim(self) -> Runner:
        return self.runners["sim"]

    @property
    def view(self) -> LiveView:
        everything = [*CLASSES, *self.documents]
        objects: dict[Key, Object] = {
            one.object.key: one.object for one in everything if is_current(one.path, one.object)
        }
        here = {uid for one in self.runners.values() for uid in uids_at(one)}
        mine = tuple(
            one
            for one in self.documents
            if assigned_pool(one.object) in self.facts.pools or one.object.metadata.uid in here - {""}
        )
        grants = {pool: grant for pool, grant in self.grants.items() if pool in self.facts.pools}
        users = VolumeUsers(objects.values())
        return LiveView("c0ffee", objects, mine, grants, self.orphan_orders, self.unread, users)

    def list_all(self) -> RuntimeLists:
        lists: dict[ListKey, Listing | ListFailed] = {}
        for name, one in sorted(self.runners.items()):
            for kind in KINDS:
                place = ListKey(name, kind)
                try:
                    objects = self.tamper(place, dict(one.runtime.objects(kind)))
                except IRIError as error:
                    lists[place] = ListFailed(str(error), self.last.get(place))
                    continue
                self.numbers[place] = self.numbers.get(place, 0) + 1
                self.last[place] = Listing(self.numbers[place], self.now_ms, objects)  # type: ignore[arg-type]
                lists[place] = self.last[place]
        return lists

    def inputs(self, observed: RuntimeLists | None = None) -> DecisionInput:
        return DecisionInput(
            view=self.view if self.host.is_live_applied else None,
            observed=observed or self.list_all(),
            executor=ExecutorState(frozenset(), dict(self.ended_ms), dict(self.results)),
            memory=self.memory,
            facts=self.facts,
            now_ms=self.now_ms,
            host=self.host,
        )

    def decide(self) -> Decision:
        """Without carrying it out or remembering it."""
        return decide(self.inputs())

    def round(self, seconds: float = 1.0) -> Decision:
        decision = self.decider(self.inputs())
        self.memory = decision.memory
        for step in decision.actions:
            self.execute(step)
        self.now_ms += round(seconds * 1000)
        return decision

    def rounds(self, count: int, seconds: float = 1.0) -> Decision:
        return [self.round(seconds) for _ in range(count)][-1]

    def settle(self, limit: int = 60) -> Decision:
        """Until there is nothing to do for some rounds."""
        quiet = 0
        for _ in range(limit):
            decision = self.round(2.5)
            quiet = quiet + 1 if not decision.actions and decision.recheck_at_ms is None else 0
            if quiet == 4:
                return decision
        raise AssertionError(f"it does not come to rest: {self.calls[-10:]}")

    def restart(self) -> None:
        """The poollet dies; of what it knew, its report is left."""
        self.memory = restore_memory(self.memory.entries, self.memory.orphans, self.memory.ended)
        self.ended_ms, self.results = {}, {}
        self.numbers, self.last = {}, {}

    def execute(self, action: ObjectAction) -> None:
        """As the executor does it."""
        results: list[CallResult] = []
        for call in action.calls:
            if results and (results[-1].error is not None or results[-1].is_skipped):
                results.append(CallResult(call, self.now_ms, is_skipped=True))
                continue
            self.calls.append(call)
            try:
                self.perform(action.runtime, call, action.ref)
                results.append(CallResult(call, self.now_ms))
            except IRIError as error:
                results.append(CallResult(call, self.now_ms, CallError(type(error).__name__, str(error))))
        if all(one.error is None for one in results):
            self.events += [event.reason for event in action.events]
        self.results[action.ref] = tuple(results)
        self.now_ms += 1
        self.ended_ms[action.ref] = self.now_ms
        self.now_ms += 1

    def perform(self, runtime_name: str, call: Call, ref: Ref) -> None:
        runtime = self.runners[runtime_name].runtime
        match call:
            case CreateCall(desired):
                label = UID_LABELS[ref.kind]
                there = self.tamper_lookup(dict(runtime.objects(ref.kind)))
                if all(one.labels.get(label) != ref.uid for one in there.values()):  # type: ignore[attr-defined]
                    runtime.create(desired)
            case UpdateCall(id, change, assignment):
                try:
                    runtime.change(id, change, assignment=assignment)
                except NotFound:
                    if not isinstance(change, DetachVolume | DetachInterface):
                        raise
            case EndCall(assignment):
                runtime.end_assignments((assignment,))
            case RemoveCall(kind, id, assignment):
                self.removed.append((self.now_ms, ref))
                try:
                    runtime.remove(kind, id, assignment=assignment)
                except NotFound:
                    return

    def put(self, *documents: LiveDocument) -> None:
        """In the place of those with the same path."""
        paths = {one.path for one in documents}
        self.documents = [one for one in self.documents if one.path not in paths] + list(documents)

    def drop(self, *documents: LiveDocument) -> None:
        paths = {one.path for one in documents}
        self.documents = [one for one in self.documents if one.path not in paths]

    def machines(self, runtime: str = "sim") -> dict[str, RuntimeMachine]:
        return dict(SimulatedRuntime(self.runners[runtime].host).objects(RuntimeMachine))

    def volumes(self, runtime: str = "sim") -> dict[str, RuntimeVolume]:
        return dict(SimulatedRuntime(self.runners[runtime].host).objects(RuntimeVolume))

    def with_secrets(self, **values: bytes) -> None:
        """In the host's file, as default/<name> with one key."""
        secrets = {("default", name): {"key": value} for name, value in values.items()}
        self.facts = replace(self.facts, secrets=HostSecrets(secrets))


def uids_at(one: Runner) -> set[str]:
    there = SimulatedRuntime(one.host)
    return {
        found.labels.get(UID_LABELS[kind], "") for kind in KINDS for found in there.objects(kind).values()
    }


def site(*documents: LiveDocument, profile: Profile | None = None) -> Site:
    return Site(documents=list(documents), profile=profile)


def with_allocatable(facts: PoolletFacts, pool: tuple[Kind, str] = A, **amounts: int) -> PoolletFacts:
    """A pool that gives away so much, and of the rest what it did."""
    known = facts.pools[pool]
    changed = replace(known, allocatable={**(known.allocatable or {}), **amounts})
    return replace(facts, pools={**facts.pools, pool: changed})


def kinds_of(calls: Iterable[Call]) -> list[str]:
    return [
        type(call.change).__name__
        if isinstance(call, UpdateCall)
        else type(call).__name__.removesuffix("Call")
        for call in calls
    ]
