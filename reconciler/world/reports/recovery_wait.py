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
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from reconciler.world.reports.heartbeat import Heartbeat
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


@dataclass(frozen=True, slots=True)
class MissingHost:
    name: str
    why: Why


def find_missing_hosts(reports: Reports, since: datetime | None = None) -> Iterator[MissingHost]:
    """By name. A host that was seen to report after `since`, says that it leaves, or lost its report longer ago than its heartbeat
    timeout, is not among them. What it reported before may lack what it was assigned last."""
    for (name, host), beat in sorted(reports.heartbeats.items()):
        report = reports.by_poollet.get(name)
        changed = reports.heartbeats_seen[name, host].since
        if beat is Heartbeat.ALIVE and since is not None and changed <= since:
            beat = Heartbeat.UNCONFIRMED
        why = _why(report, beat) if report is None or report.host == host else _why_replaced(beat)
        if why is not None:
            yield MissingHost(name, why)


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

    The command has NAME in it, not a host's name: run for a host that is up, it lets everything there be placed twice.
    """
    urgent = sorted(waits_for, key=lambda each: (each.why is Why.UNPROVEN, each.name))
    named = [f"{each.name} ({each.why})" for each in urgent[:NAMED_AT_MOST]]
    if more := len(urgent) - len(named):
        named.append(f"{more:,} more")
    message = (
        f"{cause}; it is written again once every known host has reported. Waiting for {', '.join(named)}"
    )
    if all(each.why in (Why.GONE, Why.REPLACED) for each in urgent):
        return message
    return (
        f"{message}. Start those that are down; remove the report of one only when it is gone for good, "
        f"because whatever it still runs is then placed a second time: git push origin --delete {ref}NAME"
    )
