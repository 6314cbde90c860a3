"""The hosts that a lost or rewound `live` waits for, as `gitvirt status` shows them.

A verb looks once, so it never sees a report change. It shows how old each report is, by the date that its host gave it: a report that is
younger than its timeout is of a host that the reconciler hears within one heartbeat interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from reconciler.cli.terminal import printable
from reconciler.world.reports.recovery_wait import MissingHost, Why
from schemas.settings.duration import format_duration

TITLE = "Hosts that live waits for"
CURE = (
    "live is lost or rewound; gitvirt writes it again, and places machines, once each of these has reported"
)


def part_of_status(found: Iterable[MissingHost], now: datetime) -> tuple[str, str, Sequence[tuple[str, ...]]]:
    """Title, what to do, and a row for each."""
    return TITLE, CURE, [row_of_missing(each, now) for each in found]


def row_of_missing(each: MissingHost, now: datetime) -> tuple[str, str, str]:
    """Its name, how old its report is, and what ends the wait for it."""
    return printable(each.name), printable(describe_age(each, now)), printable(describe_cure(each, now))


def describe_age(each: MissingHost, now: datetime) -> str:
    if each.reported is None:
        return "no report"
    return f"last report {format_duration(int(max(0.0, (now - each.reported).total_seconds())))} ago"


def describe_cure(each: MissingHost, now: datetime) -> str:
    match each.why:
        case Why.UNPROVEN if is_young(each, now):
            return "reports: the reconciler counts its next report"
        case Why.UNPROVEN | Why.SILENT:
            return "start it; nothing else ends this wait, unless it is gone for good"
        case Why.UNREPORTED:
            return f"start it (hostID {each.host}); nothing else ends this wait, unless it is gone for good"
        case Why.REFUSED | Why.UNREADABLE:
            return f"{each.why}: `gitvirt plan --repo` has the commands"
        case Why.GONE | Why.REPLACED:
            return each.why.value


def is_young(each: MissingHost, now: datetime) -> bool:
    """Whether its host wrote the report less than its timeout ago, if its clock is right."""
    return each.reported is not None and abs(now - each.reported) < each.timeout


def sort_missing(found: Iterable[MissingHost], now: datetime) -> list[MissingHost]:
    """Those that people have to start come first."""
    return sorted(found, key=lambda each: (each.why is Why.UNPROVEN and is_young(each, now), each.name))


def value_of_missing(each: MissingHost) -> dict[str, object]:
    return {
        "name": each.name,
        "hostID": each.host,
        "reason": each.why.name,
        "message": each.why.value,
        "lastReport": None if each.reported is None else each.reported.isoformat(),
    }
