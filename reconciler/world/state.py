"""What the world holds, and nothing about how it came there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from reconciler.gitstore.guards import Collisions
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.world.objects.object_state import ObjectState
from reconciler.world.objects.relations import Relations
from reconciler.world.pools.announcement import Announcement, Offer
from reconciler.world.pools.capacity_ledger import CapacityLedger
from reconciler.world.pools.grants import NO_GRANT, Grant, grant_on_live
from reconciler.world.pools.last_known_pool import expired_pool, last_known_pool, pool_on_live
from reconciler.world.pools.placement_counts import Population
from reconciler.world.pools.pool_state import PoolState
from reconciler.world.record import HOST_MISMATCH, condition
from reconciler.world.reports.heartbeat import NOT_EXPIRED, Heartbeat, HeartbeatSeen, Writer
from reconciler.world.reports.reports import EVER, HostReport, ObjectReport, Reports
from reconciler.world.source.contents import Contents
from reconciler.world.source.parse_cache.cache import ParseCache
from reconciler.world.source.rules import Rules
from reconciler.world.source.source_head import SourceHead
from reconciler.world.source.tree_index import TreeIndex
from schemas.kinds import Key, Kind
from schemas.problem import Problem
from schemas.report.objects import Orphan
from schemas.settings.fleet import SignatureSettings, heartbeat_timeout_milliseconds
from schemas.validate.finding import Finding


@dataclass(frozen=True, slots=True)
class HostSeen:
    """What was seen of one host: its newest report, when it wrote that, and its heartbeat. Empty where there is none."""

    commit: ObjectId = ""
    time: datetime | None = None
    heartbeat: Heartbeat | None = None


UNTIL_EXPIRED = "using its last report until the heartbeat timeout"


class State:
    """`heartbeats_seen` and `readings` are not of this state alone: they outlive it."""

    def __init__(
        self, heartbeats_seen: dict[Writer, HeartbeatSeen], readings: ParseCache, *, is_offline: bool = False
    ) -> None:
        self.readings = readings
        self.is_offline = is_offline
        self.is_fresh = True
        self.source_commit: ObjectId | None = None
        self.live_commit: ObjectId | None = None
        self.own_live: ObjectId | None = None  # the newest commit on live of a reconciler, which `live` is
        self.foreign_edits: tuple[str, ...] = ()  # files that others changed on live since
        self.last: ObjectId | None = None
        self.written: ObjectId | None = None  # what we put onto live ourselves, last
        self.head = SourceHead(None)
        self.rules = Rules()
        self.signatures: tuple[ObjectId | None, SignatureSettings] = (
            None,
            SignatureSettings(),
        )  # as of which commit
        self.source = TreeIndex()
        self.collisions = Collisions()  # paths of the source that some file systems take for one
        self.news: frozenset[str] = frozenset()  # paths that differ from the source reconciled last
        self.held: dict[str, Contents] = {}  # as they read, files of it that change what may not change
        self.live = TreeIndex()
        self.reports = Reports(heartbeats_seen)
        self.objects: dict[Key, ObjectState] = {}
        self.retained_volumes: dict[str, ObjectState] = {}
        self.relations = Relations()
        self.ledger = CapacityLedger()
        self.population = Population()
        self.quotas: dict[str, set[Key]] = {}  # by namespace
        self.orphaned: set[tuple[str, str, str]] = set()  # charges of orphans
        self.offers: dict[Kind, Offer] = {Kind.MACHINE_POOL: Offer(), Kind.VOLUME_POOL: Offer()}
        self.pools: dict[Kind, dict[str, PoolState]] = {Kind.MACHINE_POOL: {}, Kind.VOLUME_POOL: {}}
        self.faults: dict[Key, tuple[Finding, ...]] = {}
        self.problems: tuple[Problem, ...] | None = None  # None: to be put together again

    def is_ours(self, report: HostReport) -> bool:
        return not self.rules.authority.is_ours(report)

    def speaking(self, key: Key) -> Iterator[ObjectReport]:
        """What reports of this fleet say of an object. Should a host write two of them, as after its poollet was renamed, the one
        that goes on comes last: it counts."""
        found = (
            each for each in self.reports.says(key) if self.is_ours(self.reports.by_poollet[each.poollet])
        )
        return iter(sorted(found, key=lambda each: self._is_alive((each.poollet, each.host))))

    def announcement(self, pool: Key) -> Announcement | None:
        """What its owner announces. Of a granted pool only its host's word counts; should two own it, that of the host with the grant,
        then the one whose heartbeat is not expired, then the first by name."""
        known = self.objects.get(pool)
        granted = grant_on_live(known).host
        name = self._announcer(pool, granted)
        if name is not None:
            report = self.reports.by_poollet[name]
            if granted not in ("", report.host) and known is not None:
                return self._of_absent_host(known, report, granted)
            beat, other = self.reports.heartbeats[report.writer], candidate_for(pool, report)
            epoch = 0 if granted else self._highest_epoch(pool)
            return Announcement(
                name, report.pools[pool], beat, host=report.host, other_host=other, epoch=epoch
            )
        if known is None:
            return None
        for name, host in sorted(self.reports.silent):
            if granted in ("", host) and self.rules.authority.owns(name, pool):
                why = f"{self.reports.silent[name, host]}; {UNTIL_EXPIRED}"
                return last_known_pool(known, name, why)
        for name in self.speakers(pool):
            report = self.reports.by_poollet[name]
            is_granted = granted in ("", report.host) and self.is_ours(report)
            if is_granted and self.reports.heartbeats[report.writer] in NOT_EXPIRED:
                why = f"what the report of {name} says of it cannot be read; its last status stays"
                return last_known_pool(known, name, why)
        return pool_on_live(known) if self.is_offline else None

    def _announcer(self, pool: Key, granted: str) -> str | None:
        best = min(
            self._announcers(pool),
            key=lambda each: (granted not in ("", each.host), not self._is_alive(each.writer)),
            default=None,
        )
        return None if best is None else best.name

    def _announcers(self, pool: Key) -> Iterator[HostReport]:
        """The reports that may speak of the pool, and do, by their names."""
        for name in self.reports.announcers(pool):
            report = self.reports.by_poollet[name]
            if self.is_ours(report) and self.rules.authority.owns(name, pool):
                yield report

    def _highest_epoch(self, pool: Key) -> int:
        """Of the reports that announce the pool, and of the assignments on it."""
        kept = self.retained_volumes.values() if pool.kind is Kind.VOLUME_POOL else ()
        placed = (self.objects[key] for key in self.relations.on_pool.get(pool))
        assignments = (each.record.assignment for each in (*placed, *kept))
        epochs = [each.epoch for each in assignments if each is not None and each.pool == pool.name]
        return max((*(each.pools[pool].epoch for each in self._announcers(pool)), *epochs), default=0)

    def _is_alive(self, writer: Writer) -> bool:
        return self.reports.heartbeats.get(writer) in NOT_EXPIRED

    def _of_absent_host(self, known: ObjectState, report: HostReport, granted: str) -> Announcement | None:
        """Of a pool of which another host than that with the grant writes the report."""
        beat = self.reports.heartbeats[report.writer]
        is_shown = beat is Heartbeat.UNCONFIRMED and is_true(known, HOST_MISMATCH)
        other = report.host if beat is Heartbeat.ALIVE or is_shown else ""
        found = None
        if self.reports.expect(report.name, granted) is not Heartbeat.EXPIRED:
            why = f"{self.reports.silent[report.name, granted]}; {UNTIL_EXPIRED}"
            found = last_known_pool(known, report.name, why)
        found = found or expired_pool(known, report.name)
        return None if found is None else replace(found, other_host=other)

    def speakers(self, pool: Key) -> Iterator[str]:
        """Poollets whose report tells of a pool that is theirs, be it what cannot be read."""
        for name, report in sorted(self.reports.by_poollet.items()):
            if pool in report.announced_keys and self.rules.authority.owns(name, pool):
                yield name

    def host_seen(self, pool: Key, host: str) -> HostSeen:
        """The newest sign of a host, whatever it reports. Its report of a pool that another poollet owns by now shows as well that
        it lives; of a host without any report that is not known before a heartbeat timeout."""
        known = [writer for writer in self.reports.heartbeats if writer[1] == host]
        owners = [writer for writer in known if self.rules.authority.owns(writer[0], pool)]
        found = [self._seen_as(writer) for writer in owners or known]
        if not found:
            interval = self.rules.settings.heartbeat.interval
            timeout = timedelta(milliseconds=heartbeat_timeout_milliseconds(interval))
            return HostSeen(heartbeat=self.reports.await_host(host, timeout))
        return max(found, key=lambda each: (each.heartbeat in NOT_EXPIRED, each.time or EVER))

    def _seen_as(self, writer: Writer) -> HostSeen:
        report, beat = self.reports.by_poollet.get(writer[0]), self.reports.heartbeats[writer]
        if report is None or report.writer != writer:
            return HostSeen(heartbeat=beat)
        return HostSeen(report.own_commit, report.time, beat)

    def pools_of(self, poollet: str) -> Iterator[Key]:
        """Those that a poollet may speak for."""
        for pools in self.pools.values():
            yield from (each.key for each in pools.values() if self.rules.authority.owns(poollet, each.key))

    def orphans(self) -> Iterator[tuple[str, Orphan]]:
        """Objects without an order, by who reports them, on pools that are granted to the host that does."""
        for name, report in sorted(self.reports.by_poollet.items()):
            for orphan in report.orphans:
                pool = pool_of_orphan(orphan)
                is_granted = report.host != "" and self.grant(pool).host == report.host
                if is_granted and self.is_ours(report) and self.rules.authority.owns(name, pool):
                    yield name, orphan

    def grant(self, pool: Key) -> Grant:
        """Its host alone may speak of objects on the pool."""
        found = self.pools[pool.kind].get(pool.name)
        return found.grant if found is not None else NO_GRANT


def is_true(known: ObjectState, type: str) -> bool:
    found = condition(getattr(known.record.status, "conditions", ()), type)
    return found is not None and found.status == "True"


def candidate_for(pool: Key, report: HostReport) -> str:
    """The hostID of another host that waits to serve the pool."""
    waiting = report.candidate
    if waiting is None or waiting.host_id == report.host:
        return ""
    return waiting.host_id if not waiting.pools or pool.name in waiting.pools else ""


def pool_of_orphan(orphan: Orphan) -> Key:
    kind = Kind.MACHINE_POOL if orphan.kind == "Machine" else Kind.VOLUME_POOL
    return Key(kind, "", orphan.pool)
