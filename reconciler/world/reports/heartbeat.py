"""The heartbeat of a host: whether its report was seen to change lately.

Theory of operation
-------------------
A report ref carries no clock that we trust, so only a change of the ref proves that its host is alive, and only our own
clock says how long ago that was. Each host that writes a report ref has a heartbeat of its own: a second host that writes
the same ref neither prolongs nor ends that of the first.

    first seen           -> UNCONFIRMED   the report may be years old
    seen to change       -> ALIVE         also by a commit with an equal tree
    an older report      -> as before     a backup of the repo put it there; it neither proves nor prolongs anything
    no change in timeout -> EXPIRED       what is on its pools is unknown, and may still run
    says that it leaves  -> LEFT

    A commit that a candidate put on top of the report (gitstore/report_author.py) is another host's and does not count. Nor does a
    report that is refused.

A change is dated by the time at which the answer of the Git server was here, and silence is judged by the time at which the server was
asked. So the time that an answer takes is never silence, and shortens no timeout. If it takes longer than LATE, no heartbeat expires in
that tick: by then the answer is old, and hosts may have reported since. Both times are of a clock that is never set (`ReadTimes`).

While the Git server gives this process no answer, hosts cannot report there either. From the first question that failed to the one that is
answered again, no timeout goes on; the silence before and after it counts. So after an outage each host has the rest of its timeout,
which is longer than it takes a poollet to look again (poollet/threads.py).

A report is older if its commit is dated before the newest one that this process saw of its host, or as that one and seen before. Only
the host's own clock dates it, and that may have been set back. Then each report is older than the newest, and newer than the one before:
the RECOVERS_AFTER-th such report in a row shows that it lives, and the host is judged by its new time from then on. A timeout is at least
five intervals, so such a host never looks lost; and one or two restored backups are not such a series.

A host that is connected over the link sends heartbeats there instead of pushing them (reconciler/link). Such a heartbeat stands for a
heartbeat commit on top of one commit of the report ref, and counts only while that is the commit of this report: so it says nothing that a
push would not have said. It is dated by the time of the question that it answers, and promises the next sign of life by its own timeout,
because the host pushes as soon as it loses a link. The last sign of life counts, with its own promise:

    last sign of life                                    expires
    a commit                                             its date + the timeout by the interval that the report names
    a heartbeat over the link                            its date + the timeout by the interval that it names
    a commit, less than STEADY after one over the link   the commit's date + the timeout of the link's heartbeat

The third row: a connected host names an interval of minutes in its report (schemas/settings/fleet.py), and may die right after a push. It
names that only after STEADY of being connected to every server without a break. So a commit that comes later than STEADY after the last
heartbeat here may be of a host that is connected to other servers, and not to this one: its own interval counts.

Must never happen: a reconciler that has just started takes an old report for a live host (so UNCONFIRMED is not ALIVE),
or an unknown host for a dead one (so UNCONFIRMED is not EXPIRED); a host looks lost because an answer took long or never came, or a
clock was set.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from schemas.settings.fleet import LINK_STEADY_MILLISECONDS, MIN_HEARTBEAT_TIMEOUT_MILLISECONDS

STEADY = timedelta(milliseconds=LINK_STEADY_MILLISECONDS)
MIN_TIMEOUT = timedelta(milliseconds=MIN_HEARTBEAT_TIMEOUT_MILLISECONDS)
LATE = MIN_TIMEOUT / 5
RECOVERS_AFTER = 3
EVER = datetime.min.replace(tzinfo=UTC)

Writer = tuple[str, str]
"""The name of a report ref, and the hostID of a host that writes it."""


class Heartbeat(StrEnum):
    """What may be concluded about a host. Only EXPIRED and LEFT let anything be decided without it."""

    UNCONFIRMED = "unconfirmed"
    ALIVE = "alive"
    EXPIRED = "expired"
    LEFT = "left"


NOT_EXPIRED = frozenset((Heartbeat.UNCONFIRMED, Heartbeat.ALIVE))


class LinkSign(NamedTuple):
    """A heartbeat over the link: the commit of the report that it confirms, the time of the question that it answers, by the clock of
    `ReadTimes`, and the timeout that it promises the next sign of life within."""

    commit: str
    at: datetime
    timeout: timedelta


@dataclass(frozen=True, slots=True)
class LinkInput:
    """What the link knows at one moment, by the names of poollets: the newest sign of life, and when the connection of a host ended that
    was connected to this process and is not now. Both say whether a host is there; neither says anything about objects. `is_served`:
    this process is one that hosts connect to."""

    is_served: bool = False
    signs: Mapping[str, LinkSign] = field(default_factory=dict)
    ended: Mapping[str, datetime] = field(default_factory=dict)


NO_LINK = LinkInput()


class ReadTimes(NamedTuple):
    """When a snapshot was requested from the Git server, and when it was read. By a clock that is never set: only differences mean
    anything. `link` is what the link knew then. `failed` is when the server was first asked in vain, since it answered last."""

    start: datetime
    end: datetime
    link: LinkInput = NO_LINK
    failed: datetime | None = None

    @property
    def outage(self) -> timedelta:
        """For how long hosts could not report, as far as this process knows."""
        return timedelta() if self.failed is None else self.start - self.failed

    @property
    def is_late(self) -> bool:
        return self.end - self.start > LATE


class OlderReports(NamedTuple):
    """Reports older than the newest: the date of the last one, and how many in a row were each newer than the one before."""

    written: datetime
    in_a_row: int


@dataclass(frozen=True, slots=True)
class HeartbeatSeen:
    """The last change by one host that was seen, and when.

    `commit` is the newest one that the host wrote itself; above it there may be those of candidates. `written` is the newest date of its
    reports by its own clock, and `latest` are the commits of that date: Git dates by whole seconds, and a host may write two in one.
    """

    commit: str
    since: datetime
    has_changed: bool = False
    timeout: timedelta = MIN_TIMEOUT
    written: datetime = EVER
    latest: frozenset[str] = frozenset()
    older: OlderReports | None = None
    sign: LinkSign | None = None  # the newest one over the link, of whichever report
    outage: timedelta = timedelta()  # since the last sign of life

    def at(self, commit: str, written: datetime, now: datetime, timeout: timedelta) -> HeartbeatSeen:
        """The next value, given the present commit. The same commit prolongs nothing; it only takes over a timeout that was changed."""
        if commit == self.commit:
            is_same = self.timeout == timeout or self.older is not None
            return self if is_same else replace(self, timeout=timeout)
        latest = self.latest if written == self.written else frozenset()
        if written < self.written or commit in latest:
            return self._at_older(commit, written, now, timeout)
        return HeartbeatSeen(
            commit, now, self.commit != "", timeout, written, latest | {commit}, sign=self.sign
        )

    def with_sign(self, sign: LinkSign) -> HeartbeatSeen:
        """With a heartbeat over the link that confirms the present report. One that confirms another, or comes late, changes nothing."""
        is_news = self.sign is None or self.sign.at < sign.at
        is_counted = is_news and sign.commit == self.commit and self.older is None
        return replace(self, sign=sign, outage=timedelta()) if is_counted else self

    def _at_older(self, commit: str, written: datetime, now: datetime, timeout: timedelta) -> HeartbeatSeen:
        is_next = self.older is not None and written > self.older.written
        in_a_row = self.older.in_a_row + 1 if self.older is not None and is_next else 1
        if in_a_row == RECOVERS_AFTER:
            return HeartbeatSeen(commit, now, True, timeout, written, frozenset({commit}), sign=self.sign)
        return replace(self, commit=commit, older=OlderReports(written, in_a_row))

    @property
    def expires(self) -> datetime:
        """By the last sign of life, with its own promise."""
        if self.sign is not None and self.since < self.sign.at + STEADY:
            return max(self.since, self.sign.at) + self.sign.timeout + self.outage
        return self.since + self.timeout + self.outage

    def heartbeat(self, now: datetime) -> Heartbeat:
        """By our clock alone. LEFT is not among the answers: that is in the report, not in its age."""
        if now >= self.expires:
            return Heartbeat.EXPIRED
        return Heartbeat.ALIVE if self.has_changed or self.sign is not None else Heartbeat.UNCONFIRMED
