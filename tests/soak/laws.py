"""What must hold at every moment, and what must be so at rest. Each law is a function that raises AssertionError and says why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from iri.identity import UID_LABELS
from iri.machine import Power, RuntimeMachine
from iri.volume import RuntimeVolume
from schemas.kinds import Key, Kind
from schemas.manifest import parse
from schemas.model import Machine, MachineClass, Object, Volume
from schemas.model.capacity import add
from schemas.model.charge import machine_charge
from schemas.model.part import NameRef
from tests.poollet.fleet import LIVE, REPORTS
from tests.soak import hostile_reports, undecided
from tests.soak.people import PAUSED, People

if TYPE_CHECKING:
    from tests.soak.stage import Stage

GIVEN = {"machinePoolRef", "volumePoolRef", "claimRef"}  # what the reconciler adds to a wish


def removed_by_order(stage: Stage, name: str, uids: set[str]) -> None:
    """Nothing leaves host `name` but by an order that is on live; and no data but by people's word."""
    there = {one.metadata.uid: one for one in stage.live().objects()}
    for uid in sorted(uids - stage.ordered_before):
        if undecided.is_ordered(stage, uid, name):
            continue
        found = there.get(uid)
        assert found is not None, f"{uid} was removed, and live does not know it"
        assert is_ordered_away(found), f"{found.key} was removed, and live has no order for it to go"
        if isinstance(found, Volume):
            is_given_up = found.spec.deletion_policy == "Delete" or found.metadata.owner_references
            assert is_given_up, f"the data of {found.key} was removed, which is to be retained"


def _pool_of(found: Object) -> str:
    assignment = found.status.assignment if isinstance(found, Machine | Volume) else None
    return assignment.pool if assignment is not None else ""


def is_ordered_away(found: Object) -> bool:
    if found.metadata.deletion_timestamp:
        return True
    return isinstance(found, Machine | Volume) and found.status.evict is not None


@dataclass
class Laws:
    """Those that hold at every moment. Remembers what stood there a moment ago."""

    stage: Stage
    people: People
    head: str | None = None
    uids: dict[Key, str] = field(default_factory=dict)
    placed: set[str] = field(default_factory=set)  # uids that ever had a pool
    given: dict[str, str] = field(default_factory=dict)  # assignments that were ever seen, and their pools
    assigned: set[tuple[str, str]] = field(
        default_factory=set
    )  # hosts and uids that this `live` ever assigned
    reports: dict[str, str | None] | None = None  # while `live` is recovered: those of the moment of its loss

    def check(self) -> None:
        self._once()
        head = self.stage.fleet.head(LIVE)
        if self.reports is not None and not self._end_recovery(head):
            return
        if head == self.head:
            return
        assert self.head is None or (head is not None and self.stage.is_descendant(head, self.head)), (
            f"live went from {self.head} to {head}, which does not descend from it"
        )
        self.head = head
        self._roomy()
        self._same()
        self._remembers()

    def expect_recovery(self) -> None:
        """The server is restored from a backup. Until all hosts apply what it has then, `live` is not what they have: nothing runs twice
        even then."""
        stage = self.stage
        stage.ordered_before |= {one.metadata.uid for one in stage.live().objects() if is_ordered_away(one)}
        self.reports = {name: stage.fleet.head(REPORTS + name) for name in stage.hosts}

    def _end_recovery(self, head: str | None) -> bool:
        """Whether all hosts have reported since, and apply this `live`. What it then does not have stays with the hosts, as orphans."""
        stage = self.stage
        for name, before in (self.reports or {}).items():
            if stage.fleet.head(REPORTS + name) == before or hostile_reports.writer_of(
                stage.fleet, name
            ) != stage.host_id(name):
                return False
            run = stage.runs.get(name)
            applied = run.agent._live.last_applied if run is not None else None
            if (
                applied not in stage.fleet.remote.objects
                or head is None
                or not stage.is_descendant(head, applied)
            ):
                return False
        self.reports, self.head, self.uids, self.assigned = None, None, {}, set()
        stage.hidden.end(stage)
        # A host that only waited for its grant does not show that `live` is older: that one has the object elsewhere.
        places = {one.metadata.uid: _pool_of(one) for one in stage.live().objects()}
        stage.remains |= {
            (name, uid)
            for name in stage.hosts
            for uid in stage.uids(name).values()
            if places.get(uid, "nowhere") not in ("", name)
        }
        self.given |= {id: pool for id, pool, _ in self._list_assigned()}
        return True

    def _list_assigned(self) -> Iterator[tuple[str, str, Machine]]:
        for one in self.stage.live().all(Machine):
            if one.status.assignment is not None:
                yield one.status.assignment.id, one.status.assignment.pool, one

    def _once(self) -> None:
        """Nothing is twice, neither on two hosts nor on one; what an old image brought back does not run beside another one."""
        stage = self.stage
        for kind in (RuntimeMachine, RuntimeVolume):
            found = [(name, uid) for name in stage.hosts for uid in stage.uids(name, kind).values()]
            uids = [uid for name, uid in found if (name, uid) not in stage.remains | stage.hidden.things]
            twice = sorted({uid for uid in uids if uids.count(uid) > 1})
            assert not twice, f"{kind.__name__}s on two hosts or twice on one: {twice}"
        running = Counter(
            uid
            for key in (*stage.hosts, *(one.key for one in stage.clones.values()))
            for uid in stage.running(key)
            if (key, uid) not in stage.hidden.things
        )
        twice = sorted(uid for uid, count in running.items() if count > 1)
        assert not twice, f"machines run twice: {twice}"
        writers = Counter(handle for name in stage.hosts for handle, _ in set(stage.writers(name)))
        shared = sorted(handle for handle, count in writers.items() if count > 1)
        assert not shared, f"two machines write one volume: {shared}"

    def _roomy(self) -> None:
        """No machine is given to a pool that has no room for it beside all that is assigned there, whether that runs or not.
        One that is taken over was there before. Two do not count as declared: one that is deleted, and off until it is gone or put back; and one that people let grow or
        shrink where it is, and whose host has it in another size, or reported it so last. Whether they fit is asked again by who starts or changes them."""
        classes = {one.metadata.name: one for one in self.stage.live().all(MachineClass)}
        charges: dict[str, list[Mapping[str, int]]] = {}
        new: set[str] = set()
        for id, pool, one in self._list_assigned():
            charges.setdefault(pool, []).append(self._least_charge(pool, one, classes))
            is_there = one.metadata.uid in self.stage.uids(pool).values()
            new |= set() if id in self.given or is_there else {pool}
            self.given[id] = pool
        for pool in sorted(new):
            total, room = add(charges[pool]), self.stage.profile.capacity
            assert total["cpu"] <= room["cpu"] * 1000, f"{pool} is overcommitted: {total}"
            assert total["memory"] <= room["memory"], f"{pool} is overcommitted: {total}"

    def _least_charge(
        self, pool: str, one: Machine, classes: Mapping[str, MachineClass]
    ) -> Mapping[str, int]:
        there = [
            each.spec.class_name
            for each in self.stage.machines[pool].host.state.objects(RuntimeMachine).values()
            if each.labels.get(UID_LABELS[RuntimeMachine]) == one.metadata.uid
        ]
        if one.status.undo is not None and one.metadata.uid not in self.stage.running(pool):
            return {"cpu": 0, "memory": 0}
        has = one.status.machine_class_ref  # as its host reported it: it may have grown since
        named = (one.spec.machine_class_ref.name, *there, *((has.name,) if has is not None else ()))
        sizes = [classes[name] for name in named if name in classes]
        return min((machine_charge(size, one.spec) for size in sizes), key=lambda charge: charge["cpu"])

    def _same(self) -> None:
        """An object keeps its uid for as long as people did not take it back. One that was never given to a pool may become the one of
        its name that a host has: a restored `live` did not know that one, and it is adopted."""
        live = self.stage.live()
        objects: tuple[Machine | Volume, ...] = (*live.all(Machine), *live.all(Volume))
        for one in objects:
            uid, before = one.metadata.uid, self.uids.get(one.key)
            if uid and uid != before and not one.metadata.owner_references:
                is_another = before is None or f"{one.key.kind.value}/{one.key.name}" in self.people.dropped
                is_adopted = before not in self.placed and self._is_on_host(uid)
                assert is_another or is_adopted, (
                    f"{one.key} was {before} and is {uid} now, and people did not remove it"
                )
                self.uids[one.key] = uid
            if uid and one.status.assignment is not None:
                self.placed.add(uid)

    def _is_on_host(self, uid: str) -> bool:
        return any(
            uid in self.stage.uids(name, kind).values()
            for name in self.stage.hosts
            for kind in (RuntimeMachine, RuntimeVolume)
        )

    def _remembers(self) -> None:
        """Nothing that `live` assigned to a host is forgotten while it is there. What it only blocks, because a restore left it on a host,
        people may remove from the source: the host says that it has it."""
        there = self.stage.live()
        known = {one.metadata.uid for one in there.objects()}
        self.assigned |= {(_pool_of(one), one.metadata.uid) for one in there.objects()}
        for name in self.stage.hosts:
            held = {
                uid
                for kind in (RuntimeMachine, RuntimeVolume)
                for uid in self.stage.uids(name, kind).values()
            }
            lost = sorted(
                uid
                for uid in held - known
                if (name, uid) in self.assigned and (name, uid) not in self.stage.remains
            )
            assert not lost, f"live has forgotten what is on {name}: {lost}"


# At rest


def check_fulfilled(stage: Stage, people: People) -> None:
    """The wish is what live says, what live says is on hosts, and nothing else is."""
    declared = _list_declared(people)
    live = {(str(one.key), bool(one.metadata.deletion_timestamp)): one for one in stage.live().objects()}
    for key, desired in declared.items():
        found = live.get((key, False))
        if found is None and _is_held_back(live.get((key, True))):
            continue
        assert found is not None, f"{key} is declared, and not on live"
        if isinstance(found, Machine):
            _machine(stage, found)
        elif isinstance(found, Volume):
            _volume(stage, found)
        _check_kept(stage, people, key, desired)
    _check_ended(stage, declared)


def _is_held_back(going: Object | None) -> bool:
    """A volume of that name that was ordered gone, and that people have a machine refer to again: it stays in that machine
    with its data for as long as they do, and says so; the one that is declared again comes after it."""
    if not isinstance(going, Volume):
        return False
    return any(one.type == "UpToDate" and one.status == "False" for one in going.status.conditions)


def _list_declared(people: People) -> dict[str, Mapping[str, object]]:
    files = people.declared.files()
    documents = [one for path, text in files.items() for one in parse(path, text.encode()).documents]
    wanted = [one for one in documents if one.key.kind in (Kind.MACHINE, Kind.VOLUME)]
    return {str(one.key): one.body for one in wanted}


def _machine(stage: Stage, found: Machine) -> None:
    assignment = found.status.assignment
    there = {
        name: one
        for name in stage.hosts
        for one in stage.machines[name].host.state.objects(RuntimeMachine).values()
        if one.labels.get(UID_LABELS[RuntimeMachine]) == found.metadata.uid
    }
    if assignment is None:
        on = [name for name in there if found.metadata.uid in stage.running(name)]
        assert not on or _waits_for_another(found), f"{found.key} has no place and runs on {on}"
        reasons = [one for one in found.status.conditions if one.status == "False" and one.reason]
        assert reasons, f"{found.key} has no place, and no condition says why"
        return
    here = there.get(assignment.pool)
    power = Power.ON if found.spec.power == "On" else Power.OFF
    if here is None or here.spec.power != power:
        assert _list_reasons(stage, found, assignment.pool), (
            f"{found.key} on {assignment.pool} is not as desired, and no condition says why"
        )


def _list_reasons(stage: Stage, found: Machine | Volume, pool: str) -> list[str]:
    """On live or in the report: progress waits there for the next commit, and people are shown both."""
    reasons = [one.reason for one in found.status.conditions if one.status != "True" and one.reason]
    report, key = hostile_reports.report_of(stage.fleet, pool), (found.key.namespace, found.key.name)
    entry = None
    if report is not None:
        entry = report.machines.get(key) if isinstance(found, Machine) else report.volumes.get(key)
    reported = entry.status.conditions if entry is not None and entry.status is not None else ()
    return reasons + [one.reason for one in reported if one.status != "True" and one.reason]


def _volume(stage: Stage, found: Volume) -> None:
    there = {
        one.labels.get(UID_LABELS[RuntimeVolume], ""): name
        for name in stage.hosts
        for one in stage.machines[name].host.state.objects(RuntimeVolume).values()
    }
    assignment, here = found.status.assignment, there.get(found.metadata.uid)
    if here is not None and (here, found.metadata.uid) in stage.remains:
        return
    if assignment is None and here is not None and _waits_for_another(found):
        return
    if assignment is not None and here is None:
        assert _list_reasons(stage, found, assignment.pool), (
            f"{found.key} is assigned to {assignment.pool}, not there, and no condition says why"
        )
        return
    assert here == (assignment.pool if assignment is not None else None), (
        f"{found.key} is assigned to {assignment} and on {here}"
    )


def _waits_for_another(found: Machine | Volume) -> bool:
    """A host has it without an order, as after a restore while its report could not be read: people decide, and the condition says so."""
    return any(one.reason == "OnAnotherHost" for one in found.status.conditions)


def _check_kept(stage: Stage, people: People, key: str, desired: Mapping[str, object]) -> None:
    """Every word of people is on live: fields and comments."""
    texts = stage.texts()
    bodies = [
        (path, one.body)
        for path, text in texts.items()
        if path.endswith(".yaml") and not path.startswith(".gitvirt/")
        for one in parse(path, text.encode()).documents
        if str(one.key) == key
    ]
    assert len(bodies) == 1, f"{key} is on live {len(bodies)} times"
    (path, body), spec = bodies[0], desired["spec"]
    assert _holds(body["spec"], spec), f"{key} on live is {body['spec']} where people wrote {spec}"
    name = key.partition("/")[0] + "/" + key.rpartition("/")[2]
    for word in people.declared.texts[name].split():
        if word.startswith("note-"):
            assert word in texts[path], f"people's comment {word} is not on live, in {path}"


def _holds(live: object, desired: object) -> bool:
    if isinstance(desired, Mapping) and isinstance(live, Mapping):
        names = desired.keys() - GIVEN  # a pin may be in vain, and then live says where it stays
        return live.keys() - GIVEN == names and all(_holds(live[name], desired[name]) for name in names)
    if isinstance(desired, list) and isinstance(live, list):
        return len(desired) == len(live) and all(map(_holds, live, desired))
    return live == desired


def _check_ended(stage: Stage, declared: Mapping[str, object]) -> None:
    """An object that is not declared any more is gone, unless it is retained, in use, or was left paused."""
    used = {
        (one.metadata.namespace, name)
        for one in stage.live().all(Machine)
        for name in _volumes_of(one)
        if not one.metadata.deletion_timestamp
    }
    held, in_remains = _kept_attached(stage), _attached_to_remains(stage)
    for path, text in stage.texts().items():
        if not path.endswith(".yaml") or path.startswith(".gitvirt/retained/"):
            continue
        for one in parse(path, text.encode()).documents:
            if one.key.kind not in (Kind.MACHINE, Kind.VOLUME) or str(one.key) in declared:
                continue
            is_generated = path.startswith(".gitvirt/generated/")
            is_used = (one.key.namespace, one.key.name) in used
            is_held = any(handle in text for handle in held)
            is_left = str(one.key) in in_remains
            is_excused = is_generated or is_used or is_held or is_left or PAUSED.strip() in text
            assert is_excused, f"{one.key} is not declared any more and still at {path} on live"


def _attached_to_remains(stage: Stage) -> set[str]:
    """Volumes whose host says that they cannot go, because a machine has them that an old image brought back: people remove that one."""
    found = set()
    for name in stage.hosts:
        report = hostile_reports.report_of(stage.fleet, name)
        for (namespace, volume), entry in (report.volumes if report is not None else {}).items():
            conditions = entry.status.conditions if entry.status is not None else ()
            is_shown = any(one.reason == "Attached" and one.status == "False" for one in conditions)
            if is_shown and any((name, uid) in stage.remains for uid in entry.attached_to):
                found.add(str(Key(Kind.VOLUME, namespace, volume)))
    return found


def _kept_attached(stage: Stage) -> set[str]:
    """Handles of what machines keep: paused ones all, others where people have them refer to a volume that is not there, which may
    be a slip of the pen."""
    live = stage.live()
    there = {one.key for one in live.all(Volume) if not one.metadata.deletion_timestamp}
    return {
        entry.handle
        for one in live.all(Machine)
        for entry in one.status.volumes
        if entry.handle and (is_paused(one) or leads_nowhere(one, entry.volume_ref, there))
    }


def is_paused(machine: Machine) -> bool:
    return machine.metadata.annotations.get("gitvirt.dev/paused") == "true"


def leads_nowhere(machine: Machine, ref: NameRef | None, there: set[Key]) -> bool:
    return ref is not None and Key(Kind.VOLUME, machine.metadata.namespace, ref.name) not in there


def _volumes_of(machine: Machine) -> list[str]:
    refs = (getattr(one.source, "name", "") for one in machine.spec.volumes)
    return [name for name in refs if name]
