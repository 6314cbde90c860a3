"""Which reports show that a host with a grant lives: through real ticks, with renamed poollets, changed owners and reports that are gone."""

from __future__ import annotations

import pytest

from reconciler.world.pools.grants import Grant
from tests.reconciler.lifecycle.hosts import Fleet
from tests.reconciler.lifecycle.test_grants import NEW, condition, say, wait_beside
from tests.reconciler.lifecycle.test_lives import fleet
from tests.reconciler.world import scene
from tests.reconciler.world.scene import REPORTS, SETTINGS, machine

TRAILERS = {"Pool-Destroyed": ("Destroyed", ""), "Pool-Host": ("HostMoved", NEW)}  # condition, next host


def value_for(trailer: str, pool: str) -> str:
    """In these stories a host has the name of its pool as its hostID."""
    return f"{pool}={pool if trailer == 'Pool-Destroyed' else NEW}"


@pytest.mark.parametrize("trailer", TRAILERS)
def test_a_host_whose_pool_another_poollet_owns_by_now_still_lives(trailer: str) -> None:
    """One commit gives the pool to another poollet and says what became of the host, which reports all the time. A move is asked for in
    the commit before: it has to name a host that waits for the pool."""
    world = fleet(web=machine("web"))
    first = world.pool_of("web")
    says = {trailer: value_for(trailer, first)}
    if trailer == "Pool-Host":
        wait_beside(world, first)
        world.source({"note.txt": "it has the disks"}, **says)
        world.tick()
        says = {}
    owner = f"poollets:\n  other:\n    pools: [{first}]\n    volumePools: [{first}]\n"
    world.source({"gitvirt.yaml": SETTINGS + owner}, **says)
    world.tick()
    assert world.grant(first) == Grant(first, 1)
    world.hosts_report()
    world.tick()
    world.hosts_report()
    world.tick(80)
    assert world.grant(first) == Grant(first, 1)
    found = condition(world, first, TRAILERS[trailer][0])
    assert found is not None
    assert found.reason == "HostStillReporting"


def say_and_lose_report(world: Fleet, trailer: str, first: str) -> None:
    """The reconciler has the request; then the ref is deleted, with the candidate that waited there."""
    wait_beside(world, first)
    say(world, trailer, value_for(trailer, first))
    world.tick()
    del world.remote.refs[REPORTS + first], world.heads[REPORTS + first]


@pytest.mark.parametrize("is_overwritten", [False, True], ids=["deleted", "overwritten"])
@pytest.mark.parametrize("trailer", TRAILERS)
def test_a_host_without_any_report_is_waited_for_too(trailer: str, is_overwritten: bool) -> None:
    """A reconciler that has just started cannot know how long that report has been gone."""
    world = fleet(web=machine("web"))
    first = world.pool_of("web")
    world.silent.add(first)
    if is_overwritten:
        world.report(first, scene.report(first, pools=(f"{first}-x",), host=NEW))
        say(world, trailer, value_for(trailer, first))
    else:
        say_and_lose_report(world, trailer, first)
    world.reconciler = world.another()
    world.tick()
    world.tick(30)
    assert world.grant(first) == Grant(first, 1)
    world.tick(60)
    assert world.grant(first) == Grant("", 2), "the first commit only ends the grant"
    world.tick()
    assert world.grant(first) == Grant(TRAILERS[trailer][1], 2)


@pytest.mark.parametrize("trailer", TRAILERS)
def test_a_host_that_writes_its_lost_report_again_voids_the_request(trailer: str) -> None:
    world = fleet(web=machine("web"))
    first = world.pool_of("web")
    world.silent.add(first)
    say_and_lose_report(world, trailer, first)
    world.reconciler = world.another()
    world.tick()
    found = condition(world, first, TRAILERS[trailer][0])
    assert found is not None
    assert found.reason == "WaitingForHeartbeatTimeout"
    world.silent.clear()
    world.settle()
    world.silent.add(first)
    world.tick(80)
    assert world.grant(first) == Grant(first, 1)


def two_reports(first: str, second: str, other_host: str) -> Fleet:
    """`first` gets the grant of pool rack-1 on host A; then `second` reports that pool too."""
    world = Fleet({})
    for _ in range(2):
        world.report(first, scene.report(first, pools=("rack-1",), host="A"))
        world.tick()
    for _ in range(12):
        if other_host != "A":
            world.report(first, scene.report(first, pools=("rack-1",), host="A"))
        world.report(second, scene.report(second, pools=("rack-1",), host=other_host))
        world.tick(10)
    return world


@pytest.mark.parametrize(("first", "second", "host"), [("rack", "rack-1", "A"), ("rack-1", "rack", "B")])
def test_the_report_of_the_granted_host_that_goes_on_counts(first: str, second: str, host: str) -> None:
    """Its poollet was renamed; or a poollet on another host announces the pool too."""
    world = two_reports(first, second, host)
    assert world.grant("rack-1") == Grant("A", 1)
    assert not world.reconciler.world.pools["rack-1"].is_lost
