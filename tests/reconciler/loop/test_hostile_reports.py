"""One report never stops the fleet: whatever is on one ref, machines of all other hosts are placed, and the reason is shown."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.bench_hostile_reports import measure
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.loop.outcome import Committed, NoChange, TickBlocked
from schemas.kinds import Kind
from schemas.problem import Problem
from tests.reconciler.gitstore import hostile_reports
from tests.reconciler.gitstore.hostile_reports import PUSHABLE, UNSENDABLE, point, remove
from tests.reconciler.gitstore.worlds import MirrorWorld
from tests.reconciler.loop.fleet import REPORTS, SETTINGS, SMALL, Cast, machine
from tests.servers import repository
from tests.servers.places import Place

pytestmark = pytest.mark.timeout(300)
EVIL = REPORTS + "evil"
POOL = "apiVersion: compute.ironcore.dev/v1alpha1\nkind: MachinePool\n"


class Site(Cast):
    """Two hosts, host-0 and host-1, and whoever may push refs/poollets/evil."""

    def __init__(
        self,
        folder: Path,
        settings: str = "",
        pool: str = "",
        garbage: Callable[[Path], ObjectId] | None = None,
    ) -> None:
        self.world = MirrorWorld(folder)
        super().__init__(self.world, ["host-0", "host-1"], 50)
        files = {"gitvirt.yaml": SETTINGS + settings, "classes/small.yaml": SMALL}
        if pool:
            files["pool.yaml"] = f"{POOL}metadata:\n  name: {pool}\n"
        self.people.push(files)
        if garbage is not None:
            point(self.repo, EVIL, garbage(self.repo))
        else:
            self.settle()

    @property
    def repo(self) -> Path:
        return self.world.repo

    def place(self, name: str) -> None:
        """A machine of that name is declared, and placed in the next tick."""
        self.people.push({f"m/{name}.yaml": machine(name)})
        self.tick()
        found = next(each for each in self.on_live(Kind.MACHINE) if each.key.name == name)
        assert found.body["status"]["assignment"]["pool"] in ("host-0", "host-1")

    def tick(self) -> None:
        self.clock.go(1)
        outcome = self.reconciler.tick(self.clock)
        assert isinstance(outcome, Committed | NoChange), outcome

    def fault(self, name: str = "evil") -> str:
        return self.reconciler.world.reports.by_poollet[name].fault

    def find_refusals(self, name: str = "evil") -> list[Problem]:
        outcome = self.reconciler.tick(self.clock)
        assert isinstance(outcome, Committed | NoChange), outcome
        return [
            each
            for each in outcome.plan.problems
            if each.code == "GV621" and f"the report of {name} is refused" in each.message
        ]

    def conditions(self, pool: str) -> dict[str, tuple[str, str]]:
        found = next(each for each in self.on_live(Kind.MACHINE_POOL) if each.key.name == pool)
        return {
            each["type"]: (each["status"], each.get("message", ""))
            for each in found.body["status"]["conditions"]
        }


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    yield made
    made.world.close()


@pytest.mark.parametrize("case", PUSHABLE)
def test_what_a_key_can_push_stops_no_other_machine(site: Site, case: str) -> None:
    make, words = PUSHABLE[case]
    point(site.repo, EVIL, make(site.repo))
    site.place("web")
    [problem] = site.find_refusals()
    assert words in problem.message
    remove(site.repo, EVIL)
    site.place("later")
    assert not site.find_refusals()


@pytest.mark.parametrize("case", UNSENDABLE)
def test_what_the_server_cannot_send_stops_no_other_machine(site: Site, case: str) -> None:
    point(site.repo, EVIL, UNSENDABLE[case](site.repo))
    site.place("web")
    [problem] = site.find_refusals()
    assert "cannot be read" in problem.message
    remove(site.repo, EVIL)
    site.place("later")
    assert not site.find_refusals()


@pytest.mark.parametrize("remote", ["http", "ssh"], indirect=True)
@pytest.mark.parametrize("case", ["a missing blob", "a malformed tree"])
def test_a_ref_that_the_server_cannot_send_stops_no_other_over_a_network(
    remote: Place, tmp_path: Path, case: str
) -> None:
    client = MirrorWorld(tmp_path, remote)
    good = hostile_reports.put_commit(remote.repo, hostile_reports.put_tree(remote.repo))
    point(remote.repo, EVIL, UNSENDABLE[case](remote.repo))
    point(remote.repo, "refs/heads/main", good)
    point(remote.repo, REPORTS + "a", good)
    transport = remote.transport(tmp_path)
    store = client.client()
    store._transport = transport.__class__(
        client.mirrors[0].repo, transport.address, transport.access, transport.ambient
    )
    found = store.snapshot()
    assert found.reports == {"a": good}  # type: ignore[union-attr]
    assert found.unfetched.keys() == {"evil"}  # type: ignore[union-attr]
    client.close()


def test_several_broken_refs_do_not_hide_the_good_ones(site: Site) -> None:
    for number in range(3):
        point(site.repo, f"{EVIL}-{number}", hostile_reports.missing_blob(site.repo))
    good = {f"good-{number}" for number in range(5)}
    for name in good:
        point(site.repo, REPORTS + name, hostile_reports.unknown_mode(site.repo))
    site.place("web")
    known = site.reconciler.world.reports.by_poollet
    assert {name for name, each in known.items() if each.is_retried} == {f"evil-{n}" for n in range(3)}
    assert {name for name, each in known.items() if "unknown mode" in each.fault} == good


def test_a_report_that_is_repaired_on_the_server_is_read_again(site: Site) -> None:
    """The id of its commit stays the same."""
    commit = hostile_reports.missing_blob(site.repo)
    point(site.repo, EVIL, commit)
    site.tick()
    assert site.fault()
    lost = repository.git(site.repo, "hash-object", "-w", "--stdin", given="{}")
    tree = hostile_reports.put_tree(site.repo, f"100644 blob {lost}\tpoollet.json")
    good = hostile_reports.put_commit(site.repo, tree)
    point(site.repo, EVIL, good)
    site.tick()
    assert not site.fault()


class TestAFleetThatHasNoLiveYet:
    """A ref that no poollet wrote, from the start on."""

    @pytest.mark.parametrize(
        "make", [hostile_reports.blob, hostile_reports.tree, hostile_reports.annotated_tag]
    )
    def test_starts_although_a_ref_holds_garbage(
        self, tmp_path: Path, make: Callable[[Path], ObjectId]
    ) -> None:
        site = Site(tmp_path, garbage=make)
        site.settle()
        site.place("web")
        [problem] = site.find_refusals()
        assert "and not a commit" in problem.message
        site.world.close()

    @pytest.mark.parametrize(
        ("settings", "pool"), [("poollets:\n  evil: {}\n", ""), ("", "evil"), ("", "evil-1")]
    )
    def test_waits_for_a_host_that_people_declare(self, tmp_path: Path, settings: str, pool: str) -> None:
        site = Site(tmp_path, settings, pool, garbage=hostile_reports.blob)
        outcome = site.reconciler.tick(site.clock)
        assert isinstance(outcome, TickBlocked)
        assert "evil (its report is refused)" in outcome.reason
        site.world.close()

    def test_waits_for_a_host_whose_commit_cannot_be_read(self, tmp_path: Path) -> None:
        site = Site(tmp_path, garbage=hostile_reports.commit_without_author)
        assert isinstance(site.reconciler.tick(site.clock), TickBlocked)
        site.world.close()


class TestAHostWhoseReportCannotBeRead:
    def test_keeps_its_pool_and_its_machines_until_its_heartbeat_expires(self, site: Site) -> None:
        site.place("web")
        pool = next(each.body["status"]["assignment"]["pool"] for each in site.on_live(Kind.MACHINE))
        other = next(host for host in site.hosts if host.name != pool)
        point(site.repo, REPORTS + pool, hostile_reports.blob(site.repo))
        site.tick()
        assert site.fault(pool) == "it is a blob and not a commit"
        conditions = site.conditions(pool)
        assert conditions["Ready"][0] == "True"
        status, message = conditions["ReportUnreadable"]
        assert (status, "the report of" in message, "is a blob" in message) == ("True", True, True)
        for _ in range(8):  # until the heartbeat timeout
            site.clock.go(10)
            other.work()
            site.tick()
        ready, message = site.conditions(pool)["Ready"]
        assert (ready, "is a blob and not a commit" in message) == ("Unknown", True)
        [machine_now] = site.on_live(Kind.MACHINE)
        assert machine_now.body["status"]["assignment"]["pool"] == pool, "nothing is given away"

    def test_gets_nothing_new_and_is_used_again_at_once(self, site: Site) -> None:
        pool = "host-0"
        good = site.world.refs()[REPORTS + pool]
        point(site.repo, REPORTS + pool, hostile_reports.annotated_tag(site.repo))
        site.hosts = [host for host in site.hosts if host.name != pool]
        for number in range(3):
            site.place(f"web-{number}")
        assert {each.body["status"]["assignment"]["pool"] for each in site.on_live(Kind.MACHINE)} == {
            "host-1"
        }
        point(site.repo, REPORTS + pool, good)
        site.tick()
        assert not site.fault(pool)
        assert "ReportUnreadable" not in site.conditions(pool)

    def test_a_new_commit_each_time_is_no_news_each_time(self, site: Site) -> None:
        pool = "host-0"
        for number in range(4):
            point(site.repo, REPORTS + pool, hostile_reports.put_blob(site.repo, f"hello {number}\n"))
            before = site.world.refs()["refs/heads/live"]
            site.tick()
            assert (site.world.refs()["refs/heads/live"] == before) is (number > 0)


def seconds_of(site: Site) -> float:
    """User and system time of this process and of its git, of the best of three ticks."""
    best = 99.0
    for _ in range(3):
        before = sum(os.times()[:4])
        start = time.monotonic()
        site.tick()
        best = min(best, sum(os.times()[:4]) - before, time.monotonic() - start)
    return best


def test_ten_thousand_refs_of_no_host_cost_a_tick_less_than_a_second(site: Site) -> None:
    commit: ObjectId = hostile_reports.put_commit(site.repo, hostile_reports.put_tree(site.repo))
    lines = [f"{commit} {REPORTS}nobody-{number:05}\n" for number in range(10_000)]
    (site.repo / "packed-refs").write_text("# pack-refs with: peeled fully-peeled sorted \n" + "".join(lines))
    assert seconds_of(site) < 1
    known = site.reconciler.world.reports.by_poollet
    assert len(known) == 10_002, "none of them passes for absent"
    outcome = site.reconciler.tick(site.clock)
    assert isinstance(outcome, NoChange)
    assert len([each for each in outcome.plan.problems if each.code == "GV621"]) == 21


def test_the_size_of_a_report_is_limited_over_all_its_commits(site: Site) -> None:
    """A report that grows a little with each push ends at the same limits."""
    entry = hostile_reports.put_blob(site.repo, hostile_reports.ENTRY)
    lines: list[str] = []
    for step in range(3):
        lines += [f"100644 blob {entry}\tm{step}-{number}.json" for number in range(9_000)]
        machines = hostile_reports.put_tree(site.repo, *lines)
        below = hostile_reports.put_tree(site.repo, f"040000 tree {machines}\tdefault")
        tree = hostile_reports.put_tree(site.repo, f"040000 tree {below}\tmachines")
        point(site.repo, EVIL, hostile_reports.put_commit(site.repo, tree))
        site.tick()
        assert site.fault() == ("it has more than 20,000 files" if step == 2 else "")


def test_the_peak_memory_stays_near_that_without_a_hostile_report() -> None:
    """All cases, and larger ones, are measured by bench/bench_hostile_reports.py."""
    normal = measure("normal", machines=200)["own"]
    for case in ("4 million machines", "600,000 values"):
        assert measure(case, machines=200)["own"] < 1.2 * normal


def test_a_poollet_that_pushed_two_reports_that_are_too_large_may_report_again(site: Site) -> None:
    """What was counted of them counts no more."""
    good = repository.git(site.repo, "rev-parse", f"{REPORTS}host-0").strip()
    for width in (200, 201):
        point(site.repo, EVIL, hostile_reports.names(site.repo, width))
        site.tick()
        assert site.fault() == "it has more than 20,000 files"
    point(site.repo, EVIL, good)
    site.tick()
    assert site.fault() == ""
