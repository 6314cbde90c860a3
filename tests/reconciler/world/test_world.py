"""What the world makes of commits and reports, one situation each."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

import msgspec
import pytest

from reconciler.observed.freshness import Freshness
from reconciler.record import NOTHING, Record
from reconciler.world.advance import Confirm
from reconciler.world.known import Place, Standing
from reconciler.world.pool_status import folded_pool
from reconciler.world.world import World
from schemas.kinds import Key, Kind
from schemas.model import Condition, Machine, OwnerReference
from schemas.report import Machine as SaidMachine
from schemas.report import MachineStatus as SaidStatus
from schemas.report import Orphan
from tests.reconciler.world.scene import (
    FLEET,
    LIVE,
    MAIN,
    SMALL,
    Scene,
    assigned,
    machine,
    pool,
    recorded,
    report,
    using,
    volume,
)

WEB = Key(Kind.MACHINE, "default", "web-1")
DATA = Key(Kind.VOLUME, "default", "data")
POOL_A = Key(Kind.MACHINE_POOL, "", "pool-a")
CLASS = Key(Kind.MACHINE_CLASS, "", "small")
UID = "6d0d0f8e-8d5b-4a53-9b53-1c1c3a3b8f10"
GONE = "2026-05-04T12:00:00Z"
A0, A1 = "00000000-0000-5000-8000-0000000000a0", "00000000-0000-5000-8000-0000000000a1"
PLACED = assigned("pool-a", A1, UID)


def on_pool(text: str, record: Record = PLACED, kind: Kind = Kind.MACHINE) -> str:
    return recorded(text, kind, record)


def placed() -> Scene:
    """web-1 with its record on live, in people's own file."""
    scene = Scene({"web.yaml": machine("web-1"), "db.yaml": machine("db-1")})
    scene.live({"web.yaml": on_pool(machine("web-1"))})
    return scene


def test_what_the_source_declares_holds_and_live_says_what_is_recorded() -> None:
    scene = placed()
    scene.source({"web.yaml": machine("web-1", "  power: Off\n")})
    web = scene.world().known[WEB]
    assert (web.standing, web.record) == (Standing.DECLARED, PLACED)
    assert isinstance(web.object, Machine)
    assert web.object.spec.power == "Off"
    assert (web.source, web.live) == (Place("web.yaml", 0), Place("web.yaml", 0))


def test_status_that_people_write_in_the_source_means_nothing() -> None:
    scene = Scene({"web.yaml": on_pool(machine("web-1"))})
    web = scene.world().known[WEB]
    assert (web.record.uid, web.record.pool) == ("", "")


def test_what_is_gone_from_the_source_is_absent_until_it_is_ordered_gone() -> None:
    scene = placed()
    scene.source({"web.yaml": None})
    world = scene.world()
    assert set(world.absent) == {WEB}
    assert world.doubt(WEB) == ""
    assert world.known[WEB].standing is Standing.LEAVING
    assert world.known[WEB].object.name == "web-1"
    scene.live({"web.yaml": on_pool(machine("web-1"), Record(UID, GONE, PLACED.pool, status=PLACED.status))})
    scene.step(world)
    assert not world.absent
    assert set(world.leaving(Kind.MACHINE)) == {WEB}


def test_declared_again_while_it_goes_is_going_until_its_document_is_gone() -> None:
    scene = placed()
    going = on_pool(machine("web-1"), Record(UID, GONE, PLACED.pool, status=PLACED.status))
    scene.source({"web.yaml": None})
    scene.live({"web.yaml": None, ".gitvirt/deleting/Machine/default/web-1.yaml": going})
    world = scene.world()
    scene.source({"new.yaml": machine("web-1")})
    scene.step(world)
    assert world.known[WEB].standing is Standing.LEAVING
    assert world.known[WEB].source == Place("new.yaml", 0)
    scene.live({".gitvirt/deleting/Machine/default/web-1.yaml": None})
    scene.step(world)
    web = world.known[WEB]
    assert (web.standing, web.record.uid, web.record.pool) == (Standing.DECLARED, "", "")


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
    scene = placed()
    scene.source({"web.yaml": broken})
    world = scene.world()
    assert world.known[WEB].standing is Standing.FROZEN
    assert world.known[WEB].record == PLACED
    assert not world.absent
    assert not world.is_taken("web.yaml")
    assert "web.yaml" in world.frozen
    assert {problem.file for problem in scene.step(world).problems} == {"web.yaml"}
    scene.source({"web.yaml": machine("web-1")})
    assert WEB in scene.step(world).dirty
    assert world.known[WEB].standing is Standing.DECLARED
    assert not scene.step(world).problems


def test_an_object_that_moved_into_a_malformed_file_is_frozen() -> None:
    scene = placed()
    scene.source(
        {"web.yaml": None, "all.yaml": machine("web-1") + "---\n" + machine("x", "  power: Maybe\n")}
    )
    assert scene.world().known[WEB].standing is Standing.FROZEN


@pytest.mark.parametrize(
    ("id", "files", "said"),
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
def test_what_may_still_be_declared_is_in_doubt(id: str, files: dict[str, str | None], said: str) -> None:
    scene = placed()
    scene.source(files)
    world = scene.world()
    assert set(world.absent) == {WEB}
    assert said in world.doubt(WEB)


def test_doubt_ends_with_what_caused_it() -> None:
    scene = placed()
    other = "apiVersion: kubevirt.io/v1\nkind: VM\nmetadata: {name: web-1}\n"
    scene.source({"web.yaml": None, "a.yaml": other, "b.yaml": other, "c.yaml": "a: ["})
    world = scene.world()
    for path, said in (("a.yaml", "b.yaml has"), ("b.yaml", "c.yaml cannot"), ("c.yaml", "")):
        scene.source({path: None})
        scene.step(world)
        assert world.doubt(WEB).startswith(said)
    assert world.doubt(WEB) == ""


def test_what_could_not_be_read_before_and_is_the_same_now_took_nothing_in() -> None:
    """One broken file must not hold every deletion of a fleet for as long as it lies there."""
    scene = placed()
    scene.source({"old.yaml": "a: ["})
    scene.live()
    world = scene.world()
    scene.source({"web.yaml": None, "classes.yaml": None})
    scene.step(world)
    for each in (world, scene.world()):
        assert set(each.absent) >= {WEB, CLASS}
        assert each.doubt(WEB) == ""
        assert each.doubt(CLASS).startswith("old.yaml cannot")  # nothing is recorded of a class
    scene.source({"old.yaml": "a: [1"})
    scene.step(world)
    for each in (world, scene.world()):
        assert each.doubt(WEB).startswith("old.yaml cannot")


@pytest.mark.parametrize(("type", "reason"), [("DeletionHeld", "InDoubt"), ("Accepted", "Frozen")])
def test_what_was_in_doubt_stays_so_while_anything_cannot_be_read(type: str, reason: str) -> None:
    scene = Scene({"old.yaml": "a: ["})
    assert PLACED.status is not None
    said = Condition(type=type, status="True", reason=reason)
    record = msgspec.structs.replace(
        PLACED, status=msgspec.structs.replace(PLACED.status, conditions=(said,))
    )
    scene.live({"web.yaml": on_pool(machine("web-1"), record)})
    world = scene.world()
    assert world.absent == {WEB}
    assert world.doubt(WEB).startswith("old.yaml cannot be read, and may declare it: mend it")


def test_documents_of_others_leave_no_doubt() -> None:
    scene = placed()
    scene.source({"web.yaml": None, "chart.yaml": "apiVersion: v2\nname: chart\n", "run.sh": "web-1 ["})
    assert scene.world().doubt(WEB) == ""


def test_a_link_in_the_place_of_a_file_freezes_it() -> None:
    scene = placed()
    world = scene.world()
    scene.source({"web.yaml": None})
    scene.step(world)
    assert world.known[WEB].standing is Standing.LEAVING


def test_invalid_against_other_objects_is_taken_and_faulted() -> None:
    scene = placed()
    world = scene.world()
    assert world.faults(WEB) == ()
    scene.source({"web.yaml": machine("web-1", size="medium")})
    assert WEB in scene.step(world).dirty
    (fault,) = world.faults(WEB)
    assert fault.code == "GV310"
    assert world.known[WEB].standing is Standing.DECLARED
    scene.source({"medium.yaml": SMALL.replace("small", "medium")})
    assert WEB in scene.step(world).dirty
    assert world.faults(WEB) == ()


def test_of_two_that_want_one_volume_the_placed_one_has_it() -> None:
    files = {
        "a.yaml": machine("a", using("data")),
        "web.yaml": machine("web-1", using("data")),
        "data.yaml": volume("data"),
    }
    scene = Scene(files)
    first = Key(Kind.MACHINE, "default", "a")
    world = scene.world()
    assert [fault.code for fault in world.faults(WEB)] == ["GV320"]
    assert world.faults(first) == ()
    scene.live({"web.yaml": on_pool(machine("web-1", using("data")))})
    assert {WEB, first} <= scene.step(world).dirty
    assert world.faults(WEB) == ()
    assert [fault.code for fault in world.faults(first)] == ["GV320"]


def test_a_plain_secret_is_a_fault_where_the_fleet_denies_it() -> None:
    secret = Key(Kind.SECRET, "default", "key")
    scene = Scene({"s.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {a: b}\n"})
    world = scene.world()
    assert world.faults(secret)
    scene.source({"gitvirt.yaml": f"fleet:\n  id: {FLEET}\nsecrets:\n  plain: allow\n"})
    assert secret in scene.step(world).dirty
    assert not world.faults(secret)


def test_one_identity_twice_is_held_against_it_and_the_one_on_live_stays() -> None:
    scene = placed()
    scene.source({"a.yaml": machine("web-1", "  power: Off\n")})
    world = scene.world()
    assert world.known[WEB].source == Place("web.yaml", 0)
    assert [fault.code for fault in world.faults(WEB)] == ["GV301"]


def test_relations_are_known_both_ways() -> None:
    files = {"web.yaml": machine("web-1", using("data")), "data.yaml": volume("data")}
    world = Scene(files).world()
    assert set(world.users(DATA)) == {WEB}
    assert DATA in world.uses(WEB)
    assert set(world.users(CLASS)) == {WEB}
    assert set(world.waiting) == {WEB, DATA}


def test_a_change_of_a_class_concerns_its_machines_and_what_is_charged() -> None:
    scene = placed()
    world = scene.world()
    assert dict(world.ledger.used(POOL_A)) == {"cpu": 2000, "memory": 4 << 30}
    large = SMALL.replace("small", "large").replace("cpu: 2", "cpu: 3")
    scene.source({"large.yaml": large, "web.yaml": machine("web-1", size="large")})
    assert WEB in scene.step(world).dirty
    assert world.ledger.used(POOL_A)["cpu"] == 3000


def test_a_change_of_a_class_concerns_machines_that_wait() -> None:
    scene = Scene({"web.yaml": machine("web-1")})
    scene.live()
    world = scene.world()
    scene.source({"classes.yaml": SMALL.replace("cpu: 2", "cpu: 3")})
    assert WEB in scene.step(world).dirty


def test_a_step_without_news_reads_nothing_and_tells_nothing() -> None:
    scene = placed()
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
    scene = placed()
    world = scene.world()
    scene.source({"web.yaml": machine("web-1", "  power: Off\n")})
    for _ in range(2):
        found = world.advance(scene.store, scene.snapshot(), scene.now)
        assert WEB in found.dirty
        assert found.source_paths == {"web.yaml"}
    world.done()
    assert not world.advance(scene.store, scene.snapshot(), scene.now).dirty
    world.remind(WEB, scene.now + timedelta(seconds=5))
    assert scene.step(world, 1).due == scene.now + timedelta(seconds=4)
    assert scene.step(world, 4).dirty == {WEB}


# Sources that are not followed


def test_a_rewritten_source_is_held_until_somebody_confirms() -> None:
    scene = placed()
    last = scene.heads[MAIN]
    new = scene.force({"gitvirt.yaml": f"fleet:\n  id: {FLEET}\n"})
    world = scene.world()
    assert (world.source, world.last_source, world.is_news) == (last, last, False)
    held = world.held_source
    assert held is not None
    assert (held.head, held.trailer) == (new, f"Confirm-Source: {last[:12]}")
    assert not world.absent
    assert "GV812" in {problem.code for problem in scene.step(world).problems}
    confirmed = scene.source({}, Confirm_Source=last[:12])
    scene.step(world)
    assert world.held_source is None
    assert world.source == confirmed
    assert WEB in world.absent


def test_a_confirmation_of_something_else_confirms_nothing() -> None:
    scene = placed()
    scene.force({})
    scene.source({}, Confirm_Source="0123456789ab")
    assert scene.world().held_source is not None


def test_another_fleet_id_holds_everything() -> None:
    """Reports of all hosts would be a stranger's, and their machines orphans."""
    scene = placed()
    scene.report("pool-a")
    last = scene.heads[MAIN]
    world = scene.world()
    new = scene.source({"gitvirt.yaml": f"fleet:\n  id: {UID}\n", "web.yaml": None})
    found = scene.step(world)
    for each in (world, scene.world()):
        held = each.held_source
        assert held is not None
        assert (held.head, held.use, held.code, held.trailer) == (new, last, "GV816", "")
        assert (each.source, each.settings.fleet.id) == (last, FLEET)
        assert not each.absent
        assert each.pools["pool-a"].why_not_ready == ""
    assert "GV816" in {problem.code for problem in found.problems}
    scene.source({"gitvirt.yaml": f"fleet:\n  id: {FLEET}\n"})
    scene.step(world)
    assert world.held_source is None
    assert world.absent == {WEB}


def test_a_fork_without_live_begins_with_its_own_id() -> None:
    scene = Scene({"web.yaml": machine("web-1")})
    scene.source({"gitvirt.yaml": f"fleet:\n  id: {UID}\n"})
    world = scene.world()
    assert (world.held_source, world.settings.fleet.id) == (None, UID)


def test_without_a_source_branch_what_was_reconciled_last_stands() -> None:
    scene = placed()
    world = World()
    snapshot = scene.snapshot()
    world.advance(scene.store, type(snapshot)(None, snapshot.target), scene.now)
    assert world.source == scene.heads[MAIN]
    assert world.held_source is not None
    assert not world.absent


def test_an_empty_source_makes_all_absent_and_nothing_else() -> None:
    scene = placed()
    scene.source({"web.yaml": None, "db.yaml": None, "classes.yaml": None})
    world = scene.world()
    assert len(world.absent) == 4
    assert world.live_count(Kind.MACHINE) == 2


def test_confirmations_are_those_since_the_last_reconciled_commit() -> None:
    scene = Scene({})
    scene.source({}, Confirm_Deletion="old")
    scene.live()
    scene.source({}, Confirm_Deletion="abc")
    scene.source({}, Pool_Destroyed="pool-a")
    world = scene.world()
    assert [(each.about, each.value) for each in world.confirmations] == [
        (Confirm.DELETION, "abc"),
        (Confirm.POOL_DESTROYED, "pool-a"),
    ]


def test_without_settings_there_is_no_fleet() -> None:
    scene = Scene()
    scene.source({"web.yaml": machine("web-1")})
    assert scene.world().unfit


def test_settings_that_do_not_read_leave_the_last_ones_in_force() -> None:
    scene = placed()
    scene.source({"gitvirt.yaml": "fleet: ["})
    world = scene.world()
    assert world.settings.fleet.id == FLEET
    assert not world.unfit
    assert "gitvirt.yaml" in {problem.file for problem in scene.step(world).problems}


def test_enforced_signatures_hold_an_unsigned_head() -> None:
    scene = Scene({})
    signed = f"fleet:\n  id: {FLEET}\nsignatures:\n  mode: enforce\n  signers: [{'A' * 40}]\n"
    scene.source({"gitvirt.yaml": signed})
    scene.live()
    last = scene.heads[MAIN]
    scene.source({"web.yaml": machine("web-1")})
    world = scene.world()
    assert world.source == last
    assert world.held_source is not None
    assert WEB not in world.known


@pytest.mark.parametrize("broken", ["fleet: [", None])
def test_settings_that_were_lost_bind_all_the_same(broken: str | None) -> None:
    """One accident must not be the end of signatures, or of a limit."""
    scene = Scene({})
    strict = "limits:\n  delete: {count: 1}\n"
    signed = f"fleet:\n  id: {FLEET}\nsignatures:\n  mode: enforce\n  signers: [{'A' * 40}]\n{strict}"
    scene.source({"gitvirt.yaml": signed})
    scene.live()
    scene.source({"gitvirt.yaml": broken})
    scene.live()
    last = scene.heads[MAIN]
    assert not scene.world().unfit
    scene.source({"gitvirt.yaml": f"fleet:\n  id: {FLEET}\n", "web.yaml": machine("web-1")})
    world = scene.world()
    assert world.source == last
    assert world.held_source is not None
    assert world.settings_before.limits.delete.count == 1


# Files on live that others wrote


def test_a_damaged_file_of_live_makes_nothing_new() -> None:
    scene = placed()
    scene.live({"web.yaml": "a: ["})
    world = scene.world()
    assert WEB not in world.known
    assert "GV815" in {problem.code for problem in scene.step(world).problems}


def test_what_people_put_right_there_counts_where_ours_cannot_be_read() -> None:
    scene = placed()
    scene.live({"web.yaml": "a: ["})
    world = scene.world()
    scene._commit(LIVE, {"web.yaml": on_pool(machine("web-1")).encode()}, {})
    for each in (world, World()):
        scene.step(each)
        assert each.known[WEB].record.pool == "pool-a"
    # Once a reconciler has written the file again, what others do there says nothing.
    scene.live({"web.yaml": on_pool(machine("web-1"))})
    scene._commit(LIVE, {"web.yaml": b"a: ["}, {})
    for each in (world, World()):
        scene.step(each)
        assert each.known[WEB].record.pool == "pool-a"
        assert each.on_target("web.yaml") != each.live_files["web.yaml"]


# Reports


def test_what_a_host_keeps_back_is_not_given_away() -> None:
    """Its own admission counts so: a scheduler that did not would be rejected for ever."""
    scene = Scene({"pool.yaml": pool("pool-a", "spec: {reserved: {cpu: 1}}\n")})
    said = report("pool-a")
    status = msgspec.structs.replace(said.pools["pool-a"].status, allocatable={"cpu": 18, "memory": "30Gi"})
    pools = {"pool-a": msgspec.structs.replace(said.pools["pool-a"], status=status)}
    scene.report("pool-a", dataclasses.replace(said, pools=pools))
    world = scene.world()
    assert world.pools["pool-a"].allocatable == {"cpu": 17_000, "memory": 30 << 30}
    known = world.known[POOL_A]
    shown = folded_pool(world.pools["pool-a"], known.record, scene.now)
    assert shown is not None
    assert {name: str(amount) for name, amount in shown.allocatable.items()} == {
        "cpu": "17",
        "memory": "30Gi",
    }
    assert str(shown.capacity["cpu"]) == "20"


def test_a_pool_is_what_is_declared_and_what_is_announced() -> None:
    scene = Scene({"pool.yaml": pool("pool-a", "spec: {unschedulable: true}\n", "{zone: z1}")})
    scene.report("pool-a", report("pool-a", labels={"zone": "z9", "topology.ironcore.dev/rack": "r1"}))
    state = scene.world().pools["pool-a"]
    assert (state.is_declared, state.is_cordoned, state.poollet) == (True, True, "pool-a")
    assert state.labels["zone"] == "z1"
    assert state.labels["topology.openkcm.dev/rack"] == "r1"
    assert state.allocatable == {"cpu": 20_000, "memory": 40 << 30}
    assert state.why_not_ready == ""


def test_an_announced_pool_is_known_before_live_has_it() -> None:
    scene = Scene({})
    scene.report("pool-a")
    world = scene.world()
    assert (world.known[POOL_A].standing, world.known[POOL_A].live) == (Standing.ANNOUNCED, None)


def test_where_pools_are_declared_an_announced_one_is_not_taken() -> None:
    scene = Scene({"gitvirt.yaml": f"fleet:\n  id: {FLEET}\npools: declared\n"})
    scene.report("pool-a")
    world = scene.world()
    assert POOL_A not in world.known
    assert world.pools["pool-a"].why_not_ready


def test_classes_that_are_equal_are_offered_alike() -> None:
    scene = Scene(
        {
            "more.yaml": SMALL.replace("small", "same")
            + "---\n"
            + SMALL.replace("{name: small}", "{name: big}").replace("cpu: 2", "cpu: 9")
        }
    )
    scene.report("pool-a")
    world = scene.world()
    assert world.pools["pool-a"].classes == {"small", "same"}
    scene.source({"more.yaml": None})
    scene.step(world)
    assert world.pools["pool-a"].classes == {"small"}


def fresh(world: World) -> Freshness | None:
    return world.pools["pool-a"].freshness


def test_a_report_is_lost_when_it_does_not_change_for_its_grace() -> None:
    scene = placed()
    scene.report("pool-a")
    world = scene.world()
    assert fresh(world) is Freshness.UNPROVEN
    scene.report("pool-a")
    scene.step(world)
    assert fresh(world) is Freshness.FRESH
    assert scene.step(world, 73).dirty == frozenset()
    found = scene.step(world, 2)
    assert fresh(world) is Freshness.LOST
    assert {POOL_A, WEB} <= found.dirty
    scene.report("pool-a")
    assert {POOL_A, WEB} <= scene.step(world).dirty
    assert world.pools["pool-a"].why_not_ready == ""


def test_the_grace_is_that_of_the_report() -> None:
    scene = Scene({})
    scene.report("pool-a", report("pool-a", interval="1m"))
    world = scene.world()
    assert scene.step(world, 290).due is not None
    assert fresh(world) is Freshness.UNPROVEN
    scene.step(world, 20)
    assert fresh(world) is Freshness.LOST


def test_who_leaves_is_offline_at_once_and_who_stops_is_not() -> None:
    scene = Scene({})
    scene.report("pool-a", report("pool-a", leaving="stopping"))
    world = scene.world()
    assert world.pools["pool-a"].why_not_ready == ""
    scene.report("pool-a", report("pool-a", leaving="leaving"))
    scene.step(world)
    assert fresh(world) is Freshness.LEFT


def test_a_report_of_another_fleet_says_nothing() -> None:
    scene = Scene({"pool.yaml": pool("pool-a")})
    scene.report("pool-a", report("pool-a", fleet="11111111-1111-4111-8111-111111111111"))
    world = scene.world()
    assert world.pools["pool-a"].announced is None
    assert "GV621" in {problem.code for problem in scene.step(world).problems}


def test_a_pool_of_somebody_else_is_not_announced() -> None:
    scene = Scene({"pool.yaml": pool("pool-a")})
    scene.report("eve", report("eve", pools=("eve", "pool-a")))
    world = scene.world()
    assert world.pools["pool-a"].announced is None
    assert world.pools["eve"].announced is not None
    assert "GV622" in {problem.code for problem in scene.step(world).problems}


def test_a_report_that_cannot_be_read_makes_its_pool_unknown_and_takes_nothing_away() -> None:
    scene = placed()
    scene.source({"pool.yaml": pool("pool-a")})
    scene.report("pool-a")
    world = scene.world()
    scene._commit("refs/poollets/pool-a", {"poollet.json": b"{"}, {}, has_parents=True)
    scene.step(world)
    assert world.pools["pool-a"].announced is None  # live says nothing of it yet
    assert "GV620" in {problem.code for problem in scene.step(world).problems}
    assert world.ledger.used(POOL_A)["cpu"] == 2000


def said(
    assignment: str = A1, phase: str = "present", uid: str = UID, pool_name: str = "pool-a"
) -> dict[tuple[str, str], object]:
    status = SaidStatus(state="Running")
    entry = SaidMachine(uid=uid, assignment=assignment, phase=phase, pool=pool_name, status=status)  # type: ignore[arg-type]
    return {("default", "web-1"): entry}


def test_the_word_of_the_pool_that_has_it_counts() -> None:
    scene = placed()
    scene.report("pool-a")
    world = scene.world()
    scene.report("pool-a", report("pool-a", said=said()))
    assert WEB in scene.step(world).dirty
    word = world.said(WEB)
    assert word is not None
    assert (word.phase, word.poollet) == ("present", "pool-a")


@pytest.mark.parametrize(
    ("poollet", "what", "is_refused"),
    [
        ("pool-b", said(pool_name="pool-b"), True),  # not assigned there
        ("pool-b", said(pool_name="pool-a"), True),  # not its pool
        ("pool-b", said(A0, "gone", pool_name="pool-b"), False),  # an assignment that is over
        ("pool-a", said(A0, "rejected"), False),
    ],
)
def test_the_word_of_others_does_not(
    poollet: str, what: dict[tuple[str, str], object], is_refused: bool
) -> None:
    scene = placed()
    scene.report(poollet, report(poollet, said=what))
    world = scene.world()
    assert world.said(WEB) is None
    assert world.claimed(WEB) == ()
    assert bool(world.refused_claims(WEB)) == is_refused


def test_after_a_lost_live_reports_claim_what_they_have() -> None:
    scene = Scene({"web.yaml": machine("web-1")})
    scene.report("pool-a", report("pool-a", said=said()))
    world = scene.world()
    assert (world.is_live_lost, world.is_settled) == (True, False)
    assert [(each.pool, each.uid) for each in world.claimed(WEB)] == [("pool-a", UID)]
    scene.report("pool-a", report("pool-a", said=said()))
    scene.step(world)
    assert world.is_settled
    scene.report("pool-b", report("pool-b", said=said(pool_name="pool-b")))
    scene.step(world)
    assert len(world.claimed(WEB)) == 2
    assert world.refused_claims(WEB)


def test_orphans_are_charged_once() -> None:
    scene = placed()
    orphan = Orphan(kind="Machine", pool="pool-a", id="x1", charge={"cpu": "1", "memory": "1Gi"})
    same = Orphan(
        kind="Machine",
        pool="pool-a",
        id="x2",
        uid=UID,
        namespace="default",
        name="web-1",
        charge={"cpu": "9"},
    )
    scene.report("pool-a", report("pool-a", orphans=(orphan, same)))
    world = scene.world()
    assert world.ledger.used(POOL_A)["cpu"] == 3000
    scene.report("pool-a")
    scene.step(world)
    assert world.ledger.used(POOL_A)["cpu"] == 2000


# Files of the reconciler's own


def test_a_generated_object_is_absent_when_its_owner_has_no_entry_for_it() -> None:
    ephemeral = (
        "  volumes:\n    - name: scratch\n      ephemeral:\n        volumeTemplate:\n"
        "          spec: {volumeClassRef: {name: fast}, resources: {storage: 1Gi}}\n"
    )
    key = Key(Kind.VOLUME, "default", "web-1-scratch")
    owner = OwnerReference(api_version="compute.ironcore.dev/v1alpha1", kind="Machine", name="web-1", uid=UID)
    made = volume("web-1-scratch").replace(
        "metadata:\n",
        "metadata:\n  ownerReferences:\n    - apiVersion: compute.ironcore.dev/v1alpha1\n"
        f"      kind: Machine\n      name: web-1\n      uid: {UID}\n",
    )
    scene = Scene({"web.yaml": machine("web-1", ephemeral)})
    scene.live(
        {
            "web.yaml": on_pool(machine("web-1", ephemeral)),
            ".gitvirt/generated/Volume/default/web-1-scratch.yaml": made,
        }
    )
    world = scene.world()
    assert (world.known[key].standing, world.known[key].record.owners) == (Standing.GENERATED, (owner,))
    assert set(world.owned(WEB)) == {key}
    assert not world.absent
    scene.source({"web.yaml": machine("web-1")})
    assert key in scene.step(world).dirty
    assert set(world.absent) == {key}
    scene.source({"web.yaml": machine("web-1", ephemeral)})
    scene.step(world)
    assert not world.absent


def test_what_is_retained_is_charged_and_its_name_is_free() -> None:
    kept = recorded(volume("data"), Kind.VOLUME, assigned("pool-v", "v1", UID, Kind.VOLUME))
    path = ".gitvirt/retained/Volume/default/data.yaml"
    scene = Scene({})
    scene.live({path: kept})
    world = scene.world()
    volumes = Key(Kind.VOLUME_POOL, "", "pool-v")
    assert DATA not in world.known
    assert world.retained[UID].standing is Standing.RETAINED
    assert [known.key for _, known in world.retained_at(path)] == [DATA]
    assert world.ledger.used(volumes)["storage"] == 10 << 30
    scene.source({"data.yaml": volume("data")})
    scene.step(world)
    assert world.known[DATA].record.uid == ""
    scene.live({path: None})
    scene.step(world)
    assert not world.ledger.used(volumes)["storage"]


def test_a_restart_of_the_reconciler_sees_what_others_did_to_live() -> None:
    scene = placed()
    scene.heads[LIVE] = scene._commit(LIVE, {"web.yaml": b"# mine\n"}, {})
    world = World()
    found = world.advance(scene.store, scene.snapshot(), scene.now)
    assert found.live_paths == {"web.yaml"}


def test_nothing_is_recorded_of_what_is_new() -> None:
    assert Record() == NOTHING
    assert Scene({"n.yaml": machine("n")}).world().known[CLASS].record == NOTHING


def test_what_we_wrote_ourselves_is_no_news_and_what_others_did_on_top_is() -> None:
    scene = placed()
    world = scene.world()
    ours = scene.live({"web.yaml": on_pool(machine("web-1", "  power: Off\n"))})
    world.done(ours)
    found = scene.step(world)
    assert found.live_paths == frozenset()
    world.done(scene.live({"db.yaml": on_pool(machine("db-1"))}))
    scene._commit(LIVE, {"web.yaml": b"# mine\n"}, {})
    assert scene.step(world).live_paths == {"web.yaml"}


def test_a_checkout_without_reports_goes_by_what_live_says_of_pools() -> None:
    scene = placed()
    scene.report("pool-a", report("pool-a", volume_pools=("pool-a",)))
    seen = scene.world()
    kinds = (Kind.MACHINE_POOL, Kind.VOLUME_POOL)
    keys = [Key(kind, "", "pool-a") for kind in kinds]
    states = [seen.pools["pool-a"], seen.volume_pools["pool-a"]]
    documents = []
    for key, state in zip(keys, states, strict=True):
        status = folded_pool(state, seen.known[key].record, scene.now)
        text = (
            pool("pool-a")
            if key.kind is Kind.MACHINE_POOL
            else pool("pool-a").replace("compute", "storage").replace("MachinePool", "VolumePool")
        )
        documents.append(recorded(text, key.kind, Record(uid=UID, status=status)))
    scene.live({".gitvirt/pools/pool-a.yaml": "---\n".join(documents)})
    snapshot = scene.snapshot()
    bare = type(snapshot)(snapshot.source, snapshot.target)
    world = World(is_offline=True)
    world.advance(scene.store, bare, scene.now)
    for key, before in zip(keys, states, strict=True):
        found = (world.pools if key.kind is Kind.MACHINE_POOL else world.volume_pools)["pool-a"]
        assert (found.why_not_ready, found.allocatable, found.classes) == (
            "",
            before.allocatable,
            before.classes,
        )
        record = world.known[key].record
        assert folded_pool(found, record, scene.now + timedelta(hours=9)) == record.status
    online = World()
    online.advance(scene.store, bare, scene.now)
    assert online.pools["pool-a"].why_not_ready
