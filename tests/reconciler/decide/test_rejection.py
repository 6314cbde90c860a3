from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from reconciler.decide.apply_report import next_retry, record_rejection
from reconciler.world.record import active_rejections, retry_at, stamp
from schemas.model import Assignment, Rejection
from schemas.report.objects import ReportedReason

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
FULL = ReportedReason(code="InsufficientCapacity", message="memory is short", need="4Gi", have="1Gi")
IMAGE = ReportedReason(code="ImageMissing", message="no such image")


def test_a_rejection_is_kept_with_all_its_reasons() -> None:
    (found,) = record_rejection((), Assignment(pool="a", id="1"), (FULL, IMAGE), NOW)
    assert found == Rejection(
        pool="a",
        assignment="1",
        reason="InsufficientCapacity",
        message="memory is short (needs 4Gi, has 1Gi); no such image",
        count=1,
        time="2026-03-01T12:00:00Z",
    )


def test_each_pool_is_counted_by_itself() -> None:
    first = record_rejection((), Assignment(pool="b", id="1"), (FULL,), NOW)
    second = record_rejection(first, Assignment(pool="a", id="2"), (), NOW)
    third = record_rejection(second, Assignment(pool="b", id="3"), (IMAGE,), NOW)
    assert [(each.pool, each.count, each.assignment) for each in third] == [("a", 1, "2"), ("b", 2, "3")]
    assert third[0].message == "no reason given"


@pytest.mark.parametrize(
    ("count", "seconds"), [(1, 10), (2, 20), (3, 40), (6, 320), (7, 600), (50, 600), (10**6, 600)]
)
def test_the_backoff_doubles_up_to_ten_minutes(count: int, seconds: int) -> None:
    rejection = Rejection(pool="a", count=count, time=stamp(NOW))
    assert retry_at(rejection) == NOW + timedelta(seconds=seconds)
    assert active_rejections((rejection,), NOW + timedelta(seconds=seconds - 1)) == (rejection,)
    assert active_rejections((rejection,), NOW + timedelta(seconds=seconds)) == ()


def test_the_next_retry_is_the_end_of_the_shortest_backoff() -> None:
    both = (
        Rejection(pool="a", count=3, time=stamp(NOW)),
        Rejection(pool="b", count=2, time=stamp(NOW)),
        Rejection(pool="c", time="yesterday"),
    )
    assert next_retry(both, NOW) == NOW + timedelta(seconds=20)
    assert next_retry((), NOW) is None
