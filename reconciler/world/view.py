"""Everything known at one moment, read-only: the one thing that `decide`, `write` and the verbs read. Pure.

`State` keeps it, an update changes it, `World` brings it up to each snapshot. To all others it is read-only: a rule that
changed something here would decide otherwise than a World that was read from nothing.

The questions come in four groups: whether there is anything to reconcile; pools and hosts; what is reported; files. Each is
answered for the moment of the snapshot: grants, heartbeats and room do not change between two decisions of one tick. What the
tick itself decides is in its needs and its plan, never here.

Limits: no answer depends on `now`. Time comes in by an update only, which turns it into heartbeats. Answers about reports are
remembered until the State changes (`_accepted`), since several rules ask for the same object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from reconciler.gitstore.objects.tree import ObjectId
from reconciler.world.changes import Confirm
from reconciler.world.objects.object_state import ObjectState
from reconciler.world.objects.relations import POOL_OF, Relations
from reconciler.world.pools.announcement import Offer, was_destroyed
from reconciler.world.pools.capacity_ledger import CapacityLedger
from reconciler.world.pools.grants import NO_GRANT, Grant, grant_on_live
from reconciler.world.pools.placement_counts import Population
from reconciler.world.pools.pool_state import PoolState
from reconciler.world.record import DELETED, NOTHING
from reconciler.world.reports.authority import NO_REPORT, AcceptedReports, Authority, accept_reports
from reconciler.world.reports.heartbeat import EVER, NOT_EXPIRED, Heartbeat, Writer
from reconciler.world.reports.host_report import HostReport
from reconciler.world.reports.object_report import ObjectReport
from reconciler.world.reports.orphan_index import pool_of_orphan
from reconciler.world.reports.recovery_wait import MissingHost, find_missing_hosts, find_unreported_hosts
from reconciler.world.reports.reports import Reports
from reconciler.world.reports.rewind import NO_REWIND, LiveSeen, PendingRecovery, Rewind
from reconciler.world.reports.start_wait import FIRST_REPORTS, AwaitedHost, StartWait
from reconciler.world.source.absence_check import masks_live_objects, why_unverified
from reconciler.world.source.renamed_files import NOT_RENAMED, Renamed
from reconciler.world.source.rules import Rules
from reconciler.world.source.source_head import SourceHead
from reconciler.world.source.tree_index import TreeIndex
from schemas.kinds import Key, Kind
from schemas.model.capacity import Shortfall, fits, subtract
from schemas.problem import Problem
from schemas.report.objects import Orphan
from schemas.settings import fleet
from schemas.validate.finding import Finding


@dataclass(frozen=True, slots=True)
class HostSeen:
    """The traces of one host: its newest report, when it wrote that, and its heartbeat. Empty where there is none.

    `time` is by the host's own clock, no later than when it was read. It may void what people state about the host, since
    that stops nothing; only `heartbeat` says that a host is gone.
    """

    commit: ObjectId = ""
    time: datetime | None = None
    heartbeat: Heartbeat | None = None


class View:
    """What is known, field by field. Each comment says what a field means; the module of its type says how it is kept up."""

    # The source commit that is applied: not the head while `head.held` says why.
    source_commit: ObjectId | None
    # The source commit that live was made of.
    last: ObjectId | None
    # The head of live; the newest commit there of a reconciler, which `live` is; and the files that others changed since.
    live_commit: ObjectId | None
    own_live: ObjectId | None
    foreign_edits: Sequence[str]
    head: SourceHead
    rules: Rules
    source: TreeIndex
    # Paths that differ from the source that was reconciled last.
    news: frozenset[str]
    live: TreeIndex
    # Files that may be what became of files that declared objects.
    renamed: Renamed = NOT_RENAMED
    reports: Reports
    # The evidence that live lacks commits which were applied; and the recoveries that hosts wait for an approval of.
    rewind: Rewind = NO_REWIND
    live_seen: LiveSeen
    recoveries: tuple[PendingRecovery, ...] = ()
    # An approval with one of these is about a recovery: it matches something, also where nothing is held here.
    recovery_digests: frozenset[str] = frozenset()
    # The hosts that this process waits for since its start. None: it waits for no host, as a plan.
    start_wait: StartWait | None = None
    # Who may report what, by the rules and the names of all reports.
    authority: Authority
    # Whether no reports were read at all, as in a plan of a checkout. In a tick they are always read, even if there are none.
    is_offline: bool
    objects: Mapping[Key, ObjectState]
    # Volumes that their policy keeps, by uid: the same key may be declared again.
    retained_volumes: Mapping[str, ObjectState]
    relations: Relations
    pools_by_kind: Mapping[Kind, Mapping[str, PoolState]]
    offers: Mapping[Kind, Offer]
    ledger: CapacityLedger
    # Machines that are kept for an undo and reported off: their pools are charged with their disks alone.
    stopped: Set[Key]
    population: Population
    quotas: Mapping[str, set[Key]]
    # What validation finds wrong with objects as they are declared: errors, and notices of what waits until other objects are gone. Each blocks.
    faults: Mapping[Key, tuple[Finding, ...]]
    # Whether the first commit has the second in its history, as far as the repo knows.
    descends: Callable[[ObjectId, ObjectId], bool]
    # What was asked of reports since the state changed last.
    _accepted: dict[Key, AcceptedReports]

    # Whether there is anything to reconcile

    @property
    def is_news(self) -> bool:
        """Whether the source has commits that live was not made of."""
        return self.source_commit is not None and self.source_commit != self.last

    @property
    def unfit(self) -> tuple[Problem, ...]:
        """Why there is nothing to reconcile at all: no fleet. The tick ends there, and `live` stays as it is."""
        return self.rules.problems if not self.rules.settings.fleet.id else ()

    @property
    def is_live_lost(self) -> bool:
        """Lost, or rewound: nothing was reconciled here, and hosts report objects all the same, or did until a moment ago; or `live`
        provably lacks commits that were applied (reports/rewind.py).

        Then objects must be adopted from reports before anything is placed: what a host has would be created a second time.
        """
        if self.rewind.is_proven:
            return True
        return self.last is None and (
            any(
                each.reports_objects and not self.is_garbage(each)
                for each in self.reports.by_poollet.values()
            )
            or self.reports.has_absent_host()
        )

    @property
    def missing_hosts(self) -> tuple[MissingHost, ...]:
        """Hosts that a lost or rewound live waits for: what they were assigned since they fell silent is unknown. None is missing once every
        report was seen to change since, or says that its host leaves, and can be read; or is gone for its heartbeat timeout."""
        since = self.live_seen.lost_since
        if not self.is_live_lost:
            return ()
        garbage = {name for name, each in self.reports.by_poollet.items() if self.is_garbage(each)}
        found = (each for each in find_missing_hosts(self.reports, since) if each.name not in garbage)
        unreported = find_unreported_hosts(
            self.reports, self._list_granted_without_report(), self._list_destroyed()
        )
        return (*found, *unreported)

    def _list_granted_without_report(self) -> Iterator[tuple[str, str]]:
        """Pools that no report belongs to, with the host that `live` grants each to."""
        for pool in (each.key for found in self.pools_by_kind.values() for each in found.values()):
            host = grant_on_live(self.objects.get(pool)).host
            if host and not any(self.authority.owns(name, pool) for name in self.reports.by_poollet):
                yield pool.name, host

    def _list_destroyed(self) -> set[tuple[str, str]]:
        """Pools and hosts of the trailers `Pool-Destroyed` that `live` was not made of."""
        given = (each for each in self.head.confirmations if each.about is Confirm.POOL_DESTROYED)
        parts = (each.value.partition("=") for each in given)
        return {(pool, host) for pool, _, host in parts}

    @property
    def awaited_hosts(self) -> tuple[AwaitedHost, ...]:
        """Hosts without a report since this process began. Until there are none, nothing is placed or evicted, and no host counts as destroyed."""
        return self.start_wait.list_awaited(self.reports) if self.start_wait is not None else ()

    def is_garbage(self, report: HostReport) -> bool:
        """Whether the ref is garbage that belongs to no host, and no commit. It holds nothing; what else cannot be read may be a host's."""
        return report.is_of_no_host and not self.may_have_host(report.name)

    def may_have_host(self, poollet: str) -> bool:
        """Whether gitvirt.yaml declares a poollet of that name, or it owns a pool of the source."""
        pools = (pool.key for found in self.pools_by_kind.values() for pool in found.values())
        is_declared = poollet in self.rules.settings.poollets or poollet in self.rules.before.poollets
        return is_declared or any(self.authority.owns(poollet, pool) for pool in pools)

    @property
    def time_for_first_reports(self) -> timedelta:
        """For so long an object that no pool takes is not called unschedulable: this process has just started, and so have its hosts."""
        pools = [*self.pools.values(), *self.volume_pools.values()]
        if self.start_wait is None or (pools and not any(each.why_not_ready for each in pools)):
            return timedelta(0)
        return self.time_to_gather(FIRST_REPORTS)

    def time_to_gather(self, time: timedelta) -> timedelta:
        """What is left of a time since the start in which hosts that start together are waited for."""
        return self.start_wait.time_left(self.reports, time) if self.start_wait is not None else timedelta(0)

    # Pools and hosts

    @property
    def pools(self) -> Mapping[str, PoolState]:
        return self.pools_by_kind[Kind.MACHINE_POOL]

    @property
    def volume_pools(self) -> Mapping[str, PoolState]:
        return self.pools_by_kind[Kind.VOLUME_POOL]

    def find_pool(self, key: Key) -> PoolState | None:
        """None for a pool that no document declares and no host announces. Raises KeyError for a key of another kind."""
        return self.pools_by_kind[key.kind].get(key.name)

    def has_lost_link(self, pool: PoolState) -> bool:
        """Whether the host of the pool lost its link a moment ago: it gets nothing new. No status says so: most such hosts are back soon."""
        return self.reports.has_lost_link((pool.poollet, pool.grant.host), self.usual_timeout)

    @property
    def usual_timeout(self) -> timedelta:
        """The heartbeat timeout by the fleet's interval, whatever a report names."""
        return timedelta(milliseconds=self.rules.settings.heartbeat.timeout_milliseconds)

    def grant(self, pool: Key) -> Grant:
        """As it is when this tick is written."""
        found = self.find_pool(pool)
        return found.grant if found is not None else NO_GRANT

    def speaker(self, pool: Key) -> str:
        """The host that alone may speak of objects on the pool; empty if none may."""
        found = self.find_pool(pool)
        return found.speaker(is_live_lost=self.is_live_lost) if found is not None else ""

    def host_seen(self, pool: Key, host: str) -> HostSeen:
        """The newest sign of a host, whatever it reports. Its report of a pool that another poollet owns by now shows as well that
        it lives; of a host without any report that is not known before a heartbeat timeout, which begins with the first question.
        """
        known = [writer for writer in self.reports.heartbeats if writer[1] == host]
        owners = [writer for writer in known if self.authority.owns(writer[0], pool)]
        found = [self._seen_as(writer) for writer in owners or known]
        if not found:
            return HostSeen(heartbeat=self.reports.watch.await_host(host, self.usual_timeout))
        return max(found, key=lambda each: (each.heartbeat in NOT_EXPIRED, each.time or EVER))

    def is_known_host(self, pool: Key, host: str) -> bool:
        """Whether a poollet that may serve the pool reports from that host, or waits there as a candidate. A plan without reports cannot
        know that: there, every host is. A tick knows: without any report no host is, or a pool would move to a mistyped hostID."""
        reports = self.reports.by_poollet
        return self.is_offline or any(
            host in (each.host, each.candidate.host_id if each.candidate is not None else "")
            for name, each in reports.items()
            if self.authority.owns(name, pool)
        )

    def _seen_as(self, writer: Writer) -> HostSeen:
        report, beat = self.reports.by_poollet.get(writer[0]), self.reports.heartbeats[writer]
        if report is None or report.writer != writer:
            return HostSeen(heartbeat=beat)
        self.reports.cited.add(report.name)
        return HostSeen(report.own_commit, report.time, beat)

    def shortfalls(self, machine: Key, pool: str) -> tuple[Shortfall, ...]:
        """The resources of which a pool has too little to take a machine that is on another pool; empty when there is room.

        For an eviction to a pin: the machine must not be stopped for a pool that would refuse it. A pool that only reports
        how many machines of a class it takes is not compared. Only the scheduler decides where an object goes.
        """
        known, state = self.objects[machine], self.pools[pool]
        # Elsewhere it is created with the class of its spec, whatever it has here.
        record = msgspec.structs.replace(known.record, pool=pool, status=None)
        there = msgspec.structs.replace(known, record=record)
        charge = self.ledger.charge_of(there, self.offers[Kind.MACHINE_POOL].classes)
        if charge is None or state.shares is not None:
            return ()
        return fits(charge.vector, subtract(state.allocatable, self.ledger.usage(state.key)))

    # What is reported

    def refused_announcements(self, pool: Key) -> tuple[str, ...]:
        """What is wrong with announcements of a pool by poollets that do not own it, by name. Those change nothing about the pool."""
        owner, names = self.authority.owner(pool), self.reports.announcers(pool)
        belongs = (
            f"{pool.name} belongs to poollet {owner}"
            if owner
            else f"{pool.name} belongs to no poollet that reports"
        )
        return tuple(
            f"poollet {name} announces it too, and {belongs}; gitvirt ignores what {name} reports of it"
            for name in names
            if name != owner and self.is_ours(self.reports.by_poollet[name])
        )

    def accepted_reports(self, key: Key) -> AcceptedReports:
        """The reports about an object that count. Always none for kinds that no host reports, pools included."""
        found = self._accepted.get(key)
        if found is None:
            found = self._accept(key)
            if found is not NO_REPORT:
                self._accepted[key] = found
        return found

    def _accept(self, key: Key) -> AcceptedReports:
        if key.kind not in POOL_OF or not self.reports.tells_of(key):
            return NO_REPORT
        known = self.objects.get(key)
        # A retained volume is another one than what is declared by its name now.
        speaking = (each for each in self.speaking(key) if each.uid not in self.retained_volumes)
        record = known.record if known else NOTHING
        return accept_reports(
            key, record, speaking, self.authority, self.speaker, is_live_lost=self.is_live_lost
        )

    def is_reported_off(self, key: Key) -> bool:
        """Whether the host of a machine that is kept for an undo says that it carried out that order. Not remembered: an update asks it."""
        report = self._accept(key).report
        seen = report.status.conditions if report is not None and report.status is not None else ()
        return any(each.type == "Ready" and each.reason == DELETED for each in seen)

    def speaking(self, key: Key) -> Iterator[ObjectReport]:
        """The entries about an object in reports of this fleet. If a host writes two reports, as after its poollet was renamed, the one
        that still changes comes last: it counts."""
        found = (
            each for each in self.reports.says(key) if self.is_ours(self.reports.by_poollet[each.poollet])
        )
        return iter(sorted(found, key=lambda each: self.may_be_alive((each.poollet, each.host))))

    def held_reports(self, key: Key) -> Iterator[ObjectReport]:
        """What reports say of it that name a commit which `live` lacks, without a proof. Such a report holds what it names."""
        if not self.rewind.is_proven:
            yield from (
                each for each in self.speaking(key) if each.poollet in self.rewind.reports and each.is_there
            )

    def orphans_named(self, key: Key) -> Iterator[tuple[HostReport, Orphan]]:
        """Objects of that kind and name that hosts report without an order, by reports that belong to poollets of their pools. An object of
        an earlier life of the name counts too: beside it the name would run twice. So does one on a silent host: silence shows no absence.
        It counts until the report goes, or people declare that host of the pool destroyed and it does not report any more."""
        for name in self.reports.orphan_index.speakers(key):
            report = self.reports.by_poollet[name]
            for orphan in report.orphans:
                is_named = (orphan.kind, orphan.namespace, orphan.name) == key
                is_owned = self.is_ours(report) and self.authority.owns(name, pool_of_orphan(orphan))
                pool = self.objects.get(pool_of_orphan(orphan))
                may_run = self.may_be_alive(report.writer) or not was_destroyed(pool, report.host)
                if is_named and is_owned and may_run and orphan.uid not in self.retained_volumes:
                    yield report, orphan

    def orphans(self) -> Iterator[tuple[str, Orphan]]:
        """Objects without an order, by who reports them, on pools that are granted to the host that does. The ledger charges them, so that
        nothing is placed over them. The reconciler orders nothing about them."""
        for name, report in sorted(self.reports.by_poollet.items()):
            yield from ((name, orphan) for orphan in report.orphans if self.is_granted(report, orphan))

    def is_granted(self, report: HostReport, orphan: Orphan) -> bool:
        """Whether that host has the grant of the pool on which it reports an orphan. Silent, it still counts: its machine may run."""
        pool = pool_of_orphan(orphan)
        is_granted = report.host != "" and self.grant(pool).host == report.host
        return is_granted and self.is_ours(report) and self.authority.owns(report.name, pool)

    def is_ours(self, report: HostReport) -> bool:
        """Whether anything in the report counts: of this fleet, by the poollet of that ref, and signed where that is asked for."""
        return not self.authority.is_ours(report)

    def may_be_alive(self, writer: Writer) -> bool:
        """Not expired and not left. An unconfirmed heartbeat counts here: nothing says yet that its host stopped."""
        return self.reports.heartbeats.get(writer) in NOT_EXPIRED

    def has_applied(self, poollet: str, commit: ObjectId) -> bool:
        """Whether the report of that poollet was made after its host applied a later commit of live than this one. Without a repo it is
        not known, and no."""
        report = self.reports.by_poollet.get(poollet)
        applied = report.poollet.live_commit if report is not None and report.poollet is not None else None
        return applied is not None and applied != commit and self.descends(applied, commit)

    # Files

    def why_unverified(self, key: Key) -> str:
        """Why an absent object may still be declared; empty if its absence is certain. `decide` orders no deletion while this says anything.
        It says nothing of an object that is not known at all."""
        known = self.objects.get(key)
        if known is None:
            return ""
        renamed = self.renamed.by_key.get(key, "")
        return why_unverified(known, self.source, self.live, self.rules, self.news, renamed)

    def is_synced(self, path: str) -> bool:
        """Whether the text of a source file is copied to `live`: not a malformed one, nor a new one that may be what became of another."""
        if path == fleet.PATH:
            return self.rules.is_read
        if path in self.renamed.new:
            return False
        found = self.source.problem_files.get(path)
        is_malformed = found is not None and found.is_malformed
        return not is_malformed and not masks_live_objects(path, self.source, self.live)

    @property
    def frozen(self) -> Mapping[str, tuple[Problem, ...]]:
        """Frozen files of the source, and why."""
        problem_files = self.source.problem_files
        return {path: found.problems for path, found in problem_files.items() if found.is_malformed}
