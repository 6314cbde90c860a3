"""What is known from before. All of it may be lost: the report and the runtimes' lists bring back what must not be.

    survives a restart, by the report   entries, orphans, ended assignments, the error of each object's calls
    lost with the process               which list first lacked an object, since when a removal runs, the tries of calls, the cache

What is lost makes the host slower and never wrong: a missing object is confirmed again, a guest gets its
time to power off again, a call is tried at once.

`Memory` belongs to the decision, which takes one and returns the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from iri.machine import RuntimeMachine
from poollet.decide.actions import RUNTIME_KINDS, CallError, Ref
from poollet.decide.retry import Retries
from poollet.report.conditions import CALL_REASONS, IMAGE_READY, INTERFACES_READY, SOURCE_READY, UP_TO_DATE
from poollet.sync.live_view import PoolId
from schemas import report
from schemas.kinds import Key, Kind
from schemas.model import Object

OF_CREATION = (IMAGE_READY, SOURCE_READY, INTERFACES_READY, UP_TO_DATE)
FINAL = ("rejected", "gone")
MOST_ENDED = 1000  # of those that a report names; older ones are forgotten
Entry = report.MachineReport | report.VolumeReport | report.SnapshotReport


class Missing(NamedTuple):
    """The first list that lacked the object, and when that list was requested."""

    number: int
    since_ms: int


@dataclass(frozen=True, slots=True)
class CachedMachine:
    """A converged machine and its report, with the inputs of that report: facts of the host, and what references led to.

    Inputs are compared by identity.
    """

    document: Object
    there: RuntimeMachine
    facts: tuple[object, ...]
    reads: tuple[tuple[Key, Object | None], ...]
    entry: report.MachineReport


@dataclass(frozen=True)
class Memory:
    """`entries` and `orphans` are what was reported last, and all that a restart needs.

    `ended` are the newest assignments that this host reported as gone or rejected, also in earlier runs. `inherited` are those that an
    earlier run may have called a creation for, and whose object does not exist yet, and those whose try without an answer is forgotten; `since_ms` is when this run began to decide.
    `missing` is what a list lacked, `removing_since_ms` since when an object is being removed, `retries` the tries of its calls.
    `unchanged` are the reports about converged machines.
    """

    entries: Mapping[Key, Entry] = field(default_factory=dict)
    orphans: tuple[report.Orphan, ...] = ()
    missing: Mapping[Ref, Missing] = field(default_factory=dict)
    removing_since_ms: Mapping[Ref, int] = field(default_factory=dict)
    retries: Mapping[Ref, Retries] = field(default_factory=dict)
    unchanged: Mapping[Ref, CachedMachine] = field(default_factory=dict)
    ended: tuple[str, ...] = ()
    inherited: frozenset[str] = frozenset()
    since_ms: int | None = None


def pool_of(entry: Entry) -> PoolId:
    """The pool of an entry, with the kind that its name is unique in."""
    kind = Kind.MACHINE_POOL if isinstance(entry, report.MachineReport) else Kind.VOLUME_POOL
    return kind, entry.pool


def from_report(last: report.Report) -> Memory:
    """What a poollet that just started knows: the last report of its own host."""
    entries: dict[Key, Entry] = {}
    for kind, found in (
        (Kind.MACHINE, last.machines),
        (Kind.VOLUME, last.volumes),
        (Kind.VOLUME_SNAPSHOT, last.snapshots),
    ):
        entries |= {Key(kind, namespace, name): entry for (namespace, name), entry in found.items()}
    return restore_memory(entries, last.orphans, last.ended)


def restore_memory(
    entries: Mapping[Key, Entry], orphans: tuple[report.Orphan, ...], ended: tuple[str, ...] = ()
) -> Memory:
    """The Memory of a process that knows only these entries."""
    pending = frozenset(
        entry.assignment
        for entry in entries.values()
        if entry.phase not in FINAL and (entry.status is None or entry.status.state in ("", "Pending"))
    )
    retries = dict(_read_errors(entries))
    return Memory(
        entries=entries, orphans=orphans, retries=retries, inherited=pending, ended=add_ended(ended, entries)
    )


def add_ended(ended: tuple[str, ...], entries: Mapping[Key, Entry]) -> tuple[str, ...]:
    """With the final answers among the entries, the newest last."""
    known = set(ended)
    new = [entry.assignment for _, entry in sorted(entries.items()) if entry.phase in FINAL]
    return (*ended, *dict.fromkeys(id for id in new if id not in known))[-MOST_ENDED:]


def _read_errors(entries: Mapping[Key, Entry]) -> Iterator[tuple[Ref, Retries]]:
    """The errors of calls in the last report. Of an object that exists only `UpToDate` is ours, the other conditions are the runtime's."""
    for key, entry in entries.items():
        types = OF_CREATION if entry.status is not None and entry.status.state == "Pending" else (UP_TO_DATE,)
        for one in entry.status.conditions if entry.status is not None else ():
            if one.type in types and one.status == "False" and one.reason in CALL_REASONS:
                error = CallError(one.reason, one.message)
                yield Ref(RUNTIME_KINDS[key.kind], entry.uid), Retries(from_last_report=error)
