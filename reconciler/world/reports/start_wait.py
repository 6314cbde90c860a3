"""The hosts that a reconciler waits for after its start, and how long: before that it places nothing, and decides nothing about a loss.

Theory of operation
-------------------
A reconciler that has just started cannot tell a report of this minute from one of last year, nor a `live` of today from one out of a backup.
What it would place may run on a host that it has not seen to report. So it waits until each host that it knows is settled:

    known by                                         settled when
    a report that is accepted, at the first look     it is seen to change, says that its host leaves, or its timeout is over
    a grant on `live`, without a report              its host is seen to report, or the timeout of the fleet is over

No timeout goes on while the Git server gives no answer (heartbeat.py).

Only the first look counts: a host that comes later, or a report that a stolen key adds, holds nothing. A host counts for the timeout of the
fleet's `heartbeat.interval` at most, whatever interval its report names. A new fleet, without any report and grant, waits for none.

A host that has never reported is known by its pool alone. Where a pool is not ready, or there is none at all, an object that finds no place
is not called unschedulable in the first seconds: hosts and reconciler often start together, and the reason would be over at once. For the
same reason first grants of pools are written together, and so is that these pools are ready (plan/significance.py).

`run --once` cannot watch a report for long. There a report also counts that is dated less than its timeout ago by the host's clock: one
out of a backup is older. `gitvirt plan` waits for none and shows what would be placed; it names the hosts that a start would wait for.

Must never happen: the wait begins again while the process runs; it lasts longer than one timeout of the fleet.

Limits: this is memory of the process, and outlives the World. Status from reports, deletions and withdrawals go on meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from reconciler.world.reports.heartbeat import Heartbeat
from reconciler.world.reports.host_report import HostReport
from reconciler.world.reports.reports import Reports
from schemas.settings.duration import format_duration

NAMED_AT_MOST = 5
FIRST_REPORTS = timedelta(seconds=5)  # for hosts that start together with the reconciler
FIRST_READY = timedelta(seconds=10)  # for the heartbeats by which they answer to their grants


@dataclass(frozen=True, slots=True)
class AwaitedHost:
    """`name` is that of its report, or of a pool that is granted to it. `seconds` is how long it is waited for at most."""

    name: str
    host: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Deadline:
    name: str
    until: datetime  # by the clock of heartbeats


class StartWait:
    """`counts_dates` is for a process that cannot wait for a change."""

    def __init__(self, *, counts_dates: bool = False) -> None:
        self._counts_dates = counts_dates
        self._deadlines: dict[str, Deadline] | None = None  # by hostID; None before the first look
        self._began: datetime | None = None

    def update(self, reports: Reports, granted: Iterable[tuple[str, str]], most: timedelta) -> None:
        """After each update of the reports. `granted` are pools and the hosts with their grants on `live`, `most` is the timeout of the
        fleet."""
        if self._deadlines is None:
            self._began = reports.time
            self._deadlines = _known_hosts(reports, granted, most)
        else:
            outage = reports.watch.outage
            self._deadlines = {
                host: Deadline(each.name, each.until + outage) for host, each in self._deadlines.items()
            }
        self._deadlines = {
            host: each for host, each in self._deadlines.items() if not self._is_over(reports, host, each)
        }

    def list_awaited(self, reports: Reports) -> tuple[AwaitedHost, ...]:
        """By name."""
        found = (self._deadlines or {}).items()
        hosts = (
            AwaitedHost(each.name, host, max(0.0, (each.until - reports.time).total_seconds()))
            for host, each in found
        )
        return tuple(sorted(hosts, key=lambda each: (each.name, each.host)))

    def time_left(self, reports: Reports, time: timedelta = FIRST_REPORTS) -> timedelta:
        """What is left of a time that began with the process. One that cannot wait for a change has none."""
        if self._began is None or self._counts_dates:
            return timedelta(0)
        return max(timedelta(0), self._began + time - reports.time)

    def _is_over(self, reports: Reports, host: str, deadline: Deadline) -> bool:
        if reports.watch.judged_at >= deadline.until:
            return True
        beats = [beat for writer, beat in reports.heartbeats.items() if writer[1] == host]
        if any(beat is not Heartbeat.UNCONFIRMED for beat in beats):
            return True
        written = [each for each in reports.by_poollet.values() if each.host == host and each.is_accepted]
        return self._counts_dates and any(is_dated_recently(each, reports) for each in written)


def is_dated_recently(report: HostReport, reports: Reports) -> bool:
    """Whether the host wrote it less than its timeout ago, if its clock is right."""
    return abs(reports.now - report.written) < report.timeout


def _known_hosts(
    reports: Reports, granted: Iterable[tuple[str, str]], most: timedelta
) -> dict[str, Deadline]:
    found: dict[str, Deadline] = {}
    for pool, host in granted:
        found[host] = Deadline(pool, reports.time + most)
    for name, report in reports.by_poollet.items():
        if report.is_accepted:
            found[report.host] = Deadline(name, reports.time + min(report.timeout, most))
    return found


def describe_start_wait(awaited: Sequence[AwaitedHost]) -> str:
    """For people: which hosts, and how long at most. Empty if there are none."""
    if not awaited:
        return ""
    names = [each.name for each in awaited[:NAMED_AT_MOST]]
    if more := len(awaited) - len(names):
        names.append(f"{more:,} more")
    seconds = max(each.seconds for each in awaited)
    return f"waits for the first report since start of {', '.join(names)}, at most {format_duration(int(seconds))}"
