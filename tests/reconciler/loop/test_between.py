"""What happens between a tick's read and its push: no edit is lost, and no push is overwritten."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reconciler.gitstore.memory import MemoryObjects, MemoryTransport
from reconciler.gitstore.remote.transport import RemoteErrorKind, RemoteUnavailable
from reconciler.gitstore.repo import Refs
from reconciler.gitstore.store import Store
from reconciler.gitstore.waker import Waker
from reconciler.loop.health import HealthCause
from reconciler.loop.loop import STALLED_SECONDS, Loop, LoopIntervals
from reconciler.loop.outcome import Committed, Conflict, Failed, NoChange, Outcome, TickBlocked
from reconciler.loop.tick import Reconciler
from reconciler.write.tick_commit import CommitIdentity
from tests.reconciler.gitstore.worlds import MemoryWorld
from tests.reconciler.loop.fleet import (
    LIVE,
    SETTINGS,
    SMALL,
    Clock,
    Host,
    People,
    machine,
    reconciler,
    settle,
    take_snapshot,
    texts,
)


class Site:
    """`before_push` happens once, right before the reconciler's next push."""

    def __init__(self) -> None:
        self.world = MemoryWorld()
        self.clock = Clock()
        self.people = People(self.world.client(), self.clock)
        self.host = Host(self.world.client(), "host-0", self.clock)
        self.before_push: list[Callable[[], object]] = []
        self.is_gone = False
        objects = MemoryObjects(self.world.remote)
        self.reconciler = reconciler(Store(objects, MemoryTransport(objects, self._fault), Refs()))
        self.people.push(
            {"gitvirt.yaml": SETTINGS, "classes/small.yaml": SMALL, "m/web.yaml": machine("web")}
        )

    def _fault(self, call: str, when: str) -> RemoteUnavailable | None:
        if (call, when) == ("push", "before") and self.before_push:
            self.before_push.pop()()
        return RemoteUnavailable(RemoteErrorKind.NETWORK, "gone", "wait") if self.is_gone else None

    def live(self) -> dict[str, str]:
        looker = self.world.client()
        return texts(looker, take_snapshot(looker).target)

    def settle(self) -> None:
        settle([self.reconciler], [self.host], self.clock)


@pytest.fixture
def site() -> Site:
    return Site()


def test_an_edit_to_the_same_file_between_read_and_push_is_taken_next(site: Site) -> None:
    site.host.work()
    site.before_push.append(lambda: site.people.push({"m/web.yaml": machine("web", "   # in between")}))
    assert isinstance(site.reconciler.tick(site.clock), Committed)
    assert "# in between" not in site.live()["m/web.yaml"]
    site.settle()
    assert "  name: web   # in between\n" in site.live()["m/web.yaml"]
    assert "state: Running" in site.live()["m/web.yaml"]


def test_a_file_that_goes_between_read_and_push_goes_next(site: Site) -> None:
    site.people.push({f"m/{name}.yaml": machine(name) for name in ("a", "b", "c")})
    site.settle()
    site.people.push({"m/a.yaml": machine("a", "   # last words")})
    site.before_push.append(lambda: site.people.push({"m/a.yaml": None}))
    site.settle()
    assert "m/a.yaml" not in site.live()
    assert len(site.host.running) == 3


def test_who_loses_the_race_reads_again_and_writes_nothing_twice(site: Site) -> None:
    site.host.work()
    other = reconciler(site.world.client(), "other")
    site.before_push.append(lambda: other.tick(site.clock))
    assert isinstance(site.reconciler.tick(site.clock), Conflict)
    site.settle()
    assert len(site.host.made) == 1


def test_a_stray_commit_on_the_target_branch_is_undone(site: Site) -> None:
    site.settle()
    before = site.live()
    stray = People(site.world.client(), site.clock)
    head = take_snapshot(stray.repo)
    site.world.move("refs/heads/main", head.target or "")
    stray.push({"m/web.yaml": before["m/web.yaml"] + "# mine now\n", "x.yaml": "a: 1"})
    site.world.move(LIVE, site.world.refs()["refs/heads/main"])
    site.world.move("refs/heads/main", head.source or "")
    site.settle()
    assert site.live() == before


REFUSALS = (
    pytest.param(lambda world: world.refuse("not you"), "refused", "not you", id="refused"),
    pytest.param(lambda world: world.go_away(True), "network", "gone", id="gone"),
)


@pytest.mark.parametrize(("harm", "trouble", "cause"), REFUSALS)
def test_what_the_remote_does_is_an_outcome(
    harm: Callable[[MemoryWorld], None], trouble: str, cause: str
) -> None:
    world, clock = MemoryWorld(), Clock()
    People(world.client(), clock).push({"gitvirt.yaml": SETTINGS, "m/web.yaml": machine("web")})
    mine = Reconciler(world.client(), Refs(), CommitIdentity("one"))
    harm(world)
    outcome = mine.tick(clock)
    assert isinstance(outcome, Failed)
    assert outcome.trouble == trouble
    assert cause in outcome.cause


@pytest.mark.parametrize(
    ("files", "words"),
    [
        pytest.param(None, "no commits yet", id="a repo without commits"),
        pytest.param({"m/web.yaml": machine("web")}, "gitvirt.yaml", id="no settings"),
        pytest.param({"gitvirt.yaml": "fleet: {"}, "", id="broken settings"),
    ],
)
def test_a_repo_that_is_no_fleet_yet_is_waited_for(files: dict[str, str] | None, words: str) -> None:
    world, clock = MemoryWorld(), Clock()
    if files:
        People(world.client(), clock).push(files)
    outcome = reconciler(world.client()).tick(clock)
    assert isinstance(outcome, TickBlocked)
    assert words in outcome.reason
    assert LIVE not in world.refs()


def paces(reconciler: Reconciler, pace: LoopIntervals, clock: Clock) -> Loop:
    def never(_refs: Refs, _before: Reconciler) -> Reconciler:
        raise AssertionError("no other refs")

    return Loop(reconciler, never, Waker(), pace, clock=clock)


def test_pushes_keep_their_distance_and_what_came_meanwhile_goes_together(site: Site) -> None:
    loop = paces(site.reconciler, LoopIntervals(10, push=30), site.clock)
    assert loop.step() == 30
    for name in ("a", "b", "c"):
        site.people.push({f"m/{name}.yaml": machine(name)})
    before = site.world.refs()[LIVE]
    assert loop.step() == 30
    looker = site.world.client()
    take_snapshot(looker)
    made = list(looker.commits(site.world.refs()[LIVE], before))
    assert len([each for each in made if b"Reconciler: one" in looker.read(each)]) == 1


def test_the_fleet_says_how_far_apart_pushes_are(site: Site) -> None:
    site.people.push({"gitvirt.yaml": SETTINGS + "limits:\n  pushInterval: 7s\n"})
    assert paces(site.reconciler, LoopIntervals(10), site.clock).step() == 7


def test_health_follows_the_ticks(site: Site) -> None:
    loop = paces(site.reconciler, LoopIntervals(10, push=0), site.clock)
    assert not loop.health().is_well
    loop.step()
    assert loop.health().is_well
    site.is_gone = True
    pauses = [loop.step() for _ in range(8)]
    assert max(pauses) > 30
    site.clock.go(61)
    found = loop.health()
    assert found[:2] == (False, "network: gone; last success 1m1s ago")
    assert [each.cause for each in found.problems] == [HealthCause.NO_SUCCESS]


def test_health_says_that_the_source_is_held_until_it_is_approved(site: Site) -> None:
    loop = paces(site.reconciler, LoopIntervals(10, push=0), site.clock)
    loop.step()
    first = site.world.refs()["refs/heads/main"]
    site.people.push({"m/late.yaml": machine("late")})
    loop.step()
    loop.step()
    assert loop.health().is_well
    site.world.move("refs/heads/main", first)
    loop.step()
    found = loop.health()
    assert not found.is_well
    (problem,) = found.problems
    assert problem.cause is HealthCause.SOURCE_HELD
    assert problem.cure.startswith("Gitvirt-Approve: ")
    assert loop.is_live()


def test_health_says_that_the_source_branch_is_missing(site: Site) -> None:
    loop = paces(site.reconciler, LoopIntervals(10, push=0), site.clock)
    loop.step()
    site.world.delete("refs/heads/main")
    loop.step()
    found = loop.health()
    assert not found.is_well
    assert "main" in found.words
    assert {each.cause for each in found.problems} <= {HealthCause.BLOCKED, HealthCause.SOURCE_HELD}


def test_a_loop_whose_ticks_do_not_end_is_not_live(site: Site) -> None:
    loop = paces(site.reconciler, LoopIntervals(10, push=0), site.clock)
    loop.steady = site.clock
    loop.step()
    assert loop.is_live()
    site.clock.go(STALLED_SECONDS + 1)
    assert not loop.is_live()


def test_settings_that_name_other_branches_are_followed() -> None:
    world, clock = MemoryWorld(), Clock()
    settings = SETTINGS + "branches:\n  source: main\n  target: state\n"
    People(world.client(), clock).push({"gitvirt.yaml": settings, "classes/small.yaml": SMALL})
    opened: list[Refs] = []

    def open(refs: Refs, before: Reconciler) -> Reconciler:
        opened.append(refs)
        return Reconciler(world.client(refs), refs, before.who)

    loop = Loop(reconciler(world.client()), open, Waker(), LoopIntervals(0), clock=clock)
    assert isinstance(loop.run_once(), NoChange)
    assert [refs.target for refs in opened] == ["refs/heads/state"]
    assert LIVE not in world.refs()
    assert "refs/heads/state" in world.refs()


def test_without_a_branch_of_the_usual_name_the_default_one_is_read() -> None:
    world, clock = MemoryWorld(), Clock()
    People(world.client(), clock).push({"gitvirt.yaml": SETTINGS + "branches:\n  source: trunk\n"})
    world.move("refs/heads/trunk", world.refs()["refs/heads/main"])
    world.delete("refs/heads/main")
    world.remote.default_branch = "refs/heads/trunk"

    def run_once() -> Outcome:
        """By a process that has just started."""
        loop = Loop(
            reconciler(world.client()),
            lambda refs, before: Reconciler(world.client(refs), refs, before.who),
            Waker(),
            LoopIntervals(0),
            clock=clock,
        )
        return loop.run_once()

    assert isinstance(run_once(), NoChange)
    assert LIVE in world.refs()
    # From now on `live` says which branch is the source, whatever the default branch is.
    world.remote.default_branch = "refs/heads/other"
    assert isinstance(run_once(), NoChange)
    world.delete("refs/heads/trunk")
    blocked = run_once()
    assert isinstance(blocked, TickBlocked)
    assert "refs/heads/trunk does not exist" in blocked.reason


def test_progress_waits_for_the_next_commit_however_long_that_takes(site: Site) -> None:
    site.settle()
    before = site.world.refs()[LIVE]
    for number in range(3):
        site.host.words = f"word {number}"
        site.host.work()
        site.clock.go(3600)
        assert isinstance(site.reconciler.tick(site.clock), NoChange)
    assert site.world.refs()[LIVE] == before
    site.people.push({"README.md": "news"})
    assert isinstance(site.reconciler.tick(site.clock), Committed)
    assert "word 2" in site.live()["m/web.yaml"]


def test_another_process_takes_the_progress_along_as_well(site: Site) -> None:
    site.settle()
    site.host.words = "a word"
    site.host.work()
    assert isinstance(site.reconciler.tick(site.clock), NoChange)
    site.people.push({"README.md": "news"})
    assert isinstance(reconciler(site.world.client(), "other").tick(site.clock), Committed)
    assert "a word" in site.live()["m/web.yaml"]


def test_progress_that_lost_its_push_is_not_forgotten(site: Site) -> None:
    site.settle()
    site.host.words = "a word"
    site.host.work()
    assert isinstance(site.reconciler.tick(site.clock), NoChange)
    site.people.push({"README.md": "news"})
    other = reconciler(site.world.client(), "other")
    site.before_push.append(lambda: other.tick(site.clock))
    assert isinstance(site.reconciler.tick(site.clock), Conflict)
    site.people.push({"README.md": "more"})
    assert isinstance(site.reconciler.tick(site.clock), Committed)
    assert "a word" in site.live()["m/web.yaml"]
