"""What must hold whatever people, hosts and pools do, and in whatever order: random lives through real ticks."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from reconciler.cli.explain import explain_object
from reconciler.cli.plans.plan_input import PlanInput
from reconciler.decide.decide import make_plan
from reconciler.loop.outcome import Committed, NoChange, Outcome
from reconciler.plan.types import Action, Change, Plan
from reconciler.schedule.scheduler import Fit
from reconciler.world.changes import WorldChanges
from reconciler.world.record import Record
from reconciler.world.world import World
from schemas.kinds import Key, Kind
from schemas.model import Machine, MachineStatus, Volume, VolumeStatus
from schemas.report import CandidateReport, Report, render
from tests.reconciler.lifecycle.hosts import Fleet, Host
from tests.reconciler.lifecycle.rewording import Moment, reword_moment
from tests.reconciler.lifecycle.rewording import differing as decided_otherwise
from tests.reconciler.lifecycle.test_lives import DRAIN, EPHEMERAL, FORCE, OFFICE
from tests.reconciler.world.scene import FAST, INSTANCE, LIVE, REPORTS, SMALL, machine, pool, using, volume

LOCAL = "  volumes:\n    - name: root\n      localDisk: {}\n"
NAMES = ("m1", "m2", "m3", "m4")
VOLUMES = ("v1", "v2")
ROOM = 2  # machines a host takes
SHAPES = {
    "plain": "",
    "important": "  priority: 9\n",
    "local": LOCAL,
    "ephemeral": EPHEMERAL,
    "v1": using("v1"),
    "v2": using("v2"),
    "apart": "  antiAffinity:\n    labelSelector: {}\n",
    "pinned": "  machinePoolRef: {name: a}\n",
    "dangling": using("nowhere"),
    "named": "  guestConfig: {hostname: another}\n",
}
QUIETLY = frozenset(Action) - {
    Action.SCHEDULE,
    Action.UNSCHEDULABLE,
    Action.WITHDRAW,
    Action.EVICT,
    Action.REMOVE,
    Action.RETAIN,
    Action.ADOPT,
}
CLASSES = f"{SMALL}---\n{FAST}---\n{FAST.replace('fast', 'slow')}"
DISGUISES = ("- a list\n", "words\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: other}\n")
ACTS = st.one_of(
    st.tuples(st.just("declare"), st.sampled_from(NAMES), st.sampled_from(sorted(SHAPES))),
    st.tuples(st.just("remove"), st.sampled_from(NAMES + VOLUMES)),
    st.tuples(st.just("volume"), st.sampled_from(VOLUMES), st.sampled_from(["fast", "fast", "slow"])),
    st.tuples(st.just("class"), st.sampled_from(["cpu: 1", "cpu: 2"])),
    st.tuples(st.just("garble"), st.sampled_from(NAMES + VOLUMES)),
    st.tuples(st.just("disguise"), st.sampled_from(NAMES + VOLUMES), st.sampled_from(DISGUISES)),
    st.tuples(st.just("stray"), st.sampled_from(NAMES + VOLUMES), st.sampled_from([None, "a: ["])),
    st.tuples(st.just("drain"), st.sampled_from("abc"), st.sampled_from([DRAIN, FORCE])),
    st.tuples(st.just("undrain"), st.sampled_from("abc")),
    st.tuples(st.just("silence"), st.sampled_from("abc")),
    st.tuples(st.just("wake"), st.sampled_from("abc")),
    st.tuples(st.just("burn"), st.sampled_from("abc")),
    st.tuples(st.just("swap"), st.sampled_from("abc")),
    st.tuples(st.just("candidate"), st.sampled_from("abc")),
    st.tuples(st.just("refuse"), st.sampled_from("abc"), st.sampled_from(NAMES)),
    st.tuples(st.just("accept"), st.sampled_from("abc")),
    st.tuples(st.just("confirm")),
    st.tuples(st.just("forget")),
    st.tuples(st.just("work"), st.sampled_from([1, 15, 60])),
    st.tuples(st.just("tick"), st.sampled_from([1, 15, 60])),
)


@dataclass
class Life:
    fleet: Fleet
    files: set[str] = field(default_factory=set)
    stored: dict[str, str] = field(default_factory=dict)  # volumes with data: uid -> host
    heirs: dict[str, str] = field(
        default_factory=dict
    )  # hostID -> the one that has its disks; none: it burned

    def tick(self, seconds: float = 1) -> Outcome:
        """Checks that what was decided is what a reconciler that knows nothing would decide, and that it is lawful."""
        before = self.fleet.objects()
        heartbeats_seen = dict(self.fleet.reconciler.world.reports.heartbeats_seen)
        outcome = self.fleet.tick(seconds)
        if isinstance(outcome, Committed | NoChange):
            fresh = World(heartbeats_seen=heartbeats_seen)
            snapshot = self.fleet.before
            assert snapshot is not None
            plan = make_plan(fresh, fresh.advance(self.fleet.store, snapshot, self.fleet.now), self.fleet.now)
            assert differing(plan, outcome.plan) == []
            assert plan.pending_approvals == outcome.plan.pending_approvals
            assert fresh.frozen == self.fleet.reconciler.world.frozen
            agrees(PlanInput(self.fleet.store, fresh, WorldChanges(), self.fleet.now), plan)
            twin = reword_moment(Moment(self.fleet.store, snapshot, heartbeats_seen, self.fleet.now))
            assert decided_otherwise(plan, twin.plan()) == []
        self.check(before)
        return outcome

    def check(self, before: dict[Key, Machine | Volume]) -> None:
        after = self.fleet.objects()
        for name in self.fleet.hosts:
            here = [
                found
                for found in after.values()
                if isinstance(found, Machine)
                and found.status.assignment
                and found.status.assignment.pool == name
            ]
            assert len(here) <= ROOM, f"{name} is overcommitted"
        for key, found in after.items():
            old = before[key].status.assignment if key in before else None
            new = found.status.assignment
            is_same = old is not None and new is not None and (old.pool, old.id) == (new.pool, new.id)
            if old is not None and not is_same and found.metadata.uid == before[key].metadata.uid:
                host = self.fleet.hosts[old.pool]
                assert old.id in host.refused or key not in host.has, f"{key} was moved while it was there"
        for key in before.keys() - after.keys():
            there = [name for name, host in self.fleet.hosts.items() if key in host.has]
            assert not there or key.kind is Kind.VOLUME, f"{key} is forgotten and still on {there}"

    def work(self, seconds: float) -> None:
        self.fleet.now_later(seconds)
        self.fleet.hosts_report()
        live = self.fleet.objects()
        held: list[tuple[Key, str]] = []
        for name, host in self.fleet.hosts.items():
            held += [(key, uid) for key, (uid, _) in host.has.items()]
            for key, (uid, _) in host.has.items():
                if key.kind is Kind.VOLUME and key.name in VOLUMES:
                    self.stored[uid] = name
        assert len(held) == len(set(held)), "something is on two hosts"
        for uid, name in self.stored.items():
            host = self.fleet.hosts[name]
            assert uid in host.kept or any(uid == there for there, _ in host.has.values()), (
                f"data is lost: {live}"
            )

    def act(self, what: str, *of: str) -> None:
        fleet = self.fleet
        match what, of:
            case "declare", (name, shape):
                self.put(name, machine(name, SHAPES[shape]))
            case "volume", (name, of_class):
                self.put(name, volume(name).replace("fast", of_class))
            case "class", (cpu,):
                fleet.source({"classes.yaml": CLASSES.replace("cpu: 2", cpu)})
            case "garble", (name,):
                self.put(name, "kind: [\n")
            case "disguise", (name, text):
                self.put(name, text)
            case "stray", (name, text):
                fleet._commit(LIVE, {f"{name}.yaml": text.encode() if text else None}, {})
            case "remove", (name,):
                if name in self.files:
                    self.files.discard(name)
                    fleet.source({f"{name}.yaml": None})
            case "drain", (name, how):
                self.put(f"pool-{name}", pool(name, how))
            case "undrain", (name,):
                self.put(f"pool-{name}", pool(name))
            case "silence", (name,):
                fleet.silent.add(name)
            case "wake", (name,):
                fleet.silent.discard(name)
            case "burn" | "swap", (name,):
                self.replace(name, is_burnt=what == "burn")
                self.tell(name)
            case "candidate", (name,):
                waiting = CandidateReport(name=name, host_id=f"{name}-beside", instance=INSTANCE)
                fleet._commit(REPORTS + name, render(Report(candidate=waiting)), {}, has_parents=True)
            case "refuse", (name, whom):
                fleet.hosts[name].rejects.add(whom)
            case "accept", (name,):
                fleet.hosts[name].rejects.clear()
            case "confirm", ():
                self.confirm()
            case "forget", ():
                fleet.reconciler = fleet.another(fleet.reconciler.world.reports.heartbeats_seen)
            case "work", (seconds,):
                self.work(float(seconds))
            case "tick", (seconds,):
                self.tick(float(seconds))
            case _:
                raise AssertionError(what)

    def replace(self, name: str, *, is_burnt: bool) -> None:
        """Another host of that name, with nothing on it, or with all that the one before had."""
        old = self.fleet.hosts[name]
        new = Host(name, machines=ROOM, id=f"{name}-{len(self.heirs) + 1}")
        self.heirs[old.host_id] = "" if is_burnt else new.host_id
        if is_burnt:
            self.stored = {uid: where for uid, where in self.stored.items() if where != name}
        else:
            new.has, new.kept, new.refused, new.gone = old.has, old.kept, old.refused, old.gone
        self.fleet.hosts[name] = new

    def tell(self, name: str) -> None:
        """People commit what became of the host that has the grant, where that is another one now."""
        granted = heir = self.fleet.grant(name).host
        while heir in self.heirs:
            heir = self.heirs[heir]
        if granted and granted != heir:
            trailer, host = ("Pool-Host", heir) if heir else ("Pool-Destroyed", granted)
            self.fleet.source({"fate.txt": f"{granted} {self.fleet.now}"}, **{trailer: f"{name}={host}"})

    def put(self, name: str, text: str) -> None:
        self.files.add(name)
        self.fleet.source({f"{name}.yaml": text})

    def confirm(self) -> None:
        held = self.fleet.plans[-1].pending_approvals if self.fleet.plans else ()
        for trailer in {each.trailer for each in held if each.trailer}:
            about, _, value = trailer.partition(": ")
            self.fleet.source({"consent.txt": trailer}, **{about: value})


def differing(fresh: Plan, stepwise: Plan) -> list[tuple[object, object]]:
    """What a new world would have changed otherwise, and what the one that was brought up to date did."""
    one = {each.key: each for each in fresh.changes if not is_rewording(each)}
    other = {each.key: each for each in stepwise.changes if not is_rewording(each)}
    return [(one.get(key), other.get(key)) for key in sorted(one | other) if one.get(key) != other.get(key)]


def is_rewording(change: Change) -> bool:
    """Who waits is not looked at again when pools only get fuller: the reasons that it tells may then be those of before."""
    if change.action is not Action.UNSCHEDULABLE or change.before is None or change.after is None:
        return False
    return plain(change.before) == plain(change.after)


def plain(record: Record) -> Record:
    assert isinstance(record.status, MachineStatus | VolumeStatus)
    conditions = tuple(replace(each, message="") for each in record.status.conditions)
    return replace(record, status=replace(record.status, conditions=conditions))


def agrees(seen: PlanInput, plan: Plan) -> None:
    """What one machine alone is told by `explain` is what `plan` and `run` do with it: one way to fit."""
    moves = [change for change in plan.changes if change.action not in QUIETLY]
    machines = [change for change in moves if change.key.kind is Kind.MACHINE]
    if len(machines) != 1 or any(change.before is not None and change.before.pool for change in moves):
        return  # several take room from each other, and what is released gives some back
    (change,) = machines
    if change.after is None:
        return  # it goes, wherever it would fit
    fits = [row.pool for row in explain_object(seen, change.key).rows if isinstance(row, Fit)]
    assert (change.pool in fits) if change.action is Action.SCHEDULE else not fits, (change, fits)


def rests(life: Life) -> None:
    """Everybody well again: it comes to rest, and stays there for one who remembers nothing."""
    fleet = life.fleet
    fleet.silent.clear()
    for name, host in fleet.hosts.items():
        host.rejects.clear()
        life.act("undrain", name)
    for number in range(90):
        life.work(20)
        if number % 10 == 0:
            for name in fleet.hosts:
                life.tell(name)
        if isinstance(life.tick(20), NoChange) and all(
            fleet.grant(name).host == host.host_id for name, host in fleet.hosts.items()
        ):
            life.work(1)
            if isinstance(life.tick(), NoChange):
                break
    else:
        raise AssertionError(f"it never comes to rest: {fleet.plans[-1].changes}")
    fleet.reconciler = fleet.another(fleet.reconciler.world.reports.heartbeats_seen)
    assert isinstance(life.tick(), NoChange)
    check_explanations(fleet)


def check_explanations(fleet: Fleet) -> None:
    """Who is left without a place is told why, by the same rules."""
    snapshot, world = fleet.snapshot(), fleet.reconciler.world
    seen = PlanInput(fleet.store, world, world.advance(fleet.store, snapshot, fleet.now), fleet.now)
    for key, known in world.objects.items():
        if key.kind is Kind.MACHINE and known.is_active and not known.record.pool:
            answer = explain_object(seen, key)
            assert not answer.is_placeable, key
            assert answer.blocked or answer.rows, key


def lives(acts: list[tuple[object, ...]]) -> None:
    fleet = Fleet(
        {"office.yaml": OFFICE, "classes.yaml": CLASSES}, *(Host(name, machines=ROOM) for name in "abc")
    )
    life = Life(fleet)
    life.work(1)
    life.tick()
    for what, *of in acts:
        life.act(str(what), *of)  # type: ignore[arg-type]
    rests(life)


QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]


REMOVED_WITHOUT_A_PLACE = [
    ("declare", "m2", "dangling"),
    ("remove", "m1"),
    ("tick", 1),
    ("declare", "m1", "apart"),
    ("remove", "m2"),
]


BURNT_AND_WAITING = [("burn", "a"), ("tick", 1), ("tick", 1)]


@example(REMOVED_WITHOUT_A_PLACE)
@example(BURNT_AND_WAITING)
@given(st.lists(ACTS, min_size=5, max_size=30))
@settings(max_examples=12, deadline=None, suppress_health_check=QUIET)
def test_whatever_happens(acts: list[tuple[object, ...]]) -> None:
    lives(acts)


@pytest.mark.long
@pytest.mark.timeout(1800)
@given(st.lists(ACTS, min_size=5, max_size=60))
@settings(max_examples=1000, deadline=None, suppress_health_check=QUIET)
def test_whatever_happens_for_long(acts: list[tuple[object, ...]]) -> None:
    lives(acts)
