"""What a plan prints is what happens: changes by hand and by chance, printed, merged, and compared with what is on the hosts afterwards.

Everything is real but the Git server, the wire and the guests: the reconciler ticks, poollets act, simulated hosts run machines.
"""

from __future__ import annotations

import copy
import json
import os
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from msgspec.structs import replace

from iri.host import RuntimeClasses, RuntimeMachineClass, RuntimeVolumeClass
from iri.simulated.machine_lifecycle import IS_ON, SimulatedMachine, boot_count
from iri.volume import RuntimeVolume
from poollet.decide import model_to_iri
from poollet.decide.actions import Ref
from reconciler.decide.decide import make_plan
from reconciler.gitstore.objects.commit import decode_commit
from reconciler.gitstore.repo import Refs, Snapshot
from reconciler.plan.source_changes import SourceChange
from reconciler.plan.types import Plan
from reconciler.world.world import World
from reconciler.write.source_documents import read_source_changes
from schemas.effects.effect import destructive_word
from schemas.effects.words import describe_change, describe_effect, name_effect
from schemas.model import Machine
from tests.iri.quick_host import PROFILE
from tests.poollet.fleet import LIVE, MAIN, SETTINGS, machine_class
from tests.poollet.simulation import Simulation

GIB = 1 << 30
HOSTS = ("host-1", "host-2")
CLASSES = RuntimeClasses(
    machines=(
        RuntimeMachineClass(name="small", resources={"cpu": 1, "memory": GIB}),
        RuntimeMachineClass(name="large", resources={"cpu": 2, "memory": 2 * GIB}),
    ),
    volumes=(RuntimeVolumeClass(name="standard", tps=1 << 20, iops=100),),
)
HOST = replace(PROFILE, classes=CLASSES, capacity={"cpu": 12, "memory": 12 * GIB, "storage": 400 * GIB})
COMPUTE, STORAGE, NETWORKING = (
    f"{group}.ironcore.dev/v1alpha1" for group in ("compute", "storage", "networking")
)
Documents = dict[str, Any]


def document(kind: str, api_version: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def machine(name: str, *disks: Any, **spec: Any) -> dict[str, Any]:
    given = {"machineClassRef": {"name": "small"}, "volumes": list(disks), **spec}
    return document("Machine", COMPUTE, name, **given)


def volume(name: str, **spec: Any) -> dict[str, Any]:
    given = {"volumeClassRef": {"name": "standard"}, "resources": {"storage": "1Gi"}, **spec}
    return document("Volume", STORAGE, name, **given)


def local(name: str, size: str = "5Gi") -> dict[str, Any]:
    return {"name": name, "localDisk": {"sizeLimit": size}}


def nic(name: str, ip: str) -> dict[str, Any]:
    spec = {"networkRef": {"name": "lan"}, "ips": [{"value": ip}]}
    return {"name": name, "ephemeral": {"networkInterfaceTemplate": {"spec": spec}}}


OWN = {
    "name": "own",
    "ephemeral": {
        "volumeTemplate": {"spec": {"volumeClassRef": {"name": "standard"}, "resources": {"storage": "1Gi"}}}
    },
}
DATA = {"name": "data", "volumeRef": {"name": "data"}}
FIXED = {
    "gitvirt.yaml": f"{SETTINGS}limits: {{undo: 0s}}\n",  # or what is destroyed would be ten minutes later
    "small.yaml": machine_class(),
    "large.yaml": machine_class("large", "2", "2Gi"),
    "standard.yaml": (
        f"apiVersion: {STORAGE}\nkind: VolumeClass\nmetadata: {{name: standard}}\n"
        "capabilities: {tps: 1Mi, iops: 100}\nresizePolicy: ExpandOnly\n"
    ),
}
OBJECTS: Documents = {
    "lan": document("Network", NETWORKING, "lan"),
    "db": machine(
        "db", local("root", "10Gi"), local("scratch"), DATA, OWN, networkInterfaces=[nic("a", "10.0.0.5")]
    ),
    "web": machine("web", local("root"), networkInterfaces=[nic("a", "10.0.0.6")]),
    "moves": machine("moves", local("root"), onPoolLost="Replace"),
    "plain": machine("plain"),
    **{f"other-{number}": machine(f"other-{number}") for number in range(4)},
    "data": volume("data"),
    "spare": volume("spare"),
    "precious": volume("precious", deletionPolicy="Retain"),
    "cache": volume("cache", deletionPolicy="Delete"),
    **{f"more-{number}": volume(f"more-{number}") for number in range(3)},
}


def files(objects: Documents) -> dict[str, str]:
    return {f"{name}.yaml": json.dumps(body, indent=2) + "\n" for name, body in objects.items()}


@dataclass(frozen=True)
class Guest:
    """A machine as its host has it."""

    host: str
    id: str
    uid: str
    boots: int
    is_on: bool
    shape: str  # class, disks, interfaces and what the first boot reads
    disks: frozenset[str]


@dataclass(frozen=True)
class Observed:
    machines: Mapping[str, Guest]
    volumes: Mapping[str, tuple[str, str, int]]  # host, id, bytes
    local_disks: frozenset[tuple[str, str, str]]  # machine, host and id, disk


def observe(simulation: Simulation) -> Observed:
    machines: dict[str, Guest] = {}
    volumes: dict[str, tuple[str, str, int]] = {}
    disks: set[tuple[str, str, str]] = set()
    for host in HOSTS:
        state = simulation.machines[host].host.state
        for record in state.list_records(SimulatedMachine).values():
            one = record.machine
            _, name = model_to_iri.read_name(Ref(type(one), ""), one.labels)
            shape = repr(
                (one.spec.class_name, one.spec.volumes, one.spec.network_interfaces, one.spec.ignition_data)
            )
            own = {disk.name for disk in one.spec.volumes if disk.local_disk is not None}
            machines[name] = Guest(
                host,
                one.id,
                one.labels.get(model_to_iri.label_names(type(one))[0], ""),
                boot_count(record),
                record.phase in IS_ON,
                shape,
                frozenset(own),
            )
            disks |= {(name, f"{host}/{one.id}", disk) for disk in own}
        for found in state.objects(RuntimeVolume).values():
            _, name = model_to_iri.read_name(Ref(RuntimeVolume, ""), found.labels)
            size = found.spec.resources.storage_bytes if found.spec.resources else 0
            volumes[name] = (host, found.id, size)
    return Observed(machines, volumes, frozenset(disks))


def begin() -> Simulation:
    simulation = Simulation(HOSTS, {0: {**FIXED, **files(OBJECTS)}}, profile=HOST)
    come_to_rest(simulation)
    return simulation


def come_to_rest(simulation: Simulation) -> None:
    """Rounds until nothing changes any more on `live` and on the hosts."""
    quiet = 0
    for _ in range(80):
        before = (simulation.fleet.head(LIVE), observe(simulation))
        simulation.round()
        quiet = quiet + 1 if (simulation.fleet.head(LIVE), observe(simulation)) == before else 0
        if quiet == 4:
            return
    raise AssertionError("it does not come to rest")


def plan_of(simulation: Simulation) -> tuple[Plan, tuple[SourceChange, ...]]:
    """As `gitvirt plan --repo` makes it, of the merged change and before any tick."""
    repo = simulation.fleet.client(Refs())
    snapshot = repo.snapshot()
    assert isinstance(snapshot, Snapshot)
    world = World(os.environ)
    now = simulation.time.clock.now()
    advance = world.advance(repo, snapshot, now)
    return make_plan(world, advance, now), read_source_changes(repo, world)


def lines_of(plan: Plan, changes: tuple[SourceChange, ...]) -> Iterator[str]:
    """What a plan prints of them, each line with its object."""
    for each in changes:
        if each.whole is not None:
            yield f"{each.key.name}: {describe_effect(each.whole)}"
        for field in each.fields:
            yield f"{each.key.name}: {describe_change(field.change)}: {describe_effect(field.effect)}"
    for change in plan.changes:
        yield f"{change.key.name}: {change.action.value}: {change.reason}"


def messages(simulation: Simulation, since: str | None) -> list[str]:
    """Of the commits on live since then."""
    repo, found, commit = simulation.fleet.client(Refs()), [], simulation.fleet.head(LIVE)
    repo.snapshot()
    while commit and commit != since:
        read = decode_commit(simulation.fleet.remote.objects[commit][1])
        found.append(read.message)
        commit = read.first_parent
    return found


NOT_NOW = re.compile(r"RECREATE it|waits until|stays until|not possible")
LOSS = re.compile(r"(local disk \S+ of [\w-]+|volume [\w-]+)")


def destroyed_by(lines: list[str]) -> set[str]:
    return {
        loss
        for line in lines
        if not NOT_NOW.search(line)
        for loss in LOSS.findall(re.split("; keeps|; waits", line.partition("DESTROYS ")[2])[0])
    }


def list_lost(before: Observed, after: Observed) -> set[str]:
    disks = {f"local disk {disk} of {name}" for name, _, disk in before.local_disks - after.local_disks}
    ids = {id for _, id, _ in after.volumes.values()}
    return disks | {f"volume {name}" for name, (_, id, _) in before.volumes.items() if id not in ids}


def change(name: str, edit: Callable[[dict[str, Any]], object]) -> Callable[[Documents], None]:
    def apply(objects: Documents) -> None:
        if name in objects:
            edit(objects[name])

    return apply


def put(name: str, field: str, value: Any) -> Callable[[Documents], None]:
    return change(name, lambda body: body["spec"].__setitem__(field, value))


def drop(*names: str) -> Callable[[Documents], None]:
    def apply(objects: Documents) -> None:
        for name in names:
            objects.pop(name, None)

    return apply


def disks(name: str, edit: Callable[[list[Any]], object]) -> Callable[[Documents], None]:
    return change(name, lambda body: edit(body["spec"]["volumes"]))


def rename(objects: Documents) -> None:
    if "db" in objects:
        body = objects.pop("db")
        objects["db-2"] = {**body, "metadata": {"name": "db-2"}}


def other_host(host: str) -> str:
    return next(each for each in HOSTS if each != host)


Edit = Callable[[Documents], None]
EDITS: dict[str, tuple[Edit, set[str]]] = {
    "power off": (put("web", "power", "Off"), {"power"}),
    "class": (put("plain", "machineClassRef", {"name": "large"}), {"next boot"}),
    "labels": (change("web", lambda body: body["metadata"].update(labels={"a": "b"})), {"recorded"}),
    "restart": (
        change("plain", lambda body: body["metadata"].update(annotations={"gitvirt.dev/restart": "1"})),
        {"power"},
    ),
    "selector": (put("plain", "machinePoolSelector", {"a": "b"}), {"next placement"}),
    "priority": (put("plain", "priority", 7), {"next placement"}),
    "onPoolLost": (put("web", "onPoolLost", "Replace"), {"recorded"}),
    "host name": (put("web", "guestConfig", {"hostname": "x"}), set()),
    "a larger local disk": (disks("db", lambda disks: disks[0]["localDisk"].update(sizeLimit="20Gi")), set()),
    "a local disk with an image": (
        disks("web", lambda disks: disks[0]["localDisk"].update(image="x")),
        set(),
    ),
    "a local disk that goes": (disks("db", lambda disks: disks.remove(local("scratch"))), {"now"}),
    "a generated volume that goes": (disks("db", lambda disks: disks.remove(OWN)), {"now"}),
    "a new local disk": (disks("web", lambda disks: disks.append(local("more"))), {"now"}),
    "a volume that is detached": (disks("db", lambda disks: disks.remove(DATA)), {"now"}),
    "a volume swap": (
        disks("db", lambda disks: disks.__setitem__(2, {**DATA, "volumeRef": {"name": "spare"}})),
        {"now"},
    ),
    "a volume in place of a local disk": (
        disks("db", lambda disks: disks.__setitem__(1, {"name": "scratch", "volumeRef": {"name": "cache"}})),
        {"now"},
    ),
    "volume grows": (put("spare", "resources", {"storage": "2Gi"}), {"now"}),
    "volume shrinks": (put("spare", "resources", {"storage": "500Mi"}), set()),
    "an interface is added": (
        change("web", lambda body: body["spec"]["networkInterfaces"].append(nic("b", "10.0.0.9"))),
        {"now"},
    ),
    "an interface is removed": (
        change("web", lambda body: body["spec"].update(networkInterfaces=[])),
        {"now"},
    ),
    "an address": (
        change("web", lambda body: body["spec"].update(networkInterfaces=[nic("a", "10.0.0.7")])),
        {"now"},
    ),
    "deletion policy": (put("spare", "deletionPolicy", "Delete"), {"recorded"}),
    "a machine goes": (drop("web"), {"delete"}),
    "a volume with its data": (drop("cache"), {"delete"}),
    "a volume that is kept": (drop("precious"), {"delete"}),
    "a rename": (rename, {"rename"}),
    "a new machine": (lambda objects: objects.update(new=machine("new", local("root"))), {"add"}),
}
# Where each waits for another answer than now: the machine keeps running as it was.
STAYS = {"recorded", "next placement", "next boot", "recreate", "refused", "creation", "may evict"}


def check(simulation: Simulation, objects: Documents) -> tuple[list[str], set[str], Observed, Observed]:
    """Merges the objects; compares what the plan of it prints with what the hosts have afterwards."""
    before = observe(simulation)
    gone: dict[str, str | None] = {f"{name}.yaml": None for name in OBJECTS.keys() - objects.keys()}
    simulation.fleet.commit({**gone, **files(objects)}, MAIN)
    plan, changes = plan_of(simulation)
    lines = list(lines_of(plan, changes))
    head = simulation.fleet.head(LIVE)
    come_to_rest(simulation)
    after = observe(simulation)
    shown = "\n".join([*lines, *messages(simulation, head)])
    if list_lost(before, after):
        subjects = [message.partition("\n")[0] for message in messages(simulation, head)]
        assert any(re.search("DELETE|DESTROY|RECREATE", subject) for subject in subjects), shown
    assert destroyed_by(lines) == list_lost(before, after), shown
    for loss in list_lost(before, after):
        assert any(loss in line and re.search("DELETE|DESTROY|RECREATE", line) for line in lines), shown
    effects = {each.key.name: {name_effect(effect) for effect in each.effects} for each in changes}
    old_names = {each.whole.old for each in changes if name_effect(each.effects[0]) == "rename"}  # type: ignore[union-attr]
    for name, was in before.machines.items():
        found, now = effects.get(name, set()), after.machines.get(name)
        if now is None:
            assert "delete" in found or name in old_names, shown
            continue
        is_moved = any(
            f"{name}: " in line and "moves the" in line and not NOT_NOW.search(line) for line in lines
        )
        assert (now.host != was.host) == is_moved, shown
        assert is_moved or (now.id, now.uid) == (was.id, was.uid), shown
        assert "power" in found or is_moved or (now.boots, now.is_on) == (was.boots, was.is_on), shown
        if found <= STAYS - {"next boot"} and not users_changed(name, changes):
            assert now.shape == was.shape, shown
    return lines, {name for each in changes for name in map(name_effect, each.effects)}, before, after


def users_changed(name: str, changes: tuple[SourceChange, ...]) -> bool:
    """Whether a volume of the machine changed: a guest sees that its disk has grown."""
    return any(each.key.kind != "Machine" for each in changes)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", EDITS)
def test_a_plan_prints_what_the_hosts_do(name: str) -> None:
    edit, want = EDITS[name]
    objects = copy.deepcopy(OBJECTS)
    edit(objects)
    _, found, _, _ = check(begin(), objects)
    assert found == want


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", range(12))
def test_a_plan_of_changes_by_chance_prints_what_the_hosts_do(seed: int) -> None:
    chance, simulation, objects = random.Random(seed), begin(), copy.deepcopy(OBJECTS)
    for name in chance.sample(list(EDITS), chance.randint(2, 5)):
        try:
            EDITS[name][0](objects)
        except (IndexError, ValueError):  # an earlier edit took the disk
            continue
    check(simulation, objects)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("name", "is_moved"), [("moves", True), ("web", False), ("plain", True), ("db", False)]
)
def test_a_pin_moves_what_gives_up_its_data(name: str, is_moved: bool) -> None:
    simulation, objects = begin(), copy.deepcopy(OBJECTS)
    was = observe(simulation).machines[name].host
    objects[name]["spec"]["machinePoolRef"] = {"name": other_host(was)}
    lines, found, _, after = check(simulation, objects)
    assert found == {"move"}
    assert f"STOPS on {was}, starts on {other_host(was)}" in "\n".join(lines)
    assert (after.machines[name].host != was) == is_moved


@pytest.mark.timeout(300)
def test_a_recreation_is_carried_out_once_and_keeps_volumes_and_addresses() -> None:
    simulation, objects = begin(), copy.deepcopy(OBJECTS)
    objects["db"]["metadata"]["annotations"] = {"gitvirt.dev/restart": "1"}
    simulation.fleet.commit(files(objects), MAIN)
    come_to_rest(simulation)
    before = observe(simulation)
    assignment = assignment_of(simulation, "db")
    objects["db"]["metadata"]["annotations"]["gitvirt.dev/recreate"] = assignment
    simulation.fleet.commit(files(objects), MAIN)
    plan, changes = plan_of(simulation)
    lines, head = list(lines_of(plan, changes)), simulation.fleet.head(LIVE)
    come_to_rest(simulation)
    after = observe(simulation)
    lost = {"local disk root of db", "local disk scratch of db"}
    assert {name_effect(effect) for each in changes for effect in each.effects} == {"replace"}
    assert destroyed_by(lines) == lost
    assert (before.machines["db"].boots, after.machines["db"].boots) == (2, 1)  # it is another guest
    assert after.machines["db"].uid == before.machines["db"].uid
    assert after.machines["db"].is_on
    assert after.volumes == before.volumes
    assert after.machines.keys() == before.machines.keys()
    assert {name: found for name, found in after.machines.items() if name != "db"} == {
        name: found for name, found in before.machines.items() if name != "db"
    }
    found = messages(simulation, head)
    assert any("DESTROYS" in message.partition("\n")[0] for message in found)
    assert any("RECREATE" in message and "DESTROYS local disk root of db" in message for message in found)
    assert assignment_of(simulation, "db") != assignment


@pytest.mark.timeout(300)
def test_a_recreation_of_an_assignment_that_ended_recreates_nothing() -> None:
    simulation, objects = begin(), copy.deepcopy(OBJECTS)
    objects["db"]["metadata"]["annotations"] = {
        "gitvirt.dev/recreate": "7d444840-9dc0-11d1-b245-5ffdce74fad2"
    }
    before = observe(simulation)
    _, found, _, after = check(simulation, objects)
    assert found == {"recorded"}
    assert after == before


def assignment_of(simulation: Simulation, name: str) -> str:
    machines = [each for each in simulation.live().objects() if isinstance(each, Machine)]
    (found,) = [each.status.assignment for each in machines if each.name == name]
    assert found is not None
    return found.id


def test_a_rename_keeps_volume_and_address_without_errors() -> None:
    simulation, objects = begin(), copy.deepcopy(OBJECTS)
    rename(objects)
    gone: dict[str, str | None] = {"db.yaml": None}
    before = observe(simulation)
    simulation.fleet.commit({**gone, **files(objects)}, MAIN)
    plan, changes = plan_of(simulation)
    assert [problem for problem in plan.problems if problem.severity == "error"] == []
    (only,) = changes
    assert destructive_word(only.effects[0]) == "RECREATE"
    assert "keeps volume data, address 10.0.0.5 in network lan" in describe_effect(only.effects[0])
    come_to_rest(simulation)
    after = observe(simulation)
    assert after.volumes["data"] == before.volumes["data"]
    assert "db" not in after.machines
    assert after.machines["db-2"].is_on
