"""A fleet from its first machine to its last, over ssh, on real guests: everything that people do in it is a commit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e import audit
from tests.e2e.manifests import DATA, LOCAL, machine, volume
from tests.e2e.world import HOSTS, World, over_ssh

GOLDEN = Path(__file__).with_name("history.txt")
MIB = 1 << 20


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
    for host in world.hosts.values():
        host.start()
    for name in HOSTS:
        world.ann.wait("pool", name, "status.availableMachineClasses=micro")
    add_by_pull_request(world)
    grow_the_disk(world)
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


def delete_all(world: World) -> None:
    ann = world.ann
    files = [f"machines/{name}.yaml" for name in ("db-1", "web-1")]
    ann.commit("the end", dict.fromkeys([*files, "volumes/db.yaml"]))
    world.until(lambda: len(confirmations(world)) == 2)
    assert {name: len(guests) for name, guests in world.guests.items()} == {"host-a": 1, "host-b": 1}
    ann.commit("the end, and I mean it", {}, *confirmations(world))
    for name in ("db-1", "web-1"):
        ann.wait("machine", name, "deleted")
    ann.wait("volume", "db-data", "deleted")


def confirmations(world: World) -> list[str]:
    """As `gitvirt plan` asks for them."""
    shown = world.ann.gitvirt("plan", "--repo", world.server.url)
    return re.findall(r"Confirm-[A-Z][a-z]+: [0-9a-f]+", shown)
