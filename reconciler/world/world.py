"""The World: everything known at one moment, brought up to each snapshot at the cost of what changed.

Read through `View`; changed by `advance` alone. Decides nothing, writes nothing, and keeps nothing that could not be read
again, but for when reports were seen to change and which commit of `live` was seen last.

Theory of operation
-------------------
Changes are collected until a tick has handled them, so that a push that fails loses none:

    call                    when                                         effect on the collected changes
    advance                 each tick, with its snapshot                 adds what differs from the last snapshot
    acknowledge(commit)     the plan was pushed, and is this commit      cleared; the files of that commit are our own
    acknowledge()           the plan needed no commit                    cleared
    neither                 a conflict, a refusal                        kept: the next advance returns them again
    defer(keys)             only progress of these would be written      cleared; `deferred` has the keys until the next commit
    remind                  a decision may change at a time              its key is dirty in the first advance from then on

Must never happen: changes are acknowledged that were not written; an update that failed halfway is continued (the State is
made again from nothing, only the times of heartbeats and the parse cache are kept); two threads use one World.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import Repo, Snapshot
from reconciler.world.bulk_load import bulk
from reconciler.world.changes import WorldChanges
from reconciler.world.problems import problems
from reconciler.world.reports.heartbeat import HeartbeatSeen, ReadTimes, Writer
from reconciler.world.reports.rewind import LiveSeen
from reconciler.world.reports.start_wait import StartWait
from reconciler.world.source.parse_cache.cache import ParseCache
from reconciler.world.state import State
from reconciler.world.update import Delta, UpdateInputs, update_world
from reconciler.world.verdicts import VerdictRecord
from schemas.kinds import Key


class World(State):
    """The State with a way to bring it up to date. The reconciler has one; each verb that plans makes its own.

    `ambient` is the environment that signatures are checked in; `readings` are what files held when they were read before.
    `heartbeats_seen` are taken over from a World that failed: without them every host would be unconfirmed again. So is `live_seen`:
    without it a rewound `live` would be taken for the one that this process wrote.
    `start_wait` is of a process that has started to reconcile; without it the World waits for no host.
    """

    def __init__(
        self,
        ambient: Mapping[str, str] | None = None,
        heartbeats_seen: Mapping[Writer, HeartbeatSeen] | None = None,
        *,
        live_seen: LiveSeen | None = None,
        readings: ParseCache | None = None,
        start_wait: StartWait | None = None,
        is_offline: bool = False,
    ) -> None:
        super().__init__(
            dict(heartbeats_seen or {}),
            readings or ParseCache(),
            live_seen=live_seen,
            is_offline=is_offline,
        )
        self.start_wait = start_wait
        self._ambient = ambient or {}
        # What changed since `acknowledge` was called last.
        self._pending = Delta()
        self._reminders: dict[Key, datetime] = {}
        self._postponed: frozenset[Key] = frozenset()
        # The heads of source and live in the last snapshot.
        self.heads: tuple[ObjectId | None, ObjectId | None] = (None, None)
        # Objects with progress that is not on live yet. The commit that takes it along decides them again.
        self.deferred: frozenset[Key] = frozenset()

    def advance(
        self, repo: Repo, snapshot: Snapshot, now: datetime, read_times: ReadTimes | None = None
    ) -> WorldChanges:
        """What changed since `acknowledge` was called last. Raises what reading raises; then the next advance starts from nothing.

        `now` is the caller's clock, by which reminders are measured. Heartbeats are measured by `read_times`, which are of a clock that is
        never set; without them by `now`, as if the snapshot was read at once.
        """
        self._accepted.clear()
        self.heads = snapshot.source, snapshot.target
        # What is replayed stays; a tick begins with an empty record.
        self.verdict_record = (
            self.verdict_record if self.verdict_record.replayed is not None else VerdictRecord()
        )
        self.descends = DescentRecorder(repo, self.verdict_record)
        if self.is_fresh:
            self.readings.begin()
        try:
            with bulk(self.is_fresh):
                delta = update_world(
                    self, UpdateInputs(repo, snapshot, now, self._ambient, read_times, self.verdict_record)
                )
        except BaseException:
            # Half of it may be taken in: nothing of it can be relied on.
            super().__init__(
                self.reports.heartbeats_seen,
                self.readings,
                live_seen=self.live_seen,
                is_offline=self.is_offline,
            )
            raise
        if self.start_wait is not None:
            self.update_wait(self.start_wait)
        delta.dirty |= self._postponed
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

    def postpone(self, keys: Iterable[Key]) -> None:
        """Makes these objects dirty in each advance, until it is called with others. They cause no advance."""
        self._postponed = frozenset(keys)

    def update_wait(self, start_wait: StartWait) -> None:
        """Tells it what is known now of the hosts that it waits for."""
        pools = (state for pools in self.pools_by_kind.values() for state in pools.values())
        granted = [
            (each.name, each.grant.host) for each in pools if each.grant.host and not each.grant.is_new
        ]
        start_wait.update(self.reports, granted, self.usual_timeout)

    def acknowledge(self, written: ObjectId | None = None) -> None:
        """The changes of the last advance are handled: written as this commit on live, or there was nothing to write.

        Files that we wrote ourselves are not among the paths of the next advance.
        """
        if written is not None:
            self.deferred = frozenset()
        self.written = written or self.written
        self.live_seen.commit = written or self.live_seen.commit
        self._pending = Delta()
        self._accepted.clear()
        self.readings.settle()

    def defer(self, keys: Iterable[Key]) -> None:
        """The changes of the last advance are handled, but for the progress of these objects: a later commit has it."""
        self.acknowledge()
        self.deferred |= frozenset(keys)

    def remind(self, key: Key, at: datetime) -> None:
        """Makes the object dirty in the first advance at or after `at`. The earlier one of two reminders counts, and only that."""
        self._reminders[key] = min(at, self._reminders.get(key, at))


class DescentRecorder:
    """Whether a commit has another in its history, with a record of each yes: a report may name a commit that no ref reaches later."""

    def __init__(self, repo: Repo, record: VerdictRecord) -> None:
        self._repo, self._record = repo, record

    def __call__(self, commit: ObjectId, ancestor: ObjectId) -> bool:
        if self._record.replayed is not None:
            return (commit, ancestor) in self._record.replayed.descents
        found = self._repo.is_descendant(commit, ancestor)
        if found:
            self._record.descents.add((commit, ancestor))
        return found
