"""Who said no: how long a pool that rejected an object is not asked again. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from reconciler.record import moment, stamp
from schemas.model import Assignment, Rejection
from schemas.report.objects import Reason

FIRST = timedelta(seconds=10)
LONGEST = timedelta(minutes=10)
Rejections = tuple[Rejection, ...]


def noted(
    before: Sequence[Rejection], of: Assignment, reasons: Sequence[Reason], now: datetime
) -> Rejections:
    """With the refusal of one more assignment. One entry a pool, in the order of their names."""
    earlier = {each.pool: each for each in before}
    last = earlier.get(of.pool)
    first = reasons[0] if reasons else Reason(code="Rejected", message="it did not say why")
    earlier[of.pool] = Rejection(
        pool=of.pool,
        assignment=of.id,
        reason=first.code,
        message="; ".join(told(each) for each in reasons) or first.message,
        count=last.count + 1 if last else 1,
        time=stamp(now),
    )
    return tuple(each for _, each in sorted(earlier.items()))


def told(reason: Reason) -> str:
    need = f" (needs {reason.need}, has {reason.have})" if reason.need else ""
    return f"{reason.message}{need}"


def ends(rejection: Rejection) -> datetime | None:
    """When the pool may be asked again; None for one that says no time, which may be asked at once."""
    at = moment(rejection.time)
    if at is None:
        return None
    wait: timedelta = min(FIRST * (1 << min(rejection.count - 1, 16)), LONGEST)
    return at + wait


def standing(rejections: Sequence[Rejection], now: datetime) -> Rejections:
    """Those whose backoff is not over."""
    return tuple(each for each in rejections if (end := ends(each)) is not None and now < end)


def next_end(rejections: Sequence[Rejection], now: datetime) -> datetime | None:
    return min((end for each in standing(rejections, now) if (end := ends(each)) is not None), default=None)
