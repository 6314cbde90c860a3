"""Who may report what: a poollet reports its own pools, and objects that are assigned to them. Pure.

Theory of operation
-------------------
Three gates, each narrower than the one before. What stops at one is never acted on:

    gate                              asks                                                        otherwise
    Authority.is_ours                 is the report of this fleet, by this poollet, signed        all of it is refused
    Authority.owns                    is the poollet the one that owns the pool                   refused; CLAIM_REFUSED on the object
                                                                                                  or the pool
    the grant                         does the host that wrote it have the pool's grant, or, while  ignored
                                      `live` is lost, announce a pool that no host has

What an entry says of an object then depends on what `live` orders:

    the entry is about the present assignment            it is *the* report of the object
    live assigns the object to no pool, it is there      a claim: a lost live may adopt it
    live is lost or rewound, it is there                 a claim, whatever live assigns
    live assigns it to another pool, same uid there      refused: two pools have it; and the row below
    live assigns it to another pool, it is present       nothing, unless its pool has not confirmed it (decide/unconfirmed.py)
    anything else                                        ignored: it is about an assignment that ended

Settings count as they are and as they were at the last reconciled source: a commit that gives a pool to another poollet is
not used together with reports that only its own text makes credible.

Must never happen: an object's status or end comes from a host that `live` did not assign it to.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from reconciler.world.objects.relations import POOL_OF
from reconciler.world.record import Record
from reconciler.world.reports.host_report import HostReport
from reconciler.world.reports.object_report import ObjectReport
from schemas.kinds import Key, Kind
from schemas.settings.fleet import FleetSettings, prefixes

MOST_ANSWERS = 100_000  # that an Authority remembers


@dataclass(frozen=True, slots=True)
class Authority:
    """By the settings as they are and as they were at the last reconciled source: both must allow it. `reporting` are the names of all
    reports, of which the longest that fits owns a pool; one that cannot be read or is refused keeps its pools from others."""

    settings: FleetSettings
    before: FleetSettings
    reporting: Collection[str] = ()
    _owns: dict[tuple[str, Key], bool] = field(default_factory=dict, compare=False, repr=False)

    def is_ours(self, report: HostReport) -> str:
        """Why a report does not belong to this fleet; empty if it does."""
        poollet = report.poollet
        if report.fault:
            return f"it cannot be read: {report.fault}"
        if poollet is None:
            return "it has no poollet.json that can be read"
        if poollet.fleet != self.settings.fleet.id:
            return f"it belongs to another fleet, {poollet.fleet}"
        if poollet.name != report.name:
            return f"it names poollet {poollet.name} as its writer"
        return report.unsigned if report.is_refused else ""

    def owns(self, poollet: str, pool: Key) -> bool:
        """Whether both settings let the poollet report the pool. The grant, and not this, decides between hosts."""
        known = self._owns.get((poollet, pool))
        if known is None:
            if len(self._owns) >= MOST_ANSWERS:
                self._owns.clear()  # the names of pools in reports are up to those who write them
            both = (self.settings, self.before)
            if pool.kind is Kind.VOLUME_POOL:
                known = all(each.owns_volumes(poollet, pool.name, self.reporting) for each in both)
            else:
                known = all(each.owns(poollet, pool.name, self.reporting) for each in both)
            self._owns[poollet, pool] = known
        return known

    def owner(self, pool: Key) -> str:
        """The poollet that owns the pool, of those that report or that the settings name; empty if there is none."""
        names = {*prefixes(pool.name), *self.settings.poollets}
        known = sorted(name for name in names if name in self.reporting or name in self.settings.poollets)
        return next((name for name in known if self.owns(name, pool)), "")


@dataclass(frozen=True, slots=True)
class AcceptedReports:
    """The reports about one object that count.

    `report` is the word of the pool that live assigns it to, on that assignment or an order about it. `claims` come from owners of pools,
    while live assigns the object to no pool. `rivals` are those that have an object of that name, whatever its uid, while live assigns it
    to another pool. `refused` says what poollets may not say.
    """

    report: ObjectReport | None = None
    claims: tuple[ObjectReport, ...] = ()
    refused: tuple[str, ...] = ()
    rivals: tuple[ObjectReport, ...] = ()


NO_REPORT = AcceptedReports()


def accept_reports(
    key: Key,
    record: Record,
    says: Iterable[ObjectReport],
    authority: Authority,
    speaker: Callable[[Key], str],
    *,
    is_live_lost: bool = False,
) -> AcceptedReports:
    """Selects the reports about one object that count. `speaker` gives the host that speaks for a pool: reports of any other host about
    objects on that pool never count. While `live` is lost or rewound, what it assigns is no more than another report."""
    report, claims, refused, rivals = None, [], [], []
    assignment = record.assignment
    for each in says:
        pool = each.pool or record.pool
        if each.phase == "unknown" and not each.assignment and not each.uid:
            continue
        if pool and not authority.owns(each.poollet, Key(POOL_OF[key.kind], "", pool)):
            if each.is_there:
                refused.append(
                    f"poollet {each.poollet} reports it on pool {pool}, which does not belong to that poollet"
                )
        elif speaker(Key(POOL_OF[key.kind], "", pool)) != each.host:
            continue
        elif _is_of(record, each, pool):
            report = each
        elif assignment is None or is_live_lost:
            claims += [each] if each.is_there else []
        elif each.phase == "present":
            rivals.append(each)
            if each.uid == record.uid:
                refused.append(
                    f"poollet {each.poollet} reports it on {pool}, and it is assigned to {assignment.pool}"
                )
    if len({each.pool for each in claims}) > 1:
        names = " and ".join(sorted({each.pool or each.poollet for each in claims}))
        refused.append(f"two pools report it at once: {names}")
    return AcceptedReports(report, tuple(claims), tuple(refused), tuple(rivals))


def _is_of(record: Record, report: ObjectReport, pool: str) -> bool:
    """Whether the report is about the present assignment."""
    assignment = record.assignment
    return assignment is not None and report.assignment == assignment.id and pool == assignment.pool
