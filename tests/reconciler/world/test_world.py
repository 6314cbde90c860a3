"""What the world makes of what is declared: what holds, what is gone, what may still be there."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from reconciler.world.objects.object_state import DocumentPlace, Origin
from reconciler.world.record import Record
from schemas.kinds import Key, Kind
from schemas.model import Condition, Machine
from tests.reconciler.world.scene import FLEET, SMALL, Scene, machine, using, volume
from tests.reconciler.world.situations import CLASS, DATA, PLACED, POOL_A, UID, WEB, on_pool, web_on_pool

GONE = "2026-05-04T12:00:00Z"


def test_what_the_source_declares_holds_and_live_says_what_is_recorded() -> None:
    scene = web_on_pool()
    scene.source({"web.yaml": machine("web-1", "  power: Off\n")})
    web = scene.world().objects[WEB]
    assert (web.origin, web.record) == (Origin.DECLARED, PLACED)
    assert isinstance(web.object, Machine)
    assert web.object.spec.power == "Off"
    assert (web.source, web.live) == (DocumentPlace("web.yaml", 0), DocumentPlace("web.yaml", 0))


def test_status_that_people_write_in_the_source_means_nothing() -> None:
    scene = Scene({"web.yaml": on_pool(machine("web-1"))})
    web = scene.world().objects[WEB]
    assert (web.record.uid, web.record.pool) == ("", "")


def test_what_is_gone_from_the_source_is_absent_until_it_is_ordered_gone() -> None:
    scene = web_on_pool()
    scene.source({"web.yaml": None})
    world = scene.world()
    assert set(world.relations.absent) == {WEB}
    assert world.why_unverified(WEB) == ""
    assert world.objects[WEB].origin is Origin.LEAVING
    assert world.objects[WEB].object.name == "web-1"
    scene.live(
        {"web.yaml": on_pool(machine("web-1"), Record(UID, "", GONE, PLACED.pool, status=PLACED.status))}
    )
    scene.step(world)
    assert not world.relations.absent
    assert set(world.relations.leaving[Kind.MACHINE]) == {WEB}


def test_declared_again_while_it_goes_is_going_until_its_document_is_gone() -> None:
    scene = web_on_pool()
    going = on_pool(machine("web-1"), Record(UID, "", GONE, PLACED.pool, status=PLACED.status))
    scene.source({"web.yaml": None})
    scene.live({"web.yaml": None, ".gitvirt/deleting/Machine/default/web-1.yaml": going})
    world = scene.world()
    scene.source({"new.yaml": machine("web-1")})
    scene.step(world)
    assert world.objects[WEB].origin is Origin.LEAVING
    assert world.objects[WEB].source == DocumentPlace("new.yaml", 0)
    scene.live({".gitvirt/deleting/Machine/default/web-1.yaml": None})
    scene.step(world)
    web = world.objects[WEB]
    assert (web.origin, web.record.uid, web.record.pool) == (Origin.DECLARED, "", "")


@pytest.mark.parametrize(
    "broken",
    [
        "apiVersion: [\n",
        machine("web-1").replace("machineClassRef", "machineClassReff"),
        machine("web-1") + "---\n" + machine("x", "  power: Maybe\n"),
        "\tnot: yaml: at: all",
        machine("web-1").replace("v1alpha1", "v1alpha2"),
    ],
)
def test_a_malformed_file_freezes_what_live_has_from_it(broken: str) -> None:
    scene = web_on_pool()
    scene.source({"web.yaml": broken})
    world = scene.world()
    assert world.objects[WEB].origin is Origin.FROZEN
    assert world.objects[WEB].record == PLACED
    assert not world.relations.absent
    assert not world.is_synced("web.yaml")
    assert "web.yaml" in world.frozen
    assert {problem.file for problem in scene.step(world).problems} == {"web.yaml"}
    scene.source({"web.yaml": machine("web-1")})
    assert WEB in scene.step(world).dirty
    assert world.objects[WEB].origin is Origin.DECLARED
    assert not scene.step(world).problems


def test_an_object_that_moved_into_a_malformed_file_is_frozen() -> None:
    scene = web_on_pool()
    scene.source(
        {"web.yaml": None, "all.yaml": machine("web-1") + "---\n" + machine("x", "  power: Maybe\n")}
    )
    assert scene.world().objects[WEB].origin is Origin.FROZEN


@pytest.mark.parametrize(
    ("id", "files", "shown"),
    [
        ("ignored", {".gitvirtignore": "web.yaml\n"}, ".gitvirtignore leaves it out"),
        ("unreadable elsewhere", {"web.yaml": None, "new.yaml": "a: ["}, "new.yaml cannot be read"),
        (
            "another kind elsewhere",
            {"web.yaml": None, "new.yaml": "apiVersion: kubevirt.io/v1\nkind: VM\nmetadata: {name: web-1}\n"},
            "a document of that name",
        ),
    ],
)
def test_the_absence_of_what_may_still_be_declared_is_unverified(
    id: str, files: dict[str, str | None], shown: str
) -> None:
    scene = web_on_pool()
    scene.source(files)
    world = scene.world()
    assert set(world.relations.absent) == {WEB}
    assert shown in world.why_unverified(WEB)


def test_an_absence_is_verified_once_its_cause_is_gone() -> None:
    scene = web_on_pool()
    other = "apiVersion: kubevirt.io/v1\nkind: VM\nmetadata: {name: web-1}\n"
    scene.source({"web.yaml": None, "a.yaml": other, "b.yaml": other, "c.yaml": "a: ["})
    world = scene.world()
    for path, shown in (("a.yaml", "b.yaml has"), ("b.yaml", "c.yaml cannot"), ("c.yaml", "")):
        scene.source({path: None})
        scene.step(world)
        assert world.why_unverified(WEB).startswith(shown)
    assert world.why_unverified(WEB) == ""


def test_what_could_not_be_read_before_and_is_the_same_now_took_nothing_in() -> None:
    """One broken file must not hold every deletion of a fleet for as long as it lies there."""
    scene = web_on_pool()
    scene.source({"old.yaml": "a: ["})
    scene.live()
    world = scene.world()
    scene.source({"web.yaml": None, "classes.yaml": None})
    scene.step(world)
    for each in (world, scene.world()):
        assert set(each.relations.absent) >= {WEB, CLASS}
        assert each.why_unverified(WEB) == ""
        assert each.why_unverified(CLASS).startswith("old.yaml cannot")  # nothing is recorded of a class
    scene.source({"old.yaml": "a: [1"})
    scene.step(world)
    for each in (world, scene.world()):
        assert each.why_unverified(WEB).startswith("old.yaml cannot")


@pytest.mark.parametrize(("type", "reason"), [("DeletionHeld", "AbsenceUnverified"), ("Accepted", "Frozen")])
def test_what_was_unverified_stays_so_while_any_file_cannot_be_read(type: str, reason: str) -> None:
    scene = Scene({"old.yaml": "a: ["})
    assert PLACED.status is not None
    shown = Condition(type=type, status="True", reason=reason)
    record = msgspec.structs.replace(
        PLACED, status=msgspec.structs.replace(PLACED.status, conditions=(shown,))
    )
    scene.live({"web.yaml": on_pool(machine("web-1"), record)})
    world = scene.world()
    assert world.relations.absent == {WEB}
    assert world.why_unverified(WEB).startswith("old.yaml cannot be read and may declare it; fix the file")


def test_documents_of_others_leave_an_absence_verified() -> None:
    scene = web_on_pool()
    scene.source({"web.yaml": None, "chart.yaml": "apiVersion: v2\nname: chart\n", "run.sh": "web-1 ["})
    assert scene.world().why_unverified(WEB) == ""


def test_a_link_in_the_place_of_a_file_freezes_it() -> None:
    scene = web_on_pool()
    world = scene.world()
    scene.source({"web.yaml": None})
    scene.step(world)
    assert world.objects[WEB].origin is Origin.LEAVING


def test_invalid_against_other_objects_is_taken_and_faulted() -> None:
    scene = web_on_pool()
    world = scene.world()
    assert world.faults.get(WEB, ()) == ()
    scene.source({"web.yaml": machine("web-1", size="medium")})
    assert WEB in scene.step(world).dirty
    (fault,) = world.faults.get(WEB, ())
    assert fault.code == "GV310"
    assert world.objects[WEB].origin is Origin.DECLARED
    scene.source({"medium.yaml": SMALL.replace("small", "medium")})
    assert WEB in scene.step(world).dirty
    assert world.faults.get(WEB, ()) == ()


def test_of_two_that_want_one_volume_the_placed_one_has_it() -> None:
    files = {
        "a.yaml": machine("a", using("data")),
        "web.yaml": machine("web-1", using("data")),
        "data.yaml": volume("data"),
    }
    scene = Scene(files)
    first = Key(Kind.MACHINE, "default", "a")
    world = scene.world()
    assert [fault.code for fault in world.faults.get(WEB, ())] == ["GV320"]
    assert world.faults.get(first, ()) == ()
    scene.live({"web.yaml": on_pool(machine("web-1", using("data")))})
    assert {WEB, first} <= scene.step(world).dirty
    assert world.faults.get(WEB, ()) == ()
    assert [fault.code for fault in world.faults.get(first, ())] == ["GV320"]


def test_a_plain_secret_is_a_fault_where_the_fleet_denies_it() -> None:
    secret = Key(Kind.SECRET, "default", "key")
    scene = Scene({"s.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {a: b}\n"})
    world = scene.world()
    assert world.faults.get(secret, ())
    scene.source({"gitvirt.yaml": f"fleet:\n  id: {FLEET}\nsecrets:\n  plain: allow\n"})
    assert secret in scene.step(world).dirty
    assert not world.faults.get(secret, ())


def test_one_identity_twice_is_held_against_it_and_the_one_on_live_stays() -> None:
    scene = web_on_pool()
    scene.source({"a.yaml": machine("web-1", "  power: Off\n")})
    world = scene.world()
    assert world.objects[WEB].source == DocumentPlace("web.yaml", 0)
    assert [fault.code for fault in world.faults.get(WEB, ())] == ["GV301"]


def test_relations_are_known_both_ways() -> None:
    files = {"web.yaml": machine("web-1", using("data")), "data.yaml": volume("data")}
    world = Scene(files).world()
    assert set(world.relations.users.get(DATA)) == {WEB}
    assert DATA in world.relations.uses.get(WEB, ())
    assert set(world.relations.users.get(CLASS)) == {WEB}
    assert set(world.relations.waiting) == {WEB, DATA}


def test_a_change_of_a_class_concerns_its_machines_and_what_is_charged() -> None:
    scene = web_on_pool()
    world = scene.world()
    assert dict(world.ledger.usage(POOL_A)) == {"cpu": 2000, "memory": 4 << 30}
    large = SMALL.replace("small", "large").replace("cpu: 2", "cpu: 3")
    scene.source({"large.yaml": large, "web.yaml": machine("web-1", size="large")})
    assert WEB in scene.step(world).dirty
    assert world.ledger.usage(POOL_A)["cpu"] == 3000


def test_a_change_of_a_class_concerns_machines_that_wait() -> None:
    scene = Scene({"web.yaml": machine("web-1")})
    scene.live()
    world = scene.world()
    scene.source({"classes.yaml": SMALL.replace("cpu: 2", "cpu: 3")})
    assert WEB in scene.step(world).dirty


def test_a_step_without_news_reads_nothing_and_tells_nothing() -> None:
    scene = web_on_pool()
    scene.report("pool-a")
    world = scene.world()
    found = scene.step(world)
    assert (found.dirty, found.blobs_read, found.source_paths, found.live_paths) == (frozenset(),) + (0,) + (
        frozenset(),
    ) * 2
    scene.report("pool-a")  # a heartbeat
    found = scene.step(world)
    assert found.blobs_read == 0
    # The pool was seen to change, so it is known to be alive.
    assert found.dirty <= {POOL_A, WEB, Key(Kind.MACHINE, "default", "db-1")}
    scene.report("pool-a")
    assert scene.step(world).dirty == frozenset()


def test_what_is_dirty_stays_so_until_it_is_done() -> None:
    scene = web_on_pool()
    world = scene.world()
    scene.source({"web.yaml": machine("web-1", "  power: Off\n")})
    for _ in range(2):
        found = world.advance(scene.store, scene.snapshot(), scene.now)
        assert WEB in found.dirty
        assert found.source_paths == {"web.yaml"}
    world.acknowledge()
    assert not world.advance(scene.store, scene.snapshot(), scene.now).dirty
    world.remind(WEB, scene.now + timedelta(seconds=5))
    assert scene.step(world, 1).due == scene.now + timedelta(seconds=4)
    assert scene.step(world, 4).dirty == {WEB}
