"""What the world holds, and nothing about how it came there."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.gitstore.guards import Collisions
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.world.branch import Branch
from reconciler.world.contents import Contents
from reconciler.world.head import Head
from reconciler.world.known import Known
from reconciler.world.ledger import Ledger
from reconciler.world.pool import PoolState
from reconciler.world.pools import Announcement, Offer
from reconciler.world.population import Population
from reconciler.world.readings import Readings
from reconciler.world.relations import Relations
from reconciler.world.remembered import heard_last, remembered
from reconciler.world.reports.heartbeat import NOT_EXPIRED, HeartbeatSeen
from reconciler.world.reports.reports import Report, Reports
from reconciler.world.reports.said import Said
from reconciler.world.rules import Rules
from schemas.kinds import Key, Kind
from schemas.problem import Problem
from schemas.report.objects import Orphan
from schemas.settings.fleet import SignatureSettings
from schemas.validate.finding import Finding


class State:
    """`heartbeats_seen` and `readings` are not of this state alone: they outlive it."""

    def __init__(
        self, heartbeats_seen: dict[str, HeartbeatSeen], readings: Readings, *, is_offline: bool = False
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
        self.head = Head(None)
        self.rules = Rules()
        self.signatures: tuple[ObjectId | None, SignatureSettings] = (
            None,
            SignatureSettings(),
        )  # as of which commit
        self.source = Branch()
        self.collisions = Collisions()  # paths of the source that some file systems take for one
        self.news: frozenset[str] = frozenset()  # paths that differ from the source reconciled last
        self.held: dict[str, Contents] = {}  # as they read, files of it that change what may not change
        self.live = Branch()
        self.reports = Reports(heartbeats_seen)
        self.known: dict[Key, Known] = {}
        self.retained: dict[str, Known] = {}
        self.relations = Relations()
        self.ledger = Ledger()
        self.population = Population()
        self.quotas: dict[str, set[Key]] = {}  # by namespace
        self.orphaned: set[tuple[str, str, str]] = set()  # charges of orphans
        self.offers: dict[Kind, Offer] = {Kind.MACHINE_POOL: Offer(), Kind.VOLUME_POOL: Offer()}
        self.pools: dict[Kind, dict[str, PoolState]] = {Kind.MACHINE_POOL: {}, Kind.VOLUME_POOL: {}}
        self.faults: dict[Key, tuple[Finding, ...]] = {}
        self.problems: tuple[Problem, ...] | None = None  # None: to be put together again

    def is_ours(self, report: Report) -> bool:
        return not self.rules.authority.is_ours(report)

    def speaking(self, key: Key) -> Iterator[Said]:
        """What reports of this fleet say of an object."""
        return (
            each for each in self.reports.says(key) if self.is_ours(self.reports.by_poollet[each.poollet])
        )

    def announcement(self, pool: Key) -> Announcement | None:
        """What its owner announces; should two own it, the first by name."""
        for name in self.reports.announcers(pool):
            report = self.reports.by_poollet[name]
            if self.is_ours(report) and self.rules.authority.owns(name, pool):
                return Announcement(name, report.pools[pool], self.reports.heartbeat[name])
        known = self.known.get(pool)
        if known is None:
            return None
        for name in sorted(self.reports.silent):
            if self.rules.authority.owns(name, pool):
                why = f"{self.reports.silent[name]}; until its grace is over, what was said last stands"
                return heard_last(known, name, why)
        for name in self.speakers(pool):
            if self.is_ours(self.reports.by_poollet[name]) and self.reports.heartbeat[name] in NOT_EXPIRED:
                why = f"what the report of {name} says of it cannot be read; what was said last stands"
                return heard_last(known, name, why)
        return remembered(known) if self.is_offline else None

    def speakers(self, pool: Key) -> Iterator[str]:
        """Poollets whose report tells of a pool that is theirs, be it what cannot be read."""
        for name, report in sorted(self.reports.by_poollet.items()):
            if pool in report.pools_told_of and self.rules.authority.owns(name, pool):
                yield name

    def pools_of(self, poollet: str) -> Iterator[Key]:
        """Those that a poollet may speak for."""
        for pools in self.pools.values():
            yield from (each.key for each in pools.values() if self.rules.authority.owns(poollet, each.key))

    def orphans(self) -> Iterator[tuple[str, Orphan]]:
        """Objects without an order, by who reports them, on pools that are theirs."""
        for name, report in sorted(self.reports.by_poollet.items()):
            for orphan in report.orphans:
                if self.is_ours(report) and self.rules.authority.owns(name, pool_of_orphan(orphan)):
                    yield name, orphan


def pool_of_orphan(orphan: Orphan) -> Key:
    kind = Kind.MACHINE_POOL if orphan.kind == "Machine" else Kind.VOLUME_POOL
    return Key(kind, "", orphan.pool)
