"""Whom a lost live waits for: named, with why and what ends it, in the log's words and in the plan's."""

from __future__ import annotations

import pytest

from reconciler.decide.compose import pending_approvals
from reconciler.loop.outcome import Committed, TickBlocked
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
