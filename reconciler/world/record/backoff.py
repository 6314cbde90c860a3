"""How long a pool that refused an object is left alone: twice as long each time, from seconds to minutes. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from reconciler.world.record.timestamps import moment
from schemas.backoff import exponential
from schemas.model import Rejection

FIRST_SECONDS, LONGEST_SECONDS = 10, 600


def retry_at(rejection: Rejection) -> datetime | None:
    """None for one without a time: it holds nothing back."""
    at = moment(rejection.time)
    if at is None:
        return None
    return at + timedelta(seconds=exponential(FIRST_SECONDS, LONGEST_SECONDS, rejection.count - 1))


def active_rejections(rejections: Iterable[Rejection], now: datetime) -> tuple[Rejection, ...]:
    """Those that are to be honoured now."""
    return tuple(each for each in rejections if (end := retry_at(each)) is not None and now < end)
