"""How far a report can be relied on, by whether its ref was seen to change; no clock of a host counts for that."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from schemas.settings.fleet import MIN_HEARTBEAT_TIMEOUT_MILLISECONDS

LEAST_GRACE = timedelta(milliseconds=MIN_HEARTBEAT_TIMEOUT_MILLISECONDS)


class Heartbeat(StrEnum):
    UNCONFIRMED = (
        "unconfirmed"  # not seen to change yet, within its timeout: what live says of the pool still holds
    )
    ALIVE = "alive"  # seen to change within its timeout
    EXPIRED = "expired"  # not seen to change within its timeout, or gone: what is on the pool is unknown, and may run
    LEFT = "left"  # the poollet said that it leaves for good


NOT_EXPIRED = frozenset((Heartbeat.UNCONFIRMED, Heartbeat.ALIVE))


@dataclass(frozen=True, slots=True)
class HeartbeatSeen:
    """When a report that could be relied on was first seen at the commit where it is, and whether that was a change."""

    commit: str
    since: datetime
    has_changed: bool = False
    grace: timedelta = LEAST_GRACE

    def at(self, commit: str, now: datetime, grace: timedelta) -> HeartbeatSeen:
        if commit == self.commit:
            return self if grace == self.grace else replace(self, grace=grace)
        return HeartbeatSeen(commit, now, has_changed=True, grace=grace)

    @property
    def expires(self) -> datetime:
        return self.since + self.grace

    def heartbeat(self, now: datetime) -> Heartbeat:
        if now >= self.expires:
            return Heartbeat.EXPIRED
        return Heartbeat.ALIVE if self.has_changed else Heartbeat.UNCONFIRMED
