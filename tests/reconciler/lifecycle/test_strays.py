"""What others do to live: it is put back, and nothing that was recorded there is forgotten meanwhile."""

from __future__ import annotations

import pytest

from reconciler.loop.outcome import NoChange
from tests.reconciler.lifecycle.hosts import Fleet
from tests.reconciler.lifecycle.test_lives import EPHEMERAL, OFFICE, fleet
from tests.reconciler.world.scene import LIVE, machine, pool, using, volume

ORDERED = machine("web", meta='  deletionTimestamp: "2026-05-04T12:00:00Z"\n')
ASIDE = ".gitvirt/deleting/Machine/default/web.yaml"


DAMAGE = [
    pytest.param({"web.yaml": None}, id="a document is removed"),
    pytest.param({"web.yaml": b"a: [\n"}, id="a file is damaged"),
    pytest.param({"web.yaml": machine("web").encode()}, id="a record is removed"),
    pytest.param({"data.yaml": None, "web.yaml": None}, id="a volume too"),
    pytest.param({".gitvirt/generated/Volume/default/web-data.yaml": None}, id="a generated volume"),
]
FORGERY = [
    pytest.param({"web.yaml": ORDERED.encode()}, id="an order is forged"),
    pytest.param({ASIDE: ORDERED.encode()}, id="an order is forged aside"),
]


def running() -> Fleet:
    more = using("data").replace("name: data", "name: shared", 1)
    spec = EPHEMERAL.replace("  volumes:\n", "  volumes:\n" + more.partition("\n")[2])
    world = fleet(web=machine("web", spec), data=volume("data"), office=OFFICE)
    # So that a machine that were placed again would come to another pool.
    world.source({"pools.yaml": pool(world.pool_of("web"), "spec: {unschedulable: true}\n")})
    world.settle()
    return world


@pytest.mark.parametrize("files", [*DAMAGE, *FORGERY])
def test_what_others_do_to_live_is_put_back(files: dict[str, bytes | None]) -> None:
    world = running()
    before = world.texts()
    world._commit(LIVE, files, {})
    world.tick()
    assert world.texts() == before
    named = f"{len(files)} files" if len(files) > 3 else ", ".join(sorted(files))
    assert world.subjects()[0] == f"put back {named}, which others changed here"
    world.reconciler = world.another()
    assert isinstance(world.tick(), NoChange)


@pytest.mark.parametrize("files", DAMAGE)
def test_what_hosts_saw_meanwhile_moves_nothing(files: dict[str, bytes | None]) -> None:
    world = running()
    before, has = world.texts(), {name: dict(host.has) for name, host in world.hosts.items()}
    world._commit(LIVE, files, {})
    world.hosts_report()  # what is ordered nowhere is an orphan to them
    world.reconciler = world.another()
    world.settle()
    assert world.texts() == before
    assert {name: dict(host.has) for name, host in world.hosts.items()} == has


def test_what_is_put_back_with_a_commit_of_people_has_its_own_lines() -> None:
    world = running()
    world._commit(LIVE, {"data.yaml": None}, {})
    world.source({"new.txt": "words"})
    world.tick()
    found = world.messages()[0]
    assert found.startswith("sync main: new.txt\n\n- put back what others changed here: data.yaml\n")
