"""One poollet's report as values: what its files say, by object and by pool. Values only; reports.py keeps them up to their refs.

What a path is about is told by `key_of`. Nothing here is judged.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.report_author import CANDIDATE
from reconciler.gitstore.report_files import ReportSize
from reconciler.world.reports.heartbeat import EVER, MIN_TIMEOUT, Writer
from reconciler.world.reports.object_report import ObjectReport
from schemas.kinds import Key, Kind
from schemas.report import UnreadableFile, objects
from schemas.settings.fleet import heartbeat_timeout_milliseconds

_OBJECTS = {"machines": Kind.MACHINE, "volumes": Kind.VOLUME, "snapshots": Kind.VOLUME_SNAPSHOT}
_POOLS = {"pools": Kind.MACHINE_POOL, "volumepools": Kind.VOLUME_POOL}
POOL_KINDS = frozenset(_POOLS.values())


@dataclass(slots=True)
class HostReport:
    """One poollet's report at `commit`.

    `own_commit` is the newest commit of the host that reports; above it another host may have put its candidate.json.
    """

    name: str
    commit: ObjectId
    own_commit: ObjectId
    time: datetime  # when own_commit was written, by the host's clock, and no later than it was read
    written: datetime = EVER  # the same as it was dated, however wrong that clock is
    base: ObjectId | None = (
        None  # the commit that all below is of; None while nothing of the report can be read
    )
    fault: str = ""  # why nothing of it can be read
    is_no_commit: bool = False  # the ref has something else, which no poollet ever writes
    is_retried: bool = False  # that may end without a change of the ref
    size: ReportSize = field(default_factory=ReportSize)
    host: str = ""  # the hostID; as it was last, while poollet.json cannot be read
    poollet: objects.PoolletReport | None = None
    candidate: objects.CandidateReport | None = None
    pools: dict[Key, objects.PoolReport | objects.VolumePoolReport] = field(default_factory=dict)
    entries: dict[Key, ObjectReport] = field(default_factory=dict)
    orphans: tuple[objects.Orphan, ...] = ()
    events: tuple[objects.ReportedEvent, ...] = ()
    unread: dict[str, UnreadableFile] = field(default_factory=dict)
    judged: ObjectId | None = None  # the commit that its signature was looked at of
    unsigned: str = ""  # what is wrong with that, where its fleet asks for one
    is_refused: bool = False  # for that
    is_accepted: bool = True  # for that, and whatever else may be wrong with it

    @property
    def timeout(self) -> timedelta:
        if self.poollet is None:
            return MIN_TIMEOUT
        return timedelta(milliseconds=heartbeat_timeout_milliseconds(self.poollet.interval))

    @property
    def writer(self) -> Writer:
        return self.name, self.host

    @property
    def has_left(self) -> bool:
        return self.poollet is not None and self.poollet.leaving == "leaving"

    @property
    def is_of_no_host(self) -> bool:
        """Whether the ref shows no trace of a host: no commit, and this process never read a report there."""
        return self.is_no_commit and not self.host

    @property
    def announced_keys(self) -> Set[Key]:
        """The pools that the report announces, also those whose entry cannot be read."""
        unread = {key for path in self.unread if (key := key_of(path)) is not None}
        return self.pools.keys() | {key for key in unread if key.kind in POOL_KINDS}

    @property
    def hides_objects(self) -> bool:
        """Whether the report has entries of objects, or a list of orphans, that cannot be read."""
        return bool(self.fault) or any(tells_of_objects(path) for path in self.unread)

    @property
    def hides_claims(self) -> bool:
        """Whether what the report, or a host that waits beside it, has without an order cannot be read."""
        return self.hides_objects or CANDIDATE in self.unread

    @property
    def reports_objects(self) -> bool:
        """Whether the report has objects, or files that cannot be read and may be about objects."""
        return bool(self.fault or self.entries or self.orphans or self.unread)


def key_of(path: str) -> Key | None:
    """The object or the pool that a file of a report is about; None for files that are about the host as a whole."""
    folder, *rest = path.removesuffix(".json").split("/")
    if folder in _POOLS and len(rest) == 1:
        return Key(_POOLS[folder], "", rest[0])
    if folder in _OBJECTS and len(rest) == 2:
        return Key(_OBJECTS[folder], rest[0], rest[1])
    return None


def tells_of_objects(path: str) -> bool:
    """Whether a file is about what runs on the host: an object, or the list of orphans."""
    return path.split("/")[0] in (*_OBJECTS, "orphans.json")


def held_by(report: HostReport) -> tuple[objects.HeldObject, ...]:
    """What a host has that waits beside the one that reports."""
    return report.candidate.objects if report.candidate is not None else ()
