"""Whom a lost `live` waits for, and why: hosts that may run what nobody can read now. Pure; it decides about no object."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from reconciler.observed.freshness import Freshness
from reconciler.observed.reports import Report, Reports


class Why(StrEnum):
    GONE = "its report was removed less than its grace ago"
    REFUSED = "its report is refused"
    SILENT = "silent"
    UNPROVEN = "not seen to report yet"
    UNREADABLE = "what it reports cannot be read"


@dataclass(frozen=True, slots=True)
class Unsettled:
    name: str
    why: Why


def unsettled(reports: Reports) -> Iterator[Unsettled]:
    """By name. Who was heard, says that it leaves, or lost its report longer ago than its grace, is not among them."""
    for name, fresh in sorted(reports.freshness.items()):
        why = _why(reports.by_poollet.get(name), fresh)
        if why is not None:
            yield Unsettled(name, why)


def _why(report: Report | None, fresh: Freshness) -> Why | None:
    if report is None:
        return Why.GONE  # and it may run still: until its grace is over it is only not heard
    if fresh is Freshness.LEFT:
        return None
    if not report.is_accepted:
        return Why.REFUSED
    if fresh is Freshness.LOST:
        return Why.SILENT
    if fresh is Freshness.UNPROVEN:
        return Why.UNPROVEN
    return Why.UNREADABLE if report.hides_objects else None
