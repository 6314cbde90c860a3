"""What people learn of a machine that is kept for an undo: in plans, conditions, commits and the history, before and after the merge."""

from __future__ import annotations

import json

import pytest

from reconciler.cli.plan import make_outline
from reconciler.cli.plans import as_json, as_markdown
from reconciler.cli.plans.outline import Entry, Outline, PlanSection, Standing
from reconciler.cli.plans.plan_input import advance_world
from reconciler.cli.plans.verdict import verdict
from reconciler.decide.deletion import find_purge
from reconciler.gitstore.approval import TRAILER
from reconciler.query.object_history import HistoryEntry, list_history, list_life_of, split_lives
from schemas.model import Machine
from tests.reconciler.lifecycle.hosts import Fleet, Host
from tests.reconciler.lifecycle.test_undo import LOCAL, WEB, fleet, identity, run_until_over
from tests.reconciler.world.scene import LIVE, SETTINGS, machine

LARGER = LOCAL.replace("10Gi", "12Gi")
TWO_DISKS = LOCAL + "    - name: scratch\n      localDisk: {sizeLimit: 1Gi}\n"


def outline(world: Fleet) -> Outline:
    return make_outline(advance_world(world.store, world.snapshot(), world.now))


def entry(world: Fleet) -> Entry:
    """The only one of the plan."""
    (found,) = outline(world).entries()
    assert found.key == WEB
    return found


def kept_fleet(spec: str = LOCAL, *hosts: Host) -> Fleet:
    """Its machine is deleted, and kept."""
    world = fleet(*hosts, web=machine("web", spec))
    world.source({"web.yaml": None})
    world.settle()
    return world


def until(world: Fleet) -> str:
    undo = world.machine("web").status.undo
    assert undo is not None
    return undo.until


def history(world: Fleet) -> list[HistoryEntry]:
    path = next(path for path, key, _ in world.documents() if key == WEB)
    return list(list_history(world.store, world.heads[LIVE], path, WEB))


def waiting_message(found: Machine) -> str:
    (each,) = (each for each in found.status.conditions if each.reason == "ReplacementWaits")
    assert (each.type, each.status) == ("Accepted", "False")
    return each.message


def test_a_machine_that_waits_for_the_end_of_a_kept_one_is_named_with_what_it_destroys() -> None:
    world = kept_fleet()
    before, ends = identity(world), until(world)
    world.source({"web.yaml": machine("web", LARGER)})
    planned = entry(world)
    assert (planned.section, planned.standing) == (PlanSection.RECREATE, Standing.PLANNED)
    assert planned.until == ends
    assert [loss.name for loss in planned.losses] == ["root"]
    assert verdict(outline(world)) == "1 to RECREATE (destroys 1 local disk, 10Gi)"
    world.settle()
    assert identity(world) == before
    message = waiting_message(world.machine("web"))
    for part in (
        f"DELETE at {ends} DESTROYS local disk root of web, 10Gi",
        "10Gi -> 12Gi",
    ):
        assert part in message
        assert part in world.messages()[0]
    assert "`gitvirt purge default/web` ends the wait" in message
    assert world.subjects()[0] == "web is blocked"
    merged = entry(world)
    assert (merged.section, merged.standing) == (PlanSection.RECREATE, Standing.KNOWN)
    assert (merged.facts, merged.losses, merged.until) == (planned.facts, planned.losses, ends)
    assert verdict(outline(world)) == "1 to RECREATE as before (destroys 1 local disk, 10Gi)"
    assert "DESTROYS local disk root, 10Gi" in as_markdown.render(outline(world))


def test_a_purge_lets_the_waiting_machine_begin() -> None:
    world = kept_fleet()
    before = identity(world)
    world.source({"web.yaml": machine("web", LARGER)})
    world.settle()
    digest = find_purge(world.reconciler.world, world.reconciler.world.objects[WEB])
    world.source({"note.txt": "x"}, **{TRAILER: digest})
    world.settle()
    assert identity(world)[0] != before[0]
    assert world.machine("web").status.state == "Running"
    assert not any(each.reason == "ReplacementWaits" for each in world.machine("web").status.conditions)
    assert len(split_lives(history(world))) == 2


@pytest.mark.parametrize("again", [LOCAL, None], ids=["the old declaration", "removed again"])
def test_the_condition_ends_with_what_it_says(again: str | None) -> None:
    world = kept_fleet()
    before, ends = identity(world), until(world)
    world.source({"web.yaml": machine("web", LARGER)})
    world.settle()
    world.source({"web.yaml": machine("web", again) if again else None})
    world.settle()
    assert identity(world) == before
    assert not any(each.reason == "ReplacementWaits" for each in world.machine("web").status.conditions)
    if again:
        assert world.machine("web").status.undo is None
        assert len(split_lives(history(world))) == 1
    else:
        assert until(world) == ends


def test_a_plan_says_that_the_same_machine_is_brought_back() -> None:
    world = kept_fleet()
    world.source({"web.yaml": machine("web", LOCAL)})
    found = entry(world)
    assert (found.section, found.standing, found.losses) == (PlanSection.RETURN, Standing.PLANNED, ())
    assert found.facts[0].startswith("the same machine, with its disks")
    assert verdict(outline(world)) == "1 to bring back"
    assert "🟢 1 to bring back" in as_markdown.render(outline(world))
    shown = json.loads(json.dumps(as_json.document(outline(world))["entries"]))
    assert [(each["section"], each["until"]) for each in shown] == [("bring back", until(world))]
    (cpu,) = (usage for usage in outline(world).usage if usage.pool.name == "a")
    assert cpu.after["cpu"] > cpu.before["cpu"]
    world.settle()
    assert not outline(world).entries()


def test_a_plan_says_that_it_comes_back_stopped_where_others_took_its_room() -> None:
    world = kept_fleet(LOCAL, Host("a", machines=6))
    world.source({"new.yaml": machine("new")})
    world.settle()
    assert world.pool_of("new") == "a"
    world.source({"web.yaml": machine("web", LOCAL)})
    found = entry(world)
    assert (found.section, found.standing) == (PlanSection.RETURN, Standing.HELD)
    assert "comes back STOPPED: pool a has no room for it" in found.facts[0]


def test_a_disk_that_it_is_declared_without_is_named_before_and_in_the_commit() -> None:
    world = kept_fleet(TWO_DISKS)
    world.source({"web.yaml": machine("web", LOCAL)})
    found = entry(world)
    assert [loss.name for loss in found.losses] == ["scratch"]
    assert verdict(outline(world)) == "1 to bring back (DESTROYS 1 local disk, 1Gi)"
    world.tick()
    assert "DESTROY" in world.subjects()[0]
    assert "DESTROYS local disk scratch of web, 1Gi" in world.messages()[0]


def test_the_history_of_one_life_goes_through_other_files() -> None:
    """Its file declares others: while it is kept, its document is in .gitvirt/deleting/."""
    both = f"{machine('one')}---\n{machine('web', LOCAL)}"
    world = fleet(both=both)
    uid = world.machine("web").metadata.uid
    world.source({"both.yaml": machine("one")})
    world.settle()
    assert any(path.startswith(".gitvirt/deleting/") for path, key, _ in world.documents() if key == WEB)
    world.source({"both.yaml": both})
    world.settle()
    (life,) = split_lives(history(world))
    assert {each.uid for each in life} == {uid, ""}
    assert [each.is_removal for each in life if each.is_of_people] == [False, True]
    assert any(each.what.startswith("stop default/web") for each in life)
    assert any(each.what.startswith("bring back default/web") for each in life)
    of_uid = list(list_life_of(world.store, world.heads[LIVE], "both.yaml", WEB, uid))
    assert [each.commit for each in of_uid] == [each.commit for each in life]


def test_the_history_of_a_machine_that_was_not_brought_back_in_time_has_two_lives() -> None:
    both = f"{machine('one')}---\n{machine('web', LOCAL)}"
    world = fleet(both=both)
    first = world.machine("web").metadata.uid
    world.source({"both.yaml": machine("one")})
    run_until_over(world)
    world.source({"both.yaml": both})
    world.settle()
    later, earlier = split_lives(history(world))
    assert {each.uid for each in earlier if each.uid} == {first}
    assert first not in {each.uid for each in later}
    assert earlier[0].what.startswith("remove default/web")


def test_the_history_follows_a_file_that_people_renamed() -> None:
    world = fleet(web=machine("web", LOCAL))
    world.source({"web.yaml": None, "moved.yaml": machine("web", LOCAL)})
    world.settle()
    (life,) = split_lives(history(world))
    assert any(each.what.startswith("schedule default/web") for each in life)


def test_a_pin_that_cannot_be_followed_destroys_nothing_of_what_is_brought_back() -> None:
    world = kept_fleet()
    world.source({"web.yaml": machine("web", f"{LOCAL}  machinePoolRef: {{name: nowhere}}\n")})
    found = entry(world)
    assert (found.section, found.losses) == (PlanSection.RETURN, ())
    assert [line.field for line in found.fields] == ["spec.machinePoolRef.name"]


def test_a_host_that_is_lost_while_it_is_kept_destroys_nothing_and_a_revert_waits_for_it() -> None:
    world = kept_fleet(LOCAL, Host("a"), Host("b", machines=1))
    before, on = identity(world), world.pool_of("web")
    world.silent.add(on)
    for _ in range(3):  # past the heartbeat timeout, not past the undo time
        world.now_later(8)
        world.settle()
    world.source({"web.yaml": machine("web", LOCAL)})
    world.settle()
    assert identity(world) == before
    world.silent.clear()
    world.settle()
    assert identity(world) == before
    assert world.machine("web").status.undo is None
    assert world.machine("web").status.state == "Running"


@pytest.mark.parametrize("undo", ["0s", "1h"])
def test_a_changed_undo_time_does_not_move_the_end_of_a_wait(undo: str) -> None:
    world = kept_fleet()
    ends = until(world)
    world.source({"gitvirt.yaml": f"{SETTINGS}limits: {{undo: {undo}}}\n"})
    world.settle()
    assert until(world) == ends
    run_until_over(world)
    assert WEB not in world.objects()


def test_a_machine_that_a_commit_recreates_is_counted_as_that() -> None:
    """Not as one that is recreated once people order it: they do here."""
    world = fleet(web=machine("web", LOCAL))
    assignment = world.machine("web").status.assignment
    assert assignment is not None
    ordered = machine("web", LOCAL).replace(
        "name: web\n", f"name: web\n  annotations: {{gitvirt.dev/recreate: {assignment.id}}}\n", 1
    )
    world.source({"web.yaml": ordered})
    assert verdict(outline(world)) == "1 to RECREATE (destroys 1 local disk, 10Gi)"
