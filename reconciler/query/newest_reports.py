"""What hosts report about objects of one kind, as it is now: kept on disk, so that only files that changed are read.

Each report is read apart from the others. One that cannot be read is left out: `live` has the last state then, as for a host without a report.

Limits: nothing is judged here. Which entry counts is up to `overlay`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from reconciler.gitstore.errors import RepoError
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import Repo, Snapshot
from reconciler.gitstore.report_files import ReportSize, changed_files, read_part
from reconciler.query.cached_inventory import MANY, load_value
from reconciler.query.disk_cache import DiskCache
from reconciler.world.bulk_load import bulk
from schemas.kinds import Kind
from schemas.report import objects

FOLDERS = {
    Kind.MACHINE: ("machines/", objects.MachineReport, "pools/", objects.PoolReport),
    Kind.VOLUME: ("volumes/", objects.VolumeReport, "volumepools/", objects.VolumePoolReport),
    Kind.VOLUME_SNAPSHOT: ("snapshots/", objects.SnapshotReport, "volumepools/", objects.VolumePoolReport),
    Kind.MACHINE_POOL: ("pools/", objects.PoolReport, "pools/", objects.PoolReport),
    Kind.VOLUME_POOL: ("volumepools/", objects.VolumePoolReport, "volumepools/", objects.VolumePoolReport),
}
POOLLET = "poollet.json"

AnyPool = objects.PoolReport | objects.VolumePoolReport
AnyEntry = objects.MachineReport | objects.VolumeReport | objects.SnapshotReport | AnyPool


class KindReport(msgspec.Struct, array_like=True, gc=False):
    """A report as of one commit, as far as it is about objects of one kind. Entries and pools are by their paths."""

    commit: ObjectId
    poollet: objects.PoolletReport | None
    pools: dict[str, Any]
    entries: dict[str, Any]


@bulk(is_much=True)
def read_newest_reports(
    repo: Repo, snapshot: Snapshot, kind: Kind, cache: DiskCache
) -> Mapping[str, KindReport]:
    """By poollet; none for a kind that hosts do not report."""
    if kind not in FOLDERS or not snapshot.reports:
        return {}
    name = f"reports-{kind.value}"
    before: Mapping[str, KindReport] = load_value(cache, name, _type_of_kept(kind)) or {}
    found, changed = {}, len(before.keys() - snapshot.reports.keys())
    for poollet, commit in snapshot.reports.items():
        try:
            found[poollet], count = _read_report(repo, commit, kind, before.get(poollet))
            changed += count
        except RepoError:
            continue
    if changed > MANY or not before:
        cache.save(name, msgspec.msgpack.encode(found))
    return found


def _type_of_kept(kind: Kind) -> Any:
    _, entry, _, pool = FOLDERS[kind]
    fields = [
        ("commit", str),
        ("poollet", objects.PoolletReport | None),
        ("pools", dict[str, pool]),  # type: ignore[valid-type]
        ("entries", dict[str, entry]),  # type: ignore[valid-type]
    ]
    return dict[str, msgspec.defstruct("KeptReport", fields, array_like=True, gc=False)]  # type: ignore[misc]


def _read_report(
    repo: Repo, commit: ObjectId, kind: Kind, before: KindReport | None
) -> tuple[KindReport, int]:
    """With the files that differ from `before`, and their number. If that commit is gone, all files are read."""
    if before is not None and before.commit == commit:
        return before, 0
    try:
        return _read_since(repo, commit, kind, before)
    except RepoError:
        if before is None:
            raise
        return _read_since(repo, commit, kind, None)


def _read_since(
    repo: Repo, commit: ObjectId, kind: Kind, before: KindReport | None
) -> tuple[KindReport, int]:
    folder, _, pool_folder, _ = FOLDERS[kind]
    pools = dict(before.pools) if before is not None else {}
    entries = dict(before.entries) if before is not None else {}
    poollet = before.poollet if before is not None else None
    size, count = ReportSize(), 0
    starts = (folder, pool_folder, POOLLET)
    for change in changed_files(repo, before.commit if before is not None else None, commit, starts):
        size.count(repo, change)
        count += 1
        part = read_part(repo, change.after) if change.after is not None else None
        if change.path == POOLLET:
            poollet = part if isinstance(part, objects.PoolletReport) else None
            continue
        for start, parts in ((folder, entries), (pool_folder, pools)):
            if change.path.startswith(start):
                parts.pop(change.path, None)
                if isinstance(part, AnyEntry):
                    parts[change.path] = part
    return KindReport(commit, poollet, pools, entries), count


def list_kinds() -> Sequence[Kind]:
    """The kinds that hosts report."""
    return tuple(FOLDERS)
