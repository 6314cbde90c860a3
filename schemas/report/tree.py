"""A report as a tree of files: the layout of paths, how one file is read, and how a whole report is written.

    poollet.json                      the host, its version, and the commit that it has applied
    pools/NAME.json                   each machine pool that it announces
    volumepools/NAME.json             each volume pool
    machines/NAMESPACE/NAME.json      what became of each assignment; also volumes/ and snapshots/
    orphans.json, events.json         objects that are not assigned here; recent events
    ended.json                        assignments that were reported as gone or rejected, the newest of them
    candidate.json                    another host that could serve these pools (written by that host)

A missing file states nothing: an object is gone only if its file says so. Files are read one by one, so that a caller can
cache them by blob id, and one unreadable file makes only its own object unknown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

import msgspec

from schemas.manifest.schema_file import compile_schema
from schemas.problem import Problem, Violation, json_pointer
from schemas.reader.strict_json import refuse_duplicates
from schemas.report import objects
from schemas.report.limits import MAX_FILE_BYTES, MAX_FILE_VALUES
from schemas.report.objects import ReportPart

# First folder (or file) of the path -> (schema, type, number of path parts).
LAYOUT: dict[str, tuple[str, type[ReportPart], int]] = {
    "poollet.json": ("poollet", objects.PoolletReport, 1),
    "candidate.json": ("candidate", objects.CandidateReport, 1),
    "pools": ("pool", objects.PoolReport, 2),
    "volumepools": ("volume-pool", objects.VolumePoolReport, 2),
    "machines": ("machine", objects.MachineReport, 3),
    "volumes": ("volume", objects.VolumeReport, 3),
    "snapshots": ("volume-snapshot", objects.SnapshotReport, 3),
    "orphans.json": ("orphans", objects.OrphanList, 1),
    "events.json": ("events", objects.EventList, 1),
    "ended.json": ("ended", objects.EndedList, 1),
}
for _layout in LAYOUT.values():
    # msgspec examines a type at its first use, and two threads that do so at once crash the process. So it happens here.
    msgspec.json.Decoder(_layout[1])
MAX_PROBLEMS = 10

Name = tuple[str, ...]  # ("pool-a",) or ("default", "web-1")


@dataclass(frozen=True, slots=True)
class UnreadableFile:
    """A file that exists and cannot be used: its object is unknown, not absent."""

    path: str
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """One poollet's report. `poollet` is None if that file is missing or in `unreadable`.

    `candidate`: another host that would serve these pools and waits for their grant; nothing else of the report is from it.
    """

    poollet: objects.PoolletReport | None = None
    candidate: objects.CandidateReport | None = None
    pools: Mapping[str, objects.PoolReport] = field(default_factory=dict)
    volume_pools: Mapping[str, objects.VolumePoolReport] = field(default_factory=dict)
    machines: Mapping[Name, objects.MachineReport] = field(default_factory=dict)
    volumes: Mapping[Name, objects.VolumeReport] = field(default_factory=dict)
    snapshots: Mapping[Name, objects.SnapshotReport] = field(default_factory=dict)
    orphans: tuple[objects.Orphan, ...] = ()
    events: tuple[objects.ReportedEvent, ...] = ()
    ended: tuple[str, ...] = ()
    unreadable: tuple[UnreadableFile, ...] = ()


def read_file(path: str, data: bytes) -> ReportPart | UnreadableFile | None:
    """One file of the tree; None for an unknown path, which a later version may add."""
    place = layout_of(path)
    if place is None:
        return None
    schema, kind, _ = place
    if len(data) > MAX_FILE_BYTES:
        return too_large_file(path, len(data))
    values = sum(map(data.count, (b"[", b"{", b",")))
    if values > MAX_FILE_VALUES:
        message = (
            f"the file has about {values:,} values; a file of a report may have {MAX_FILE_VALUES:,} at most"
        )
        return unreadable_file(path, ("", message))
    try:
        body: Any = json.loads(data, object_pairs_hook=refuse_duplicates)
        errors = islice(compile_schema(f"report/{schema}.json").iter_errors(body), MAX_PROBLEMS)
        found = [(json_pointer(error.instance_path), str(error.message)[:500]) for error in errors]
        return unreadable_file(path, *found) if found else msgspec.convert(body, kind)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        # Deep nesting and halves of surrogate pairs are JSON that the validator refuses, and msgspec refuses 1.0 as integer.
        return unreadable_file(path, ("", f"invalid JSON: {error}"))


def read(tree: Mapping[str, bytes]) -> Report:
    """A whole report, in the order of its paths."""
    entries = {path: read_file(path, data) for path, data in sorted(tree.items())}
    return assemble({path: entry for path, entry in entries.items() if entry is not None})


def assemble(entries: Mapping[str, ReportPart | UnreadableFile]) -> Report:
    """The report that these files make up."""
    found: dict[str, dict[Name, Any]] = {folder: {} for folder in LAYOUT}
    unreadable_files = []
    for path, entry in entries.items():
        if isinstance(entry, UnreadableFile):
            unreadable_files.append(entry)
            continue
        folder, *rest = PurePosixPath(path).parts
        found[folder][tuple(part.removesuffix(".json") for part in rest)] = entry
    orphans = found["orphans.json"].get((), objects.OrphanList())
    events = found["events.json"].get((), objects.EventList())
    ended = found["ended.json"].get((), objects.EndedList())
    return Report(
        poollet=found["poollet.json"].get(()),
        candidate=found["candidate.json"].get(()),
        pools={name: pool for (name,), pool in found["pools"].items()},
        volume_pools={name: pool for (name,), pool in found["volumepools"].items()},
        machines=found["machines"],
        volumes=found["volumes"],
        snapshots=found["snapshots"],
        orphans=orphans.orphans,
        events=events.events,
        ended=ended.assignments,
        unreadable=tuple(unreadable_files),
    )


def render(report: Report) -> dict[str, bytes]:
    """The files of a report. Equal reports give equal bytes. An empty list gives no file."""
    tree: dict[str, ReportPart] = {}
    if report.poollet is not None:
        tree["poollet.json"] = report.poollet
    if report.candidate is not None:
        tree["candidate.json"] = report.candidate
    tree |= {f"pools/{name}.json": pool for name, pool in report.pools.items()}
    tree |= {f"volumepools/{name}.json": pool for name, pool in report.volume_pools.items()}
    tree |= {f"machines/{'/'.join(name)}.json": machine for name, machine in report.machines.items()}
    tree |= {f"volumes/{'/'.join(name)}.json": volume for name, volume in report.volumes.items()}
    tree |= {f"snapshots/{'/'.join(name)}.json": snapshot for name, snapshot in report.snapshots.items()}
    if report.orphans:
        tree["orphans.json"] = objects.OrphanList(orphans=report.orphans)
    if report.events:
        tree["events.json"] = objects.EventList(events=report.events)
    if report.ended:
        tree["ended.json"] = objects.EndedList(assignments=report.ended)
    return {path: encode(entry) for path, entry in tree.items()}


def encode(entry: ReportPart) -> bytes:
    """Fields in the order of their type, keys of mappings sorted, each on a line of its own: diffs are small and readable."""
    return msgspec.json.format(msgspec.json.encode(entry, order="deterministic"), indent=2) + b"\n"


def layout_of(path: str) -> tuple[str, type[ReportPart], int] | None:
    """Schema, type and depth of a path, or None for an unknown path."""
    parts = path.split("/")  # a path of Git: without dots, empty parts and a slash at either end
    place = LAYOUT.get(parts[0]) if path.endswith(".json") else None
    return place if place is not None and len(parts) == place[2] else None


def enters_folder(path: str) -> bool:
    """Whether files of a report may lie in this folder."""
    parts = PurePosixPath(path).parts
    place = LAYOUT.get(parts[0]) if parts else None
    return place is not None and len(parts) < place[2]


def too_large_file(path: str, size: int) -> UnreadableFile:
    message = f"the file has {size:,} bytes; a file of a report may have {MAX_FILE_BYTES:,} at most"
    return unreadable_file(path, ("", message))


def unreadable_file(path: str, *found: tuple[str, str]) -> UnreadableFile:
    """An unreadable file, with the pointer and the message of each problem. The hint names versions, the
    usual cause."""
    hint = "the poollet and the reconciler may have different versions: compare `gitvirt version` on both"
    problems = (Violation(pointer, "GV620", message, hint).locate(path) for pointer, message in found)
    return UnreadableFile(path, tuple(problems))
