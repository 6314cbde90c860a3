"""Whose the report ref is: taken at once by its own host, watched when another host has it, given up when that one lives."""

from __future__ import annotations

import pytest

from poollet.sync.report_lease import Claim, Claimant, Found, Take, Wait, Yield
from schemas.report import PoolletReport
from tests.poollet.fleet import FLEET, uid

pytestmark = pytest.mark.clock

GRACE_MS = 50_000


def by(host: str, instance: int, leaving: str | None = None, interval: str = "10s") -> PoolletReport:
    return PoolletReport(
        fleet=FLEET,
        name="host-1",
        host_id=host,
        instance=uid(instance),
        interval=interval,
        leaving=leaving,  # type: ignore[arg-type]
    )


def claimant(has_landed: bool = False) -> Claimant:
    return Claimant("host-1", "mine", uid(1), has_landed)


@pytest.mark.parametrize(
    ("found", "want"),
    [
        (Found(None, None), Take()),
        (Found("c1", by("mine", 7)), Take()),
        (Found("c1", by("mine", 7, "stopping")), Take()),
        (Found("c1", by("other", 7, "leaving")), Take()),
        (Found("c1", by("mine", 1)), Take()),
    ],
)
def test_what_is_free_or_ones_own_is_taken_at_once(found: Found, want: Claim) -> None:
    assert claimant().judge(found, 0) == want


@pytest.mark.parametrize("found", [by("other", 7), by("other", 7, "stopping"), None])
def test_a_dead_host_is_followed_after_a_grace(found: PoolletReport | None) -> None:
    one = claimant()
    first = one.judge(Found("c1", found), 1000)
    assert isinstance(first, Wait)
    assert first.until_ms == 1000 + GRACE_MS
    assert isinstance(one.judge(Found("c1", found), 1000 + GRACE_MS - 1), Wait)
    assert one.judge(Found("c1", found), 1000 + GRACE_MS) == Take()


def test_the_grace_is_the_one_that_the_other_names() -> None:
    found = claimant().judge(Found("c1", by("other", 7, interval="1m")), 0)
    assert isinstance(found, Wait)
    assert found.until_ms == 300_000


def test_a_host_that_lives_keeps_its_name() -> None:
    one = claimant()
    assert isinstance(one.judge(Found("c1", by("other", 7)), 0), Wait)
    found = one.judge(Found("c2", by("other", 7)), 100)
    assert isinstance(found, Yield)
    assert "the host other writes its report, and this host is mine" in found.message


@pytest.mark.parametrize("other", [by("other", 7), by("mine", 7), None])
def test_who_is_overtaken_goes(other: PoolletReport | None) -> None:
    assert isinstance(claimant(has_landed=True).judge(Found("c2", other), 0), Yield)


def test_a_report_that_was_restored_or_deleted_is_written_again() -> None:
    one = claimant()
    assert one.judge(Found("c1", by("mine", 7)), 0) == Take()
    one.has_landed = True
    assert one.judge(Found("c1", by("mine", 7)), 9) == Take()
    assert one.judge(Found(None, None), 9) == Take()
    assert one.judge(Found("c0", by("mine", 1)), 9) == Take()
