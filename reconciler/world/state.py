"""What the world keeps, as the steps of an update change it: the View with all that only updates need.

Nothing about how it came there, and nothing that cannot be read again from the repo, but for when reports were seen to change.

`announcement` says what counts as announced of a pool. It is looked for in this order; the first that applies is the answer:

    the pool's grant, and who reports                             what counts as announced
    the host with the grant reports the pool                      its report
    no host has the grant, and one reports it                     its report; it may get the grant (pools/grants.py)
    another host writes the report, the granted one is silent     what `live` says, until the heartbeat timeout; then expired
    no host reports it; the granted one, or without a grant       what `live` says, until the heartbeat timeout
    one that did, is silent
    its file in the report of a live host cannot be read          what `live` says
    there are no reports at all (is_offline)                      what `live` says
    none of these                                                 None: no poollet announces the pool

What `live` says is never a reason to place anything new: a remembered pool is not ready, except in a checkout.

Must never happen: the word of a host without the grant is used for the room, the state or the objects of the pool.

Limits: methods answer from the State; only the steps of `update` and `World` change it. `expect` notes when a host that has a
grant was first missed, so `announcement` is not to be called by anything but an update.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace
from itertools import accumulate

from reconciler.gitstore.guards import Collisions
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.world.objects.object_state import ObjectState
from reconciler.world.objects.relations import Relations
from reconciler.world.pools.announcement import Announcement, Offer
from reconciler.world.pools.capacity_ledger import CapacityLedger
from reconciler.world.pools.grants import grant_on_live
from reconciler.world.pools.last_known_pool import expired_pool, last_known_pool, pool_on_live
from reconciler.world.pools.placement_counts import Population
from reconciler.world.pools.pool_state import PoolState
from reconciler.world.record import HOST_MISMATCH
from reconciler.world.reports.authority import Authority
from reconciler.world.reports.heartbeat import NOT_EXPIRED, Heartbeat, HeartbeatSeen, Writer
from reconciler.world.reports.heartbeat_watch import HeartbeatWatch
from reconciler.world.reports.host_report import HostReport
from reconciler.world.reports.reports import Reports
from reconciler.world.reports.rewind import LiveSeen
from reconciler.world.source.contents import Contents
from reconciler.world.source.live_history import LiveHistory
from reconciler.world.source.parse_cache.cache import ParseCache
from reconciler.world.source.rules import Rules
from reconciler.world.source.source_head import SourceHead
from reconciler.world.source.tree_index import TreeIndex
from reconciler.world.verdicts import VerdictRecord
from reconciler.world.view import View
from schemas.kinds import Key, Kind
from schemas.problem import Problem
from schemas.settings.fleet import SignatureSettings
from schemas.validate.finding import Finding

UNTIL_EXPIRED = "its last report counts until the heartbeat timeout"


class State(View):
    """The fields of the View, and those that only the next update needs.

    `heartbeats_seen`, `live_seen` and `readings` are not of this state alone: they outlive it. `is_offline`: there are no reports
    at all, as in a checkout, so pools are as live has them. `is_fresh`: nothing was taken in yet. `assumes_signed`: the source is taken
    for well signed, to plan what a signed merge would do.
    """

    assumes_signed = False

    def __init__(
        self,
        heartbeats_seen: dict[Writer, HeartbeatSeen],
        readings: ParseCache,
        *,
        live_seen: LiveSeen | None = None,
        is_offline: bool = False,
    ) -> None:
        self.readings, self.is_offline, self.is_fresh = readings, is_offline, True
        self.live_seen, self.live_history = live_seen or LiveSeen(), LiveHistory()
        self.source_commit = self.live_commit = self.own_live = self.last = None
        self.foreign_edits: tuple[str, ...] = ()
        # The commit that this process wrote onto live last.
        self.written: ObjectId | None = None
        self.head, self.rules = SourceHead(None), Rules()
        # The settings that signatures of the source are checked by, and the commit that they are of.
        self.signatures: tuple[ObjectId | None, SignatureSettings] = (None, SignatureSettings())
        self.source = TreeIndex()
        # Paths of the source that some file systems take for one.
        self.collisions = Collisions()
        self.news: frozenset[str] = frozenset()
        # Files of the source that change what may not change, as they read.
        self.held: dict[str, Contents] = {}
        self.live = TreeIndex()
        self.reports = Reports(HeartbeatWatch(heartbeats_seen))
        self.authority = Authority(self.rules.settings, self.rules.before)
        self.objects: dict[Key, ObjectState] = {}
        self.retained_volumes: dict[str, ObjectState] = {}
        self.relations = Relations()
        self.ledger, self.stopped = CapacityLedger(), set[Key]()
        self.population = Population()
        self.quotas: dict[str, set[Key]] = {}
        # What charges of orphans are of, in the ledger.
        self.orphaned: set[tuple[str, str, str]] = set()
        self.offers = {Kind.MACHINE_POOL: Offer(), Kind.VOLUME_POOL: Offer()}
        self.pools_by_kind: dict[Kind, dict[str, PoolState]] = {Kind.MACHINE_POOL: {}, Kind.VOLUME_POOL: {}}
        self.faults: dict[Key, tuple[Finding, ...]] = {}
        # None: they are to be collected again.
        self.problems: tuple[Problem, ...] | None = None
        self._accepted, self.descends, self.verdict_record = {}, knows_no_history, VerdictRecord()

    def announcement(self, pool: Key) -> Announcement | None:
        """The announcement of the pool that counts, by the table above.

        Where two reports announce it, that of the host with the grant counts, then one whose heartbeat is not expired, then
        the first by name.
        """
        known = self.objects.get(pool)
        granted = grant_on_live(known).host
        if newer := self._granted_later(pool, granted):
            granted = newer
        name = self._announcer(pool, granted)
        if name is not None:
            report = self.reports.by_poollet[name]
            if granted not in ("", report.host) and known is not None:
                return self._of_absent_host(known, report, granted)
            return Announcement(
                name,
                report.pools[pool],
                self.reports.heartbeats[report.writer],
                host=report.host,
                other_host=candidate_for(pool, report),
                epoch=0 if granted and not newer else self._highest_epoch(pool),
                is_rewound=bool(newer),
                held=self._why_held(name),
                asks=report.poollet.asks if report.poollet is not None else "",
            )
        if known is None:
            return None
        names = self._names_like(pool)
        for name, host in sorted(each for each in self.reports.silent if each[0] in names):
            if granted in ("", host) and self.authority.owns(name, pool):
                why = f"{self.reports.silent[name, host]}; {UNTIL_EXPIRED}"
                return last_known_pool(known, name, why)
        for name in self.speakers(pool):
            report = self.reports.by_poollet[name]
            is_granted = granted in ("", report.host) and self.is_ours(report)
            if is_granted and self.reports.heartbeats[report.writer] in NOT_EXPIRED:
                why = f"what the report of {name} says of it cannot be read; its last status stays"
                return last_known_pool(known, name, why)
        return pool_on_live(known) if self.is_offline else None

    def _granted_later(self, pool: Key, granted: str) -> str:
        """While `live` is rewound: the host that reports the pool under a higher epoch than `live` has. It was granted the pool since."""
        if not granted or not self.rewind.is_proven:
            return ""
        epoch = grant_on_live(self.objects.get(pool)).epoch
        found = [each for each in self._announcers(pool) if each.pools[pool].epoch > epoch]
        return max(found, key=lambda each: each.pools[pool].epoch).host if found else ""

    def _why_held(self, poollet: str) -> str:
        if self.rewind.is_proven or poollet not in self.rewind.reports:
            return ""
        named = ", ".join(self.rewind.reports[poollet])
        return f"the report of {poollet} names {named}, which live does not contain"

    def _announcer(self, pool: Key, granted: str) -> str | None:
        best = min(
            self._announcers(pool),
            key=lambda each: (granted not in ("", each.host), not self.may_be_alive(each.writer)),
            default=None,
        )
        return None if best is None else best.name

    def _announcers(self, pool: Key) -> Iterator[HostReport]:
        """The reports that announce the pool and are allowed to, in the order of their names."""
        for name in self.reports.announcers(pool):
            report = self.reports.by_poollet[name]
            if self.is_ours(report) and self.authority.owns(name, pool):
                yield report

    def _highest_epoch(self, pool: Key) -> int:
        """The highest epoch of reports that announce the pool and of assignments on it, with those of retained volumes.

        Asked only for a pool without a grant, whose document may have been lost with its epoch: the next grant must be
        above every one that a host may remember.
        """
        kept = self.retained_volumes.values() if pool.kind is Kind.VOLUME_POOL else ()
        placed = (self.objects[key] for key in self.relations.on_pool.get(pool))
        assignments = (each.record.assignment for each in (*placed, *kept))
        epochs = [each.epoch for each in assignments if each is not None and each.pool == pool.name]
        return max((*(each.pools[pool].epoch for each in self._announcers(pool)), *epochs), default=0)

    def _of_absent_host(self, known: ObjectState, report: HostReport, granted: str) -> Announcement | None:
        """The announcement of a pool whose report is written by a host without the grant.

        That other host is shown (condition HostMismatch) once its heartbeat is alive: an unconfirmed report may be years old.
        One that was shown stays shown after a start.
        """
        beat = self.reports.heartbeats[report.writer]
        mismatch = known.record.condition(HOST_MISMATCH)
        is_shown = beat is Heartbeat.UNCONFIRMED and mismatch is not None and mismatch.status == "True"
        other = report.host if beat is Heartbeat.ALIVE or is_shown else ""
        found = None
        if self.reports.expect(report.name, granted) is not Heartbeat.EXPIRED:
            why = f"{self.reports.silent[report.name, granted]}; {UNTIL_EXPIRED}"
            found = last_known_pool(known, report.name, why)
        found = found or expired_pool(known, report.name)
        return None if found is None else replace(found, other_host=other)

    def speakers(self, pool: Key) -> Iterator[str]:
        """Poollets that own the pool and announce it, even if that entry cannot be read."""
        for name in sorted(self._names_for(pool, self.reports.by_poollet.keys())):
            if pool in self.reports.by_poollet[name].announced_keys:
                yield name

    def fault_of(self, pool: Key) -> str:
        """Why the report of the pool's poollet cannot be read; empty while it can, or while no poollet of that name reports."""
        for name in sorted(self._names_for(pool, self.reports.by_poollet.keys())):
            if fault := self.reports.by_poollet[name].fault:
                return f"the report of {name} cannot be read: {fault}"
        return ""

    def pools_of(self, poollets: Set[str]) -> Iterator[Key]:
        """The known pools that one of these poollets may report, even if it reports none."""
        if poollets:
            pools = (each.key for pools in self.pools_by_kind.values() for each in pools.values())
            yield from (pool for pool in pools if next(self._names_for(pool, poollets), None) is not None)

    def _names_for(self, pool: Key, poollets: Set[str]) -> Iterator[str]:
        """Those of the poollets that may report the pool."""
        return (name for name in self._names_like(pool) & poollets if self.authority.owns(name, pool))

    def _names_like(self, pool: Key) -> Set[str]:
        """Every poollet that may report the pool is among these: its name begins the pool's, or it has an entry of its own. There may be
        thousands of other reports."""
        return {*accumulate(pool.name.split("-"), "{}-{}".format), *self.rules.settings.poollets}


def candidate_for(pool: Key, report: HostReport) -> str:
    """The hostID of another host that waits to serve the pool, by its candidate.json on the report; without a list of pools
    it waits for all of them."""
    waiting = report.candidate
    if waiting is None or waiting.host_id == report.host:
        return ""
    return waiting.host_id if not waiting.pools or pool.name in waiting.pools else ""


def knows_no_history(_commit: ObjectId, _ancestor: ObjectId) -> bool:
    """Before the first snapshot there is no repo to ask."""
    return False
