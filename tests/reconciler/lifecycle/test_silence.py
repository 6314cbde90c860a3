"""A report that cannot be read, or that is not there any more, through real ticks: what live has of it stays, and nothing is moved."""

from __future__ import annotations

import pytest

from reconciler.gitstore.repo import Edit
from reconciler.loop.outcome import Committed, NoChange, TickBlocked
from schemas.report.tree import render
from tests.reconciler.lifecycle.hosts import Fleet, Host
from tests.reconciler.lifecycle.test_destroyed import condition, say
from tests.reconciler.world.scene import LIVE, REPORTS, SMALL, machine

REPLACED = machine("web", '  power: "Off"\n  onPoolLost: Replace\n')
POOLS = ("pools/{}.json", "volumepools/{}.json")


class Site(Fleet):
    """`broken` are files by host that cannot be read in its report."""

    def __init__(self, web: str = machine("web")) -> None:
        self.broken: dict[str, tuple[str, ...]] = {}
        hosts = [Host(name, labels={"rack": name}) for name in ("a", "b")]
        super().__init__({"small.yaml": SMALL, "web.yaml": web}, *hosts)
        self.settle()

    def hosts_report(self) -> None:
        super().hosts_report()
        live = self.objects()
        for name in sorted(self.broken):
            tree: dict[str, Edit] = dict(render(self.hosts[name].report(live)))
            self._commit(
                REPORTS + name,
                tree | {each.format(name): b"{" for each in self.broken[name]},
                {},
                has_parents=False,
            )

    def rests(self, seconds: float = 1) -> bool:
        head = self.heads[LIVE]
        self.hosts_report()
        return isinstance(self.tick(seconds), NoChange) and self.heads[LIVE] == head


def test_labels_that_a_host_announced_stand_while_its_report_is_gone() -> None:
    world = Site()
    world.silent.add("a")
    del world.remote.refs[REPORTS + "a"], world.heads[REPORTS + "a"]
    assert world.rests()
    assert world.reconciler.world.pools["a"].labels == {"rack": "a"}
    assert world.rests()
    world.silent.clear()
    assert world.rests()


@pytest.mark.parametrize("web", [machine("web"), REPLACED])
def test_a_pool_that_cannot_be_read_stays_as_live_has_it_for_as_long_as_its_host_reports(web: str) -> None:
    world = Site(web)
    first = world.pool_of("web")
    world.broken[first] = POOLS
    for _ in range(5):
        assert world.rests(40)
        assert "cannot be read" in world.reconciler.world.pools[first].why_not_ready
    # Its host says nothing any more.
    world.broken.clear()
    world.silent.add(first)
    world.settle()
    world.settle(80)
    assert world.reconciler.world.pools[first].is_lost


def test_a_host_that_reports_what_cannot_be_read_lives_whoever_says_that_it_is_destroyed() -> None:
    world = Site()
    first = world.pool_of("web")
    world.broken[first] = POOLS
    world.settle()
    say(world, first)
    world.settle()
    assert world.pool_of("web") == first
    world.settle(80)
    shown = condition(world, first)
    assert shown is not None
    assert (shown.status, shown.reason) == ("False", "HostStillReporting")
    assert world.pool_of("web") == first


@pytest.mark.parametrize(
    ("broken", "waits"), [("machines/default/web.json", True), ("orphans.json", True), ("events.json", False)]
)
def test_a_lost_live_waits_for_reports_that_can_be_read(broken: str, waits: bool) -> None:
    """What cannot be read there may be the machine that would be placed a second time."""
    world = Site()
    first, before = world.pool_of("web"), world.machine("web").status.assignment
    tree = {file.path: world.store.read(file.id) for file in world.store.files(world.heads[REPORTS + first])}
    del world.remote.refs[LIVE], world.heads[LIVE]
    world.reconciler = world.another()

    def report_edits(edits: dict[str, Edit]) -> None:
        world.now_later(1)
        for name in world.hosts:
            world.edit_report(name, edits if name == first else {})

    report_edits({broken: b"{"})
    assert isinstance(world.tick(), TickBlocked)
    report_edits({})
    assert isinstance(world.tick(), TickBlocked if waits else Committed)
    report_edits({broken: tree.get(broken)})
    if waits:
        assert isinstance(world.tick(), Committed)
    after = world.machine("web").status.assignment
    assert after is not None
    assert before is not None
    assert (after.pool, after.id, after.host) == (before.pool, before.id, before.host)
    assert after.epoch == before.epoch + 1
