"""A fleet from its first machine to its last, over ssh, on real guests: everything that people do in it is a commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.manifests import DATA, LOCAL, machine, volume
from tests.e2e.world import World, over_ssh

GOLDEN = Path(__file__).with_name("upkeep.txt")
MIB = 1 << 20
HEARTBEAT_SECONDS = 20  # so the grace, in which a host may be late, is 100 s
MACHINES = ("db-1", "web-1", "web-2")
FILES = (*(f"machines/{name}.yaml" for name in MACHINES), "volumes/db.yaml")


@pytest.mark.early
@pytest.mark.timeout(900)
def test_a_fleet_from_its_first_machine_to_its_last(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    with over_ssh(HEARTBEAT_SECONDS) as world:
        history = world.record_history(story, tmp_path)
    if request.config.getoption("--regen"):
        GOLDEN.write_text(history)
    assert history == GOLDEN.read_text()


def story(world: World) -> None:
    world.begin()
    add_by_pull_request(world)
    grow_the_disk(world)
    leave_a_host(world)
    lose_everything_but_the_guests(world)
    world.end(*FILES)
    world.ann.wait("volume", "db-data", "deleted")


def add_by_pull_request(world: World) -> None:
    ann = world.ann
    ann.git("switch", "--quiet", "--create", "topic/web")
    ann.write(
        {
            "machines/db-1.yaml": machine("db-1", DATA, kind="linux"),
            "machines/web-1.yaml": machine("web-1", LOCAL),
            "volumes/db.yaml": volume("16Mi"),
        }
    )
    ann.git("add", "--all")
    ann.git("commit", "--quiet", "--message", "a database and a web server")
    ann.git("push", "--quiet", "origin", "topic/web")
    ann.git("push", "--quiet", "origin", "topic/web:live", codes=(1,))
    ann.gitvirt("validate")
    heads, reports = "+refs/heads/*:refs/remotes/origin/*", "+refs/poollets/*:refs/poollets/*"
    ann.git("fetch", "--quiet", "origin", heads, reports)
    assert "+ Machine/default/db-1 onto host-a" in ann.gitvirt("plan", "-v")
    ann.git("switch", "--quiet", "main")
    ann.git("merge", "--quiet", "--no-ff", "--message", "merge topic/web", "topic/web")
    ann.git("push", "--quiet", "origin", "main")
    ann.wait("machine", "db-1", "state=Running")
    world.until_running("web-1")
    assert world.guest_counts == {"host-a": 1, "host-b": 1}


def grow_the_disk(world: World) -> None:
    """Linux on db-1 says what it sees, and goes on all the while."""
    host = world.hosts["host-a"]
    ((guest, process),) = host.guests.items()
    world.until(lambda: f"disks odb={16 * MIB}" in host.guest_output(guest))
    world.ann.commit("db-1 needs more room", {"volumes/db.yaml": volume("32Mi")})
    world.until(lambda: f"disks odb={32 * MIB}" in host.guest_output(guest))
    assert host.guests == {guest: process}
    assert host.guest_output(guest).count("up") == 1


def leave_a_host(world: World) -> None:
    """web-1 has a disk on the host, so to drain it takes consent."""
    ann = world.ann
    ann.gitvirt("cordon", "host-b")
    ann.commit("another web server", {"machines/web-2.yaml": machine("web-2")})
    world.until_running("web-2")
    assert world.pool_of("web-2") == "host-a"
    ann.gitvirt("drain", "host-b")
    world.until(lambda: "DataLossApprovalRequired" in world.live("machines/web-1.yaml"))
    assert world.pool_of("web-1") == "host-b"
    ann.gitvirt("drain", "host-b", "--force", "--yes")
    world.until(lambda: world.pool_of("web-1") == "host-a")
    world.until_running("web-1")
    assert world.guest_counts == {"host-a": 3, "host-b": 0}
    ann.gitvirt("uncordon", "host-b")
    world.until(lambda: "unschedulable: true" not in world.live("pools/host-b.yaml"))


def lose_everything_but_the_guests(world: World) -> None:
    """The reconciler is killed, and on the host gitvirt and libvirt; what Ann says meanwhile comes about once others run."""
    ann, host = world.ann, world.hosts["host-a"]
    before = host.guests
    world.reconcilers["control-1"].kill()
    host.die()
    ann.commit("web-1 rests", {"machines/web-1.yaml": machine("web-1", LOCAL, power="Off")})
    assert host.guests == before
    host.come_back()
    world.reconciler("control-2")
    ann.wait("machine", "web-1", "state=Shutdown")
    still = host.guests
    assert len(still) == 2
    assert still.items() < before.items()
    # `wait` reads the newest report, progress waits for the next commit: a revert before it would leave another history.
    world.until(lambda: "state: Shutdown" in world.live("machines/web-1.yaml"))
    ann.git("revert", "--no-edit", "HEAD")
    ann.git("push", "--quiet", "origin", "main")
    world.until(lambda: still.items() < host.guests.items())
    world.until_running("web-1")
