"""Whom a lost live waits for: named, with why and what ends it, in the log's words and in the plan's."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pytest

from reconciler.decide.compose import pending_approvals
from reconciler.gitstore.repo import Refs
from reconciler.gitstore.waker import Waker
from reconciler.loop.loop import Loop, LoopIntervals
from reconciler.loop.outcome import Committed, TickBlocked
from reconciler.loop.tick import Reconciler
from reconciler.world.reports.recovery_wait import MissingHost, Why, words
from tests.reconciler.lifecycle.hosts import Fleet, Host
from tests.reconciler.lifecycle.test_lives import fleet
from tests.reconciler.world.scene import LIVE, REPORTS, machine

WAITING = "live was lost; gitvirt writes live again once every known host has reported. Waiting for "
REFS = "refs/heads/gitvirt/poollets/"
WAY_OUT = (
    ". Start those that are down; remove the report of one only when it is gone for good, because gitvirt then "
    f"places a second time whatever that host still runs: git push origin --delete {REFS}NAME"
)


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param([("a", Why.SILENT)], f"a (silent){WAY_OUT}", id="one"),
        pytest.param(
            [("a", Why.UNPROVEN), ("b", Why.UNREADABLE), ("c", Why.REFUSED)],
            "b (what it reports cannot be read), c (its report is refused), a (not seen to report yet). "
            f"The report {REFS}NAME of b, c is not usable. If the host runs: stop every reconciler; "
            f"`git push origin --delete {REFS}NAME`; wait until `git ls-remote origin {REFS}NAME` shows it again; "
            f"start one reconciler{WAY_OUT}",
            id="those that may be heard in a moment come last",
        ),
        pytest.param(
            [("a", Why.GONE)],
            "a (its report was removed less than its heartbeat timeout ago)",
            id="nothing is left to do",
        ),
        pytest.param(
            [(name, Why.SILENT) for name in "abcde"],
            f"a (silent), b (silent), c (silent), d (silent), e (silent){WAY_OUT}",
            id="as many as are named",
        ),
        pytest.param(
            [
                ("rack-a1", Why.UNREPORTED, "it's"),
                *((f"z{number}", Why.UNREPORTED, "id") for number in range(9)),
            ],
            "rack-a1 (live grants this pool to a host that has no report), "
            + "".join(
                f"z{number} (live grants this pool to a host that has no report), " for number in range(4)
            )
            + "5 more. Start the hosts without a report: pool rack-a1 hostID it's, pool z0 hostID id, pool z1 hostID id, "
            "pool z2 hostID id, pool z3 hostID id. Declare a host destroyed only if it is gone for good and powered off, because "
            "gitvirt then places a second time whatever that host still runs: gitvirt pool destroyed POOL HOSTID",
            id="no command is ready to declare hosts destroyed that run",
        ),
        pytest.param(
            [("first", Why.UNPROVEN), *((f"host{number:04}", Why.SILENT) for number in range(1_204))],
            "host0000 (silent), host0001 (silent), host0002 (silent), host0003 (silent), host0004 (silent), 1,200 more"
            + WAY_OUT,
            id="more",
        ),
    ],
)
def test_names_why_and_what_ends_it(given: list[tuple[str, Why] | tuple[str, Why, str]], want: str) -> None:
    assert words([MissingHost(*each) for each in given], REFS) == WAITING + want


def why_waiting(world: Fleet) -> str:
    """What is waited for, as a tick says it; a plan says the same."""
    outcome = world.tick(seconds=10)
    assert isinstance(outcome, TickBlocked), outcome
    (plans,) = pending_approvals(world.reconciler.world)
    assert plans.reason == outcome.reason
    return outcome.reason


def test_the_log_says_until_when_each_is_waited_for() -> None:
    """What waits for a time has one; the rest waits for people, and the date of the last report helps them to find the host."""
    world = fleet(*(Host(name) for name in "abc"), web=machine("web"))
    for ref in (LIVE, REPORTS + "a"):
        del world.remote.refs[ref], world.heads[ref]
    began = world.now
    world.tick()
    outcome = world.tick(seconds=10)
    assert isinstance(outcome, TickBlocked)
    times = [end.split(" until ", 1) for end in outcome.ends.split("; ")]
    assert [name for name, _ in times] == ["a", "b", "c"]
    until = {name: datetime.fromisoformat(end.split(",")[0]) for name, end in times}
    assert all(began < each <= began + timedelta(seconds=120) for each in until.values())
    assert times[1][1].endswith(", and then until it reports")
    for _ in range(8):
        world.edit_report("c")
        outcome = world.tick(seconds=10)
    assert isinstance(outcome, TickBlocked)
    assert re.fullmatch(r"b until it reports \(last report \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\)", outcome.ends)


def test_it_is_logged_once_while_only_time_passes(caplog: pytest.LogCaptureFixture) -> None:
    world = fleet(Host("a"), web=machine("web"))
    world.tick(seconds=300)
    del world.remote.refs[LIVE], world.heads[LIVE]

    def clock() -> datetime:
        world.now += timedelta(seconds=10)
        return world.now

    def never(refs: Refs, before: Reconciler) -> Reconciler:
        raise AssertionError(refs, before)

    loop = Loop(world.reconciler, never, Waker(), LoopIntervals(0), clock=clock, steady=clock)
    with caplog.at_level("WARNING", logger="reconciler.loop.loop"):
        for _ in range(3):
            loop._tick()
    (line,) = [each for each in caplog.messages if each.startswith("blocked ")]
    assert re.search(r" waits_for=a until it reports \(last report \S+Z\)$", line), line


def test_each_is_named_until_it_has_reported() -> None:
    world = fleet(*(Host(name) for name in "abcd"), web=machine("web"))
    for ref in (LIVE, REPORTS + "a"):
        del world.remote.refs[ref], world.heads[ref]
    world.tick()
    for name in "bcd":
        world.edit_report(name)
    assert why_waiting(world) == f"{WAITING}a (its report was removed less than its heartbeat timeout ago)"
    world.edit_report("b", {"machines/default/odd.json": b"{"})
    assert (
        f"{WAITING}a (its report was removed less than its heartbeat timeout ago), b (what it reports cannot"
        in why_waiting(world)
    )
    for _ in range(8):
        world.edit_report("b")
        world.edit_report("d")
        world.tick(seconds=10)
    assert f"{WAITING}b (what it reports cannot be read), c (silent). The report" in why_waiting(world)
    world.reconciler = world.another()
    reason = why_waiting(world)
    assert (
        "b (not seen to report yet), c (not seen to report yet), d (not seen to report yet). Start" in reason
    )
    assert reason.endswith(": git push origin --delete refs/poollets/NAME")
    world.edit_report("b", {"machines/default/odd.json": None})
    for name in "cd":
        world.edit_report(name)
    assert isinstance(world.tick(), Committed)
