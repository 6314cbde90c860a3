"""What this process saw of each host's heartbeat, and how it judges that now: memory, which outlives the World.

`Reports` asks it once for each writer in an update, and on the way for hosts that a grant names. It is the only place where the clock of
heartbeats is read; what comes out are verdicts (`Heartbeat`), and every rule decides by those alone. `replay.ReplayedWatch` is its twin: there the
verdicts of a tick of the past are given.

    question                     asked for                                      the timeout begins
    judge                        each writer that was ever seen                 when its report was seen to change last
    expect                       a host with a grant whose report another       with the first question, if it was never seen
                                 host writes now
    await_host                   a host without any report                      with the first question

A host's heartbeats over the link come in with `begin` and count in `note`; `has_lost_link` says whose are missing.

Must never happen: a report that is refused prolongs a heartbeat; a host is judged by a time at which no answer of the Git server was here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from reconciler.world.reports.heartbeat import (
    EVER,
    NOT_EXPIRED,
    Heartbeat,
    HeartbeatSeen,
    ReadTimes,
    Writer,
)
from reconciler.world.reports.host_report import HostReport


class HeartbeatWatch:
    """`seen` outlives a new start of the world: it cannot be read anywhere."""

    def __init__(self, seen: dict[Writer, HeartbeatSeen] | None = None) -> None:
        self.seen: dict[Writer, HeartbeatSeen] = {} if seen is None else seen
        self._awaited: dict[str, datetime] = {}  # until when hosts without any report may still write one
        self.absent: dict[str, Heartbeat] = {}  # of those, what was answered since `begin`
        self._times = ReadTimes(EVER, EVER)
        self._judged_at = EVER  # that of asking, in the last tick that was not late

    def begin(self, times: ReadTimes) -> None:
        """With each update: when its refs were read, and what the link knew then. Once for each outage."""
        self._times = times
        self.absent = {}
        if times.outage:
            self.seen |= {
                each: replace(seen, outage=seen.outage + times.outage) for each, seen in self.seen.items()
            }
            self._awaited = {host: until + times.outage for host, until in self._awaited.items()}
        if not times.is_late:
            self._judged_at = times.start

    @property
    def time(self) -> datetime:
        """When the refs were here, by the clock of heartbeats."""
        return self._times.end

    @property
    def judged_at(self) -> datetime:
        """The time by which heartbeats are judged."""
        return self._judged_at

    @property
    def outage(self) -> timedelta:
        """For how long the server gave no answer before that: no timeout goes on in it."""
        return self._times.outage

    @property
    def is_late(self) -> bool:
        """Whether the snapshot took so long that nothing may be decided about hosts that are lost."""
        return self._times.is_late

    @property
    def writers(self) -> list[Writer]:
        """All that were ever seen and are not forgotten."""
        return sorted(self.seen)

    def recall(self, report: HostReport) -> bool:
        """Whether the report is to be taken for another host's than it says. This process knows nothing better than the report."""
        del report
        return False

    def note(self, report: HostReport) -> None:
        """The report as it is now. One that is refused is not seen to change."""
        seen, now = self.seen.get(report.writer), self._times.end
        if seen is None:
            seen = HeartbeatSeen("", now, timeout=report.timeout)
        elif not report.is_accepted:
            return
        seen = seen.at(report.own_commit, report.written, now, report.timeout)
        sign = self._times.link.signs.get(report.name)
        if sign is not None and report.is_accepted:
            seen = seen.with_sign(sign)
        self.seen[report.writer] = seen

    def has_lost_link(self, writer: Writer, usual: timedelta) -> bool:
        """Whether the host should be connected to this process, is not, and has given no sign of life since then. `usual` is the heartbeat
        timeout of hosts without the link: a report that names a longer one is of a host that was connected.

        It was connected to this process, or it was connected when this process started, and has been silent since.
        """
        seen = self.seen.get(writer)
        if seen is None or not self._times.link.is_served:
            return False
        ended = self._times.link.ended.get(writer[0])
        if ended is not None:
            return seen.since < ended
        return seen.timeout > usual and seen.heartbeat(self._judged_at) is Heartbeat.UNCONFIRMED

    def judge(self, writer: Writer, *, has_report: bool) -> Heartbeat | None:
        """None: it is expired and its report is gone, so that the writer is forgotten."""
        beat = self.seen[writer].heartbeat(self._judged_at)
        if beat is Heartbeat.EXPIRED and not has_report:
            del self.seen[writer]
            return None
        return beat

    def is_newest(self, writer: Writer) -> bool:
        """Whether the report is the newest that its host wrote, as far as this process saw."""
        return self.seen[writer].older is None

    def expect(self, writer: Writer, timeout: timedelta) -> bool:
        """Begins the timeout of a host that was never seen. Whether it did."""
        if writer in self.seen:
            return False
        self.seen[writer] = HeartbeatSeen("", self._times.end, timeout=timeout)
        return True

    def await_host(self, host: str, timeout: timedelta) -> Heartbeat:
        """The heartbeat of a host that was never observed: its timeout begins with the first question about it."""
        expires = self._awaited.setdefault(host, self._times.end + timeout)
        beat = Heartbeat.EXPIRED if self._judged_at >= expires else Heartbeat.UNCONFIRMED
        self.absent[host] = beat
        return beat

    def due(self, beats: Iterable[tuple[Writer, Heartbeat]]) -> datetime | None:
        """When the first of these expires, by the clock of heartbeats."""
        times = [self.seen[each].expires for each, beat in beats if beat in NOT_EXPIRED]
        times += (each for each in self._awaited.values() if each > self._judged_at)
        return min(times, default=None)
