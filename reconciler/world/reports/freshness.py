"""How far a report can be relied on, by whether its ref was seen to change; no clock of a host counts for that."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from schemas.fleet import LEAST_GRACE_MILLISECONDS

LEAST_GRACE = timedelta(milliseconds=LEAST_GRACE_MILLISECONDS)


class Freshness(StrEnum):
    UNPROVEN = "unproven"  # not seen to change yet, and not for its grace: what live says of the pool stands
    FRESH = "fresh"  # seen to change within its grace
    LOST = "lost"  # not seen to change for its grace, or gone: what is on the pool is unknown, and may run
    LEFT = "left"  # the poollet said that it leaves for good


MAY_CHANGE = frozenset((Freshness.UNPROVEN, Freshness.FRESH))


@dataclass(frozen=True, slots=True)
class Sighting:
    """When a report that could be relied on was first seen at the commit where it is, and whether that was a change."""

    commit: str
    since: datetime
    has_changed: bool = False
    grace: timedelta = LEAST_GRACE

    def at(self, commit: str, now: datetime, grace: timedelta) -> Sighting:
        if commit == self.commit:
            return self if grace == self.grace else replace(self, grace=grace)
        return Sighting(commit, now, has_changed=True, grace=grace)

    @property
    def expires(self) -> datetime:
        return self.since + self.grace

    def freshness(self, now: datetime) -> Freshness:
        if now >= self.expires:
            return Freshness.LOST
        return Freshness.FRESH if self.has_changed else Freshness.UNPROVEN
