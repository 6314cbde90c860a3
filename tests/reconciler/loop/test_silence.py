"""Reports that go, on a real bare repo: nothing is unknown before its grace is over, and a burnt host takes one commit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.loop.outcome import NoChange
from reconciler.world.record import condition
from schemas.kinds import Kind
from schemas.model import MachinePool, decode
from tests.reconciler.gitstore.worlds import MirrorWorld
from tests.reconciler.loop.fleet import (
    LIVE,
    REPORTS,
    SETTINGS,
    SMALL,
    Cast,
    machine,
    reconciler,
)


class Site(Cast):
    """Two machines on two hosts, at rest, by way of a bare repo."""

    def __init__(self, folder: Path) -> None:
        self.world = MirrorWorld(folder)
        super().__init__(self.world, ("a", "b"), room=5)
        files = {
            "gitvirt.yaml": SETTINGS,
            "classes.yaml": SMALL,
            "m1.yaml": machine("m1"),
            "m2.yaml": machine("m2"),
        }
        self.people.push(files)
        self.settle()

    def where(self) -> set[str]:
        found = self.on_live(Kind.MACHINE)
        return {each.body["status"]["assignment"]["pool"] for each in found}

    def pool(self, name: str) -> MachinePool:
        for each in self.on_live(Kind.MACHINE_POOL):
            if each.key.name == name:
                found = decode(each.kind, each.body)
                assert isinstance(found, MachinePool)
                return found
        raise AssertionError(name)

    def truth(self, name: str, type: str) -> str:
        ready = condition(self.pool(name).status.conditions, type)
        return ready.status if ready is not None else ""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    yield made
    made.world.close()


def test_a_deleted_report_ref_changes_nothing_before_the_heartbeat_timeout(site: Site) -> None:
    before = site.world.refs()[LIVE]
    assert site.where() == {"a", "b"}
    (lost,) = [host for host in site.hosts if host.name == "b"]
    site.hosts.remove(lost)
    site.world.delete(REPORTS + "b")
    for _ in range(4):
        site.clock.go(10)
        site.hosts[0].work()
        assert isinstance(site.reconciler.tick(site.clock), NoChange)
    assert site.world.refs()[LIVE] == before
    site.clock.go(40)
    site.settle()
    assert site.truth("b", "Ready") == "Unknown"
    assert site.where() == {"a", "b"}
    # Its poollet pushes it again, and all is as it was.
    site.hosts.append(lost)
    site.settle()
    site.settle()
    assert site.truth("b", "Ready") == "True"
    assert len(lost.made) == 1


def test_a_host_that_burnt_down_takes_one_commit_whoever_reconciles(site: Site) -> None:
    site.hosts = [host for host in site.hosts if host.name == "a"]
    site.people.push({}, "b burned down", Pool_Destroyed="b=b")
    site.settle()
    assert site.truth("b", "Destroyed") == "Unknown"
    assert site.where() == {"a", "b"}
    site.people.push({"note.txt": "something else"})
    site.reconciler = reconciler(site.world.client())  # which has seen nothing
    site.settle()
    assert site.where() == {"a", "b"}
    site.clock.go(80)  # five of its intervals
    site.settle()
    assert site.truth("b", "Destroyed") == "True"
    assert site.where() == {"a"}
