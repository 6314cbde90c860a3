"""The hosts that a lost or rewound `live` waits for, and why: they may run objects that no readable report names. Pure; it decides about
no object.

Without a `live` that has all that was applied, reports are the only record of what runs where. Before the reconciler writes a new one, every known host must
have reported; what runs on one that has not would be placed, and so run, a second time. While any host is
missing, the tick writes nothing (`loop/tick.py`).

    report                                            waited for
    seen to change since live was lost, readable,     no
    accepted
    says that its host leaves                         no
    not seen to change yet                            until it changes or its heartbeat expires; then as silent
    expired (silent), refused, or unreadable          until people start the host or remove its report
    no commit, at a name of no declared poollet       no (`View.is_garbage`): no poollet ever writes that
    removed, or written by another host now           until the heartbeat timeout of the host that wrote it before
    none, and the rewound `live` grants a pool of     until that host reports, or people declare it destroyed (`Pool-Destroyed`): a report
    it to a host                                      may be removed because a stranger had overwritten it, while its host runs

A removed report alone therefore never lets the objects of a host be placed again that a `live` before has named.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from reconciler.world.reports.heartbeat import EVER, MIN_TIMEOUT, Heartbeat
from reconciler.world.reports.host_report import HostReport
from reconciler.world.reports.reports import Reports

NAMED_AT_MOST = 5


class Why(StrEnum):
    GONE = "its report was removed less than its heartbeat timeout ago"
    REPLACED = "another host writes its report since less than its heartbeat timeout"
    REFUSED = "its report is refused"
    SILENT = "silent"
    UNPROVEN = "not seen to report yet"
    UNREADABLE = "what it reports cannot be read"
    UNREPORTED = "live grants this pool to a host that has no report"


BY_TIME = frozenset(
    (Why.GONE, Why.REPLACED, Why.UNPROVEN)
)  # the others end when their host reports, or people say that it is gone


@dataclass(frozen=True, slots=True)
class MissingHost:
    """`reported` is the date of its last report, by its own clock. `until`, a time of day, is when the wait for it ends by itself, or when
    it counts as silent; None where time ends nothing."""

    name: str
    why: Why
    host: str = ""  # the hostID, where the name is that of a pool
    reported: datetime | None = None
    until: datetime | None = None
    timeout: timedelta = MIN_TIMEOUT


def find_missing_hosts(reports: Reports, since: datetime | None = None) -> Iterator[MissingHost]:
    """By name. A host that was seen to report after `since`, says that it leaves, or lost its report longer ago than its heartbeat
    timeout, is not among them. What it reported before may lack what it was assigned last."""
    for (name, host), beat in sorted(reports.heartbeats.items()):
        report = reports.by_poollet.get(name)
        seen = reports.heartbeats_seen[name, host]
        if beat is Heartbeat.ALIVE and since is not None and seen.since <= since:
            beat = Heartbeat.UNCONFIRMED
        why = _why(report, beat) if report is None or report.host == host else _why_replaced(beat)
        if why is not None:
            reported = None if seen.written == EVER else seen.written
            until = reports.now + (seen.expires - reports.time) if why in BY_TIME else None
            yield MissingHost(name, why, "", reported, until, seen.timeout)


def find_unreported_hosts(
    reports: Reports, granted: Iterable[tuple[str, str]], destroyed: Collection[tuple[str, str]]
) -> Iterator[MissingHost]:
    """`granted` are pools that no report belongs to, each with the host that the rewound `live` grants it to; `destroyed` are those of them
    that people declared destroyed since."""
    reporting = {report.host for report in reports.by_poollet.values()}
    for name, host in sorted({*granted} - {*destroyed}):
        if host not in reporting and (name, host) not in reports.heartbeats:
            yield MissingHost(name, Why.UNREPORTED, host)


def _why(report: HostReport | None, beat: Heartbeat) -> Why | None:
    if report is None:
        return Why.GONE  # it may still run until its heartbeat timeout is over
    if beat is Heartbeat.LEFT:
        return None
    if not report.is_accepted:
        return Why.REFUSED
    if beat is Heartbeat.EXPIRED:
        return Why.SILENT
    if beat is Heartbeat.UNCONFIRMED:
        return Why.UNPROVEN
    return Why.UNREADABLE if report.hides_objects else None


def _why_replaced(beat: Heartbeat) -> Why | None:
    """A host whose report another one writes now may run what it had, as one whose report is gone."""
    return None if beat is Heartbeat.EXPIRED else Why.REPLACED


def words(waits_for: Sequence[MissingHost], ref: str, cause: str = "live was lost") -> str:
    """The message: what happened to `live`, which hosts are missing, the most urgent first, and what ends the wait.

    The commands have NAME, or POOL and HOSTID in them, not those of a host: run for a host that is up, they let everything there be placed twice.
    """
    urgent = sorted(waits_for, key=lambda each: (each.why is Why.UNPROVEN, each.name))
    named = [f"{each.name} ({each.why})" for each in urgent[:NAMED_AT_MOST]]
    if more := len(urgent) - len(named):
        named.append(f"{more:,} more")
    message = f"{cause}; gitvirt writes live again once every known host has reported. Waiting for {', '.join(named)}"
    if all(each.why in (Why.GONE, Why.REPLACED) for each in urgent):
        return message
    return ". ".join((message, *cures(urgent, ref)))


def describe_ends(waits_for: Sequence[MissingHost]) -> str:
    """Until when each of them is waited for, at most. Beside `words`, which stays equal while only time passes."""
    urgent = sorted(waits_for, key=lambda each: (each.why is Why.UNPROVEN, each.name))
    found = [describe_end(each) for each in urgent[:NAMED_AT_MOST]]
    if more := len(urgent) - len(found):
        found.append(f"{more:,} more")
    return "; ".join(found)


def describe_end(each: MissingHost) -> str:
    if each.until is not None:
        means = ", and then until it reports" if each.why is Why.UNPROVEN else ""
        return f"{each.name} until {format_second(each.until)}{means}"
    last = "" if each.reported is None else f" (last report {format_second(each.reported)})"
    return f"{each.name} until it reports{last}"


def format_second(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def cures(urgent: Sequence[MissingHost], ref: str) -> Iterator[str]:
    """What ends the wait, each for the hosts that it is about. Whose report cannot be used is named: a stranger may have written it."""
    if unusable := [each.name for each in urgent if each.why in (Why.REFUSED, Why.UNREADABLE)]:
        names = ", ".join(unusable[:NAMED_AT_MOST])
        yield (
            f"The report {ref}NAME of {names} is not usable. If the host runs: stop every reconciler; "
            f"`git push origin --delete {ref}NAME`; wait until `git ls-remote origin {ref}NAME` shows it again; start one reconciler"
        )
    if unreported := [
        f"pool {each.name} hostID {each.host}" for each in urgent if each.why is Why.UNREPORTED
    ]:
        names = ", ".join(unreported[:NAMED_AT_MOST])
        yield (
            f"Start the hosts without a report: {names}. Declare a host destroyed only if it is gone for good and powered off, because "
            "gitvirt then places a second time whatever that host still runs: gitvirt pool destroyed POOL HOSTID"
        )
    if len(unusable) + len(unreported) < len(urgent):
        yield (
            "Start those that are down; remove the report of one only when it is gone for good, "
            f"because gitvirt then places a second time whatever that host still runs: git push origin --delete {ref}NAME"
        )
