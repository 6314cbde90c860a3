"""How far a report can be relied on, by whether its ref was seen to change; clocks of hosts are never compared."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum


class Freshness(StrEnum):
    UNPROVEN = "unproven"  # not seen to change yet, and not for its grace: what live says of the pool stands
    FRESH = "fresh"  # seen to change within its grace
    LOST = "lost"  # not seen to change for its grace, or gone: what is on the pool is unknown, and may run
    LEFT = "left"  # the poollet said that it leaves for good


@dataclass(frozen=True, slots=True)
class Sighting:
    """When a report was first seen at the commit where it is, and whether that was a change."""

    commit: str
    since: datetime
    has_changed: bool = False

    def at(self, commit: str, now: datetime) -> Sighting:
        return self if commit == self.commit else Sighting(commit, now, has_changed=True)

    def expires(self, grace: timedelta) -> datetime:
        return self.since + grace

    def freshness(self, grace: timedelta, now: datetime) -> Freshness:
        if now >= self.expires(grace):
            return Freshness.LOST
        return Freshness.FRESH if self.has_changed else Freshness.UNPROVEN
