"""A fleet from its first machine to its last, over ssh, on real guests: everything that people do in it is a commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e import audit
from tests.e2e.manifests import DATA, LOCAL, machine, volume
from tests.e2e.world import HOSTS, World, over_ssh

GOLDEN = Path(__file__).with_name("history.txt")
MIB = 1 << 20
MACHINES = ("db-1", "web-1", "web-2")


@pytest.mark.timeout(900)
def test_a_fleet_from_its_first_machine_to_its_last(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    with over_ssh() as world:
        try:
            story(world)
        except Exception as error:
            error.add_note(world.logs())
            raise
        for host in world.hosts.values():
            assert not host.leftovers()
        told = audit.report(world.server.repo, tmp_path)
    if request.config.getoption("--regen"):
        GOLDEN.write_text(told)
    assert told == GOLDEN.read_text()


def story(world: World) -> None:
    world.reconciler("control-1")
    world.until(lambda: bool(world.live("gitvirt.yaml")))
    for host in world.hosts.values():
        host.start()
    for name in HOSTS:
        world.ann.wait("pool", name, "condition=Ready")
    add_by_pull_request(world)
    grow_the_disk(world)
    leave_a_host(world)
    lose_a_host(world)
    lose_the_reconciler(world)
    delete_all(world)


def add_by_pull_request(world: World) -> None:
    ann = world.ann
    ann.git("switch", "--quiet", "--create", "topic/web")
    ann.write(
        {
            "machines/db-1.yaml": machine("db-1", DATA),
            "machines/web-1.yaml": machine("web-1", LOCAL),
            "volumes/db.yaml": volume("16Mi"),
        }
    )
    ann.git("add", "--all")
    ann.git("commit", "--quiet", "--message", "a database and a web server")
    ann.git("push", "--quiet", "origin", "topic/web")
    ann.gitvirt("validate")
    heads, reports = "+refs/heads/*:refs/remotes/origin/*", "+refs/poollets/*:refs/poollets/*"
    ann.git("fetch", "--quiet", "origin", heads, reports)
    assert "schedule  Machine/default/db-1" in ann.gitvirt("plan", "-v")
    ann.git("switch", "--quiet", "main")
    ann.git("merge", "--quiet", "--no-ff", "--message", "merge topic/web", "topic/web")
    ann.git("push", "--quiet", "origin", "main")
    for name in ("db-1", "web-1"):
        ann.wait("machine", name, "state=Running")
    assert {name: len(guests) for name, guests in world.guests.items()} == {"host-a": 1, "host-b": 1}


def grow_the_disk(world: World) -> None:
    (guest,) = world.hosts["host-a"].guests
    assert world.disk_bytes("host-a", guest, "vdb") == 16 * MIB
    world.ann.commit("db-1 needs more room", {"volumes/db.yaml": volume("32Mi")})
    world.until(lambda: world.disk_bytes("host-a", guest, "vdb") == 32 * MIB)


def leave_a_host(world: World) -> None:
    """web-1 has a disk on the host, so to drain it takes consent."""
    ann = world.ann
    ann.gitvirt("cordon", "host-b")
    ann.commit("another web server", {"machines/web-2.yaml": machine("web-2")})
    ann.wait("machine", "web-2", "state=Running")
    assert world.pool_of("web-2") == "host-a"
    ann.gitvirt("drain", "host-b")
    world.until(lambda: "NeedsConsent" in world.live("machines/web-1.yaml"))
    assert world.pool_of("web-1") == "host-b"
    ann.gitvirt("drain", "host-b", "--force")
    world.until(lambda: world.pool_of("web-1") == "host-a")
    ann.wait("machine", "web-1", "state=Running")
    assert {name: len(guests) for name, guests in world.guests.items()} == {"host-a": 3, "host-b": 0}
    ann.gitvirt("uncordon", "host-b")


def lose_a_host(world: World) -> None:
    """While its grace goes by, the other one works on, and somebody rewrites history."""
    lost = world.hosts["host-a"]
    before = lost.guests
    lost.die()
    force_push(world)
    world.until(lambda: all("Unknown" in world.live(f"machines/{name}.yaml") for name in MACHINES))
    assert {world.pool_of(name) for name in MACHINES} == {"host-a"}
    assert lost.guests == before
    lost.come_back()
    for name in MACHINES:
        world.ann.wait("machine", name, "condition=Ready")
    assert lost.guests == before


def force_push(world: World) -> None:
    ann = world.ann
    commit = ann.commit("a night's work", {"machines/batch-1.yaml": machine("batch-1")})
    ann.wait("machine", "batch-1", "state=Running")
    assert world.is_on_live(commit)
    ann.git("reset", "--quiet", "--hard", "HEAD~1")
    ann.git("push", "--quiet", "--force", "origin", "main")
    world.until(lambda: bool(world.confirmations()))
    assert len(world.hosts["host-b"].guests) == 1
    ann.commit("it was no night for work, and I mean it", {}, *world.confirmations())
    ann.wait("machine", "batch-1", "deleted")
    assert not world.hosts["host-b"].guests


def lose_the_reconciler(world: World) -> None:
    ann = world.ann
    world.reconcilers["control-1"].kill()
    world.reconciler("control-2")
    ann.commit("web-1 rests", {"machines/web-1.yaml": machine("web-1", LOCAL, power="Off")})
    ann.wait("machine", "web-1", "state=Shutdown")
    ann.git("revert", "--no-edit", "HEAD")
    ann.git("push", "--quiet", "origin", "main")
    ann.wait("machine", "web-1", "state=Running")


def delete_all(world: World) -> None:
    ann = world.ann
    files = [f"machines/{name}.yaml" for name in MACHINES]
    ann.commit("the end", dict.fromkeys([*files, "volumes/db.yaml"]))
    world.until(lambda: len(world.confirmations()) == 1)
    assert {name: len(guests) for name, guests in world.guests.items()} == {"host-a": 3, "host-b": 0}
    ann.commit("the end, and I mean it", {}, *world.confirmations())
    for name in MACHINES:
        ann.wait("machine", name, "deleted")
    ann.wait("volume", "db-data", "deleted")
