"""The World: everything known at one moment, brought up to each snapshot at the cost of what changed.

Read through `View`; changed by `advance` alone. Decides nothing, writes nothing, and keeps nothing that could not be read
again, but for when reports were seen to change.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import Repo, Snapshot
from reconciler.world.bulk_load import bulk
from reconciler.world.changes import WorldChanges
from reconciler.world.problems import problems
from reconciler.world.reports.heartbeat import HeartbeatSeen, Writer
from reconciler.world.source.parse_cache.cache import ParseCache
from reconciler.world.state import State
from reconciler.world.update import Delta, UpdateInputs, update_world
from schemas.kinds import Key


class World(State):
    """`ambient` is the environment that signatures are checked in; `readings` are what files held when they were read before."""

    def __init__(
        self,
        ambient: Mapping[str, str] | None = None,
        heartbeats_seen: Mapping[Writer, HeartbeatSeen] | None = None,
        *,
        readings: ParseCache | None = None,
        is_offline: bool = False,
    ) -> None:
        super().__init__(dict(heartbeats_seen or {}), readings or ParseCache(), is_offline=is_offline)
        self._ambient = ambient or {}
        # What changed since `acknowledge` was called last.
        self._pending = Delta()
        self._reminders: dict[Key, datetime] = {}

    def advance(self, repo: Repo, snapshot: Snapshot, now: datetime) -> WorldChanges:
        """What changed since `acknowledge` was called last. Raises what reading raises; then the next advance starts from nothing."""
        self._accepted.clear()
        if self.is_fresh:
            self.readings.begin()
        try:
            with bulk(self.is_fresh):
                delta = update_world(self, UpdateInputs(repo, snapshot, now, self._ambient))
        except BaseException:
            # Half of it may be taken in: nothing of it can be relied on.
            super().__init__(self.reports.heartbeats_seen, self.readings, is_offline=self.is_offline)
            raise
        delta.dirty |= {key for key, at in self._reminders.items() if at <= now}
        self._reminders = {key: at for key, at in self._reminders.items() if at > now}
        self._pending.add(delta)
        return WorldChanges(
            frozenset(self._pending.dirty),
            frozenset(self._pending.source_paths),
            frozenset(self._pending.live_paths),
            problems(self, repo),
            min((at for at in (self.reports.due(), *self._reminders.values()) if at), default=None),
            delta.blobs_read,
        )

    def acknowledge(self, written: ObjectId | None = None) -> None:
        """The changes of the last advance are handled: written as this commit on live, or there was nothing to write.

        Files that we wrote ourselves are not among the paths of the next advance.
        """
        self.written = written or self.written
        self._pending = Delta()
        self._accepted.clear()
        self.readings.settle()

    def remind(self, key: Key, at: datetime) -> None:
        """Makes the object dirty then."""
        self._reminders[key] = min(at, self._reminders.get(key, at))
