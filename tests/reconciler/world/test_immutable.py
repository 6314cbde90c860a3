"""What may not change once it was made: the file that does it is held, and live keeps what it had."""

from __future__ import annotations

import msgspec
import pytest

from reconciler.world.objects.object_state import DocumentPlace, Origin
from reconciler.world.record import ACCEPTED, FROZEN, Record
from reconciler.world.source.contents import object_at
from reconciler.world.world import World
from schemas.kinds import Key, Kind
from schemas.model import (
    Assignment,
    Condition,
    Machine,
    MachineClass,
    Volume,
    VolumeSnapshotStatus,
    VolumeStatus,
)
from schemas.model.quantity import parse
from tests.reconciler.world.scene import (
    FAST,
    LIVE,
    SMALL,
    Scene,
    assignment_record,
    machine,
    volume,
    with_record,
)

WEB = Key(Kind.MACHINE, "default", "web")
DATA = Key(Kind.VOLUME, "default", "data")
UID = "6d0d0f8e-8d5b-4a53-9b53-1c1c3a3b8f10"
A1 = "00000000-0000-5000-8000-0000000000a1"
PLACED = assignment_record("pool-a", A1, UID)
STORED = assignment_record("pool-a", A1, UID, Kind.VOLUME)
SLOW = FAST.replace("fast", "slow")
GROWING = FAST.replace("capabilities", "resizePolicy: ExpandOnly\ncapabilities")
DISK = "  volumes:\n    - name: root\n      localDisk: {image: a}\n"
HOST = "  guestConfig: {hostname: one}\n"
TEMPLATE = "  volumes:\n    - name: d\n      ephemeral:\n        volumeTemplate:\n          spec: {volumeClassRef: {name: fast}, resources: {storage: 1Gi}}\n"
LAN = "apiVersion: networking.ironcore.dev/v1alpha1\nkind: Network\nmetadata: {name: %s}\nspec: {%s}\n"
POOL = "apiVersion: compute.ironcore.dev/v1alpha1\nkind: MachinePool\nmetadata: {name: pool-a}\nspec: {providerID: %s}\n"
SNAPSHOT = "apiVersion: storage.ironcore.dev/v1alpha1\nkind: VolumeSnapshot\nmetadata: {name: snap}\nspec: {volumeRef: {name: %s}}\n"


def scene(text: str, kind: Kind, record: Record, **more: str) -> Scene:
    """The file x.yaml with its record on live, as it was accepted."""
    made = Scene({"x.yaml": text, "slow.yaml": SLOW, **{f"{name}.yaml": each for name, each in more.items()}})
    made.live({"x.yaml": with_record(text, kind, record)})
    return made


REFUSED = [
    pytest.param(
        Kind.VOLUME, volume("data"), volume("data").replace("fast", "slow"), "GV404", id="volume class"
    ),
    pytest.param(Kind.VOLUME, volume("data"), volume("data", size="5Gi"), "GV405", id="volume shrinks"),
    pytest.param(
        Kind.VOLUME, volume("data"), volume("data", size="20Gi"), "GV406", id="volume of a static class"
    ),
    pytest.param(
        Kind.VOLUME,
        volume("data"),
        volume("data", "  encryption: {secretRef: {name: key}}\n"),
        "GV407",
        id="encryption",
    ),
    pytest.param(Kind.MACHINE, machine("web", DISK), machine("web"), "GV408", id="disk with an image"),
    pytest.param(
        Kind.MACHINE,
        machine("web", HOST),
        machine("web", HOST.replace("one", "two")),
        "GV409",
        id="host name",
    ),
    pytest.param(
        Kind.MACHINE,
        machine("web", TEMPLATE),
        machine("web", TEMPLATE.replace("fast", "slow")),
        "GV404",
        id="class of a volume that it brought along",
    ),
    pytest.param(Kind.MACHINE_POOL, POOL % "a", POOL % "b", "GV403", id="providerID of a pool"),
    pytest.param(
        Kind.NETWORK,
        LAN % ("lan", "providerID: 'bridge:a'"),
        LAN % ("lan", "providerID: 'bridge:b'"),
        "GV403",
        id="network",
    ),
]
RECORDS = {Kind.MACHINE: PLACED, Kind.VOLUME: STORED}


@pytest.mark.parametrize(("kind", "was", "now", "code"), REFUSED)
def test_what_may_not_change_is_held(kind: Kind, was: str, now: str, code: str) -> None:
    made = scene(was, kind, RECORDS.get(kind, Record(uid=UID)))
    stepwise = made.world()
    (key,) = (key for key in stepwise.objects if stepwise.objects[key].source.path == "x.yaml")  # type: ignore[union-attr]
    text = made.store.file(made.heads[LIVE], "x.yaml")
    assert text is not None
    accepted = object_at(DocumentPlace("x.yaml", 0), made.store.read(text.id))
    made.source({"x.yaml": now, "y.yaml": machine("new")})
    found = made.step(stepwise)
    assert key in found.dirty
    for world in (stepwise, made.world()):
        assert world.objects[key].origin is Origin.FROZEN
        assert world.objects[key].object == accepted
        assert [problem.code for problem in world.frozen["x.yaml"]] == [code]
        assert not world.is_synced("x.yaml")
        assert not world.relations.absent
        assert Key(Kind.MACHINE, "default", "new") in world.objects
    assert code in {problem.code for problem in found.problems}
    made.source({"x.yaml": was})
    assert key in made.step(stepwise).dirty
    assert stepwise.objects[key].origin is Origin.DECLARED
    assert stepwise.is_synced("x.yaml")


def store_record(size: str) -> Record:
    """A volume of which its host reports that size."""
    status = VolumeStatus(
        assignment=Assignment(pool="pool-a", id=A1), volume_id="sim://1", resources={"storage": parse(size)}
    )
    return Record(uid=UID, pool="pool-a", status=status)


ALLOWED = [
    pytest.param(
        Kind.VOLUME,
        volume("data", size="50Ti"),
        volume("data", size="10Gi"),
        store_record("10Gi"),
        id="a growth that never happened is taken back",
    ),
    pytest.param(
        Kind.VOLUME,
        volume("data"),
        volume("data").replace("fast", "slow"),
        Record(uid=UID),
        id="on no pool yet",
    ),
    pytest.param(
        Kind.MACHINE, machine("web", HOST), machine("web"), Record(uid=UID), id="a machine on no pool yet"
    ),
    pytest.param(Kind.MACHINE, machine("web"), machine("web", size="large"), PLACED, id="a resize"),
    pytest.param(
        Kind.MACHINE,
        machine("web", "  machinePoolRef: {name: pool-a}\n"),
        machine("web", "  machinePoolRef: {name: pool-b}\n"),
        PLACED,
        id="a pin, which is an order to move",
    ),
    pytest.param(
        Kind.VOLUME,
        volume("data"),
        volume("data", "  deletionPolicy: Delete\n"),
        STORED,
        id="what may change",
    ),
    pytest.param(
        Kind.VOLUME_SNAPSHOT,
        SNAPSHOT % "date",
        SNAPSHOT % "data",
        Record(uid=UID),
        id="a snapshot that was not taken",
    ),
]


@pytest.mark.parametrize(("kind", "was", "now", "record"), ALLOWED)
def test_what_may_change_is_taken(kind: Kind, was: str, now: str, record: Record) -> None:
    made = scene(was, kind, record)
    stepwise = made.world()
    made.source({"x.yaml": now})
    made.step(stepwise)
    for world in (stepwise, made.world()):
        assert not world.frozen
        assert world.is_synced("x.yaml")


@pytest.mark.parametrize("reported", ["50Gi", "11Gi"])
def test_a_growth_that_happened_in_part_is_not_taken_back(reported: str) -> None:
    made = scene(volume("data", size="50Gi"), Kind.VOLUME, store_record(reported))
    made.source({"x.yaml": volume("data", size="10Gi")})
    assert [each.code for each in made.world().frozen["x.yaml"]] == ["GV405"]


def test_a_snapshot_that_was_taken_stays_that_of_its_volume() -> None:
    record = Record(uid=UID, status=VolumeSnapshotStatus(state="Ready", snapshot_id="sim://1"))
    made = scene(SNAPSHOT % "data", Kind.VOLUME_SNAPSHOT, record, data=volume("data"), other=volume("other"))
    made.source({"x.yaml": SNAPSHOT % "other"})
    assert [each.code for each in made.world().frozen["x.yaml"]] == ["GV410"]


def test_a_volume_of_a_class_that_expands_grows() -> None:
    made = Scene({"classes.yaml": SMALL + "---\n" + GROWING, "x.yaml": volume("data")})
    made.live({"x.yaml": with_record(volume("data"), Kind.VOLUME, STORED)})
    made.source({"x.yaml": volume("data", size="20Gi")})
    world = made.world()
    assert not world.frozen
    found = world.objects[DATA].object
    assert isinstance(found, Volume)
    assert str(found.spec.resources.storage if found.spec.resources else "") == "20Gi"


def in_use() -> Scene:
    """The class small with web on a pool; classes.yaml holds fast too."""
    return scene(machine("web"), Kind.MACHINE, PLACED, waiting=machine("waiting"))


CHANGED = SMALL.replace("cpu: 2", "cpu: 4") + "---\n" + FAST


def cpu(world: World) -> int:
    found = world.objects[Key(Kind.MACHINE_CLASS, "", "small")].object
    assert isinstance(found, MachineClass)
    return found.capabilities["cpu"].nano // 10**9


def test_a_class_in_use_stays_what_it_is_until_no_placed_machine_uses_it() -> None:
    made = in_use()
    world = made.world()
    made.source({"classes.yaml": CHANGED})
    made.step(world)
    assert cpu(world) == cpu(made.world()) == 2
    (problem,) = world.frozen["classes.yaml"]
    assert (problem.code, problem.object) == ("GV402", "MachineClass/small")
    assert "Machine/default/web" in problem.message
    assert "waiting" not in problem.message
    made.live()  # as a reconciler that held it: the source is applied, and classes.yaml stays
    made.step(world)
    assert cpu(world) == cpu(made.world()) == 2
    made.source({"x.yaml": None})
    made.step(world)
    assert cpu(world) == 2  # the machine is not gone yet
    made.live({"x.yaml": None})
    found = made.step(world)
    assert cpu(world) == cpu(made.world()) == 4
    assert "classes.yaml" in found.source_paths
    assert not world.frozen


def test_users_that_go_to_another_class_at_once_hold_nothing() -> None:
    made = in_use()
    world = made.world()
    made.source(
        {
            "classes.yaml": CHANGED,
            "x.yaml": machine("web", size="large"),
            "large.yaml": SMALL.replace("small", "large"),
        }
    )
    made.step(world)
    assert cpu(world) == cpu(made.world()) == 4


def test_a_class_that_only_waiting_machines_use_may_be_corrected() -> None:
    made = Scene({"x.yaml": machine("web")})
    made.live()
    made.source({"classes.yaml": CHANGED})
    assert cpu(made.world()) == 4


def test_what_moves_to_another_file_may_not_change_on_the_way() -> None:
    made = scene(volume("data"), Kind.VOLUME, STORED)
    world = made.world()
    made.source({"x.yaml": None, "z.yaml": volume("data", size="5Gi")})
    made.step(world)
    for each in (world, made.world()):
        assert each.objects[DATA].origin is Origin.FROZEN
        assert not each.relations.absent
        assert list(each.frozen) == ["z.yaml"]


def test_a_file_that_another_reconciler_froze_stays_frozen() -> None:
    """It saw a commit in between that this one did not: to this one the file of the source is as it was."""
    made = scene(volume("data"), Kind.VOLUME, STORED)
    world = made.world()
    assert isinstance(STORED.status, VolumeStatus)
    frozen = Condition(type=ACCEPTED, status="False", reason=FROZEN)
    held = msgspec.structs.replace(
        STORED, status=msgspec.structs.replace(STORED.status, conditions=(frozen,))
    )
    made.live({"x.yaml": with_record(volume("data", size="20Gi"), Kind.VOLUME, held)})
    made.step(world)
    for each in (world, made.world()):
        assert each.objects[DATA].origin is Origin.FROZEN
        assert list(each.frozen) == ["x.yaml"]


def test_a_retained_volume_does_not_come_back_as_another() -> None:
    """Its data is what it was made as."""
    made = Scene({"slow.yaml": SLOW})
    kept = with_record(volume("data"), Kind.VOLUME, STORED)
    made.live({".gitvirt/retained/Volume/default/data.yaml": kept})
    world = made.world()
    made.source({"x.yaml": volume("data").replace("fast", "slow")})
    made.step(world)
    for each in (world, made.world()):
        assert DATA not in each.objects
        assert [problem.code for problem in each.frozen["x.yaml"]] == ["GV404"]
    made.live({"x.yaml": None})  # as a reconciler that held it: the rest of the source is applied
    made.step(world)
    for each in (world, made.world()):
        assert DATA not in each.objects, "a process that starts would create it again"
        assert [problem.code for problem in each.frozen["x.yaml"]] == ["GV404"]
    made.source({"x.yaml": volume("data")})
    made.step(world)
    assert DATA in world.objects


def test_the_cost_follows_what_changed() -> None:
    """A commit that changes one machine of many reads what live has of that one."""
    many = {f"m{n}.yaml": machine(f"m{n}") for n in range(40)}
    made = Scene(many)
    made.live({path: with_record(text, Kind.MACHINE, PLACED) for path, text in many.items()})
    world = made.world()
    made.source({"m7.yaml": machine("m7", "  power: Off\n")})
    reads: list[str] = []
    read = made.store.read

    def count_read(id: str) -> bytes:
        reads.append(id)
        return read(id)

    made.store.read = count_read  # type: ignore[method-assign]
    made.step(world)
    assert len(reads) < 12
    found = world.objects[Key(Kind.MACHINE, "default", "m7")].object
    assert isinstance(found, Machine)
    assert found.spec.power == "Off"


def test_a_held_file_stays_held_though_it_does_not_declare_its_object_any_more() -> None:
    """Released by a process that starts, it would be a deletion of what it declared before."""
    made = Scene({"x.yaml": machine("web"), "slow.yaml": SLOW})
    made.live()
    made.live(
        {".gitvirt/retained/Volume/default/data.yaml": with_record(volume("data"), Kind.VOLUME, STORED)}
    )
    world = made.world()
    made.source({"x.yaml": volume("data").replace("fast", "slow")})
    made.step(world)
    web = Key(Kind.MACHINE, "default", "web")
    made.live()
    made.step(world)
    for each in (world, made.world()):
        assert each.objects[web].origin is Origin.FROZEN
        assert not each.relations.absent
