"""All reports, kept up to their refs by what changed in them. A poollet is not trusted here nor judged: authority.py does that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from reconciler.gitstore.objects.commit import decode_commit
from reconciler.gitstore.objects.tree import FileMode, ObjectId
from reconciler.gitstore.repo import FileChange, Repo
from reconciler.world.reports.heartbeat import LEAST_GRACE, NOT_EXPIRED, Heartbeat, HeartbeatSeen
from reconciler.world.reports.said import Said
from schemas.kinds import Key, Kind
from schemas.report import UnreadableFile, objects
from schemas.report.objects import ReportPart
from schemas.report.tree import read_file
from schemas.settings.fleet import heartbeat_timeout_milliseconds

_OBJECTS = {"machines": Kind.MACHINE, "volumes": Kind.VOLUME, "snapshots": Kind.VOLUME_SNAPSHOT}
EVER = datetime.min.replace(tzinfo=UTC)
_POOLS = {"pools": Kind.MACHINE_POOL, "volumepools": Kind.VOLUME_POOL}


@dataclass(slots=True)
class Report:
    """One poollet's, as it stands at `commit`."""

    name: str
    commit: ObjectId
    time: datetime  # when it was written, by the host's clock, and no later than it was read
    poollet: objects.PoolletReport | None = None
    pools: dict[Key, objects.PoolReport | objects.VolumePoolReport] = field(default_factory=dict)
    said: dict[Key, Said] = field(default_factory=dict)
    orphans: tuple[objects.Orphan, ...] = ()
    events: tuple[objects.ReportedEvent, ...] = ()
    unread: dict[str, UnreadableFile] = field(default_factory=dict)
    judged: ObjectId | None = None  # the commit that its signature was looked at of
    unsigned: str = ""  # what is wrong with that, where its fleet asks for one
    is_refused: bool = False  # for that
    is_accepted: bool = True  # for that, and whatever else may be wrong with it

    @property
    def grace(self) -> timedelta:
        if self.poollet is None:
            return LEAST_GRACE
        return timedelta(milliseconds=heartbeat_timeout_milliseconds(self.poollet.interval))

    @property
    def has_left(self) -> bool:
        return self.poollet is not None and self.poollet.leaving == "leaving"

    @property
    def pools_told_of(self) -> Set[Key]:
        """Those too of which it cannot be read what it says."""
        unread = {key for path in self.unread if (key := _key(path)) is not None}
        return self.pools.keys() | {key for key in unread if key.kind in _POOLS.values()}

    @property
    def hides_objects(self) -> bool:
        """Whether it is there and cannot be read what it says of some."""
        return any(path.split("/")[0] in (*_OBJECTS, "orphans.json") for path in self.unread)

    @property
    def reports_objects(self) -> bool:
        """Whether anything may stand there."""
        return bool(self.said or self.orphans or self.unread)


@dataclass(slots=True)
class Moved:
    """What is not as it was."""

    keys: set[Key] = field(default_factory=set)  # objects, and pools by announcement
    poollets: set[str] = field(default_factory=set)  # whose poollet.json, orphans or heartbeat is another
    blobs_read: int = 0


class Reports:
    """`heartbeats_seen` outlive a new start of the world: they cannot be read anywhere.

    A report whose ref is gone, or that is refused, is `silent`: it has the same grace as one that is not seen to change.
    """

    def __init__(self, heartbeats_seen: dict[str, HeartbeatSeen] | None = None) -> None:
        self.by_poollet: dict[str, Report] = {}
        self.heartbeats_seen: dict[str, HeartbeatSeen] = {} if heartbeats_seen is None else heartbeats_seen
        self.heartbeat: dict[str, Heartbeat] = {}
        self.silent: dict[str, str] = {}  # and why
        self._speakers: dict[Key, tuple[str, ...]] = {}

    def advance(
        self, repo: Repo, heads: Mapping[str, ObjectId], now: datetime, accepts: Callable[[Report], bool]
    ) -> Moved:
        """`accepts` says whether a report may be relied on: one that may not is not seen to change either."""
        moved = Moved()
        for name in self.by_poollet.keys() - heads.keys():
            moved.keys.update(self._forget(name))
            moved.poollets.add(name)
        for name, commit in sorted(heads.items()):
            report = self.by_poollet.get(name)
            if report is None or report.commit != commit:
                report = self._read(repo, name, commit, moved)
                report.time = min(decode_commit(repo.read(commit)).time, now)
            report.is_accepted = accepts(report)
            seen = self.heartbeats_seen.get(name)
            if seen is None:
                self.heartbeats_seen[name] = HeartbeatSeen(commit, now, grace=report.grace)
            elif report.is_accepted:
                self.heartbeats_seen[name] = seen.at(commit, now, report.grace)
        for name in sorted(self.heartbeats_seen):
            self._age(name, now, moved)
        return moved

    def _age(self, name: str, now: datetime, moved: Moved) -> None:
        fresh, report = self._fresh(name, now), self.by_poollet.get(name)
        why = ""
        if report is None:
            why = f"the report of {name} is gone"
        elif not report.is_accepted:
            why = f"the report of {name} is refused"
        if report is None and fresh is Heartbeat.EXPIRED:
            del self.heartbeats_seen[name]
            is_other = self.heartbeat.pop(name, None) is not None
        else:
            is_other = self.heartbeat.get(name) != fresh
            self.heartbeat[name] = fresh
        if fresh is Heartbeat.EXPIRED:
            why = ""
        if is_other or why != self.silent.get(name, ""):
            moved.poollets.add(name)
        if why:
            self.silent[name] = why
        else:
            self.silent.pop(name, None)

    def due(self) -> datetime | None:
        """When the first report turns stale, if it does not change."""
        times = [
            self.heartbeats_seen[name].expires
            for name, fresh in self.heartbeat.items()
            if fresh in NOT_EXPIRED
        ]
        return min(times, default=None)

    def says(self, key: Key) -> Iterator[Said]:
        """Whoever speaks of an object, by the names of the poollets. Of a pool that is no more than to announce it."""
        for name in self._speakers.get(key, ()):
            said = self.by_poollet[name].said.get(key)
            if said is not None:
                yield said

    def tells_of(self, key: Key) -> bool:
        return key in self._speakers

    def announcers(self, pool: Key) -> tuple[str, ...]:
        return self._speakers.get(pool, ())

    def _fresh(self, name: str, now: datetime) -> Heartbeat:
        report = self.by_poollet.get(name)
        if report is not None and report.is_accepted and report.has_left:
            return Heartbeat.LEFT
        return self.heartbeats_seen[name].heartbeat(now)

    def _read(self, repo: Repo, name: str, commit: ObjectId, moved: Moved) -> Report:
        report = self.by_poollet.get(name)
        before = report.commit if report else None
        if report is None:
            report = self.by_poollet[name] = Report(name, commit, EVER)
            moved.poollets.add(name)
        for change in repo.diff(before, commit):
            entry = _entry(repo, change)
            moved.blobs_read += change.after is not None
            self._set(report, change.path, entry, moved)
        report.commit = commit
        return report

    def _set(
        self, report: Report, path: str, entry: ReportPart | UnreadableFile | None, moved: Moved
    ) -> None:
        if path in report.unread or isinstance(entry, UnreadableFile):
            moved.poollets.add(report.name)
        report.unread.pop(path, None)
        if isinstance(entry, UnreadableFile):
            report.unread[path] = entry
            entry = None
        key = _key(path)
        if key is not None:
            self._set_entry(report, key, entry)
            moved.keys.add(key)
            return
        match path:
            case "poollet.json":
                report.poollet = entry if isinstance(entry, objects.PoolletReport) else None
                moved.poollets.add(report.name)
            case "orphans.json":
                report.orphans = entry.orphans if isinstance(entry, objects.OrphanList) else ()
                moved.poollets.add(report.name)
            case "events.json":
                report.events = entry.events if isinstance(entry, objects.EventList) else ()

    def _set_entry(self, report: Report, key: Key, entry: ReportPart | None) -> None:
        report.said.pop(key, None)
        report.pools.pop(key, None)
        if isinstance(entry, objects.PoolReport | objects.VolumePoolReport):
            report.pools[key] = entry
        elif isinstance(entry, objects.MachineReport | objects.VolumeReport | objects.SnapshotReport):
            report.said[key] = _said(report.name, entry)
        others = {name for name in self._speakers.get(key, ()) if name != report.name}
        speakers = others if entry is None else {*others, report.name}
        if speakers:
            self._speakers[key] = tuple(sorted(speakers))
        else:
            self._speakers.pop(key, None)

    def _forget(self, name: str) -> set[Key]:
        report = self.by_poollet[name]
        keys = report.said.keys() | report.pools_told_of
        for key in keys:
            self._set_entry(report, key, None)
        del self.by_poollet[name]
        return keys


def _entry(repo: Repo, change: FileChange) -> ReportPart | UnreadableFile | None:
    after = change.after
    if after is None or after.mode in (FileMode.LINK, FileMode.SUBMODULE):
        return None
    return read_file(change.path, repo.read(after.id))


def _key(path: str) -> Key | None:
    folder, *rest = path.removesuffix(".json").split("/")
    if folder in _POOLS and len(rest) == 1:
        return Key(_POOLS[folder], "", rest[0])
    if folder in _OBJECTS and len(rest) == 2:
        return Key(_OBJECTS[folder], rest[0], rest[1])
    return None


def _said(poollet: str, entry: objects.MachineReport | objects.VolumeReport | objects.SnapshotReport) -> Said:
    attached = entry.attached_to if isinstance(entry, objects.VolumeReport) else ()
    return Said(
        poollet,
        entry.pool,
        entry.uid,
        entry.assignment,
        entry.phase,
        entry.reasons,
        attached,
        entry.status,
    )
