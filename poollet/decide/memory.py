"""What is known from before. All of it may be lost: the report and the runtimes' lists bring back what must not be.

`Memory` belongs to the decision, which takes one and returns the next. `Attempts` belongs to whoever executes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from iri import errors
from iri.machine import RuntimeMachine
from iri.runtime import RuntimeKind
from iri.volume import RuntimeSnapshot, RuntimeVolume
from poollet.decide.actions import Call, Ref
from poollet.report.conditions import IMAGE_READY, INTERFACES_READY, OTHER_HOST, SOURCE_READY, UP_TO_DATE
from schemas import report
from schemas.kinds import Key, Kind
from schemas.model import Object

NO_EFFECT = "NoEffect"
UNKNOWN_HOST = "unknown"  # of a report that does not say whose it is, and that may well be another's
OF_CREATION = (IMAGE_READY, SOURCE_READY, INTERFACES_READY, UP_TO_DATE)
# Reasons that tell of a call, by the classes of errors; all others follow from what stands on the target branch.
OF_CALLS = frozenset(
    (
        NO_EFFECT,
        *(name for name, one in vars(errors).items() if isinstance(one, type) and issubclass(one, Exception)),
    )
)
RUNTIME_KINDS: Mapping[Kind, RuntimeKind] = {
    Kind.MACHINE: RuntimeMachine,
    Kind.VOLUME: RuntimeVolume,
    Kind.VOLUME_SNAPSHOT: RuntimeSnapshot,
}
Entry = report.MachineReport | report.VolumeReport | report.SnapshotReport
Pool = tuple[Kind, str]


class Missing(NamedTuple):
    """Not in a list that should have had it: the first such list, and when that was asked for."""

    number: int
    since_ms: int


@dataclass(frozen=True, slots=True)
class Pace:
    """A call that was ordered: how often in a row, and when last. `vain` of those times nothing came of it since.

    `was_needless`: since the last time it was not needed for a while, so it did have an effect.
    """

    call: Call
    count: int
    last_ms: int
    vain: int = 1
    was_needless: bool = False


class CallError(NamedTuple):
    """Why a call is not made now, or did not succeed when it was."""

    code: str
    message: str


class Refused(NamedTuple):
    """A call that the runtime will not do, and when it said so."""

    call: Call
    code: str
    message: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class CachedMachine:
    """A machine that is as it is to be, and what is said of it: true as long as nothing that this follows from is another.

    `facts` are what the host contributed, `reads` what references led to. Objects are held against each other by identity.
    """

    document: Object
    there: RuntimeMachine
    facts: tuple[object, ...]
    reads: tuple[tuple[Key, Object | None], ...]
    entry: report.MachineReport


@dataclass(frozen=True)
class Memory:
    """`entries` and `orphans` are what was reported last, and all that a restart needs.

    `missing` is what a list lacked, `going` since when an object has been on its way out, `paces` what was ordered last,
    `refused` what a runtime will not do, `inherited` what the run before told of calls that failed. `settled` saves looking again at what has not changed.
    `former` is the host that had the name before, until all that it may have is marked; `former_pools` are those it spoke of.
    """

    entries: Mapping[Key, Entry] = field(default_factory=dict)
    orphans: tuple[report.Orphan, ...] = ()
    missing: Mapping[Ref, Missing] = field(default_factory=dict)
    going: Mapping[Ref, int] = field(default_factory=dict)
    paces: Mapping[Ref, tuple[Pace, ...]] = field(default_factory=dict)
    refused: Mapping[Ref, tuple[Refused, ...]] = field(default_factory=dict)
    inherited: Mapping[Ref, CallError] = field(default_factory=dict)
    settled: Mapping[Ref, CachedMachine] = field(default_factory=dict)
    former: str = ""
    former_pools: frozenset[Pool] = frozenset()


@dataclass(frozen=True, slots=True)
class Failure:
    """The call that did not succeed. `code` is the name of the error's class; an equal call waits until `retry_ms`.

    `left` are those of the same step that were not made because of it.
    """

    call: Call
    code: str
    message: str
    count: int
    retry_ms: int
    at_ms: int
    left: tuple[Call, ...] = ()


@dataclass(frozen=True)
class Attempts:
    """`busy` are objects with a step under way, `ended_ms` says when the last step of an object was over.

    A list that was asked for before that does not show its effect.
    """

    busy: frozenset[Ref] = frozenset()
    ended_ms: Mapping[Ref, int] = field(default_factory=dict)
    failures: Mapping[Ref, tuple[Failure, ...]] = field(default_factory=dict)


def is_of_other_host(entry: Entry) -> bool:
    """The host that had this poollet's name before may have it: nothing was ever said of it here."""
    said = entry.status.conditions if entry.status is not None else ()
    return any(one.type == UP_TO_DATE and one.reason == OTHER_HOST for one in said)


def pool_of(entry: Entry) -> Pool:
    kind = Kind.MACHINE_POOL if isinstance(entry, report.MachineReport) else Kind.VOLUME_POOL
    return kind, entry.pool


def remembered(last: report.Report, host_id: str = "") -> Memory:
    """What a poollet that has just started knows from its own last report, or from that of another host."""
    entries: dict[Key, Entry] = {}
    for kind, found in (
        (Kind.MACHINE, last.machines),
        (Kind.VOLUME, last.volumes),
        (Kind.VOLUME_SNAPSHOT, last.snapshots),
    ):
        entries |= {Key(kind, namespace, name): entry for (namespace, name), entry in found.items()}
    nobody = host_id if last == report.Report() else UNKNOWN_HOST
    by = last.poollet.host_id if last.poollet is not None else nobody
    known = recalled(entries, last.orphans)
    if by == host_id:
        return known
    pools = {(Kind.MACHINE_POOL, name) for name in last.pools}
    pools |= {(Kind.VOLUME_POOL, name) for name in last.volume_pools}
    return replace(known, former=by, former_pools=frozenset(pools))


def recalled(entries: Mapping[Key, Entry], orphans: tuple[report.Orphan, ...]) -> Memory:
    return Memory(entries=entries, orphans=orphans, inherited=dict(_inherited(entries)))


def _inherited(entries: Mapping[Key, Entry]) -> Iterator[tuple[Ref, CallError]]:
    """What was told of calls that failed is true until they are made again. Of what is there, parts are told of by the runtime."""
    for key, entry in entries.items():
        types = OF_CREATION if entry.status is not None and entry.status.state == "Pending" else (UP_TO_DATE,)
        for said in entry.status.conditions if entry.status is not None else ():
            if said.type in types and said.status == "False" and said.reason in OF_CALLS:
                yield Ref(RUNTIME_KINDS[key.kind], entry.uid), CallError(said.reason, said.message)
