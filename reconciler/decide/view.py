"""What these rules ask of the world. The World is one; tests make small ones by hand."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from reconciler.gitstore.objects.tree import ObjectId
from reconciler.world.changes import Confirmation, SourceHold
from reconciler.world.objects.object_state import ObjectState
from reconciler.world.objects.relations import Relations
from reconciler.world.pools.grants import Grant
from reconciler.world.pools.pool_state import PoolState
from reconciler.world.reports.authority import AcceptedReports
from reconciler.world.reports.recovery_wait import MissingHost
from reconciler.world.state import HostSeen
from schemas.kinds import Key
from schemas.model.capacity import Shortfall
from schemas.problem import Problem
from schemas.settings.fleet import FleetSettings
from schemas.validate.finding import Finding


class View(Protocol):
    @property
    def source(self) -> ObjectId | None:
        """The source commit that is applied."""

    @property
    def target(self) -> ObjectId | None: ...

    @property
    def held_source(self) -> SourceHold | None:
        """Why the source head is not followed."""

    @property
    def settings(self) -> FleetSettings: ...

    @property
    def previous_settings(self) -> FleetSettings | None:
        """Those of the source commit that was reconciled last."""

    @property
    def objects(self) -> Mapping[Key, ObjectState]: ...

    @property
    def retained_volumes(self) -> Mapping[str, ObjectState]:
        """Volumes whose data is kept although no file declares them, by uid."""

    @property
    def pools(self) -> Mapping[str, PoolState]: ...

    @property
    def volume_pools(self) -> Mapping[str, PoolState]: ...

    @property
    def relations(self) -> Relations: ...

    @property
    def confirmations(self) -> Collection[Confirmation]:
        """Of the source commits since the last that was reconciled."""

    @property
    def is_live_lost(self) -> bool:
        """There is no live, and poollets report: nothing may be placed that may be there already."""

    @property
    def can_recover(self) -> bool:
        """Every known report was seen to change, or its ref is gone and its grace over."""

    @property
    def missing_hosts(self) -> Sequence[MissingHost]:
        """Whose reports those are that it is not settled for."""

    def accepted_reports(self, key: Key) -> AcceptedReports:
        """The word of the pool that the object is assigned to, who else reports it, and what poollets may not say of it or of a pool."""

    @property
    def frozen(self) -> Mapping[str, tuple[Problem, ...]]:
        """Files of the source that cannot be used, and why."""

    def grant(self, pool: Key) -> Grant:
        """As it is when this tick is written, but for what people request in it."""

    def host_seen(self, pool: Key, host: str) -> HostSeen:
        """The newest report of a host that may report the pool, and its heartbeat."""

    def shortfalls(self, machine: Key, pool: str) -> Collection[Shortfall]:
        """What a pool has too little of to take a machine of another pool."""

    def why_unverified(self, key: Key) -> str:
        """Why its absence is not certain, or nothing."""

    def faults(self, key: Key) -> Collection[Finding]:
        """What validation holds against the object as it is declared."""
