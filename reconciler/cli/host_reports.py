"""The reports of hosts for verbs that print them: one that cannot be read is told, and hides no other."""

from __future__ import annotations

from collections.abc import Mapping

from reconciler.cli.fleet_repo import FleetRepo
from reconciler.cli.terminal import err, printable
from reconciler.query.inventory import read_reports
from schemas.report import Report


def read_host_reports(fleet: FleetRepo) -> Mapping[str, Report]:
    """The reports of all hosts, by poollet. One that cannot be read is told, and left out."""
    found = read_reports(fleet.repo, fleet.snapshot)
    for name, why in sorted(found.unread.items()):
        err().line(printable(f"the report of {name} cannot be read: {why}"))
    return found.by_poollet
