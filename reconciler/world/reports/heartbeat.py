"""The heartbeat of a host: whether its report was seen to change lately.

Theory of operation
-------------------
A report ref carries no clock that we trust, so only a change of the ref proves that its host is alive, and only our own
clock says how long ago that was. Each host that writes a report ref has a heartbeat of its own: a second host that writes
the same ref neither prolongs nor ends that of the first.

    first seen           -> UNCONFIRMED   the report may be years old
    seen to change       -> ALIVE         also by a commit with an equal tree
    no change in timeout -> EXPIRED       what is on its pools is unknown, and may still run
    says that it leaves  -> LEFT

    A commit that a candidate put on top of the report (gitstore/report_author.py) is another host's and does not count. Nor does a
    report that is refused.

Must never happen: a reconciler that has just started takes an old report for a live host (so UNCONFIRMED is not ALIVE),
or an unknown host for a dead one (so UNCONFIRMED is not EXPIRED).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from schemas.settings.fleet import MIN_HEARTBEAT_TIMEOUT_MILLISECONDS

MIN_TIMEOUT = timedelta(milliseconds=MIN_HEARTBEAT_TIMEOUT_MILLISECONDS)

Writer = tuple[str, str]
"""The name of a report ref, and the hostID of a host that writes it."""


class Heartbeat(StrEnum):
    """What may be concluded about a host. Only EXPIRED and LEFT let anything be decided without it."""

    UNCONFIRMED = "unconfirmed"
    ALIVE = "alive"
    EXPIRED = "expired"
    LEFT = "left"


NOT_EXPIRED = frozenset((Heartbeat.UNCONFIRMED, Heartbeat.ALIVE))


@dataclass(frozen=True, slots=True)
class HeartbeatSeen:
    """The last change by one host that was seen, and when.

    `commit` is the newest one that the host wrote itself; above it there may be those of candidates.
    """

    commit: str
    since: datetime
    has_changed: bool = False
    timeout: timedelta = MIN_TIMEOUT

    def at(self, commit: str, now: datetime, timeout: timedelta) -> HeartbeatSeen:
        """The next value, given the present commit. The same commit prolongs nothing; it only takes over a timeout that was changed."""
        if commit == self.commit:
            return self if self.timeout == timeout else replace(self, timeout=timeout)
        return HeartbeatSeen(commit, now, True, timeout)

    @property
    def expires(self) -> datetime:
        return self.since + self.timeout

    def heartbeat(self, now: datetime) -> Heartbeat:
        """By our clock alone. LEFT is not among the answers: that is in the report, not in its age."""
        if now >= self.expires:
            return Heartbeat.EXPIRED
        return Heartbeat.ALIVE if self.has_changed else Heartbeat.UNCONFIRMED
