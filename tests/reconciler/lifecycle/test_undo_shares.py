"""Undo on a pool whose runtime counts machines by class, as stock providers do: a machine of a class that fits N times takes 1/N of the host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from msgspec.structs import replace as struct_replace

from reconciler.decide.placement.schedule_input import build_cluster_state
from reconciler.plan.types import Action
from schemas.kinds import Key
from schemas.live_layout import SHARE
from schemas.model.capacity import WHOLE_HOST, share
from schemas.report import Report
from schemas.report.objects import ObjectRef
from tests.reconciler.lifecycle.hosts import Assigned, Fleet, Host
from tests.reconciler.lifecycle.test_undo import LOCAL, WEB, condition, identity, run_until_over
from tests.reconciler.lifecycle.test_undo import fleet as full_fleet
from tests.reconciler.lifecycle.test_undo_shown import entry
from tests.reconciler.world.scene import SETTINGS, SMALL, machine

BIG = SMALL.replace("small", "big").replace("cpu: 2", "cpu: 8")


@dataclass
class CountingHost(Host):
    """It reports how many machines of each class it takes, and neither processors nor memory."""

    counts: Mapping[str, int] | None = None

    def report(self, live: Mapping[Key, Assigned]) -> Report:
        found = super().report(live)
        own = found.pools[self.name]
        counts = self.counts or {"small": self.machines}
        capacity: dict[str, str | int] = {f"class/machine.{name}": count for name, count in counts.items()}
        names = tuple(ObjectRef(name=name) for name in self.counts or ("small",))
        status = struct_replace(own.status, capacity=capacity, available_machine_classes=names)
        return replace(found, pools={self.name: struct_replace(own, status=status)})


def fleet(machines: int, **files: str) -> Fleet:
    """Five others are on the host."""
    return full_fleet(CountingHost("a", machines=machines), **{"web": machine("web", LOCAL), **files})


def free_share(world: Fleet) -> int:
    return build_cluster_state(world.reconciler.world, ()).free["a"][SHARE]


def test_it_takes_no_share_once_it_is_off_and_its_own_again_when_it_is_back() -> None:
    world = fleet(10)
    one = share(10)
    assert free_share(world) == WHOLE_HOST - 6 * one
    world.source({"web.yaml": None})
    world.tick()
    assert world.machine("web").status.undo is not None
    assert free_share(world) == WHOLE_HOST - 6 * one  # its host has not stopped it yet
    world.settle()
    assert WEB in world.reconciler.world.stopped
    assert free_share(world) == WHOLE_HOST - 5 * one
    world.source({"web.yaml": machine("web", LOCAL)})
    world.settle()
    assert world.machine("web").status.undo is None
    assert free_share(world) == WHOLE_HOST - 6 * one


def test_others_take_its_share_and_it_comes_back_stopped_until_there_is_room() -> None:
    world = fleet(6)
    before = identity(world)
    world.source({"new.yaml": machine("new")})
    world.settle()
    assert world.pool_of("new") == ""
    world.source({"web.yaml": None})
    world.settle()
    assert world.pool_of("new") == "a"
    world.source({"web.yaml": machine("web", LOCAL)})
    assert "comes back STOPPED: pool a has no room for it by now (" in entry(world).facts[0]
    world.settle()
    assert identity(world) == before
    assert world.machine("web").status.undo is not None
    assert condition(world, "web", "Accepted") == ("False", "InsufficientCapacity")
    (why,) = (each for each in world.machine("web").status.conditions if each.type == "Accepted")
    assert why.message.startswith("pool a has no room for it by now (1/6 of the host too little)")
    run_until_over(world)
    assert identity(world) == before
    world.source({"new.yaml": None})
    world.settle()
    assert identity(world) == before
    assert world.machine("web").status.undo is None


def test_of_two_that_come_back_as_many_start_as_there_is_room_for() -> None:
    world = fleet(7, web2=machine("web2", LOCAL))
    world.source({"web.yaml": None, "web2.yaml": None})
    world.settle()
    world.source({"new.yaml": machine("new")})
    world.settle()
    assert world.pool_of("new") == "a"
    world.source({"web.yaml": machine("web", LOCAL), "web2.yaml": machine("web2", LOCAL)})
    outcome = world.tick()
    actions = {change.key.name: change.action for change in outcome.plan.changes}  # type: ignore[union-attr]
    assert actions == {"web": Action.RETURN, "web2": Action.BLOCKED}
    world.settle()
    assert world.machine("web").status.undo is None
    assert world.machine("web2").status.undo is not None
    assert free_share(world) == WHOLE_HOST - 7 * share(7)


def test_a_machine_of_another_class_takes_its_share() -> None:
    big = machine("new", size="big")
    host = CountingHost("a", counts={"small": 10, "big": 2})
    world = full_fleet(host, web=machine("web", LOCAL), big=BIG)
    world.source({"new.yaml": big})
    world.settle()
    assert world.pool_of("new") == ""  # 6/10 are taken, and it takes a half
    world.source({"web.yaml": None})
    world.settle()
    assert world.pool_of("new") == "a"
    world.source({"web.yaml": machine("web", LOCAL)})
    world.settle()
    assert condition(world, "web", "Accepted") == ("False", "InsufficientCapacity")


def test_a_class_that_its_host_no_longer_counts_keeps_it_off() -> None:
    world = fleet(10)
    world.source({"web.yaml": None})
    world.settle()
    world.hosts["a"].counts = {"other": 10}  # type: ignore[attr-defined]
    world.settle()
    world.source({"web.yaml": machine("web", LOCAL)})
    world.settle()
    assert world.machine("web").status.undo is not None
    assert condition(world, "web", "Accepted")[0] == "False"


def test_without_an_undo_time_its_share_is_free_once_it_is_gone() -> None:
    world = fleet(10, gitvirt=f"{SETTINGS}limits: {{undo: 0s}}\n")
    world.source({"web.yaml": None})
    world.settle()
    assert WEB not in world.objects()
    assert free_share(world) == WHOLE_HOST - 5 * share(10)
