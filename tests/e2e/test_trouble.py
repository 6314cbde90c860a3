"""The line to a host is cut while a user rewrites history, over https: no guest notices, and nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.host import Host
from tests.e2e.manifests import machine
from tests.e2e.world import World, over_https

GOLDEN = Path(__file__).with_name("trouble.txt")
MACHINES = ("web-1", "web-2", "web-3")
FILES = {f"machines/{name}.yaml": machine(name) for name in MACHINES}
ON_HOST_A = ("web-1", "web-3")
HEARTBEAT_SECONDS = 10  # the grace is 50 s, the least there is


@pytest.mark.early
@pytest.mark.timeout(900)
def test_a_fleet_outlives_a_lost_host_and_a_force_push(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with over_https(HEARTBEAT_SECONDS) as world:
        history = world.record_history(story, tmp_path)
    if request.config.getoption("--regen"):
        GOLDEN.write_text(history)
    assert history == GOLDEN.read_text()


def story(world: World) -> None:
    ann = world.ann
    world.begin()
    ann.git("push", "--quiet", "origin", "main:live", codes=(1,))
    ann.commit("three web servers", FILES)
    world.until_running(*MACHINES)
    assert world.guest_counts == {"host-a": 2, "host-b": 1}
    rewrite_history(world)
    world.end(*FILES)
    ann.wait("machine", MACHINES[0], "deleted")


def rewrite_history(world: World) -> None:
    """What was made of it awaits her approval, and by then a host cannot be reached any more."""
    ann, worker = world.ann, world.hosts["host-b"]
    commit = ann.commit("a night's work", {"machines/batch-1.yaml": machine("batch-1")})
    world.until_running("batch-1")
    assert world.is_on_live(commit)
    ann.git("reset", "--quiet", "--hard", "HEAD~1")
    ann.git("push", "--quiet", "--force", "origin", "main")
    approvals = world.approvals()
    assert len(worker.guests) == 2
    ann.commit("rewrite history", {}, *approvals)
    lose_a_host(world, world.hosts["host-a"])
    assert len(worker.guests) == 1


def lose_a_host(world: World, lost: Host) -> None:
    """It runs on by itself. While its grace goes by, the other one works on."""
    before = lost.guests
    world.network.cut(lost.place)
    world.ann.wait("machine", "batch-1", "deleted")
    world.until(lambda: all("Unknown" in world.live(f"machines/{name}.yaml") for name in ON_HOST_A))
    assert [world.pool_of(name) for name in MACHINES] == ["host-a", "host-b", "host-a"]
    assert lost.guests == before
    world.network.restore(lost.place)
    for name in ON_HOST_A:
        world.ann.wait("machine", name, "condition=Ready")
    assert lost.guests == before
