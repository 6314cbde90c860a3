"""All reports, kept up to their refs by what changed in them. A report is not trusted here nor judged: authority.py does that.

Theory of operation
-------------------
Each ref below the reports' prefix is one poollet's report, a tree of small files. `advance` reads the files that differ from
the commit that was read before, and notes for each writer whether its ref changed. A writer is a name and a hostID: when
another host writes the same ref, the first one keeps a heartbeat of its own, and ages.

    in the tree                    becomes
    poollet.json                   fleet, hostID, interval, whether the host leaves
    pools/, volumepools/           what it announces of each pool
    machines/, volumes/,           one ObjectReport for each object
    snapshots/
    orphans.json, events.json      objects without an order; what happened lately
    candidate.json                 another host that waits for the pools
    a file that cannot be read     `unread`; what it said before is dropped, never kept as if it were said still
    nothing, because the ref has   `fault`; all that it said before is dropped, and it is refused as a whole until it can be read.
    no report that can be read     Each report is read apart from the others, which are used all the same

A heartbeat that cannot be read from any ref is kept by the HeartbeatWatch, which outlives the World. It is forgotten when its
report is gone and its timeout is over.

Must never happen: a report that is refused prolongs a heartbeat; entries of one host are taken for those of another that
writes the same ref now.

Limits: reads Git objects only. Neither signatures nor settings are known here: `accepts` is asked.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec

from reconciler.gitstore.errors import DamageError, NotACommitError, RepoError
from reconciler.gitstore.objects.commit import decode_commit
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import Repo, Snapshot, Unfetched
from reconciler.gitstore.report_author import CANDIDATE, own_commit
from reconciler.gitstore.report_files import ReportSize, changed_files, read_part
from reconciler.world.reports.attachment_index import AttachmentIndex
from reconciler.world.reports.heartbeat import (
    EVER,
    NOT_EXPIRED,
    Heartbeat,
    HeartbeatSeen,
    ReadTimes,
    Writer,
)
from reconciler.world.reports.heartbeat_watch import HeartbeatWatch
from reconciler.world.reports.host_report import HostReport, held_by, key_of
from reconciler.world.reports.object_report import ObjectReport, object_report
from reconciler.world.reports.orphan_index import OrphanIndex
from schemas.kinds import Key
from schemas.report import UnreadableFile, objects
from schemas.report.objects import ReportPart

log = logging.getLogger(__name__)

_ID = re.compile(r"\b(object )?[0-9a-f]{40}\b")


@dataclass(slots=True)
class Moved:
    """The keys and poollets that a change of the reports concerns."""

    keys: set[Key] = field(default_factory=set)  # objects, and pools by announcement
    poollets: set[str] = field(default_factory=set)  # whose poollet.json, orphans or heartbeat is another
    faults: set[str] = field(default_factory=set)  # whose report can be read again, or no longer
    blobs_read: int = 0


class Reports:
    """All reports by the name of their ref, their heartbeats, and an index of who reports on which key.

    `watch` judges the heartbeats. `cited` are the reports whose commit and date a rule asked for since the last update.

    A host whose report is gone, refused, or overwritten by another host is `silent`: it has the same timeout as one whose
    report does not change.
    """

    def __init__(self, watch: HeartbeatWatch | None = None) -> None:
        self.by_poollet: dict[str, HostReport] = {}
        self.watch = watch or HeartbeatWatch()
        self.heartbeats: dict[Writer, Heartbeat] = {}
        self.silent: dict[Writer, str] = {}  # and why
        self.unread: frozenset[str] = frozenset()  # whose reports hide what their hosts have
        self.cited: set[str] = set()
        self._now = EVER
        self._speakers: dict[Key, tuple[str, ...]] = {}
        self.orphan_index, self.candidate_index = OrphanIndex(), OrphanIndex()
        self.attachment_index = AttachmentIndex()

    def advance(
        self,
        repo: Repo,
        snapshot: Snapshot,
        now: datetime,
        accepts: Callable[[HostReport], bool],
        read_times: ReadTimes | None = None,
    ) -> Moved:
        """Brings everything to these refs at this time. Called once in each update, also when no ref moved.

        `accepts` says whether a report may be relied on: one that may not is not seen to change either. `read_times` are those of the
        refs; without them, they were read at once.
        """
        moved, self._now = Moved(), now
        self.watch.begin(read_times or ReadTimes(now, now))
        self.cited = set()
        heads = {**snapshot.reports, **{name: each.id for name, each in snapshot.unfetched.items()}}
        for name in self.by_poollet.keys() - heads.keys():
            moved.keys.update(self._forget(name))
            moved.poollets.add(name)
        for name, commit in sorted(heads.items()):
            report = self.by_poollet.get(name)
            if report is None or report.commit != commit or report.is_retried:
                report = self._read(repo, name, commit, snapshot.unfetched.get(name), moved)
            if self.watch.recall(report):
                self._rewrite(report, moved)
            report.is_accepted = accepts(report)
            self.watch.note(report)
        for writer in sorted({*self.watch.writers, *self.heartbeats}):
            self._age(writer, moved)
        self.unread = frozenset(name for name, report in self.by_poollet.items() if report.hides_claims)
        return moved

    @property
    def now(self) -> datetime:
        """The time of day of the last update."""
        return self._now

    @property
    def heartbeats_seen(self) -> dict[Writer, HeartbeatSeen]:
        """They outlive a new start of the world: they cannot be read anywhere."""
        return self.watch.seen

    @property
    def time(self) -> datetime:
        """The same by the clock of heartbeats."""
        return self.watch.time

    @property
    def is_late(self) -> bool:
        """Whether the snapshot took so long that nothing may be decided about hosts that are lost."""
        return self.watch.is_late

    def expect(self, name: str, host: str) -> Heartbeat:
        """The heartbeat of a host that has a grant while another one writes its report. If that host was never observed, as after
        a start, its timeout begins now."""
        writer = name, host
        if self.watch.expect(writer, self.by_poollet[name].timeout):
            self._age(writer, Moved())
        return self.heartbeats[writer]

    def _age(self, writer: Writer, moved: Moved) -> None:
        """Sets the heartbeat of one writer for now, and why it is silent, if its own report cannot be asked. Once expired it is
        no longer silent but expired, and without a report forgotten.
        """
        name, host = writer
        beat, report = self._heartbeat(writer), self.by_poollet.get(name)
        why = ""
        if report is None:
            why = f"the report of {name} is gone"
        elif report.host != host:
            why = f"host {report.host} writes the report of {name} now"
        elif not report.is_accepted:
            why = (
                f"the report of {name} {f'cannot be read: {report.fault}' if report.fault else 'is refused'}"
            )
        if beat is None:
            is_other = self.heartbeats.pop(writer, None) is not None
        else:
            is_other = self.heartbeats.get(writer) != beat
            self.heartbeats[writer] = beat
        if beat in (None, Heartbeat.EXPIRED):
            why = ""
        if is_other or why != self.silent.get(writer, ""):
            moved.poollets.add(name)
        if why:
            self.silent[writer] = why
        else:
            self.silent.pop(writer, None)

    def is_fresh(self, writer: Writer) -> bool:
        """Whether the report of that host is the newest that it wrote, and was seen to change within its heartbeat timeout."""
        is_alive = self.heartbeats.get(writer) is Heartbeat.ALIVE
        return is_alive and self.watch.is_newest(writer)

    def has_lost_link(self, writer: Writer, usual: timedelta) -> bool:
        """Whether the host that wrote the report should be connected to this process, is not, and has been silent since then."""
        return self.is_written_by(writer) and self.watch.has_lost_link(writer, usual)

    def is_written_by(self, writer: Writer) -> bool:
        """Whether this host wrote the report that the ref has now."""
        report = self.by_poollet.get(writer[0])
        return report is not None and report.writer == writer

    def has_absent_host(self) -> bool:
        """Whether a host reported until a moment ago whose report is gone, or another host's, now."""
        return any(
            beat in NOT_EXPIRED and not self.is_written_by(writer) for writer, beat in self.heartbeats.items()
        )

    def due(self) -> datetime | None:
        """When the first heartbeat expires, if its report does not change: by the clock of `now`, which may be set, so the next tick may
        say otherwise. The loop must tick then: no ref moves by itself."""
        first = self.watch.due(self.heartbeats.items())
        return first - self.watch.time + self._now if first is not None else None

    def says(self, key: Key) -> Iterator[ObjectReport]:
        """The reports about one object, by the names of the poollets. For a pool, the reports that announce it."""
        for name in self._speakers.get(key, ()):
            reported = self.by_poollet[name].entries.get(key)
            if reported is not None:
                yield reported

    def tells_of(self, key: Key) -> bool:
        return key in self._speakers

    def announcers(self, pool: Key) -> tuple[str, ...]:
        """Names of the reports that announce the pool, also of those that are not allowed to."""
        return self._speakers.get(pool, ())

    def _heartbeat(self, writer: Writer) -> Heartbeat | None:
        """None for a writer that is forgotten."""
        report = self.by_poollet.get(writer[0])
        if report is not None and report.writer == writer and report.is_accepted and report.has_left:
            return Heartbeat.LEFT
        return self.watch.judge(writer, has_report=report is not None)

    def _read(
        self, repo: Repo, name: str, commit: ObjectId, unfetched: Unfetched | None, moved: Moved
    ) -> HostReport:
        """One report, apart from the others. Whatever is wrong with it is that poollet's fault: then nothing of it is used."""
        report = self.by_poollet.get(name)
        if report is None:
            report = self.by_poollet[name] = HostReport(name, commit, commit, EVER)
            moved.poollets.add(name)
        report.commit, report.is_retried, report.is_no_commit, fault = commit, False, False, ""
        try:
            if unfetched is not None:
                raise DamageError(unfetched.cause)
            self._take_in(repo, report, moved)
        except RepoError as error:
            # Without ids: a host that pushes garbage again and again would be news each time.
            cause = _ID.sub("an object", error.cause.replace(commit, "it"))
            fault, report.is_retried = cause, isinstance(error, DamageError)
            report.is_no_commit = isinstance(error, NotACommitError)
        except Exception as error:
            log.exception("a report cannot be read name=%s commit=%s", name, commit)
            fault = f"{type(error).__name__}: {error}"
        if fault:
            is_news = report.base is not None or not report.fault
            self._drop(report, moved)
            if is_news:
                moved.poollets.add(name)
        if fault != report.fault:
            moved.faults.add(name)
            moved.poollets.add(name)
        report.fault = fault
        return report

    def _take_in(self, repo: Repo, report: HostReport, moved: Moved) -> None:
        """What differs from the commit that was read before. If that is no longer in the repo, the whole report."""
        try:
            self._take_in_since(repo, report, moved)
        except DamageError:
            if report.base is None:
                raise
            self._drop(report, moved)
            moved.poollets.add(report.name)
            self._take_in_since(repo, report, moved)

    def _take_in_since(self, repo: Repo, report: HostReport, moved: Moved) -> None:
        host, commit, base = report.host, report.commit, report.base
        changes = []
        for change in changed_files(repo, base, commit):  # no file of a report that is too large is read
            report.size.count(repo, change)
            changes.append(change)
        for change in changes:
            moved.blobs_read += change.after is not None
            entry = read_part(repo, change.after) if change.after is not None else None
            self._set(report, change.path, entry, moved)
        own = own_commit(repo, commit)
        if own != report.own_commit or base is None:
            report.own_commit = own
            report.written = decode_commit(repo.read(own)).time
            report.time = min(report.written, self._now)
        report.base = commit
        if report.poollet is not None:
            report.host = report.poollet.host_id
        if report.host != host:
            self._rewrite(report, moved)

    def _drop(self, report: HostReport, moved: Moved) -> None:
        """What the report said is not said any more. Who wrote it last, and the heartbeat, are kept."""
        moved.keys.update(self._unlist(report))
        report.poollet = report.candidate = report.base = None
        report.orphans, report.events, report.size = (), (), ReportSize()
        report.unread.clear()

    def _rewrite(self, report: HostReport, moved: Moved) -> None:
        """Another host writes the report now: every entry names that host, and counts as moved."""
        for key, reported in report.entries.items():
            report.entries[key] = msgspec.structs.replace(reported, host=report.host)
        moved.keys.update(report.entries, report.announced_keys)
        moved.poollets.add(report.name)

    def _set(
        self, report: HostReport, path: str, entry: ReportPart | UnreadableFile | None, moved: Moved
    ) -> None:
        if path in report.unread or isinstance(entry, UnreadableFile):
            moved.poollets.add(report.name)
        report.unread.pop(path, None)
        if isinstance(entry, UnreadableFile):
            report.unread[path] = entry
            entry = None
        key = key_of(path)
        if key is not None:
            self._set_entry(report, key, entry)
            moved.keys.add(key)
            return
        match path:
            case "poollet.json":
                report.poollet = entry if isinstance(entry, objects.PoolletReport) else None
                moved.poollets.add(report.name)
            case _ if path == CANDIDATE:
                had = held_by(report)
                report.candidate = entry if isinstance(entry, objects.CandidateReport) else None
                moved.keys |= self.candidate_index.replace(report.name, had, held_by(report))
                moved.keys.update(report.announced_keys)
            case "orphans.json":
                before, found = report.orphans, entry.orphans if isinstance(entry, objects.OrphanList) else ()
                report.orphans = found
                moved.keys |= self.orphan_index.replace(report.name, before, found)
                moved.poollets.add(report.name)
            case "events.json":
                report.events = entry.events if isinstance(entry, objects.EventList) else ()

    def _set_entry(self, report: HostReport, key: Key, entry: ReportPart | None) -> None:
        before = report.entries.pop(key, None)
        report.pools.pop(key, None)
        if isinstance(entry, objects.PoolReport | objects.VolumePoolReport):
            report.pools[key] = entry
        elif isinstance(entry, objects.MachineReport | objects.VolumeReport | objects.SnapshotReport):
            report.entries[key] = object_report(report.name, report.host, entry)
        self.attachment_index.replace(report.name, key, before, report.entries.get(key))
        others = {name for name in self._speakers.get(key, ()) if name != report.name}
        speakers = others if entry is None else {*others, report.name}
        if speakers:
            self._speakers[key] = tuple(sorted(speakers))
        else:
            self._speakers.pop(key, None)

    def _forget(self, name: str) -> Set[Key]:
        """Drops a report whose ref is gone; its heartbeat stays until it expires. Returns the keys that it reported."""
        return self._unlist(self.by_poollet.pop(name))

    def _unlist(self, report: HostReport) -> Set[Key]:
        keys = report.entries.keys() | report.announced_keys
        for key in keys:
            self._set_entry(report, key, None)
        orphaned = self.orphan_index.replace(report.name, report.orphans, ())
        return keys | orphaned | self.candidate_index.replace(report.name, held_by(report), ())
