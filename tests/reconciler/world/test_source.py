"""Sources that are not followed, and files on live that others wrote."""

from __future__ import annotations

import pytest

from reconciler.gitstore.approval import HoldKind, approval_digest
from reconciler.world.changes import Confirm
from reconciler.world.world import World
from schemas.kinds import Kind
from tests.reconciler.world.scene import FLEET, LIVE, MAIN, Scene, machine
from tests.reconciler.world.situations import UID, WEB, on_pool, web_on_pool


def test_a_rewritten_source_awaits_approval() -> None:
    scene = web_on_pool()
    last = scene.heads[MAIN]
    new = scene.force({"gitvirt.yaml": f"fleet:\n  id: {FLEET}\n"})
    world = scene.world()
    assert (world.source_commit, world.last, world.is_news) == (last, last, False)
    held = world.head.held
    assert held is not None
    digest = approval_digest(FLEET, HoldKind.SOURCE, [last, new])
    assert (held.head, held.trailer) == (new, f"Gitvirt-Approve: {digest}")
    assert not world.relations.absent
    assert "GV812" in {problem.code for problem in scene.step(world).problems}
    approval = scene.source({}, Gitvirt_Approve=digest)
    scene.step(world)
    assert world.head.held is None
    assert world.source_commit == approval
    assert not world.head.confirmations, "it is used, and matches no other hold"
    assert WEB in world.relations.absent


def test_an_approval_applies_to_the_history_below_it_and_what_came_on_top() -> None:
    scene = web_on_pool()
    last = scene.heads[MAIN]
    seen = scene.force({"gitvirt.yaml": f"fleet:\n  id: {FLEET}\n"})
    digest = approval_digest(FLEET, HoldKind.SOURCE, [last, seen])
    scene.source({"two.yaml": machine("two")})
    world = scene.world()
    held = world.head.held
    assert held is not None
    assert held.trailer != f"Gitvirt-Approve: {digest}", "it has another head now"
    scene.source({}, Gitvirt_Approve=digest)
    scene.step(world)
    assert world.head.held is None


def test_a_branch_that_was_reset_to_an_earlier_commit_awaits_approval() -> None:
    scene = web_on_pool()
    earlier = scene.heads[MAIN]
    last = scene.source({"two.yaml": machine("two")})
    scene.live()
    scene.heads[MAIN] = scene.remote.refs[MAIN] = earlier
    world = scene.world()
    held = world.head.held
    assert held is not None
    digest = approval_digest(FLEET, HoldKind.SOURCE, [last, earlier])
    assert held.trailer == f"Gitvirt-Approve: {digest}"
    approval = scene.source({}, Gitvirt_Approve=digest)
    scene.step(world)
    assert world.head.held is None
    assert world.source_commit == approval


def test_an_approval_of_one_rewritten_history_approves_no_other_one() -> None:
    scene = web_on_pool()
    last = scene.heads[MAIN]
    seen = scene.force({"gitvirt.yaml": f"fleet:\n  id: {FLEET}\n", "web.yaml": machine("web-1")})
    digest = approval_digest(FLEET, HoldKind.SOURCE, [last, seen])
    scene.force({"gitvirt.yaml": f"fleet:\n  id: {FLEET}\n"})
    scene.source({}, Gitvirt_Approve=digest)
    world = scene.world()
    assert world.head.held is not None
    assert world.source_commit == last
    assert not world.relations.absent


@pytest.mark.parametrize("kind", [HoldKind.DELETION, HoldKind.LIVE, None])
def test_an_approval_of_something_else_is_answered_and_approves_nothing(kind: HoldKind | None) -> None:
    scene = web_on_pool()
    digest = "0123456789ab" if kind is None else approval_digest(FLEET, kind, [scene.heads[MAIN]])
    scene.force({})
    commit = scene.source({}, Gitvirt_Approve=digest)
    held = scene.world().head.held
    assert held is not None
    assert held.message.endswith(f"; commit {commit[:12]} approves {digest}, which is another digest")


def test_another_fleet_id_holds_everything() -> None:
    """Reports of all hosts would be a stranger's, and their machines orphans."""
    scene = web_on_pool()
    scene.report("pool-a")
    last = scene.heads[MAIN]
    world = scene.world()
    new = scene.source({"gitvirt.yaml": f"fleet:\n  id: {UID}\n", "web.yaml": None})
    found = scene.step(world)
    for each in (world, scene.world()):
        held = each.head.held
        assert held is not None
        assert (held.head, held.use, held.code, held.trailer) == (new, last, "GV816", "")
        assert (each.source_commit, each.rules.settings.fleet.id) == (last, FLEET)
        assert not each.relations.absent
        assert each.pools["pool-a"].why_not_ready == ""
    assert "GV816" in {problem.code for problem in found.problems}
    scene.source({"gitvirt.yaml": f"fleet:\n  id: {FLEET}\n"})
    scene.step(world)
    assert world.head.held is None
    assert world.relations.absent == {WEB}


def test_a_fork_without_live_begins_with_its_own_id() -> None:
    scene = Scene({"web.yaml": machine("web-1")})
    scene.source({"gitvirt.yaml": f"fleet:\n  id: {UID}\n"})
    world = scene.world()
    assert (world.head.held, world.rules.settings.fleet.id) == (None, UID)


def test_without_a_source_branch_what_was_reconciled_last_stands() -> None:
    scene = web_on_pool()
    world = World()
    snapshot = scene.snapshot()
    world.advance(scene.store, type(snapshot)(None, snapshot.target), scene.now)
    assert world.source_commit == scene.heads[MAIN]
    assert world.head.held is not None
    assert not world.relations.absent


def test_an_empty_source_makes_all_absent_and_nothing_else() -> None:
    scene = web_on_pool()
    scene.source({"web.yaml": None, "db.yaml": None, "classes.yaml": None})
    world = scene.world()
    assert len(world.relations.absent) == 4
    assert world.relations.live_counts[Kind.MACHINE] == 2


def test_confirmations_are_those_since_the_last_reconciled_commit() -> None:
    scene = Scene({})
    scene.source({}, Gitvirt_Approve="old")
    scene.live()
    scene.source({}, Gitvirt_Approve="abc")
    scene.source({}, Pool_Destroyed="pool-a")
    world = scene.world()
    assert [(each.about, each.value) for each in world.head.confirmations] == [
        (Confirm.APPROVAL, "abc"),
        (Confirm.POOL_DESTROYED, "pool-a"),
    ]


def test_without_settings_there_is_no_fleet() -> None:
    scene = Scene()
    scene.source({"web.yaml": machine("web-1")})
    assert scene.world().unfit


def test_settings_that_do_not_read_leave_the_last_ones_in_force() -> None:
    scene = web_on_pool()
    scene.source({"gitvirt.yaml": "fleet: ["})
    world = scene.world()
    assert world.rules.settings.fleet.id == FLEET
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
    assert world.source_commit == last
    assert world.head.held is not None
    assert WEB not in world.objects


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
    assert world.source_commit == last
    assert world.head.held is not None
    assert world.rules.before.limits.delete.count == 1


def test_a_damaged_file_of_live_makes_nothing_new() -> None:
    scene = web_on_pool()
    scene.live({"web.yaml": "a: ["})
    world = scene.world()
    assert WEB not in world.objects
    assert "GV815" in {problem.code for problem in scene.step(world).problems}


def test_foreign_edits_of_live_are_named_and_never_read() -> None:
    scene = web_on_pool()
    own = scene.heads[LIVE]
    world = scene.world()
    scene._commit(LIVE, {"web.yaml": b"a: [", "b.yaml": b"x: 1"}, {})
    for each in (world, World()):
        found = scene.step(each)
        assert each.objects[WEB].record.pool == "pool-a"
        assert (each.own_live, each.foreign_edits) == (own, ("b.yaml", "web.yaml"))
        assert not found.live_paths
    scene.live({"web.yaml": on_pool(machine("web-1"))})
    scene.step(world)
    assert (world.own_live, world.foreign_edits) == (world.live_commit, ())


def test_paths_that_differ_only_in_case_are_a_problem_until_one_is_renamed() -> None:
    people = Scene({"web.yaml": machine("web"), "Web.yaml": machine("other")})
    world = World()
    found = [each for each in people.step(world).problems if each.code == "GV813"]
    assert [(each.file, each.message.split()[-1]) for each in found] == [("Web.yaml", "web.yaml")]
    people.source({"Web.yaml": None, "other.yaml": machine("other")})
    assert not [each for each in people.step(world).problems if each.code == "GV813"]
