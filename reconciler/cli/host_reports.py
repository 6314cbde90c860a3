"""The events that hosts report, for verbs that print them: a report that cannot be read is told, and hides no other."""

from __future__ import annotations

from collections.abc import Mapping

from reconciler.cli.fleet_repo import FleetRepo
from reconciler.cli.terminal import err, printable
from reconciler.query.inventory import read_events
from schemas.report import ReportedEvent


def read_host_events(fleet: FleetRepo) -> Mapping[str, tuple[ReportedEvent, ...]]:
    """The events of all hosts, by poollet. A report that cannot be read is told, and left out."""
    found = read_events(fleet.repo, fleet.snapshot)
    for name, why in sorted(found.unread.items()):
        err().line(printable(f"the report of {name} cannot be read: {why}"))
    return found.by_poollet
