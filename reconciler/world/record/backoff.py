"""How long a pool that refused an object is left alone: twice as long each time, from seconds to minutes. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from reconciler.world.record.moment import moment
from schemas.model import Rejection

FIRST = timedelta(seconds=10)
LONGEST = timedelta(minutes=10)
_DOUBLINGS = 6  # beyond these it is the longest anyway


def ends(rejection: Rejection) -> datetime | None:
    """None for one that tells no time: it binds nobody."""
    at = moment(rejection.time)
    if at is None:
        return None
    doublings = max(0, min(rejection.count - 1, _DOUBLINGS))
    return at + min(FIRST * (1 << doublings), LONGEST)


def standing(rejections: Iterable[Rejection], now: datetime) -> tuple[Rejection, ...]:
    """Those that are to be honoured now."""
    return tuple(each for each in rejections if (end := ends(each)) is not None and now < end)
