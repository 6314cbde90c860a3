"""A tick through a repo in memory: what people push is placed, runs, changes and goes, and then everything rests."""

from __future__ import annotations

import pytest

from reconciler.gitstore.objects.commit import decode_commit
from reconciler.loop.outcome import Committed, NoChange
from schemas.kinds import Kind
from tests.reconciler.gitstore.worlds import MemoryWorld
from tests.reconciler.loop.fleet import (
    LIVE,
    SETTINGS,
    SMALL,
    Cast,
    machine,
    reconciler,
    settle,
    take_snapshot,
    texts,
)


class Site(Cast):
    """One reconciler, two hosts, Ann; in memory."""

    def __init__(self, hosts: int = 2, room: int = 10) -> None:
        self.world = MemoryWorld()
        super().__init__(self.world, [f"host-{n}" for n in range(hosts)], room)
        self.people.push({"gitvirt.yaml": SETTINGS, "classes/small.yaml": SMALL})

    def live(self) -> dict[str, str]:
        return texts(self.looker, take_snapshot(self.looker).target)

    def states(self) -> dict[str, tuple[str, str]]:
        """Machine -> pool, state."""
        found = self.on_live(Kind.MACHINE)
        return {
            each.key.name: (
                each.body.get("status", {}).get("assignment", {}).get("pool", ""),
                each.body.get("status", {}).get("state", ""),
            )
            for each in found
        }

    def subjects(self) -> list[str]:
        """Of the target branch, by first parents, newest first."""
        commit, found = self.world.refs().get(LIVE), []
        while commit:
            read = decode_commit(self.looker.read(commit))
            found.append(read.message.split("\n")[0])
            commit = read.parents[0] if read.parents and "Source-Commit" in read.message else None
        return found


@pytest.fixture
def site() -> Site:
    return Site()


def test_a_machine_is_placed_and_runs(site: Site) -> None:
    site.people.push({"m/web.yaml": machine("web", "   # ours")})
    site.settle()
    pool, state = site.states()["web"]
    assert (pool in ("host-0", "host-1"), state) == (True, "Running")
    assert "  name: web   # ours\n" in site.live()["m/web.yaml"]
    assert sum(len(host.made) for host in site.hosts) == 1


def test_at_rest_nothing_is_written_and_nothing_is_read(site: Site) -> None:
    site.people.push({"m/web.yaml": machine("web")})
    site.settle()
    before = site.world.refs()
    for _ in range(5):
        site.clock.go(1)
        assert isinstance(site.reconciler.tick(site.clock), NoChange)
    assert site.world.refs() == before
    fresh = reconciler(site.world.client(), "another")
    assert isinstance(fresh.tick(site.clock), NoChange)
    assert site.world.refs() == before


def test_an_edit_of_people_is_taken_over(site: Site) -> None:
    site.people.push({"m/web.yaml": machine("web")})
    site.settle()
    before = site.live()["m/web.yaml"]
    site.people.push({"m/web.yaml": machine("web", "   # new"), "README.md": "hello"})
    site.settle()
    assert site.live()["m/web.yaml"] == before.replace("name: web\n", "name: web   # new\n", 1)
    assert site.live()["README.md"] == "hello"


def test_a_machine_that_is_removed_goes_in_two_steps(site: Site) -> None:
    site.people.push({f"m/{name}.yaml": machine(name) for name in ("a", "b", "c", "d", "e")})
    site.settle()
    site.people.push({"m/a.yaml": None})
    outcome = site.reconciler.tick(site.clock)
    assert isinstance(outcome, Committed)
    assert "deletionTimestamp" in site.live()["m/a.yaml"]
    assert "m/a.yaml" not in texts(site.looker, take_snapshot(site.looker).source)
    site.settle()
    assert "m/a.yaml" not in site.live()
    assert sum(len(host.running) for host in site.hosts) == 4


def test_what_no_pool_takes_says_why_and_is_placed_once_there_is_room(site: Site) -> None:
    site = Site(hosts=1, room=1)
    site.people.push({f"m/{name}.yaml": machine(name) for name in ("a", "b")})
    site.settle()
    assert sorted(state for _, state in site.states().values()) == ["Pending", "Running"]
    assert "no pool fits: InsufficientCapacity" in "".join(site.live().values())
    site.hosts[0].room = 2
    site.settle()
    assert [state for _, state in site.states().values()] == ["Running", "Running"]


def test_a_pool_may_say_no(site: Site) -> None:
    site.hosts[0].rejects = site.hosts[1].rejects = frozenset({"web"})
    site.people.push({"m/web.yaml": machine("web")})
    site.settle()
    assert site.states()["web"][0] == ""
    assert sum(len(host.made) for host in site.hosts) == 0
    site.hosts[1].rejects = frozenset()
    site.clock.go(3600)
    site.settle()
    assert site.states()["web"] == ("host-1", "Running")


def test_a_malformed_file_stops_no_other_file_and_deletes_nothing(site: Site) -> None:
    site.people.push({f"m/{name}.yaml": machine(name) for name in ("a", "b", "c", "d", "e")})
    site.settle()
    before = site.live()
    site.people.push({"m/a.yaml": "kind: [", "m/f.yaml": machine("f")})
    site.settle()
    after = site.live()
    assert site.states()["f"][1] == "Running"
    assert {path: text for path, text in after.items() if path != "m/f.yaml"}.keys() == before.keys()
    assert "deletionTimestamp" not in "".join(after.values())
    assert site.states()["a"][1] == "Running"
    site.people.push({"m/a.yaml": machine("a", "   # fixed")})
    site.settle()
    assert "# fixed" in site.live()["m/a.yaml"]
    assert site.states()["a"] == ("host-0", "Running") or site.states()["a"] == ("host-1", "Running")
    assert sum(len(host.made) for host in site.hosts) == 6


def test_an_empty_source_deletes_nothing_without_consent(site: Site) -> None:
    site.people.push({f"m/{name}.yaml": machine(name) for name in ("a", "b", "c")})
    site.settle()
    site.people.push({f"m/{name}.yaml": None for name in ("a", "b", "c")})
    site.settle()
    assert len(site.states()) == 3
    assert '  deletionTimestamp: "' not in "".join(site.live().values())
    outcome = site.reconciler.tick(site.clock)
    assert isinstance(outcome, NoChange)
    (held,) = [held for held in outcome.plan.pending_approvals if held.kind is Kind.MACHINE]
    digest = held.trailer.removeprefix("Gitvirt-Approve: ")
    site.people.push({}, "yes", Gitvirt_Approve=digest)
    site.settle()
    assert site.states() == {}
    assert sum(len(host.running) for host in site.hosts) == 0


def test_several_reconcilers_in_turn_come_to_the_same(site: Site) -> None:
    others = [reconciler(site.world.client(), name) for name in ("two", "three")]
    site.people.push({f"m/{n}.yaml": machine(f"web-{n}") for n in range(5)})
    settle([site.reconciler, *others], site.hosts, site.clock)
    assert sum(len(host.made) for host in site.hosts) == 5
    assert all(isinstance(each.tick(site.clock), NoChange) for each in (site.reconciler, *others))


def test_subjects_read_well(site: Site) -> None:
    site.people.push({"m/web.yaml": machine("web")})
    site.settle()
    assert site.subjects() == [
        "web is running",
        "schedule web onto host-0; announce host-0, host-1",
        "change",
    ]


@pytest.mark.parametrize(
    ("broken", "folder"),
    [
        pytest.param(machine("a") + "oops: [", "deleting", id="its content is unreadable"),
        pytest.param(machine("a", spec="  power: Sideways\n"), "frozen", id="it names the object"),
    ],
)
def test_an_object_whose_manifest_is_malformed_stays_when_another_takes_its_file(
    site: Site, broken: str, folder: str
) -> None:
    site.people.push({"m/a.yaml": machine("a"), "m/b.yaml": machine("b"), "m/c.yaml": machine("c")})
    site.settle()
    before = site.states()["a"]
    site.people.push({"m/a.yaml": machine("d"), "n/a.yaml": broken})
    site.settle()
    path = f".gitvirt/{folder}/Machine/default/a.yaml"
    assert "deletionTimestamp" not in site.live()[path]
    assert (site.states()["a"], site.states()["d"][1]) == (before, "Running")
    site.people.push({"n/a.yaml": machine("a", "   # fixed")})
    site.settle()
    assert site.states()["a"] == before
    assert "# fixed" in site.live()["n/a.yaml"]
    assert path not in site.live()
    assert sum(len(host.made) for host in site.hosts) == 4


def test_what_is_declared_again_while_it_goes_comes_back_as_another(site: Site) -> None:
    site.people.push({f"m/{name}.yaml": machine(name) for name in "abcde"})
    site.settle()
    site.people.push({"m/a.yaml": None})
    site.reconciler.tick(site.clock)
    site.people.push({"m/a.yaml": machine("a", "   # again")})
    site.settle()
    assert site.states()["a"][1] == "Running"
    assert "# again" in site.live()["m/a.yaml"]
    assert not [path for path in site.live() if path.startswith(".gitvirt/deleting/")]
    assert sum(len(host.made) for host in site.hosts) == 6
    assert sum(len(host.running) for host in site.hosts) == 5


def test_two_documents_in_one_file_go_their_own_ways(site: Site) -> None:
    both = machine("a") + "---\n" + machine("b")
    site.people.push({"m/ab.yaml": both} | {f"m/{name}.yaml": machine(name) for name in "cdef"})
    site.settle()
    site.people.push({"m/ab.yaml": machine("b")})
    site.settle()
    assert "a" not in site.states()
    assert site.states()["b"][1] == "Running"
    site.people.push({"m/ab.yaml": None, "n/b.yaml": machine("b")})
    site.settle()
    assert site.states()["b"][1] == "Running"
    assert "m/ab.yaml" not in site.live()
    assert sum(len(host.made) for host in site.hosts) == 6
