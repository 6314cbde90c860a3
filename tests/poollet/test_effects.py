"""What a plan prints is what happens: changes by hand and by chance, printed, merged, and compared with what is on the hosts afterwards.

Everything is real but the Git server, the wire and the guests: the reconciler ticks, poollets act, simulated hosts run machines.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from reconciler.cli import move
from reconciler.cli.plans.plan_input import advance_world
from reconciler.gitstore.repo import Refs, Snapshot
from schemas.edit import Edited, edit
from schemas.effects.effect import destructive_word
from schemas.effects.words import describe_effect, name_effect
from schemas.kinds import Key, Kind
from schemas.model import Machine
from tests.poollet.effects_bench import (
    NETWORKING,
    STORAGE,
    Documents,
    check,
    destroyed_by,
    document,
    files,
    lines_of,
    local,
    machine,
    messages,
    nic,
    plan_of,
    print_plan,
    read_printed_losses,
    volume,
)
from tests.poollet.fleet import LIVE, MAIN, SETTINGS, machine_class
from tests.poollet.simulated_bench import SimulatedBench
from tests.poollet.simulation import Simulation

HOSTS = ("host-1", "host-2")


def secret(text: str) -> dict[str, Any]:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "boot"}}
    return {**body, "stringData": {"ignition.yaml": text, "other": text}}


OWN = {
    "name": "own",
    "ephemeral": {
        "volumeTemplate": {"spec": {"volumeClassRef": {"name": "standard"}, "resources": {"storage": "1Gi"}}}
    },
}
DATA = {"name": "data", "volumeRef": {"name": "data"}}
FIXED: dict[str, str | None] = {
    "gitvirt.yaml": f"{SETTINGS}limits: {{undo: 0s}}\n",  # or what is destroyed would be ten minutes later
    "small.yaml": machine_class(),
    "large.yaml": machine_class("large", "2", "2Gi"),
    "huge.yaml": machine_class("huge", "200", "2Gi"),  # no host offers it
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
    "booted": machine("booted", ignitionRef={"name": "boot"}),
    "boot": secret("one"),
    "daily": document("VolumeSnapshot", STORAGE, "daily", volumeRef={"name": "data"}),
    **{f"other-{number}": machine(f"other-{number}") for number in range(3)},
    "data": volume("data"),
    "spare": volume("spare"),
    "precious": volume("precious", deletionPolicy="Retain"),
    "cache": volume("cache", deletionPolicy="Delete"),
    **{f"more-{number}": volume(f"more-{number}") for number in range(3)},
}


def make_bench() -> SimulatedBench:
    return SimulatedBench(FIXED, copy.deepcopy(OBJECTS), HOSTS)


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


def restore(objects: Documents) -> None:
    """The volume of the snapshot takes the place of the one that it was taken of."""
    source = {"volumeSnapshotRef": {"name": "daily"}}
    objects["restored"] = volume("restored", dataSource=source)
    disks("db", lambda disks: disks.__setitem__(2, {**DATA, "volumeRef": {"name": "restored"}}))(objects)


def rename(objects: Documents) -> None:
    if "db" in objects:
        body = objects.pop("db")
        objects["db-2"] = {**body, "metadata": {"name": "db-2"}}


def other_host(host: str) -> str:
    return next(each for each in HOSTS if each != host)


KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f anna@laptop"
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
    "keys of a guest": (put("web", "guestConfig", {"sshAuthorizedKeys": [KEY]}), {"recreate"}),
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
    "class that no host offers": (put("plain", "machineClassRef", {"name": "huge"}), {"next boot"}),
    "secret of the first boot": (lambda objects: objects.update(boot=secret("two")), {"recorded"}),
    "other first-boot data": (put("booted", "ignitionRef", {"name": "boot", "key": "other"}), {"recreate"}),
    "EFI variables": (
        put("plain", "efiVars", [{"name": "a", "uuid": str(UUID(int=1)), "value": "b"}]),
        {"recreate"},
    ),
    "image of a volume": (put("spare", "dataSource", {"osImage": {"image": "x"}}), {"recreate"}),
    "range of a network": (put("lan", "ipv4", {"cidr": "10.0.0.0/24"}), {"now"}),
    "restore of a snapshot": (restore, {"add", "now"}),
    "a new machine": (lambda objects: objects.update(new=machine("new", local("root"))), {"add"}),
}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", EDITS)
def test_a_plan_prints_what_the_hosts_do(name: str) -> None:
    edit, want = EDITS[name]
    objects = copy.deepcopy(OBJECTS)
    edit(objects)
    assert check(make_bench(), objects).names == want


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", range(12))
def test_a_plan_of_changes_by_chance_prints_what_the_hosts_do(seed: int) -> None:
    chance, objects = random.Random(seed), copy.deepcopy(OBJECTS)
    for name in chance.sample(list(EDITS), chance.randint(2, 5)):
        try:
            EDITS[name][0](objects)
        except (IndexError, ValueError):  # an earlier edit took the disk
            continue
    check(make_bench(), objects)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("name", "is_moved"), [("moves", True), ("web", False), ("plain", True), ("db", False)]
)
def test_a_pin_moves_what_gives_up_its_data(name: str, is_moved: bool) -> None:
    bench, objects = make_bench(), copy.deepcopy(OBJECTS)
    was = bench.observe().machines[name].host
    objects[name]["spec"]["machinePoolRef"] = {"name": other_host(was)}
    found = check(bench, objects)
    assert found.names == {"move"}
    assert f"STOPS on {was}, starts on {other_host(was)}" in "\n".join(found.lines)
    assert (found.after.machines[name].host != was) == is_moved


def test_a_file_that_was_refused_is_compared_with_what_is_in_force() -> None:
    bench, objects = make_bench(), copy.deepcopy(OBJECTS)
    objects["web"]["spec"] |= {"guestConfig": {"hostname": "x"}, "power": "Off"}
    objects["db"]["spec"]["volumes"][0]["localDisk"]["sizeLimit"] = "20Gi"
    assert check(bench, objects).names == set()
    restored = copy.deepcopy(OBJECTS)
    restored["web"]["spec"]["power"] = "Off"
    found = check(bench, restored)
    assert found.effects == {"web": {"power"}}, (
        "the size of the disk is as it was; only now the machine stops"
    )
    assert not found.after.machines["web"].is_on


def test_a_removal_that_can_be_undone_says_when_its_data_goes() -> None:
    bench = make_bench()
    bench.fleet.commit({"gitvirt.yaml": SETTINGS, "web.yaml": None, "plain.yaml": None}, MAIN)
    printed = print_plan(plan_of(bench))
    line = "DESTROYS local disk root, 5Gi, 10m after the merge; git revert until then brings it back"
    assert [each.strip() for each in printed if "DESTROYS" in each] == [line]
    bench.come_to_rest()
    after = bench.observe()
    assert "plain" not in after.machines, "without data there is nothing to bring back"
    assert not after.machines["web"].is_on
    assert after.machines["web"].disks == {"root"}


@pytest.mark.timeout(300)
def test_a_recreation_is_carried_out_once_and_keeps_volumes_and_addresses() -> None:
    bench, objects = make_bench(), copy.deepcopy(OBJECTS)
    objects["db"]["metadata"]["annotations"] = {"gitvirt.dev/restart": "1"}
    bench.fleet.commit(files(objects), MAIN)
    bench.come_to_rest()
    before = bench.observe()
    assignment = assignment_of(bench.simulation, "db")
    objects["db"]["metadata"]["annotations"]["gitvirt.dev/recreate"] = assignment
    bench.fleet.commit(files(objects), MAIN)
    outline = plan_of(bench)
    lines, head = list(lines_of(outline)), bench.fleet.head(LIVE)
    bench.come_to_rest()
    after = bench.observe()
    lost = {"local disk root of db", "local disk scratch of db"}
    assert {name_effect(effect) for each in outline.plan.source_changes for effect in each.effects} == {
        "replace"
    }
    assert destroyed_by(lines) == lost
    assert read_printed_losses(print_plan(outline)) == lost
    assert (before.machines["db"].boots, after.machines["db"].boots) == (2, 1)  # it is another guest
    assert after.machines["db"].uid == before.machines["db"].uid
    assert after.machines["db"].is_on
    assert after.volumes == before.volumes
    assert after.machines.keys() == before.machines.keys()
    assert {name: found for name, found in after.machines.items() if name != "db"} == {
        name: found for name, found in before.machines.items() if name != "db"
    }
    found = messages(bench, head)
    assert any("DESTROYS" in message.partition("\n")[0] for message in found)
    assert any("RECREATE" in message and "DESTROYS local disk root of db" in message for message in found)
    assert assignment_of(bench.simulation, "db") != assignment


@pytest.mark.timeout(300)
def test_a_recreation_of_an_assignment_that_ended_recreates_nothing() -> None:
    bench, objects = make_bench(), copy.deepcopy(OBJECTS)
    objects["db"]["metadata"]["annotations"] = {
        "gitvirt.dev/recreate": "7d444840-9dc0-11d1-b245-5ffdce74fad2"
    }
    before = bench.observe()
    found = check(bench, objects)
    assert found.names == {"recorded"}
    assert found.after == before


@pytest.mark.timeout(300)
@pytest.mark.parametrize("is_meant", [True, False])
def test_a_consent_to_one_move_is_for_that_assignment_alone(is_meant: bool) -> None:
    bench, objects = make_bench(), copy.deepcopy(OBJECTS)
    was = bench.observe().machines["web"].host
    objects["web"]["spec"]["machinePoolRef"] = {"name": other_host(was)}
    consent = assignment_of(bench.simulation, "web" if is_meant else "db")
    objects["web"]["metadata"]["annotations"] = {"gitvirt.dev/move-consent": consent}
    found = check(bench, objects)
    assert (found.after.machines["web"].host != was) == is_meant
    if is_meant:  # back again needs a consent of its own
        objects["web"]["spec"]["machinePoolRef"] = {"name": was}
        assert check(bench, objects).after.machines["web"].host != was


@pytest.mark.timeout(300)
@pytest.mark.parametrize("is_named", [True, False])
def test_what_gitvirt_move_commits_moves_the_machine_once(is_named: bool) -> None:
    bench, objects = make_bench(), copy.deepcopy(OBJECTS)
    before, key = bench.observe(), Key(Kind.MACHINE, "default", "web")
    was = before.machines["web"].host
    repo = bench.fleet.client(Refs())
    snapshot = repo.snapshot()
    assert isinstance(snapshot, Snapshot)
    seen = advance_world(repo, snapshot, bench.now())
    assignment = move.find_assignment(seen, key)
    target = move.find_target(seen, key, assignment, other_host(was) if is_named else "")
    assert target == other_host(was)
    edited = edit(files(objects)["web.yaml"].encode(), 0, move.list_changes(target, assignment))
    assert isinstance(edited, Edited)
    objects["web"] = json.loads(edited.data)
    found = check(bench, objects)
    assert "move" in found.names
    assert destroyed_by(found.lines) == {"local disk root of web"}
    assert found.after.machines["web"].host == target
    assert found.after.machines["web"].uid == before.machines["web"].uid


def assignment_of(simulation: Simulation, name: str) -> str:
    machines = [each for each in simulation.live().objects() if isinstance(each, Machine)]
    (found,) = [each.status.assignment for each in machines if each.name == name]
    assert found is not None
    return found.id


def test_a_rename_keeps_volume_and_address_without_errors() -> None:
    bench, objects = make_bench(), copy.deepcopy(OBJECTS)
    rename(objects)
    gone: dict[str, str | None] = {"db.yaml": None}
    before = bench.observe()
    bench.fleet.commit({**gone, **files(objects)}, MAIN)
    plan = plan_of(bench).plan
    assert [problem for problem in plan.problems if problem.severity == "error"] == []
    (only,) = plan.source_changes
    assert destructive_word(only.effects[0]) == "RECREATE"
    assert "keeps volume data, address 10.0.0.5 in network lan" in describe_effect(only.effects[0])
    bench.come_to_rest()
    after = bench.observe()
    assert after.volumes["data"] == before.volumes["data"]
    assert "db" not in after.machines
    assert after.machines["db-2"].is_on
