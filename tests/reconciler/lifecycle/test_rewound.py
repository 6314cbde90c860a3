"""A `live` that went back: what hosts applied since is taken over before anything is placed; one report alone holds little."""

from __future__ import annotations

from dataclasses import replace as dataclass_replace

import pytest
from msgspec.structs import replace

from reconciler.decide.compose import pending_approvals
from reconciler.gitstore.approval import approval_trailer
from reconciler.gitstore.live_recovery import (
    RECOVERED_TRAILER,
    list_recoveries,
    recovery_digest,
)
from reconciler.gitstore.objects.commit import decode_commit, parse_trailers
from reconciler.loop.outcome import Committed, NoChange, TickBlocked
from schemas.kinds import Kind
from schemas.report.objects import Orphan
from tests.reconciler.lifecycle.hosts import Fleet, Host
from tests.reconciler.lifecycle.restored import CORDON, DRAIN, WEB, Careful, Restored, let_web_go, start_fleet
from tests.reconciler.world.scene import FLEET, LIVE, MAIN, REPORTS, machine, pool, using, volume


@pytest.mark.parametrize("is_fresh", [False, True], ids=["running", "fresh"])
@pytest.mark.parametrize("has_source", [False, True], ids=["live alone", "all"])
def test_a_machine_placed_after_the_backup_stays_where_it_runs(is_fresh: bool, has_source: bool) -> None:
    world = start_fleet()
    backup = {"live": world.heads[LIVE], "main": world.heads[MAIN]}
    world.source({"web.yaml": machine("web")})
    world.settle()
    uid = world.machine("web").metadata.uid
    world.source({"b.yaml": pool("b")})
    world.settle()
    later = world.heads[MAIN]
    world.restore(live=backup["live"], main=backup["main"] if has_source else later)
    if is_fresh:
        world.fresh()
    world.hosts_report()
    world.restore(main=later)  # people push what they have
    world.recover("web")
    assert world.running("web") == ["a"]
    assert world.machine("web").metadata.uid == uid
    assert world.machine("web").status.state == "Running"


def test_what_runs_on_a_pool_that_the_recovery_removes_stays_where_it_is() -> None:
    """The backup has the pool from the source and without a grant, and the source declares it no more: its host announces it again."""
    world = Restored({"web.yaml": machine("web"), "b.yaml": pool("b")}, Careful("a"))
    world.settle()
    assert world.where()["web"] == "a"
    backup = world.heads[LIVE]
    world.hosts["b"] = Careful("b", machines=50)
    world.settle()
    world.source({"a.yaml": pool("a", DRAIN)})
    world.settle()
    assert world.running("web") == ["b"], "it has moved since"
    uid = world.machine("web").metadata.uid
    world.restore(live=backup)
    world.source({"a.yaml": None, "b.yaml": None})
    world.hosts_report()
    world.recover("web")
    assert world.running("web") == ["b"]
    assert world.machine("web").metadata.uid == uid
    assert world.where()["web"] == "b"


def test_a_restored_live_is_written_only_once_every_host_has_reported() -> None:
    world = start_fleet()
    backup = world.heads[LIVE]
    world.source({"web.yaml": machine("web"), "b.yaml": pool("b")})
    world.settle()
    world.silent.add("b")
    world.restore(live=backup)
    world.hosts_report()
    for _ in range(10):
        world.hosts_report()
        world.tick(seconds=10)
    outcome = world.tick()
    assert isinstance(outcome, TickBlocked), outcome
    assert "live was rewound" in outcome.reason
    assert "b (silent)" in outcome.reason
    assert world.heads[LIVE] == backup


def test_a_world_that_is_built_again_remembers_what_was_written() -> None:
    """No report names a commit here: only the process knows."""
    world = Fleet({"web.yaml": machine("web")}, Host("a"), Host("b"))
    world.settle()
    backup = world.heads[LIVE]
    world.source({"new.yaml": machine("new")})
    world.settle()
    written = world.heads[LIVE]
    world.reconciler.world = world.reconciler._new_world(
        world.reconciler.world.reports.heartbeats_seen, world.reconciler.world.live_seen
    )
    world.remote.refs[LIVE] = world.heads[LIVE] = backup
    assert isinstance(world.tick(), TickBlocked)
    for name in "ab":
        world.edit_report(name)
    outcome = world.tick()
    assert world.reconciler.world.rewind.own == written
    assert isinstance(outcome, Committed)
    trailers = parse_trailers(decode_commit(world.store.read(outcome.commit)).message)
    assert (RECOVERED_TRAILER, written) in trailers


def one_liar(world: Restored) -> None:
    """The report of b names a commit that no reconciler wrote."""
    found = world.hosts["b"].report(world.assignable())
    assert found.poollet is not None
    lie = replace(found.poollet, live_commit="f" * 40)
    world.report("b", dataclass_replace(found, poollet=lie))


def test_one_report_holds_its_own_pools_and_what_it_names_alone() -> None:
    world = start_fleet()
    world.source({"b.yaml": pool("b")})
    world.settle()
    world.silent.add("b")
    claim = world.hosts["b"]
    claim.has[WEB] = ("5" * 8 + "-5555-4555-8555-" + "5" * 12, "x")
    one_liar(world)
    world.source({"web.yaml": machine("web"), "free.yaml": machine("free")})
    for _ in range(4):
        one_liar(world)
        world.hosts["a"].act(world.assignable(), world.grant("a"))
        world.report("a", world.hosts["a"].report(world.assignable()))
        world.tick()
    assert world.pool_of("free") == "a"  # though b has more room
    assert world.pool_of("web") == ""
    assert "OnAnotherHost" in world.texts()["web.yaml"]
    assert approval_trailer(recovery_digest(FLEET, "f" * 40)) in world.list_trailers()


def test_two_reports_hold_the_fleet() -> None:
    world = start_fleet()
    backup = world.heads[LIVE]
    world.source({"note.txt": "1"})
    world.settle()
    world.restore(live=backup)
    world.fresh()
    world.hosts_report()
    world.tick()
    assert world.reconciler.world.rewind.is_proven
    assert world.reconciler.world.is_live_lost


def test_a_person_approves_what_one_host_alone_names() -> None:
    """Then all hosts are waited for, and the recovery commit names it: it holds nothing any more."""
    world = start_fleet()
    world.silent.add("b")
    one_liar(world)
    world.tick()
    (trailer,) = world.list_trailers()
    world.approve(trailer)
    assert isinstance(world.tick(), TickBlocked)
    one_liar(world)
    world.hosts_report()
    assert isinstance(world.tick(), Committed)
    (recovery,) = list_recoveries(world.store, world.heads[LIVE])
    assert recovery.applied == {"f" * 40}
    one_liar(world)
    assert isinstance(world.tick(), Committed | NoChange)
    assert world.list_trailers() == []


def test_grants_go_on_above_what_hosts_report() -> None:
    world = start_fleet()
    world.hosts["a"].epoch = 7
    backup = world.heads[LIVE]
    world.source({"note.txt": "1"})
    world.settle()
    host = world.hosts["a"]
    world.restore(live=backup)
    world.fresh()
    host.epoch = 7
    world.hosts_report()
    host.epoch = 7
    world.report("a", dataclass_replace(host.report(world.assignable())))
    world.hosts_report()
    world.settle()
    assert world.grant("a").epoch == 8


def test_another_life_of_the_name_counts() -> None:
    world = start_fleet(web=machine("web"))
    first = world.machine("web").metadata.uid
    backup = world.heads[LIVE]
    world.source({"web.yaml": None})
    world.settle()
    world.source({"a.yaml": pool("a", CORDON), "b.yaml": pool("b"), "web.yaml": machine("web")})
    world.settle()
    second = world.machine("web").metadata.uid
    assert (world.running("web"), second == first) == (["b"], False)
    world.restore(live=backup)
    world.recover("web")
    assert world.running("web") == ["b"]
    assert world.machine("web").metadata.uid == second


def test_a_volume_is_taken_over_as_well() -> None:
    world = start_fleet()
    backup = world.heads[LIVE]
    world.source({"data.yaml": volume("data")})
    world.settle()
    uid, assignment = world.volume("data").metadata.uid, world.volume("data").status.assignment
    world.restore(live=backup)
    world.fresh()
    world.recover("data")
    after = world.volume("data")
    assert assignment is not None
    assert after.status.assignment is not None
    assert (after.metadata.uid, after.status.assignment.id) == (uid, assignment.id)


def test_the_text_says_which_machines_differ() -> None:
    world = start_fleet()
    backup = world.heads[LIVE]
    world.source({"web.yaml": machine("web")})
    world.settle()
    world.restore(live=backup)
    world.settle()
    (pending,) = [each for each in pending_approvals(world.reconciler.world) if each.trailer]
    assert "default/web: no pool -> a" in pending.reason
    (recovery,) = list_recoveries(world.store, world.heads[LIVE])
    assert pending.trailer == approval_trailer(recovery_digest(FLEET, recovery.commit))


def test_the_right_approval_matches() -> None:
    world = start_fleet()
    backup = world.heads[LIVE]
    world.source({"note.txt": "1"})
    world.settle()
    world.restore(live=backup)
    world.settle()
    (trailer,) = world.list_trailers()
    world.approve(trailer)
    outcome = world.tick()
    assert isinstance(outcome, Committed | NoChange)
    assert "matches nothing" not in " ".join(each.reason for each in outcome.plan.pending_approvals)
    assert trailer not in [each.trailer for each in outcome.plan.pending_approvals]


def test_a_destruction_that_a_restore_replays_hits_no_host_that_lost_the_grant() -> None:
    world = start_fleet(web=machine("web"))
    backup = {"live": world.heads[LIVE], "main": world.heads[MAIN]}
    world.silent.add("a")
    world.settle(seconds=60)
    world.source({"note.txt": "it burned"}, **{"Pool-Destroyed": "a=a"})
    world.settle()
    old = world.hosts.pop("a")
    world.hosts["a"] = Careful("a", id="a2")
    del world.remote.refs[REPORTS + "a"], world.heads[REPORTS + "a"]
    world.silent.clear()
    for _ in range(3):
        world.settle()
    assert world.grant("a").host == "a2", old
    runs = world.running("web")
    later = world.heads[MAIN]
    world.restore(live=backup["live"], main=later)
    world.recover("web")
    assert world.grant("a").host == "a2"
    assert world.running("web") == runs


def delete_all(world: Fleet) -> None:
    """All machines leave the source, and that is approved."""
    world.source(dict.fromkeys(MACHINES))
    world.settle()
    (held,) = [each for each in world.plans[-1].pending_approvals if each.kind is Kind.MACHINE]
    world.source({"note.txt": "yes"}, Gitvirt_Approve=held.trailer.removeprefix("Gitvirt-Approve: "))
    world.settle()
    assert not world.where()


MACHINES = {f"other{number}.yaml": machine(f"other{number}") for number in range(3)}


def test_a_restored_live_uses_no_approval_for_a_later_removal() -> None:
    world = Fleet(MACHINES, Host("a"), Host("b"))
    world.settle()
    backup = world.heads[LIVE]
    delete_all(world)
    world.source(MACHINES)
    world.settle()
    world.source(dict.fromkeys(MACHINES))
    world.remote.refs[LIVE] = world.heads[LIVE] = backup
    world.reconciler = world.another()
    world.settle()
    assert len(world.where()) == len(MACHINES)
    assert not any(each.metadata.is_deleting for each in world.objects().values())
    (held,) = [each for each in world.plans[-1].pending_approvals if each.kind is Kind.MACHINE]
    world.source({"note.txt": "again"}, Gitvirt_Approve=held.trailer.removeprefix("Gitvirt-Approve: "))
    world.settle()
    assert not world.where()


def test_a_recovery_uses_no_approval_of_deletions() -> None:
    world = Restored(MACHINES, Careful("a"), Careful("b"))
    world.settle()
    backup = world.heads[LIVE]
    delete_all(world)
    world.restore(live=backup)
    world.fresh()
    world.settle()
    assert len(world.where()) == len(MACHINES)
    assert not any(each.metadata.is_deleting for each in world.objects().values())
    world.recover()
    assert not world.where()


def test_a_removal_that_was_approved_while_no_reconciler_ran_is_carried_out() -> None:
    world = Fleet(MACHINES, Host("a"), Host("b"))
    world.settle()
    before = world.heads[MAIN], world.heads[LIVE]
    world.source(dict.fromkeys(MACHINES))
    world.settle()
    (held,) = [each for each in world.plans[-1].pending_approvals if each.kind is Kind.MACHINE]
    removal = world.heads[MAIN]
    for ref, commit in zip((MAIN, LIVE), before, strict=True):
        world.remote.refs[ref] = world.heads[ref] = commit
    world.reconciler = world.another()
    world.remote.refs[MAIN] = world.heads[MAIN] = removal
    world.source({"note.txt": "yes"}, Gitvirt_Approve=held.trailer.removeprefix("Gitvirt-Approve: "))
    world.source({"new.yaml": machine("new")})
    world.settle()
    assert set(world.where()) == {"new"}


@pytest.mark.parametrize(
    ("uid", "command"),
    [
        (
            "00000000-0000-4000-8000-00000000000f",
            "mkdir -p .gitvirt/orphans/ && echo 'pool: a' > .gitvirt/orphans/00000000-0000-4000-8000-00000000000f.yaml",
        ),
        (None, "without a uid it can only be removed on the host"),
    ],
)
def test_a_name_that_an_orphan_has_waits_with_the_command_that_deletes_the_orphan(
    uid: str | None, command: str
) -> None:
    world = Fleet(MACHINES, Host("a"), Host("b"))
    world.settle()
    orphan = Orphan(kind="Machine", pool="a", id="x://y", uid=uid, namespace="default", name="web")
    world.source({"web.yaml": machine("web")})
    for _ in range(2):
        found = world.hosts["a"].report(world.assignable())
        world.report("a", dataclass_replace(found, orphans=(orphan,)))
        world.tick()
    assert world.pool_of("web") == ""
    shown = next(each for each in world.machine("web").status.conditions if each.type == "Accepted")
    assert shown.reason == "OnAnotherHost"
    assert "gitvirt cannot adopt that object" in shown.message
    assert command in shown.message


@pytest.mark.parametrize("ends", ["Pool-Destroyed", "the report is removed", "the orphan is gone"])
def test_a_host_that_falls_silent_frees_no_name_that_its_report_has(ends: str) -> None:
    """Cut off from the Git server it may run that object: beside it the name would run twice."""
    world = Fleet(MACHINES, Host("a"), Host("b"))
    world.settle()
    uid = "00000000-0000-4000-8000-00000000000f"
    orphan = Orphan(kind="Machine", pool="a", id="x://y", uid=uid, namespace="default", name="web")
    world.source({"web.yaml": machine("web")})
    for _ in range(2):
        found = world.hosts["a"].report(world.assignable())
        world.report("a", dataclass_replace(found, orphans=(orphan,)))
        world.tick()
    world.silent.add("a")
    for reconciler in (world.reconciler, world.another()):
        world.reconciler = reconciler
        for _ in range(8):
            world.hosts_report()
            world.tick(10)
        assert reconciler.world.pools["a"].is_lost
    shown = next(each for each in world.machine("web").status.conditions if each.type == "Accepted")
    assert (world.pool_of("web"), shown.reason) == ("", "OnAnotherHost")
    if ends == "Pool-Destroyed":
        world.source({"note.txt": "burnt"}, **{"Pool-Destroyed": "a=a"})
    elif ends == "the report is removed":
        del world.remote.refs[REPORTS + "a"], world.heads[REPORTS + "a"]
    else:
        world.silent.clear()
    for _ in range(8):
        world.hosts_report()
        world.tick(10)
    assert world.pool_of("web") == "b" if world.silent else world.pool_of("web")


def test_a_volume_that_is_taken_over_stays_where_its_data_is_though_its_machine_waits_for_a_place() -> None:
    """Placed together with a machine that is pinned elsewhere, it would be created there again, and empty."""
    world = start_fleet()
    backup = world.heads[LIVE]
    world.source({"data.yaml": volume("data", "  volumePoolSelector: {}\n")})
    world.settle()
    before = world.volume("data").status.assignment
    assert before is not None
    for host in world.hosts.values():
        host.is_local = True
    world.restore(live=backup)
    world.fresh()
    other = "b" if before.pool == "a" else "a"
    world.source(
        {
            f"{other}.yaml": pool(other),
            "web.yaml": machine("web", f"  machinePoolRef: {{name: {other}}}\n" + using("data")),
        }
    )
    world.recover("data")
    after = world.volume("data").status.assignment
    assert after is not None
    assert (after.pool, after.id) == (before.pool, before.id)


@pytest.mark.parametrize("name", ["web", "data"])
def test_what_went_along_with_a_pool_stays_on_its_new_hostid(name: str) -> None:
    """The restored `live` has the pool's former hostID and the same assignment. Released, the object would be placed a second time."""
    world = start_fleet(web=machine("web"), data=volume("data"))
    backup = world.heads[LIVE]
    old = world.hosts["a"]
    world.silent.add("a")
    world.settle(seconds=60)
    world.hosts["a"] = Careful("a", id="a2", has=dict(old.has))
    found = world.hosts["a"].report(world.assignable())
    world.report("a", found)
    world.source({"b.yaml": pool("b")}, **{"Pool-Host": "a=a2"})
    world.settle(seconds=60)
    world.silent.clear()
    for _ in range(3):
        world.settle()
    assert world.grant("a").host == "a2"
    world.restore(live=backup)
    world.fresh()
    world.recover(name)
    assert [host.name for host in world.hosts.values() for key in host.has if key.name == name] == ["a"]
    assignment = (world.machine(name) if name == "web" else world.volume(name)).status.assignment
    assert assignment is not None
    assert assignment.host == "a2"


@pytest.mark.parametrize("is_ordered", [False, True], ids=["removed since", "ordered gone"])
def test_what_left_the_source_is_taken_over_before_it_goes(is_ordered: bool) -> None:
    """The restored `live` has it on no pool. Dropped at once, it would run on its host, and no document would say so."""
    world = start_fleet(a=pool("a", CORDON), web=machine("web"))
    assert world.pool_of("web") == ""
    backup = world.heads[LIVE]
    world.source({"a.yaml": pool("a")})
    world.settle()
    assert world.running("web") == ["a"]
    let_web_go(world, is_ordered=is_ordered)
    world.restore(live=backup)
    world.fresh()
    world.recover("web")
    assert world.running("web") == []
    assert all(key.name != "web" for host in world.hosts.values() for key in host.has)
    assert "web.yaml" not in world.texts()


@pytest.mark.parametrize("text", [None, "kind: [\n"], ids=["removed since", "malformed since"])
def test_what_moved_after_the_backup_is_taken_over_though_no_file_declares_it(text: str | None) -> None:
    """The pool in the text of the restored `live` is where the reconciler had placed it, and no pin of people."""
    world = start_fleet(web=machine("web"))
    backup = world.heads[LIVE]
    world.source({"a.yaml": pool("a", DRAIN), "b.yaml": pool("b")})
    world.settle()
    assert world.running("web") == ["b"]
    world.source({"web.yaml": text})
    world.restore(live=backup)
    world.fresh()
    world.recover("web")
    assert world.running("web") == ([] if text is None else ["b"])
    there = [host.name for host in world.hosts.values() for key in host.has if key.name == "web"]
    assert there == world.running("web")


def overwrite(world: Restored, name: str) -> None:
    """By whoever has the key of the host, or the rights of an administrator."""
    world.edit_report(name, {"poollet.json": b"{"})


def lose_report() -> Restored:
    """A restored `live` that lacks web, which runs on a; the report of a is overwritten, and people remove it while a cannot report."""
    world = start_fleet()
    backup = world.heads[LIVE]
    world.source({"web.yaml": machine("web")})
    world.settle()
    assert world.running("web") == ["a"]
    world.source({"b.yaml": pool("b")})
    world.restore(live=backup)
    world.fresh()
    world.silent.add("a")
    overwrite(world, "a")
    world.tick()
    world.hosts_report()
    world.tick()
    del world.remote.refs[REPORTS + "a"], world.heads[REPORTS + "a"]
    return world


def test_a_host_whose_report_was_removed_is_waited_for_while_live_grants_its_pool() -> None:
    world = lose_report()
    for _ in range(30):
        world.hosts_report()
        outcome = world.tick(seconds=30)
        assert not isinstance(outcome, Committed), "what runs on a would be placed on b"
    world.source({"note.txt": "1"})
    world.hosts_report()
    outcome = world.tick()
    assert isinstance(outcome, TickBlocked)
    assert "pool a hostID a" in outcome.reason
    world.silent.clear()
    world.recover("web")
    assert world.running("web") == ["a"]


def test_people_end_the_wait_for_a_host_without_a_report() -> None:
    world = lose_report()
    world.hosts.pop("a")
    for _ in range(5):
        world.hosts_report()
        world.tick(seconds=30)
    world.source({"note.txt": "it burned"}, **{"Pool-Destroyed": "a=a"})
    world.recover("web")
    assert world.running("web") == ["b"]


def test_a_report_that_cannot_be_used_is_named_with_its_commands_in_order() -> None:
    world = start_fleet()
    backup = world.heads[LIVE]
    world.source({"web.yaml": machine("web")})
    world.settle()
    world.restore(live=backup)
    overwrite(world, "a")
    world.silent.add("a")
    world.hosts_report()
    outcome = world.tick()
    assert isinstance(outcome, TickBlocked)
    assert f"The report {REPORTS}NAME of a is not usable" in outcome.reason
    steps = ("stop every reconciler", "push origin --delete", "ls-remote", "start one reconciler")
    assert sorted(steps, key=outcome.reason.index) == list(steps)
