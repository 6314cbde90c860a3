"""The World: everything known at one moment, brought up to each snapshot at the cost of what changed.

Read by whoever decides and writes; changed by `advance` alone. Decides nothing, writes nothing, and keeps nothing that
could not be read again, but for when reports were seen to change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from reconciler.gitstore.objects.tree import File, ObjectId
from reconciler.gitstore.repo import Repo, Snapshot
from reconciler.world.bulk_load import bulk
from reconciler.world.changes import Confirmation, SourceHold, WorldChanges
from reconciler.world.objects.object_state import ObjectState
from reconciler.world.objects.relations import Relations
from reconciler.world.pools.capacity_ledger import CapacityLedger
from reconciler.world.pools.grants import Grant
from reconciler.world.pools.pool_state import PoolState
from reconciler.world.problems import problems
from reconciler.world.record import NOTHING
from reconciler.world.reports.authority import NO_REPORT, POOL_OF, AcceptedReports, accept_reports
from reconciler.world.reports.heartbeat import HeartbeatSeen, Writer
from reconciler.world.reports.recovery_wait import MissingHost, find_missing_hosts
from reconciler.world.source.absence_check import masks_live_objects, why_unverified
from reconciler.world.source.parse_cache.cache import ParseCache
from reconciler.world.state import HostSeen, State
from reconciler.world.update import UpdateInputs, update_world
from schemas.kinds import Key, Kind
from schemas.model.capacity import Shortfall, fits, subtract
from schemas.problem import Problem
from schemas.report.objects import Orphan, ReportedEvent
from schemas.settings import fleet
from schemas.settings.fleet import FleetSettings
from schemas.validate.finding import Finding


class World:
    """`ambient` is the environment that signatures are checked in.

    `readings` are what files held when they were read before. `is_offline`: there are no reports at all, as in a checkout,
    so that pools are as live has them.
    """

    def __init__(
        self,
        ambient: Mapping[str, str] | None = None,
        heartbeats_seen: Mapping[Writer, HeartbeatSeen] | None = None,
        *,
        readings: ParseCache | None = None,
        is_offline: bool = False,
    ) -> None:
        self._ambient = ambient or {}
        self._heartbeats_seen = dict(heartbeats_seen or {})
        self._readings = readings or ParseCache()
        self._is_offline = is_offline
        self._state = self._nothing()
        self._dirty: set[Key] = set()
        self._source_paths: set[str] = set()
        self._live_paths: set[str] = set()
        self._reminders: dict[Key, datetime] = {}
        self._heard: dict[Key, AcceptedReports] = {}  # of the present state

    def advance(self, repo: Repo, snapshot: Snapshot, now: datetime) -> WorldChanges:
        """What changed since `acknowledge` was called last. Raises what reading raises; then the next advance starts from nothing."""
        self._heard.clear()
        if self._state.is_fresh:
            self._readings.begin()
        try:
            with bulk(self._state.is_fresh):
                delta = update_world(self._state, UpdateInputs(repo, snapshot, now, self._ambient))
        except BaseException:
            # Half of it may be taken in: nothing of it can be relied on.
            self._state = self._nothing()
            raise
        self._dirty |= delta.dirty
        self._dirty |= {key for key, at in self._reminders.items() if at <= now}
        self._reminders = {key: at for key, at in self._reminders.items() if at > now}
        self._source_paths |= delta.source_paths
        self._live_paths |= delta.live_paths
        return WorldChanges(
            frozenset(self._dirty),
            frozenset(self._source_paths),
            frozenset(self._live_paths),
            problems(self._state, repo),
            min((at for at in (self._state.reports.due(), *self._reminders.values()) if at), default=None),
            delta.blobs_read,
        )

    def acknowledge(self, written: ObjectId | None = None) -> None:
        """The changes of the last advance are handled: written as this commit on live, or there was nothing to write.

        Files that we wrote ourselves are not among the paths of the next advance.
        """
        self._state.written = written or self._state.written
        self._dirty.clear()
        self._source_paths.clear()
        self._live_paths.clear()
        self._heard.clear()
        self._readings.settle()

    def remind(self, key: Key, at: datetime) -> None:
        """Makes the object dirty then."""
        self._reminders[key] = min(at, self._reminders.get(key, at))

    def _nothing(self) -> State:
        return State(self._heartbeats_seen, self._readings, is_offline=self._is_offline)

    @property
    def heartbeats_seen(self) -> Mapping[Writer, HeartbeatSeen]:
        return self._heartbeats_seen

    # Commits, and what holds them back

    @property
    def source(self) -> ObjectId | None:
        """The source commit that is applied; not the head while that is held."""
        return self._state.source_commit

    @property
    def target(self) -> ObjectId | None:
        return self._state.live_commit

    @property
    def last_source(self) -> ObjectId | None:
        """The source commit that live was made of."""
        return self._state.last

    @property
    def is_news(self) -> bool:
        """Whether the source has commits that live was not made of."""
        return self.source is not None and self.source != self.last_source

    @property
    def held_source(self) -> SourceHold | None:
        return self._state.head.held

    @property
    def confirmations(self) -> tuple[Confirmation, ...]:
        return self._state.head.confirmations

    @property
    def settings(self) -> FleetSettings:
        return self._state.rules.settings

    @property
    def previous_settings(self) -> FleetSettings:
        """Those of the source that was reconciled last: of the two the stricter holds."""
        return self._state.rules.before

    @property
    def unfit(self) -> tuple[Problem, ...]:
        """Why there is nothing to reconcile at all: no fleet."""
        return self._state.rules.problems if not self.settings.fleet.id else ()

    # Objects

    @property
    def objects(self) -> Mapping[Key, ObjectState]:
        return self._state.objects

    @property
    def retained_volumes(self) -> Mapping[str, ObjectState]:
        """Volumes that were taken out of service, by their uid: the same key may be declared again."""
        return self._state.retained_volumes

    @property
    def relations(self) -> Relations:
        return self._state.relations

    def why_unverified(self, key: Key) -> str:
        """Why an absent object may still be declared; nothing when its absence is certain."""
        known = self.objects.get(key)
        state = self._state
        return why_unverified(known, state.source, state.rules, state.news) if known else ""

    def faults(self, key: Key) -> tuple[Finding, ...]:
        """What validation holds against it as it is declared: errors only."""
        return self._state.faults.get(key, ())

    # What is reported

    def accepted_reports(self, key: Key) -> AcceptedReports:
        """What counts of all that is said of an object, or of a pool. Asked for several times a tick."""
        found = self._heard.get(key)
        if found is None:
            found = self._accept(key)
            if found is not NO_REPORT:
                self._heard[key] = found
        return found

    def _accept(self, key: Key) -> AcceptedReports:
        if key.kind not in POOL_OF or not self._state.reports.tells_of(key):
            return NO_REPORT
        known = self.objects.get(key)
        # A retained volume is another one than what is declared by its name now.
        speaking = (each for each in self._state.speaking(key) if each.uid not in self.retained_volumes)
        record = known.record if known else NOTHING
        return accept_reports(key, record, speaking, self._state.rules.authority, self._state.grant)

    @property
    def pools(self) -> Mapping[str, PoolState]:
        return self._state.pools[Kind.MACHINE_POOL]

    @property
    def volume_pools(self) -> Mapping[str, PoolState]:
        return self._state.pools[Kind.VOLUME_POOL]

    def grant(self, pool: Key) -> Grant:
        return self._state.grant(pool)

    def host_seen(self, pool: Key, host: str) -> HostSeen:
        return self._state.host_seen(pool, host)

    @property
    def orphans(self) -> tuple[Orphan, ...]:
        return tuple(orphan for _, orphan in self._state.orphans())

    @property
    def events(self) -> tuple[ReportedEvent, ...]:
        reports = self._state.reports.by_poollet
        return tuple(event for name in sorted(reports) for event in reports[name].events)

    @property
    def is_live_lost(self) -> bool:
        """Nothing was reconciled here, and hosts report objects all the same, or did until a moment ago."""
        reports = self._state.reports
        return self.last_source is None and (
            any(each.reports_objects for each in reports.by_poollet.values()) or reports.has_absent_host()
        )

    @property
    def missing_hosts(self) -> tuple[MissingHost, ...]:
        """What a host was assigned since it fell silent is unknown."""
        return tuple(find_missing_hosts(self._state.reports))

    @property
    def can_recover(self) -> bool:
        """Every report was seen to change, or says that its host leaves, and can be read; or it is gone for its grace."""
        return not self.missing_hosts

    # Capacity

    @property
    def ledger(self) -> CapacityLedger:
        return self._state.ledger

    def shortfalls(self, machine: Key, pool: str) -> tuple[Shortfall, ...]:
        """What a pool has too little of to take a machine that is elsewhere; a count of classes alone is not looked at."""
        known, state = self.objects[machine], self.pools[pool]
        there = msgspec.structs.replace(known, record=msgspec.structs.replace(known.record, pool=pool))
        classes = self._state.offers[Kind.MACHINE_POOL].classes
        charge = self.ledger.charge_of(there, classes)  # type: ignore[arg-type]
        if charge is None or state.shares is not None:
            return ()
        return fits(charge.vector, subtract(state.allocatable, self.ledger.usage(state.key)))

    @property
    def state(self) -> State:
        """For reconciler.decide.placement alone, which counts the machines on each pool."""
        return self._state

    # Files

    @property
    def source_files(self) -> Mapping[str, File]:
        return self._state.source.files

    @property
    def live_files(self) -> Mapping[str, File]:
        """As a reconciler wrote them last."""
        return self._state.live.files

    @property
    def own_live(self) -> ObjectId | None:
        """The newest commit on the target branch that a reconciler wrote; the head where there is none."""
        return self._state.own_live

    @property
    def foreign_edits(self) -> Sequence[str]:
        """Files that others changed on the target branch since."""
        return self._state.foreign_edits

    def source_keys(self, path: str) -> tuple[tuple[int, Key], ...]:
        """The documents of ours in a file: which of the file, and what it declares."""
        return self._state.source.documents(path)

    def live_keys(self, path: str) -> tuple[tuple[int, Key], ...]:
        return self._state.live.documents(path)

    def is_taken(self, path: str) -> bool:
        """Whether the text of a source file goes onto the target branch: not while it cannot be understood."""
        source = self._state.source
        if path == fleet.PATH:
            return self._state.rules.is_read
        found = source.problem_files.get(path)
        return (found is None or not found.is_malformed) and not masks_live_objects(
            path, source, self._state.live
        )

    def is_manifest(self, path: str) -> bool:
        return path in self._state.source.contents

    @property
    def frozen(self) -> Mapping[str, tuple[Problem, ...]]:
        """Files of the source that cannot be understood, and why."""
        problem_files = self._state.source.problem_files
        return {path: found.problems for path, found in problem_files.items() if found.is_malformed}
