"""What others do to live: it is put back, and nothing that was recorded there is forgotten meanwhile."""

from __future__ import annotations

import os

import pytest

from poollet.sync.live_policy import Trust, follow
from reconciler.gitstore.objects.commit import decode_commit
from reconciler.gitstore.signatures.signers import Signers
from reconciler.gitstore.signatures.trust import SignatureMode
from reconciler.gitstore.signatures.verifier import Verifier
from reconciler.loop.outcome import NoChange
from tests.reconciler.lifecycle.hosts import Fleet
from tests.reconciler.lifecycle.test_lives import EPHEMERAL, OFFICE, fleet
from tests.reconciler.world.scene import LIVE, MAIN, ROBOT, machine, pool, using, volume

NO_SIGNERS = Verifier(Signers(), os.environ)
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
    foreign = world._commit(LIVE, files, {})
    world.tick()
    assert world.texts() == before
    named = f"{len(files)} files" if len(files) > 3 else ", ".join(sorted(files))
    assert f"put back {named}, which {ROBOT.name} changed in {foreign[:10]}" in world.messages()[0]
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
    foreign = world._commit(LIVE, {"data.yaml": None}, {})
    world.source({"new.txt": "words"})
    world.tick()
    found = world.messages()[0]
    assert found.startswith(
        f"sync main: new.txt\n\n- put back data.yaml, which {ROBOT.name} changed in {foreign[:10]}\n"
    )


@pytest.mark.parametrize("files", [{"web.yaml": ORDERED.encode()}, {}], ids=["an order is forged", "no file"])
def test_hosts_follow_the_reconcilers_line_past_a_foreign_commit(files: dict[str, bytes | None]) -> None:
    """Its first parent is the reconciler's own commit, and the push is not forced: the foreign commit is the second parent."""
    world = running()
    good = world.heads[LIVE]
    forged = world._commit(LIVE, files, {})
    world.source({"new.txt": "words"})
    world.tick()
    head = world.heads[LIVE]
    assert decode_commit(world.store.read(head)).parents == (good, world.heads[MAIN], forged)
    for applied in (good, forged):
        found = follow(world.store, head, applied, Trust(SignatureMode.OFF, NO_SIGNERS), world.now, "")
        assert (found.use, found.hold) == (head, None)
    assert follow(world.store, forged, good, Trust(SignatureMode.OFF, NO_SIGNERS), world.now, "").use == good


def test_a_foreign_commit_without_a_change_of_files_is_passed_over() -> None:
    world = running()
    good = world.heads[LIVE]
    forged = world._commit(LIVE, {}, {})
    world.tick()
    assert world.subjects()[0] == f"pass over commit {forged[:10]}, which {ROBOT.name} wrote here"
    assert decode_commit(world.store.read(world.heads[LIVE])).parents == (good, forged)
    assert isinstance(world.tick(), NoChange)
