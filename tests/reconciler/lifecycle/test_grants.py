"""A pool is granted to one host: through real ticks, what a second host of its name may do, and what people can."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from reconciler.loop.outcome import Committed, NoChange
from reconciler.world.pools.grants import Grant
from schemas.kinds import Key, Kind
from schemas.model import Assignment, Condition, GrantedHost, MachinePool, MachinePoolStatus
from schemas.report import CandidateReport, HeldObject, MachineReport, Report, ReportedMachineStatus, render
from tests.reconciler.lifecycle.hosts import Fleet, Host
from tests.reconciler.lifecycle.test_lives import DATA, fleet, other_pool
from tests.reconciler.world import scene
from tests.reconciler.world.scene import INSTANCE, LIVE, REPORTS, machine, pool, using, volume

PAUSED = '  annotations: {gitvirt.dev/paused: "true"}\n'
NEW = "new"  # the hostID of a host that takes a name over
WEB = Key(Kind.MACHINE, "default", "web")
DAILY = Key(Kind.VOLUME_SNAPSHOT, "default", "daily")
SNAPSHOT = (
    "apiVersion: storage.ironcore.dev/v1alpha1\nkind: VolumeSnapshot\nmetadata: {name: daily}\n"
    "spec:\n  volumeRef: {name: data}\n"
)


def status(world: Fleet, name: str) -> MachinePoolStatus:
    for _, key, found in world.documents():
        if key == Key(Kind.MACHINE_POOL, "", name):
            assert isinstance(found, MachinePool)
            return found.status
    raise AssertionError(f"there is no pool {name}")


def condition(world: Fleet, name: str, type: str) -> Condition | None:
    return next((each for each in status(world, name).conditions if each.type == type), None)


def assignment(world: Fleet, name: str) -> Assignment:
    found = world.machine(name).status.assignment
    assert found is not None
    return found


def find_accepted(world: Fleet, name: str) -> Condition:
    return next(each for each in world.machine(name).status.conditions if each.type == "Accepted")


def say(world: Fleet, trailer: str, value: str) -> None:
    world.source({"note.txt": f"{value} {world.now.isoformat()}"}, **{trailer: value})


def wait_beside(
    world: Fleet,
    name: str,
    host: str = NEW,
    instance: str = INSTANCE,
    objects: tuple[HeldObject, ...] = (),
    pools: str = "",
) -> None:
    """A candidate puts its file beside the report of the host that has the grant, and changes nothing else."""
    named = tuple(pools.split()) or (name,)
    candidate = CandidateReport(name, host, instance, pools=named, objects=objects)
    edits = {"candidate.json": render(Report(candidate=candidate))["candidate.json"]}
    world._commit(REPORTS + name, edits, {}, has_parents=True)


def replace_host(world: Fleet, name: str) -> Host:
    """Another machine under that name, with nothing on it."""
    old = world.hosts[name]
    world.hosts[name] = Host(name, id=NEW, is_local=old.is_local)
    return old


def test_the_first_report_of_a_pool_is_granted_in_the_tick_that_places_there() -> None:
    world = Fleet({"web.yaml": machine("web")})
    world.hosts["a"] = Host("a")
    world.hosts_report()
    assert isinstance(world.tick(), Committed)
    assert world.grant("a") == Grant("a", 1)
    assert world.grant("a", Kind.VOLUME_POOL) == Grant("a", 1)
    found = assignment(world, "web")
    assert (found.pool, found.host, found.epoch) == ("a", "a", 1)
    world.settle()
    assert world.machine("web").status.state == "Running"
    world.hosts_report()
    assert isinstance(world.tick(), NoChange)


def test_a_newcomer_that_overwrites_the_report_changes_no_object() -> None:
    world = fleet(
        Host("a", is_local=True),
        Host("b", is_local=True),
        data=volume("data"),
        web=machine("web", using("data")),
    )
    first = world.pool_of("web")
    before = {key: found.status for key, found in world.objects().items()}
    replace_host(world, first)
    for _ in range(3):
        world.hosts_report()
        world.tick(10)
    assert {key: found.status for key, found in world.objects().items()} == before
    assert not world.hosts[first].has
    found = condition(world, first, "HostMismatch")
    assert found is not None
    assert found.reason == "ReportedByAnotherHost"
    begin = "`git commit --allow-empty -m"
    assert (
        f"{begin} '{first}: host {first} is destroyed' --trailer 'Pool-Destroyed: {first}={first}'` and `git push`"
        in found.message
    )
    assert (
        f"{begin} '{first}: host {NEW} has the pool now' --trailer 'Pool-Host: {first}={NEW}'` and `git push`"
        in found.message
    )
    # After the heartbeat timeout of the host that has the grant its objects are unknown, and stay where they are.
    for _ in range(8):
        world.hosts_report()
        world.tick(10)
    assert assignment(world, "web").host == first
    assert not world.hosts[first].has
    assert status(world, first).state == "Pending"


def test_what_a_newcomer_states_gone_or_rejected_ends_nothing() -> None:
    world = fleet(web=machine("web"))
    first, was = world.pool_of("web"), assignment(world, "web")
    for phase in ("gone", "rejected", "unknown"):
        entries = {("default", "web"): _entry(world, was.id, phase, first)}
        for _ in range(2):
            world.report(first, scene.report(first, host=NEW, entries=entries))
            world.tick()
        assert assignment(world, "web") == was
        assert world.machine("web").status.state == "Running"


def _entry(world: Fleet, id: str, phase: str, pool: str) -> object:
    return MachineReport(world.machine("web").metadata.uid, id, phase, pool)  # type: ignore[arg-type]


def test_a_candidate_is_no_sign_of_life_and_no_change_of_status() -> None:
    world = fleet(web=machine("web"))
    first = world.pool_of("web")
    world.silent.add(first)
    wait_beside(world, first)
    world.tick()
    assert status(world, first).state == "Ready"
    found = condition(world, first, "HostMismatch")
    assert found is not None
    assert NEW in found.message
    for number in range(8):
        wait_beside(world, first, f"{NEW}{number}")
        world.hosts_report()
        world.tick(10)
    assert world.reconciler.world.pools[first].is_lost
    assert world.pool_of("web") == first


def test_what_a_candidate_has_is_not_placed_a_second_time() -> None:
    """It had the machine before it lost the grant, or before `live` was rewound, and nothing else in Git says so."""
    world = fleet()
    world.source({"web.yaml": machine("web"), "free.yaml": machine("free")})
    for _ in range(4):
        world.hosts_report()
        wait_beside(world, "a", objects=(HeldObject("Machine", "web", "default", INSTANCE),))
        world.tick(10)
    found = next(each for each in world.machine("web").status.conditions if each.type == "Accepted")
    assert (world.pool_of("web"), found.reason) == ("", "OnAnotherHost")
    assert f"host {NEW} waits for the pools of poollet a, and has Machine/default/web" in found.message
    assert f"Pool-Host: a={NEW}" in found.message
    assert world.pool_of("free")
    # It has it no longer.
    wait_beside(world, "a")
    world.tick(10)
    assert world.pool_of("web")


@pytest.mark.parametrize(
    ("meta", "held", "why"),
    [
        ("", HeldObject("Volume", "data", "default", INSTANCE), f"volume data waits: host {NEW} waits for"),
        (PAUSED, None, "volume data is paused and has no pool yet; `gitvirt resume volume default/data`"),
    ],
    ids=["on a candidate", "paused"],
)
def test_a_machine_does_not_bring_a_volume_to_a_pool_that_may_not_be_placed(
    meta: str, held: HeldObject | None, why: str
) -> None:
    world, objects = fleet(), (held,) if held else ()
    world.source({"data.yaml": volume("data").replace("  name: data\n", f"  name: data\n{meta}")})
    world.source({"web.yaml": machine("web", using("data"))})
    for _ in range(4):
        world.hosts_report()
        wait_beside(world, "a", objects=objects)
        world.tick(10)
    assert (world.pool_of("web"), world.volume("data").status.assignment) == ("", None)
    found = next(each for each in world.machine("web").status.conditions if each.type == "Accepted")
    assert found.reason == "VolumeBlocked"
    assert found.message.startswith(why)
    wait_beside(world, "a")
    world.source({"data.yaml": volume("data")})
    for _ in range(2):
        world.hosts_report()
        world.tick(10)
    assert world.pool_of("web")
    assert world.volume("data").status.assignment is not None


def test_the_way_out_names_the_pools_that_a_candidate_waits_for_and_may_have() -> None:
    world = fleet()
    world.source({"web.yaml": machine("web")})
    held = (HeldObject("Machine", "web", "default", INSTANCE),)
    for _ in range(3):
        world.hosts_report()
        wait_beside(world, "a", objects=held, pools="a-disks a-guests b")
        world.tick(10)
    found = next(each for each in world.machine("web").status.conditions if each.type == "Accepted")
    assert f"--trailer 'Pool-Host: a-disks={NEW}' --trailer 'Pool-Host: a-guests={NEW}'`" in found.message
    assert "Pool-Host: b=" not in found.message, "that one is another poollet's"
    assert "gone for good and powered off, remove the report" in found.message
    assert "git push origin --delete refs/" in found.message


def test_what_a_destroyed_candidate_had_holds_nothing() -> None:
    world = fleet(web=machine("web"))
    first = world.pool_of("web")
    held = HeldObject("Machine", "late", "default", INSTANCE)
    replace_host(world, first)
    world.hosts_report()
    say(world, "Pool-Destroyed", f"{first}={first}")
    for _ in range(12):
        world.hosts_report()
        world.tick(10)
    assert status(world, first).host is not None
    wait_beside(world, first, host=first, objects=(held,))
    world.source({"late.yaml": machine("late")})
    world.tick(10)
    assert world.pool_of("late")


def test_a_reconciler_that_starts_beside_a_candidate_takes_it_for_no_sign_of_life() -> None:
    world = fleet(web=machine("web"))
    first = world.pool_of("web")
    world.silent.add(first)
    wait_beside(world, first)
    world.tick()
    world.reconciler = world.another(world.reconciler.world.reports.heartbeats_seen)
    world.tick()
    world.hosts_report()
    world.tick(75)
    assert world.reconciler.world.pools[first].is_lost


@pytest.mark.parametrize("has_waited", [False, True], ids=["a new request", "one that waits"])
@pytest.mark.parametrize(("trailer", "host"), [("Pool-Destroyed", ""), ("Pool-Host", NEW)])
def test_a_candidate_voids_no_request_of_a_reconciler_that_starts(
    trailer: str, host: str, has_waited: bool
) -> None:
    """It remembers no report: what the candidate pushed is the newest commit of the ref, after the commit of the request."""
    world = fleet(web=machine("web"))
    first = world.pool_of("web")
    world.silent.add(first)
    wait_beside(world, first)
    say(world, trailer, f"{first}={host or first}")
    if has_waited:
        world.tick()
    world.now_later(5)
    wait_beside(world, first, instance=INSTANCE.replace(INSTANCE[0], "5"))
    world.reconciler = world.another()
    world.tick()
    world.hosts_report()
    world.tick(80)
    assert world.grant(first) == Grant("", 2), "the first commit only ends the grant"
    world.tick()
    assert world.grant(first) == Grant(host, 2)


def test_a_candidate_voids_no_request() -> None:
    world = fleet(web=machine("web"))
    first, other = world.pool_of("web"), other_pool(world, "web")
    world.silent.add(first)
    say(world, "Pool-Destroyed", f"{first}={first}")
    world.settle()
    wait_beside(world, first)
    world.settle(seconds=80)
    assert world.pool_of("web") == other
    assert world.grant(first) == Grant("", 2)


@pytest.mark.parametrize(("trailer", "host"), [("Pool-Destroyed", ""), ("Pool-Host", NEW)])
def test_a_pool_that_is_to_go_follows_what_people_say_of_its_host(trailer: str, host: str) -> None:
    """A machine on it waits for that host, as after a restore; without an answer neither would ever go."""
    first = "a"
    world = Fleet({"web.yaml": machine("web"), "a.yaml": pool("a")}, Host("a"))
    world.settle()
    world.silent.add(first)
    del world.remote.refs[REPORTS + first], world.heads[REPORTS + first]
    world.source({f"{first}.yaml": None, "web.yaml": None})
    ordered = "metadata:\n  deletionTimestamp: '2026-05-04T12:00:05Z'\n"
    texts = {path: text.replace("metadata:\n", ordered) for path, text in world.texts().items()}
    world.live({path: texts[path] for path in ("web.yaml", "a.yaml")})
    world.tick(200)
    assert status(world, first).host == GrantedHost(id=first)
    world.hosts[first] = Host(first, id=host or "another")
    world.silent.discard(first)
    world.hosts_report()
    say(world, trailer, f"{first}={host or first}")
    for _ in range(8):
        world.hosts_report()
        world.tick(30)
    assert not [key for _, key, _ in world.documents() if key.name == "web"]


def test_after_a_destroyed_host_the_next_one_starts_with_nothing() -> None:
    world = fleet(web=machine("web"))
    first = world.pool_of("web")
    old = replace_host(world, first)
    say(world, "Pool-Destroyed", f"{first}={first}")
    world.settle(seconds=40)
    world.settle(seconds=40)
    assert world.grant(first) == Grant(NEW, 3)
    assert condition(world, first, "HostMismatch") is None
    assert condition(world, first, "Destroyed") is None, "the pool is served again"
    host = world.hosts[first]
    assert not {uid for uid, _ in host.has.values()} & {
        uid for key, (uid, _) in old.has.items() if world.objects().get(key) is None
    }
    # The old one comes back: it has no assignment of its own, and powers off what it has.
    old.act(world.objects(), world.grant(first))
    assert old.off == {key for key in old.has if key.kind is Kind.MACHINE}
    assert old.made == [each for each in old.made if each not in host.made]


def test_a_snapshot_of_a_destroyed_host_is_never_assigned_to_it_again() -> None:
    world = fleet(data=volume("data"), daily=SNAPSHOT, more=volume("v1"), extra=volume("v2"))
    was = world.assignable()[DAILY].status.assignment
    assert was is not None
    world.silent.add(was.pool)
    say(world, "Pool-Destroyed", f"{was.pool}={was.host}")
    found = []
    for _ in range(5):
        outcome = world.tick(40)
        if isinstance(outcome, Committed) and not world.grant(was.pool, Kind.VOLUME_POOL).host:
            found.append(world.assignable()[DAILY].status.assignment)
        world.hosts_report()
    assert found[0] == was, "the first commit only ends the grant"
    assert len(found) > 1
    assert was not in found[1:]


def test_a_report_that_a_destroyed_host_left_behind_gets_no_grant() -> None:
    world = fleet(web=machine("web"))
    first = world.pool_of("web")
    world.silent.add(first)
    say(world, "Pool-Destroyed", f"{first}={first}")
    world.settle(seconds=80)
    assert world.grant(first) == Grant("", 2)
    world.reconciler = world.another()
    world.settle()
    assert world.grant(first) == Grant("", 2)
    assert world.reconciler.world.pools[first].why_not_ready
    # It reports again: it lives, and is a host like any other.
    world.silent.clear()
    world.settle()
    world.settle()
    assert world.grant(first) == Grant(first, 3)


def test_a_report_of_an_earlier_host_gets_no_grant_after_two_moves_and_the_end_of_the_last_host() -> None:
    """The pool went from A to B to C, C is destroyed, and what A left behind in a report of its own is read for the first time."""
    world = Fleet({})
    world.hosts["a"] = Host("a", id="A")
    world.settle()
    old = world.hosts["a"].report({})
    for host, former in (("B", "A"), ("C", "B")):
        world.silent.add("a")
        wait_beside(world, "a", host)
        say(world, "Pool-Host", f"a={host}")
        world.settle(seconds=80)
        world.hosts["a"].id = host
        world.silent.clear()
        world.settle()
        assert world.grant("a").host == host != former
    world.silent.add("a")
    say(world, "Pool-Destroyed", "a=C")
    world.settle(seconds=80)
    assert world.grant("a") == Grant("", 4)
    world.report("a", old)
    world.reconciler = world.another()
    world.tick()
    world.tick()
    assert world.grant("a") == Grant("", 4)
    # It reports again: it lives.
    world.report("a", old)
    world.tick()
    assert world.grant("a") == Grant("A", 5)


def test_a_move_keeps_every_assignment_and_its_id() -> None:
    world = fleet(
        Host("a", is_local=True),
        Host("b", is_local=True),
        data=volume("data"),
        web=machine("web", using("data")),
    )
    first = world.pool_of("web")
    before = {key: found.status.assignment for key, found in world.objects().items()}
    old = replace_host(world, first)
    world.hosts[first].has = dict(old.has)  # its disks
    wait_beside(world, first)
    world.silent.add(first)
    say(world, "Pool-Host", f"{first}={NEW}")
    world.settle()
    assert world.grant(first) == Grant(first, 1)
    found = condition(world, first, "HostMoved")
    assert found is not None
    assert (found.status, found.reason) == ("Unknown", "WaitingForHeartbeatTimeout")
    assert any(each.startswith(f"Pool-Host: {first}: commit ") for each in world.plans[-1].pool_requests)
    head = world.heads[LIVE]
    world.settle(seconds=80)
    assert world.heads[LIVE] != head
    assert world.grant(first) == world.grant(first, Kind.VOLUME_POOL) == Grant(NEW, 2)
    for key, was in before.items():
        now = world.objects()[key].status.assignment
        assert was is not None
        assert now is not None
        assert (now.pool, now.id) == (was.pool, was.id)
        assert (now.host, now.epoch) == ((NEW, 2) if was.pool == first else (was.host, was.epoch))
    web = next(each for each in world.machine("web").status.conditions if each.type == "Ready")
    assert web.message.startswith(
        f"no heartbeat from host {NEW}, which pool {first} moved to, within its timeout"
    )
    # The new host takes the report over and acts; the old one powers off what it had.
    world.silent.clear()
    world.settle()
    world.settle()
    assert world.machine("web").status.state == "Running"
    assert condition(world, first, "HostMismatch") is None
    assert condition(world, first, "HostMoved") is None, "the pool is served again"
    old.act(world.objects(), world.grant(first))
    assert WEB in old.off
    assert DATA in old.has


@pytest.mark.parametrize("has_volume", [True, False], ids=["beside its volume", "that outlives its volume"])
def test_a_snapshot_follows_the_grant_in_the_same_commit(has_volume: bool) -> None:
    deleted = "  deletionPolicy: Delete\n"
    world = fleet(data=volume("data", deleted), daily=SNAPSHOT, more=volume("v1"), extra=volume("v2"))
    if not has_volume:
        world.source({"data.yaml": None})
        world.settle()
        assert DATA not in world.objects()
    was = world.assignable()[DAILY].status.assignment
    assert was is not None
    wait_beside(world, was.pool)
    world.silent.add(was.pool)
    say(world, "Pool-Host", f"{was.pool}={NEW}")
    world.tick()
    world.hosts_report()
    world.tick(80)
    assert world.assignable()[DAILY].status.assignment == was, "the first commit only ends the grant"
    world.tick()
    assert world.grant(was.pool, Kind.VOLUME_POOL) == Grant(NEW, 2)
    assert world.assignable()[DAILY].status.assignment == replace(was, host=NEW, epoch=2)


@pytest.mark.parametrize(("trailer", "host"), [("Pool-Destroyed", ""), ("Pool-Host", NEW)])
def test_a_host_that_reports_after_it_was_fenced_has_its_grant_and_all_its_machines_again(
    trailer: str, host: str
) -> None:
    """The commit that fenced it may have landed long after it was decided."""
    world = fleet(web=machine("web"))
    first = world.pool_of("web")
    was = assignment(world, "web")
    wait_beside(world, first)
    world.silent.add(first)
    say(world, trailer, f"{first}={host or first}")
    world.tick()
    world.hosts_report()
    world.tick(80)
    assert world.grant(first) == Grant("", 2)
    world.silent.clear()
    world.hosts_report()
    world.tick()
    assert world.grant(first) == Grant(first, 2)
    assert assignment(world, "web") == replace(was, epoch=2)
    world.settle()
    assert assignment(world, "web") == replace(was, epoch=2)
    assert world.machine("web").status.state == "Running"


def test_a_move_is_void_when_the_former_host_reports() -> None:
    world = fleet(web=machine("web"))
    first = world.pool_of("web")
    wait_beside(world, first)
    say(world, "Pool-Host", f"{first}={NEW}")
    world.tick()
    world.hosts_report()
    world.settle()
    found = condition(world, first, "HostMoved")
    assert found is not None
    assert (found.status, found.reason) == ("False", "HostStillReporting")
    world.silent.add(first)
    world.settle(seconds=80)
    assert world.grant(first) == Grant(first, 1)


def test_a_move_to_a_host_that_is_not_there_is_refused_with_a_reason_and_answered_for_a_day() -> None:
    """A slip in the hostID would stop every machine of the pool."""
    world = fleet(web=machine("web"))
    first = world.pool_of("web")
    world.silent.add(first)
    say(world, "Pool-Host", f"{first}=nwe")
    world.tick()
    world.tick(80)
    assert world.grant(first) == Grant(first, 1)
    for _ in range(2):
        (answer,) = world.plans[-1].pool_requests
        assert answer.startswith(f"Pool-Host: {first}: commit ")
        assert (
            f"host nwe neither reports pool {first} nor waits for it; start the poollet of the new host first"
            in answer
        )
        found = condition(world, first, "HostMoved")
        assert found is not None
        assert (found.status, found.reason) == ("False", "UnknownHost")
        # A reconciler that was started after the commit was synced, as `gitvirt plan` is, answers too.
        world.reconciler = world.another(world.reconciler.world.reports.heartbeats_seen)
        world.tick()
    # With a host that waits, the commit to make instead is named; it takes the place of the refused one.
    wait_beside(world, first)
    say(world, "Pool-Host", f"{first}=nwe")
    world.tick()
    assert (
        f"run `git commit --allow-empty -m '{first}: host {NEW} has the pool now'"
        in world.plans[-1].pool_requests[0]
    )
    world.tick(24 * 3600)
    world.tick()
    assert not world.plans[-1].pool_requests
    assert condition(world, first, "HostMoved") is None
    say(world, "Pool-Host", f"{first}={NEW}")
    world.tick()
    assert world.grant(first) == world.grant(first, Kind.VOLUME_POOL) == Grant("", 2)
    world.tick()
    assert world.grant(first) == world.grant(first, Kind.VOLUME_POOL) == Grant(NEW, 2)


def test_a_request_that_waits_is_named_in_place_of_commits_that_would_only_replace_it() -> None:
    world = fleet(web=machine("web"))
    first = world.pool_of("web")
    world.silent.add(first)
    wait_beside(world, first)
    say(world, "Pool-Host", f"{first}={NEW}")
    world.tick()
    found = condition(world, first, "HostMismatch")
    assert found is not None
    assert "git commit" not in found.message
    assert found.message.endswith(f"takes effect once the heartbeat of host {first} has expired")


@pytest.mark.parametrize("trailer", ["Pool-Destroyed", "Pool-Host"])
def test_a_replayed_trailer_cannot_hit_the_host_of_today(trailer: str) -> None:
    """The commit of a year ago names the host of then: after a revert or a restore of `live` it counts for nothing."""
    world = fleet(web=machine("web"))
    first = world.pool_of("web")
    world.hosts[first] = Host(first, id=NEW)
    say(world, "Pool-Destroyed", f"{first}={first}")
    world.settle(seconds=40)
    world.settle(seconds=40)
    grant = world.grant(first)
    assert grant.host == NEW
    world.silent.add(first)
    old = f"{first}={first}" if trailer == "Pool-Destroyed" else f"{first}={NEW}"
    say(world, trailer, old)
    world.settle(seconds=80)
    assert world.grant(first) == grant


def test_a_lost_live_is_granted_again_above_every_epoch_that_was_reported() -> None:
    world = fleet(web=machine("web"))
    first, was = world.pool_of("web"), assignment(world, "web")
    del world.remote.refs[LIVE], world.heads[LIVE]
    world.reconciler = world.another()
    for _ in range(2):
        for name, host in world.hosts.items():
            host.epoch = 7
            world.report(name, _as_it_was(world, host, was) if name == first else host.report({}))
        world.tick()
    now = assignment(world, "web")
    assert (now.pool, now.id, now.host, now.epoch) == (first, was.id, first, 8)


def _as_it_was(world: Fleet, host: Host, was: Assignment) -> Report:
    (uid,) = {uid for key, (uid, _) in host.has.items() if key == WEB}
    running = ReportedMachineStatus(machine_id=f"sim://{uid}", state="Running")
    entries = {("default", "web"): MachineReport(uid, was.id, "present", host.name, status=running)}
    return scene.report(host.name, volume_pools=(host.name,), entries=entries, epochs={host.name: host.epoch})
