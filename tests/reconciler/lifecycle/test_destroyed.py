"""A pool that people say is destroyed, through real ticks: the request waits until it is followed, or the host shows that it lives."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from reconciler.gitstore.objects.commit import decode_commit
from reconciler.loop.outcome import NoChange
from reconciler.plan.suggestion import suggest
from reconciler.world.pools.grants import Grant
from schemas.kinds import Key, Kind
from schemas.model import Assignment, Condition, MachinePool, Volume
from tests.reconciler.lifecycle.hosts import Fleet, Host
from tests.reconciler.lifecycle.test_grants import wait_beside
from tests.reconciler.lifecycle.test_lives import DATA, fleet, other_pool
from tests.reconciler.world.scene import LIVE, MAIN, machine, volume

ORDER, ALL_ORDERS = "refs/heads/order", "refs/heads/orders"

WEB = Key(Kind.MACHINE, "default", "web")


def burnt(world: Fleet, name: str) -> None:
    world.silent.add(name)


def say(world: Fleet, name: str) -> None:
    """In these stories a host has the name of its pool as its hostID."""
    world.source({"note.txt": name + world.now.isoformat()}, **{"Pool-Destroyed": f"{name}={name}"})


def merge(world: Fleet, ref: str, commit: str) -> str:
    """A commit on the ref with two parents, a little later."""
    world.now_later(5)
    edits = {"merged.txt": commit.encode()}
    return world._commit(ref, edits, {}, source=commit)


def write_for_review(world: Fleet, name: str) -> str:
    """The order on a branch of its own."""
    world.now_later(1)
    return world._commit(
        ORDER, {"note.txt": name.encode()}, {"Pool-Destroyed": f"{name}={name}"}, source=world.heads[MAIN]
    )


def condition(world: Fleet, name: str) -> Condition | None:
    for _, key, each in world.documents():
        if key == Key(Kind.MACHINE_POOL, "", name):
            assert isinstance(each, MachinePool)
            return next((found for found in each.status.conditions if found.type == "Destroyed"), None)
    raise AssertionError(f"there is no pool {name}")


def test_the_request_waits_for_the_heartbeat_timeout_and_is_followed_then() -> None:
    world = fleet(web=machine("web"))
    first, other = world.pool_of("web"), other_pool(world, "web")
    burnt(world, first)
    say(world, first)
    world.settle()
    assert world.pool_of("web") == first  # its report may still be good: it is not known to be destroyed
    shown = condition(world, first)
    assert shown is not None
    assert (shown.status, shown.reason) == ("Unknown", "WaitingForHeartbeatTimeout")
    (answer,) = world.plans[-1].pool_requests
    assert answer.startswith(f"Pool-Destroyed: {first}: commit ")
    assert answer.endswith(f"waiting until the heartbeat of host {first} expires")
    assert not world.plans[-1].pending_approvals, "no further commit is asked for"
    # Other commits come and go, and it is not forgotten.
    world.source({"note.txt": "something else"})
    world.settle()
    world.settle(seconds=60)
    assert world.pool_of("web") == other
    assert set(world.where().values()) == {other}
    shown = condition(world, first)
    assert shown is not None
    assert (shown.status, shown.reason) == ("True", "Confirmed")
    assert not world.plans[-1].pool_requests
    world.hosts_report()
    assert isinstance(world.tick(), NoChange)


def test_one_who_remembers_nothing_follows_it_as_well() -> None:
    world = fleet(web=machine("web"))
    first = world.pool_of("web")
    burnt(world, first)
    say(world, first)
    world.settle()
    world.reconciler = world.another()
    world.settle(seconds=10)
    assert world.pool_of("web") == first
    (answer,) = world.plans[-1].pool_requests
    assert answer.endswith(f"waiting until the heartbeat of host {first} expires")
    world.settle(seconds=60)
    assert world.pool_of("web") not in ("", first)


def test_a_host_that_reports_after_it_lives() -> None:
    """A wrong name in a commit must not strike when that host is unreachable some day."""
    world = fleet(web=machine("web"))
    first = world.pool_of("web")
    say(world, first)
    world.settle()
    world.settle()
    shown = condition(world, first)
    assert shown is not None
    assert (shown.status, shown.reason) == ("False", "HostStillReporting")
    (answer,) = world.plans[-1].pool_requests
    assert f"is destroyed, but host {first} reported since" in answer
    head = world.heads[LIVE]
    burnt(world, first)
    world.settle(seconds=60)
    world.settle(seconds=60)
    assert world.pool_of("web") == first
    assert world.heads[LIVE] != head  # it is unknown, and nothing more
    # Said again, it counts.
    say(world, first)
    world.settle()
    assert world.pool_of("web") not in ("", first)


def test_a_host_that_reported_before_the_commit_was_read_lives() -> None:
    """No reconciler ran meanwhile, and then the host is silent for a while: nothing that it runs is created on another pool."""
    world = fleet(web=machine("web"))
    first = world.pool_of("web")
    say(world, first)
    world.now_later(60)
    world.hosts_report()
    burnt(world, first)
    world.settle()
    world.settle(seconds=60)
    shown = condition(world, first)
    assert shown is not None
    assert (shown.status, shown.reason) == ("False", "HostStillReporting")
    assert world.pool_of("web") == first
    # Said again, it counts.
    say(world, first)
    world.settle()
    assert world.pool_of("web") not in ("", first)


@pytest.mark.parametrize("is_nested", [False, True], ids=["merged", "merged with a merge"])
@pytest.mark.parametrize("others", [0, 2])
def test_an_order_that_waited_for_its_review_counts_from_its_merge_on(is_nested: bool, others: int) -> None:
    world = fleet(web=machine("web"))
    first, other = world.pool_of("web"), other_pool(world, "web")
    commit = write_for_review(world, first)
    world.source({"other.txt": "meanwhile"})
    world.now_later(60)
    world.hosts_report()  # it is shut down after it was written
    burnt(world, first)
    world.now_later(60)
    if is_nested:
        world._commit(ALL_ORDERS, {"all.txt": b""}, {}, source=world.heads[MAIN])
        commit = merge(world, ALL_ORDERS, commit)
    head = merge(world, MAIN, commit)
    assert len(decode_commit(world.store.read(head)).parents) == 2
    for number in range(others):
        world.source({"other.txt": f"afterwards {number}"})
    world.settle()
    shown = condition(world, first)
    assert shown is not None
    assert shown.status == "Unknown"
    world.settle(seconds=60)
    shown = condition(world, first)
    assert shown is not None
    assert (shown.status, shown.reason) == ("True", "Confirmed")
    assert world.pool_of("web") == other


def test_a_host_that_reported_after_the_merge_lives() -> None:
    """No reconciler ran since the order was written; and what came with a later merge came later."""
    world = fleet(web=machine("web"))
    first = world.pool_of("web")
    merge(world, MAIN, write_for_review(world, first))
    world.now_later(60)
    world.hosts_report()
    burnt(world, first)
    late = world._commit("refs/heads/late", {"late.txt": b""}, {}, source=world.heads[MAIN])
    merge(world, MAIN, late)
    world.settle()
    world.settle(seconds=60)
    shown = condition(world, first)
    assert shown is not None
    assert (shown.status, shown.reason) == ("False", "HostStillReporting")
    assert world.pool_of("web") == first


def test_who_comes_back_after_it_was_followed_is_a_pool_like_any_other() -> None:
    world = fleet(web=machine("web"))
    first = world.pool_of("web")
    burnt(world, first)
    world.settle(seconds=60)
    say(world, first)
    world.settle()
    second = world.pool_of("web")
    assert second not in ("", first)
    world.hosts[first].has.clear()
    world.silent.clear()
    world.settle()
    world.settle()
    assert condition(world, first) is None
    assert world.grant(first) == Grant(first, 3)
    assert world.pool_of("web") == second
    burnt(world, second)
    world.source({"new.yaml": machine("new")})
    world.settle()
    world.settle(seconds=60)
    assert world.pool_of("web") == second


RETAINED = ".gitvirt/retained/Volume/default/data.yaml"


def retaining() -> tuple[Fleet, str]:
    """A fleet where a volume is retained on a host, and that host."""
    more = {f"v{number}": volume(f"v{number}") for number in range(4)}
    world = fleet(Host("a", is_local=True), Host("b", is_local=True), data=volume("data"), **more)
    assignment = world.volume("data").status.assignment
    assert assignment is not None
    world.source({"data.yaml": None})
    world.settle()
    assert RETAINED in world.texts()
    return world, assignment.pool


@pytest.mark.parametrize("is_again", [False, True], ids=["no longer declared", "declared again meanwhile"])
def test_what_was_retained_there_is_gone_with_it(is_again: bool) -> None:
    """Its new host has never had that data."""
    world, first = retaining()
    burnt(world, first)
    say(world, first)
    world.settle(seconds=10)
    assert RETAINED in world.texts()
    if is_again:
        world.source({"data.yaml": volume("data")})
    world.settle(seconds=60)
    assert RETAINED not in world.texts()
    world.hosts[first].has.clear()
    world.silent.clear()
    world.settle()
    if not is_again:
        world.source({"data.yaml": volume("data")})
    world.settle()
    assert RETAINED not in world.texts()
    found = world.volume("data")
    assert found.status.state == "Available"
    assert found.status.assignment is not None
    assert DATA in world.hosts[found.status.assignment.pool].has
    world.hosts_report()
    assert isinstance(world.tick(), NoChange)


@pytest.mark.parametrize("is_again", [False, True], ids=["retained on", "declared again later"])
def test_what_is_retained_there_goes_along_when_the_pool_moves(is_again: bool) -> None:
    """Its new host has the disks of the former one: it must know the volume for its own."""
    world, first = retaining()
    before = retained_assignment(world)
    world.silent.add(first)
    wait_beside(world, first, "new")
    world.source({"note.txt": "its disks are in another machine"}, **{"Pool-Host": f"{first}=new"})
    world.settle()
    assert retained_assignment(world) == before
    world.settle(seconds=80)
    after = replace(before, host="new", epoch=2)
    assert retained_assignment(world) == after
    world.hosts[first].id = "new"
    world.silent.clear()
    world.settle()
    assert retained_assignment(world) == after
    if is_again:
        world.source({"data.yaml": volume("data")})
        world.settle()
        assert world.volume("data").status.assignment == after


def retained_assignment(world: Fleet) -> Assignment:
    """The assignment of the volume in `.gitvirt/retained/`."""
    (found,) = [each for path, _, each in world.documents() if path == RETAINED]
    assert isinstance(found, Volume)
    assert found.status.assignment is not None
    return found.status.assignment


def test_what_is_retained_on_another_pool_stays() -> None:
    world, first = retaining()
    other = "b" if first == "a" else "a"
    burnt(world, other)
    say(world, other)
    world.settle(seconds=60)
    world.settle(seconds=60)
    shown = condition(world, other)
    assert shown is not None
    assert shown.status == "True"
    assert RETAINED in world.texts()


def test_what_waits_for_its_word_is_removed() -> None:
    world = fleet(web=machine("web"))
    first = world.pool_of("web")
    burnt(world, first)
    world.source({"web.yaml": None})
    world.settle()
    say(world, first)
    world.settle()
    assert world.machine("web").metadata.is_deleting
    world.settle(seconds=60)
    assert WEB not in world.objects()


@pytest.mark.parametrize(
    ("trailer", "value", "says"),
    [
        ("Pool-Destroyed", "nosuch", "unknown pool nosuch"),
        ("Pool-Destroyed", "rack-12", "unknown pool rack-12; did you mean rack-1?"),
    ],
)
def test_a_word_that_means_nothing_is_answered(trailer: str, value: str, says: str) -> None:
    world = fleet(Host("rack-1"), Host("b"), web=machine("web"))
    world.source({"note.txt": "a slip"}, **{trailer: value})
    world.hosts_report()
    world.tick()
    (answer,) = world.plans[-1].pool_requests
    assert answer.startswith(f"{trailer}: {value[:12]} (commit ")
    assert answer.endswith(says)
    world.settle()
    assert not world.plans[-1].pool_requests, "no pool has a condition that could say it again"


def test_a_request_about_an_unknown_pool_is_not_an_order_for_later() -> None:
    world = fleet(web=machine("web"))
    say(world, "c")
    world.settle()
    assert not world.plans[-1].pool_requests
    assert world.pool_of("web") in world.hosts


def test_the_pool_of_a_destroyed_host_is_refused_as_such_and_not_proposed() -> None:
    """A machine that fits nowhere is told what would help; a host that is gone would not."""
    world = fleet(web=machine("web"))
    first, other = world.pool_of("web"), other_pool(world, "web")
    burnt(world, first)
    say(world, first)
    world.settle(seconds=200)
    world.source({"big.yaml": machine("big", spec="  machinePoolSelector: {no: such}\n")})
    world.tick()
    (unplaced,) = [each for plan in world.plans for each in plan.unschedulable if each.key.name == "big"][-1:]
    why = {
        refusal.pool: {reason.predicate.value for reason in refusal.reasons} for refusal in unplaced.refusals
    }
    assert "HostDestroyed" in why[first]
    assert suggest(unplaced.refusals).startswith(f"{other} with ")


def state_by_file(world: Fleet, name: str, by: str = "ann") -> str:
    """The same as `say`, in the form that survives a squash merge."""
    path = f".gitvirt/requests/Pool-Destroyed/{name}={name}.yaml"
    world.source({path: f"by: {by}\n"})
    return path


def test_a_file_states_it_too_and_is_used_up_on_live() -> None:
    world = fleet(web=machine("web"))
    first, other = world.pool_of("web"), other_pool(world, "web")
    burnt(world, first)
    path = state_by_file(world, first)
    world.settle()
    shown = condition(world, first)
    assert shown is not None
    assert (shown.status, shown.reason) == ("Unknown", "WaitingForHeartbeatTimeout")
    world.settle(seconds=60)
    assert world.pool_of("web") == other
    world.source({path: None})
    world.settle()
    assert path in world.texts()
    # The host gets the pool again; the same content is old by now, another one is a new statement.
    world.silent.clear()
    world.settle()
    world.source({path: "by: ann\n"})
    world.settle()
    assert condition_reason(world, first) != "HostStillReporting"
    state_by_file(world, first, "bob")
    world.settle()
    assert condition_reason(world, first) == "HostStillReporting"


def condition_reason(world: Fleet, name: str) -> str:
    shown = condition(world, name)
    return shown.reason if shown is not None else ""


def test_a_file_is_void_if_the_host_reports_after_it() -> None:
    world = fleet(web=machine("web"))
    first = world.pool_of("web")
    state_by_file(world, first)
    world.settle()
    assert condition_reason(world, first) == "HostStillReporting"
    assert world.pool_of("web") == first


@pytest.mark.parametrize("name", ["Pool-Gone/a=a", "Pool-Destroyed/a", "a=a", "Pool-Destroyed/x/a=a"])
def test_a_file_with_another_path_states_nothing(name: str) -> None:
    world = fleet(web=machine("web"))
    world.source({f".gitvirt/requests/{name}.yaml": "by: ann\n"})
    world.settle()
    assert not world.plans[-1].pool_requests
    assert {condition_reason(world, each) for each in "ab"} == {""}
