"""A pool belongs to one poollet: the one with the longest matching name, or the one that the settings name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from msgspec.structs import replace as replace_struct

from schemas.kinds import Key, Kind
from schemas.report import CandidateReport, MachineReport, ReportedPoolStatus
from tests.reconciler.lifecycle.hosts import Fleet, Host
from tests.reconciler.lifecycle.test_grants import assignment, condition, say, status
from tests.reconciler.lifecycle.test_lives import OTHERS
from tests.reconciler.world import scene
from tests.reconciler.world.scene import INSTANCE, SETTINGS, machine

WEB = Key(Kind.MACHINE, "default", "web")
PINNED = "  machinePoolRef:\n    name: {}\n"
OFFLINE = ReportedPoolStatus(state="Offline", capacity={"cpu": 0, "memory": 0})


def racks(pool: str = "rack-1") -> Fleet:
    """A pool with a machine, served by the poollet of its name. The poollet rack has a name that fits the pool too."""
    world = Fleet({**OTHERS, "web.yaml": machine("web", PINNED.format(pool))}, Host(pool), Host("z"))
    world.settle()
    assert world.pool_of("web") == pool
    return world


def forge(
    world: Fleet, pool: str, machines: Mapping[tuple[str, str], MachineReport], name: str = "rack"
) -> None:
    """The poollet rack speaks of the pool, with the hostID of the host that has it."""
    found = scene.report(name, pools=(pool,), host=pool, entries=machines)
    there = found.pools[pool]
    world.report(name, replace(found, pools={pool: replace_struct(there, status=OFFLINE)}))


@pytest.mark.parametrize("pool", ["rack-1", "rack-1-a"])
@pytest.mark.parametrize("phase", ["gone", "rejected"])
def test_a_poollet_with_a_shorter_name_says_nothing_about_the_pool(pool: str, phase: str) -> None:
    world = racks(pool)
    before = assignment(world, "web")
    entry = MachineReport(world.machine("web").metadata.uid, before.id, phase, pool)  # type: ignore[arg-type]
    for _ in range(4):
        forge(world, pool, {("default", "web"): entry})
        world.settle()
    world.source({"new.yaml": machine("new", PINNED.format(pool))})
    world.settle()
    for _ in range(2):
        assert assignment(world, "web") == before
        assert world.machine("new").status.state == "Running"
        assert status(world, pool).state == "Ready"
        shown = condition(world, pool, "ClaimRefused")
        assert shown is not None
        assert shown.message == (
            f"poollet rack announces it too, and {pool} belongs to poollet {pool}; gitvirt ignores what rack reports of it"
        )
        assert "GV622" in {problem.code for problem in world.reconciler.world.problems or ()}
        world.reconciler = world.another()
        world.settle()
    del world.heads["refs/poollets/rack"]
    world.remote.refs.pop("refs/poollets/rack")
    world.settle()
    assert condition(world, pool, "ClaimRefused") is None


def test_the_longest_of_three_names_owns_the_pool() -> None:
    world = racks("rack-1-a")
    for name in ("rack", "rack-1"):
        forge(world, "rack-1-a", {}, name)
    world.settle()
    assert status(world, "rack-1-a").state == "Ready"
    message = condition(world, "rack-1-a", "ClaimRefused")
    assert message is not None
    assert "poollet rack announces" in message.message
    assert "poollet rack-1 announces" in message.message


def test_a_poollet_that_starts_owns_its_pool_from_then_on() -> None:
    world = Fleet({**OTHERS, "web.yaml": machine("web", PINNED.format("rack-1"))}, Host("z"))
    own = scene.report("rack", pools=("rack", "rack-1"), host="rack")
    for _ in range(3):
        world.report("rack", own)
        world.settle()
    assert world.pool_of("web") == "rack-1"
    before = assignment(world, "web")
    entry = MachineReport(world.machine("web").metadata.uid, before.id, "gone", "rack-1")
    world.report("rack-1", scene.report("rack-1"))
    world.report("rack", replace(own, machines={("default", "web"): entry}))
    world.settle()
    assert assignment(world, "web") == before
    assert condition(world, "rack-1", "ClaimRefused") is not None


def test_a_list_of_pools_counts_before_names() -> None:
    settings = SETTINGS + "poollets:\n  rack: {pools: [rack, rack-1]}\n"
    web = machine("web", PINNED.format("rack-1"))
    world = Fleet({**OTHERS, "gitvirt.yaml": settings, "web.yaml": web}, Host("rack-1"), Host("z"))
    for _ in range(3):
        world.report("rack", scene.report("rack", pools=("rack", "rack-1"), host="big"))
        world.settle()
    host = status(world, "rack-1").host
    assert host is not None
    assert host.id == "big"
    shown = condition(world, "rack-1", "ClaimRefused")
    assert shown is not None
    assert shown.message.startswith("poollet rack-1 announces it too, and rack-1 belongs to poollet rack;")


def test_a_candidate_of_another_poollet_is_not_a_known_host() -> None:
    world = racks()
    candidate = CandidateReport(name="rack", host_id="thief", instance=INSTANCE, pools=("rack-1",))
    world.report("rack", replace(scene.report("rack"), candidate=candidate))
    say(world, "Pool-Host", "rack-1=thief")
    world.settle()
    for _ in range(3):
        world.silent.add("rack-1")
        world.settle(seconds=40)
    found = status(world, "rack-1")
    assert found.host is not None
    assert found.host.id == "rack-1"
