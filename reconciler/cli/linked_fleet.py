"""Which hosts are connected to the link, as `gitvirt status` and `gitvirt get pools` tell it: by their newest reports, which are in Git.

    its newest report                               the host is
    names the longer interval of linked hosts       connected: to all of link.addresses, for 30 seconds or more
    names the interval of the fleet                 not connected, or for less than 30 seconds: it pushes its heartbeats
    cannot be read, or is missing                   not connected, as far as anyone knows
    says that it leaves                             not counted

A host that died a moment ago is still shown as connected: that it is lost shows in the state of its pools. What a server sees at this moment is
`is_linked` of ListNodes (docs/controller-api.md).

Limits: hosts that gitvirt.yaml lists with a certificate, in a fleet with a link. Nothing is known where heartbeat.interval is as long as that of
linked hosts.
"""

from __future__ import annotations

from dataclasses import dataclass

from reconciler.cli.fleet_repo import FleetRepo
from reconciler.cli.terminal import TextStyle, err, printable
from reconciler.gitstore.store import Store
from reconciler.query.disk_cache import DiskCache
from reconciler.query.newest_reports import read_newest_reports
from schemas.kinds import Kind
from schemas.settings.fleet import linked_interval

MOST_NAMED = 5
PUSHES = "it pushes its heartbeats: it is not connected to all of link.addresses, or for less than 30s"
SILENT = "it has no report that can be read"
CURE = "if that lasts, the log of the poollet says why"


@dataclass(frozen=True, slots=True)
class UnlinkedHost:
    poollet: str
    reason: str


@dataclass(frozen=True, slots=True)
class LinkedFleet:
    """`hosts` are counted; `unlinked` are those of them that are not connected."""

    hosts: int
    unlinked: tuple[UnlinkedHost, ...]

    @property
    def connected_count(self) -> int:
        return self.hosts - len(self.unlinked)


def find_linked(fleet: FleetRepo) -> LinkedFleet | None:
    """None for a fleet without a link, or without a host that could use it."""
    settings = fleet.settings
    if settings is None or not settings.link.addresses:
        return None
    own = settings.heartbeat.interval
    listed = sorted(name for name, entry in settings.poollets.items() if entry and entry.certificates)
    if not listed or linked_interval(own) == own:
        return None
    cache = DiskCache(fleet.repo.folder if isinstance(fleet.repo, Store) else None)
    reports = read_newest_reports(fleet.repo, fleet.snapshot, Kind.MACHINE_POOL, cache)
    count, unlinked = 0, []
    for name in listed:
        report = reports[name].poollet if name in reports else None
        if report is not None and report.leaving == "leaving":
            continue
        count += 1
        if report is None:
            unlinked.append(UnlinkedHost(name, SILENT))
        elif report.interval != linked_interval(own):
            unlinked.append(UnlinkedHost(name, PUSHES))
    return LinkedFleet(count, tuple(unlinked))


def note_unlinked(fleet: FleetRepo) -> None:
    """On standard error, so that tables stay tables."""
    found = find_linked(fleet)
    unlinked = found.unlinked if found is not None else ()
    note = err().paint("note:", TextStyle.YELLOW)
    for each in unlinked[:MOST_NAMED]:
        err().line(
            f"{note} host {printable(each.poollet)} is not known to be connected to the link: {each.reason}; {CURE}"
        )
    if len(unlinked) > MOST_NAMED:
        err().line(f"and {len(unlinked) - MOST_NAMED} more hosts: `gitvirt status` lists them")


def describe(found: LinkedFleet) -> str:
    """A row of the status."""
    return f"{found.connected_count} of {found.hosts} hosts connected for 30s or more"


def part_of_status(found: LinkedFleet | None) -> tuple[str, str, list[tuple[str, ...]]]:
    """Title, cure and rows."""
    unlinked = found.unlinked if found is not None else ()
    return (
        "Not known to be connected to the link",
        CURE,
        [(printable(each.poollet), each.reason) for each in unlinked],
    )


def value_of(found: LinkedFleet | None) -> dict[str, object] | None:
    if found is None:
        return None
    names = [{"poollet": each.poollet, "reason": each.reason} for each in found.unlinked]
    return {"hosts": found.hosts, "connected": found.connected_count, "notConnected": names}
