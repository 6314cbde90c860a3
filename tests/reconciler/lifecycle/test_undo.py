"""A machine with data whose file is removed is stopped and kept, and `git revert` in time brings it back as it was."""

from __future__ import annotations

import pytest

from reconciler.decide.deletion import find_purge
from reconciler.gitstore.approval import TRAILER
from reconciler.loop.outcome import Committed, NoChange
from reconciler.plan.types import Action
from schemas.kinds import Key, Kind
from tests.reconciler.lifecycle.hosts import Fleet, Host
from tests.reconciler.world.scene import (
    LAN,
    LIVE,
    SETTINGS,
    SMALL,
    ephemeral,
    machine,
    volume,
)

WEB = Key(Kind.MACHINE, "default", "web")
LOCAL = "  volumes:\n    - name: root\n      localDisk: {sizeLimit: 10Gi}\n"
AND_DATA = "    - name: data\n      volumeRef: {name: data}\n"
OTHERS = {f"other{number}.yaml": machine(f"other{number}") for number in range(5)}
MINUTE = f"{SETTINGS}limits: {{undo: 1m}}\n"


def fleet(*hosts: Host, **files: str) -> Fleet:
    named = {f"{name}.yaml": text for name, text in files.items()}
    found = Fleet({**OTHERS, "gitvirt.yaml": MINUTE, **named}, *(hosts or (Host("a"),)))
    found.settle()
    return found


def identity(world: Fleet, name: str = "web") -> tuple[str, object]:
    found = world.machine(name)
    return found.metadata.uid, found.status.assignment


def condition(world: Fleet, name: str, type: str) -> tuple[str, str]:
    found = next(each for each in world.machine(name).status.conditions if each.type == type)
    return found.status, found.reason


def run_until_over(world: Fleet) -> None:
    """Past the undo time, in ticks of which none misses a heartbeat."""
    for _ in range(9):
        world.hosts_report()
        world.tick(8)
    world.settle()


def test_reverted_in_time_it_is_the_same_machine_again() -> None:
    world = fleet(web=machine("web", LOCAL))
    before = identity(world)
    world.source({"web.yaml": None})
    world.settle()
    assert identity(world) == before
    assert not world.machine("web").metadata.is_deleting
    assert world.machine("web").status.undo is not None
    assert WEB in world.reconciler.world.stopped
    world.source({"web.yaml": machine("web", LOCAL)})
    world.settle()
    assert identity(world) == before
    assert world.machine("web").status.undo is None
    assert world.machine("web").status.state == "Running"
    assert len([made for made in world.hosts["a"].made if made[0] == before[0]]) == 1
    for _ in range(9):
        world.hosts_report()
        assert isinstance(world.tick(8), NoChange)


def test_not_reverted_it_takes_three_commits() -> None:
    world = fleet(web=machine("web", LOCAL))
    count = len(world.subjects())
    world.source({"web.yaml": None})
    run_until_over(world)
    assert WEB not in world.objects()
    assert WEB not in world.hosts["a"].has
    stop, order, remove = reversed(world.subjects()[:-count])
    assert stop.startswith("stop web, DELETE at 2026-05-04T12:")
    assert order.startswith("DELETE web, DESTROYS 1 ")
    assert remove == "remove web from a"


@pytest.mark.parametrize(
    ("spec", "settings"),
    [("", MINUTE), (LOCAL, f"{SETTINGS}limits: {{undo: 0s}}\n")],
    ids=["no data", "turned off"],
)
def test_without_data_or_undo_time_the_deletion_is_ordered_at_once(spec: str, settings: str) -> None:
    world = fleet(web=machine("web", spec), gitvirt=settings)
    world.source({"web.yaml": None})
    world.tick()
    assert world.machine("web").metadata.is_deleting


def test_a_commit_cannot_shorten_the_wait_of_what_it_removes() -> None:
    world = fleet(web=machine("web", LOCAL))
    world.source({"web.yaml": None, "gitvirt.yaml": f"{SETTINGS}limits: {{undo: 0s}}\n"})
    world.settle()
    assert not world.machine("web").metadata.is_deleting


def test_a_reconciler_that_remembers_nothing_goes_on_with_the_wait() -> None:
    world = fleet(web=machine("web", LOCAL))
    world.source({"web.yaml": None})
    world.settle()
    undo = world.machine("web").status.undo
    world.now_later(30)
    world.reconciler = world.another()
    world.settle()
    assert world.machine("web").status.undo == undo
    world.reconciler = world.another()
    world.now_later(31)
    world.settle()
    assert WEB not in world.objects()


def test_a_rewound_live_begins_a_new_wait() -> None:
    world = fleet(web=machine("web", LOCAL))
    before, earlier = identity(world), world.heads[LIVE]
    world.source({"web.yaml": None})
    world.settle()
    world.remote.refs[LIVE] = world.heads[LIVE] = earlier
    world.now_later(20)
    world.settle()
    assert identity(world)[0] == before[0]
    assert WEB in world.hosts["a"].has
    assert not world.machine("web").metadata.is_deleting


def test_what_it_needs_waits_with_it() -> None:
    files = {
        "web": machine("web", f"{LOCAL}{AND_DATA}", size="big"),
        "data": volume("data", "  deletionPolicy: Delete\n"),
        "big": SMALL.replace("small", "big"),
    }
    spare = {f"spare{n}": volume(f"spare{n}") for n in range(3)}
    world = fleet(Host("a"), **files, **spare)
    before = identity(world)
    world.source({f"{name}.yaml": None for name in files})
    world.settle()
    assert not world.volume("data").metadata.is_deleting
    world.source({f"{name}.yaml": text for name, text in files.items()})
    world.settle()
    assert identity(world) == before
    assert world.machine("web").status.state == "Running"
    assert world.volume("data").spec.claim_ref is not None
    world.source({f"{name}.yaml": None for name in files})
    run_until_over(world)
    assert WEB not in world.objects()
    assert "data" not in {key.name for key in world.objects()}
    assert "big.yaml" not in world.texts()


def test_others_may_take_its_room_and_then_it_comes_back_stopped() -> None:
    world = fleet(Host("a", machines=6), web=machine("web", LOCAL))
    before = identity(world)
    world.source({"new.yaml": machine("new")})
    world.settle()
    assert world.pool_of("new") == ""
    world.source({"web.yaml": None})
    world.settle()
    assert world.pool_of("new") == "a"
    world.source({"web.yaml": machine("web", LOCAL)})
    world.settle()
    assert identity(world) == before
    assert world.machine("web").status.undo is not None
    assert condition(world, "web", "Accepted") == ("False", "InsufficientCapacity")
    run_until_over(world)
    assert identity(world) == before
    world.source({"new.yaml": None})
    world.settle()
    assert identity(world) == before
    assert world.machine("web").status.undo is None


def test_a_quota_that_others_used_up_keeps_it_off() -> None:
    quota = "apiVersion: core.ironcore.dev/v1alpha1\nkind: ResourceQuota\nmetadata: {name: few}\nspec: {hard: {requests.cpu: 12}}\n"
    world = fleet(web=machine("web", LOCAL), quota=quota)
    world.source({"web.yaml": None})
    world.settle()
    world.source({"new.yaml": machine("new")})
    world.settle()
    assert world.pool_of("new") == "a"
    world.source({"web.yaml": machine("web", LOCAL)})
    world.settle()
    assert condition(world, "web", "Accepted") == ("False", "QuotaExceeded")


def test_a_volume_that_another_machine_needs_goes_to_it() -> None:
    world = fleet(Host("a", is_local=True), web=machine("web", f"{LOCAL}{AND_DATA}"), data=volume("data"))
    world.source({"web.yaml": None})
    world.settle()
    claim = world.volume("data").spec.claim_ref
    assert claim is not None
    assert claim.name == "web"  # no other one needs it


def test_an_address_that_another_machine_needs_goes_to_it() -> None:
    world = fleet(web=machine("web", f"{LOCAL}{ephemeral('10.0.0.5')}"), lan=LAN)
    before = identity(world)
    world.source({"new.yaml": machine("new", ephemeral("10.0.0.5"))})
    world.settle()
    assert world.pool_of("new") == ""
    world.source({"web.yaml": None})
    world.settle()
    assert world.pool_of("new") == "a"
    world.source({"web.yaml": machine("web", f"{LOCAL}{ephemeral('10.0.0.5')}")})
    world.settle()
    assert world.machine("web").status.undo is not None
    assert world.machine("new").status.state == "Running"
    assert condition(world, "web", "Accepted")[0] == "False"
    world.source({"new.yaml": None})
    world.settle()
    assert identity(world) == before
    assert world.machine("web").status.undo is None


def test_another_machine_of_its_name_waits_for_its_end() -> None:
    image = LOCAL.replace("sizeLimit: 10Gi", "image: ghcr.io/x/old:1")
    world = fleet(web=machine("web", image))
    before = identity(world)
    world.source({"web.yaml": None})
    world.settle()
    world.source({"web.yaml": machine("web", image.replace("old:1", "new:1"))})
    world.settle()
    assert identity(world) == before
    assert world.machine("web").status.undo is not None
    run_until_over(world)
    assert identity(world)[0] != before[0]
    assert world.machine("web").status.state == "Running"


def test_a_purge_ends_the_wait() -> None:
    world = fleet(web=machine("web", LOCAL))
    world.source({"web.yaml": None})
    world.settle()
    digest = find_purge(world.reconciler.world, world.reconciler.world.objects[WEB])
    world.source({"note.txt": "x"}, **{TRAILER: digest})
    world.settle()
    assert WEB not in world.objects()
    assert not any(plan.pending_approvals for plan in world.plans)


def test_a_destroyed_host_ends_the_wait() -> None:
    world = fleet(Host("a"), Host("b", machines=1), web=machine("web", LOCAL))
    on = world.pool_of("web")
    world.source({"web.yaml": None})
    world.settle()
    world.silent.add(on)
    world.source({"note.txt": "x"}, **{"Pool-Destroyed": f"{on}={on}"})
    for _ in range(9):
        world.now_later(8)
        world.settle()
    assert WEB not in world.objects()
    assert any(each.startswith("DELETE web") for each in world.subjects())


def test_a_file_that_cannot_be_read_holds_the_end_of_the_wait() -> None:
    world = fleet(web=machine("web", LOCAL))
    world.source({"web.yaml": None})
    world.settle()
    world.source({"web2.yaml": "kind: [\n"})
    run_until_over(world)
    assert WEB in world.hosts["a"].has
    assert not world.machine("web").metadata.is_deleting


def in_group(name: str) -> str:
    return machine(name, meta="  labels: {app: shop}\n")


@pytest.mark.parametrize(
    ("removed", "is_held"), [(("one",), False), (("one", "two"), True)], ids=["one of two", "both"]
)
def test_all_machines_of_a_group_await_approval(removed: tuple[str, ...], is_held: bool) -> None:
    settings = f"{SETTINGS}limits: {{delete: {{groups: [app]}}}}\n"
    world = fleet(one=in_group("one"), two=in_group("two"), gitvirt=settings)
    world.source({f"{name}.yaml": None for name in removed})
    world.settle()
    (pending,) = world.plans[-1].pending_approvals or (None,)
    assert (pending is not None) is is_held
    if pending is not None:
        assert pending.reason.startswith(
            "all machines with the label app: shop in namespace default would be deleted"
        )
        assert [key.name for key in pending.keys] == ["one", "two"]
        world.source({"note.txt": "x"}, **{TRAILER: pending.trailer.split()[-1]})
        world.settle()
    world.settle()
    assert not {*removed} & {key.name for key in world.objects()}


def test_the_plan_names_the_end_of_the_wait() -> None:
    world = fleet(web=machine("web", LOCAL))
    world.source({"web.yaml": None})
    outcome = world.tick()
    assert isinstance(outcome, Committed)
    (change,) = outcome.plan.changes
    assert change.action is Action.STOP
    assert change.after is not None
    assert change.after.undo is not None
    assert change.reason.endswith(f"git revert brings it back until {change.after.undo.until}")
