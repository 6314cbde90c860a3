"""Who said no, and why: the memory that a rejection leaves in the record. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from reconciler.world.record import stamp
from reconciler.world.record.backoff import ends, standing
from schemas.model import Assignment, Rejection
from schemas.report.objects import ReportedReason

Rejections = tuple[Rejection, ...]


def noted(
    before: Sequence[Rejection], of: Assignment, reasons: Sequence[ReportedReason], now: datetime
) -> Rejections:
    """With the refusal of one more assignment. One entry a pool, in the order of their names."""
    earlier = {each.pool: each for each in before}
    last = earlier.get(of.pool)
    first = reasons[0] if reasons else ReportedReason(code="Rejected", message="it did not say why")
    earlier[of.pool] = Rejection(
        pool=of.pool,
        assignment=of.id,
        reason=first.code,
        message="; ".join(told(each) for each in reasons) or first.message,
        count=last.count + 1 if last else 1,
        time=stamp(now),
    )
    return tuple(each for _, each in sorted(earlier.items()))


def told(reason: ReportedReason) -> str:
    need = f" (needs {reason.need}, has {reason.have})" if reason.need else ""
    return f"{reason.message}{need}"


def next_end(rejections: Sequence[Rejection], now: datetime) -> datetime | None:
    return min((end for each in standing(rejections, now) if (end := ends(each)) is not None), default=None)
