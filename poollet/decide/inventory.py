"""The objects on this host: each by its uid, whether it is really missing, and which machine holds a disk.

Theory of operation. A list that lacks an object proves nothing by itself: a runtime that just started, or
has a problem, may answer with less than it has. The presence of an object is decided in this order; the
first row that fits counts:

    the list failed, or none was made                          Unknown
    an action on it runs, or ended after the list was begun    InFlight
    one object of the uid, at the runtime of its pool          Present
    several, or one at another runtime                         Duplicates
    never reported, no id on `live`, not to be removed,
        and no action of this run                              Absent, by one list
    two lists lack it, far enough apart                        Absent
    else                                                       UnconfirmedAbsent

    apart by     where
    EXPECTED_MS  its removal was called for, or it was never reported
    CONFIRM_MS   it was reported, and other objects are listed
    EMPTY_MS     it was reported, and the list is empty: a runtime that lost its disk lists nothing

While a runtime does not answer, its last list still counts for capacity and for who holds a disk, never
for presence.

Limits: it knows no orders and no documents.

Must never happen: an object that exists counts as Absent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from iri.identity import UID_LABELS
from iri.machine import RuntimeMachine
from iri.runtime import RuntimeKind, RuntimeObject
from poollet.decide.actions import ExecutorState, Ref, RemoveCall
from poollet.decide.memory import Memory, Missing
from poollet.decide.retry import NO_RETRIES
from poollet.runtimes.runtime_lists import ListFailed, Listing, ListKey, RuntimeLists
from schemas import live_layout

CONFIRM_MS = 2_000  # between two lists that lack an object which was not removed
EMPTY_MS = 10_000  # between two lists that lack everything
EXPECTED_MS = 300  # between two lists that lack an object which was being removed, or never existed


class ListedObject(NamedTuple):
    """An object with the name of the runtime that lists it."""

    runtime: str
    object: RuntimeObject


@dataclass(frozen=True, slots=True)
class Unknown:
    """The runtime does not answer."""

    reason: str


@dataclass(frozen=True, slots=True)
class InFlight:
    """The last action on it is not in the list yet, or still runs."""


@dataclass(frozen=True, slots=True)
class UnconfirmedAbsent:
    """One list lacks it; the next ones decide. `missing` is what to remember, `recheck_at_ms` when to list again."""

    missing: Missing
    recheck_at_ms: int


@dataclass(frozen=True, slots=True)
class Absent:
    """It does not exist here."""


@dataclass(frozen=True, slots=True)
class Present:
    """One object of the uid, where its pool's runtime is."""

    object: RuntimeObject


@dataclass(frozen=True, slots=True)
class Duplicates:
    """More than one object of the uid, or one at another runtime than its pool's: a person has to decide."""

    found: tuple[ListedObject, ...]


Presence = Unknown | InFlight | UnconfirmedAbsent | Absent | Present | Duplicates


def is_ours(object: RuntimeObject, kind: RuntimeKind, fleet: str) -> bool:
    """Of this fleet, and with a uid. All others are foreign: charged, and never touched."""
    return object.labels.get(live_layout.FLEET) == fleet and bool(object.labels.get(UID_LABELS[kind]))


class Inventory:
    """Built for each decision in one pass over the lists."""

    def __init__(self, observed: RuntimeLists, executor: ExecutorState, memory: Memory, fleet: str) -> None:
        self.observed = observed
        self.executor = executor
        self.memory = memory
        self.ours: dict[Ref, list[ListedObject]] = {}
        self.foreign: list[ListedObject] = []
        self.holders: dict[str, set[str]] = {}  # ids of machines, by the handle of a disk they hold
        self.uids: dict[str, str] = {}  # of machines of ours, by id
        for place in sorted(observed, key=lambda place: (place.runtime, place.kind.__name__)):
            answer = observed[place]
            for object in _objects(answer).values():
                self._add(ListedObject(place.runtime, object), place.kind, fleet)

    def _add(self, found: ListedObject, kind: RuntimeKind, fleet: str) -> None:
        if is_ours(found.object, kind, fleet):
            self.ours.setdefault(Ref(kind, found.object.labels[UID_LABELS[kind]]), []).append(found)
        else:
            self.foreign.append(found)
        if isinstance(found.object, RuntimeMachine):
            if is_ours(found.object, kind, fleet):
                self.uids[found.object.id] = found.object.labels[UID_LABELS[kind]]
            for handle in handles(found.object):
                self.holders.setdefault(handle, set()).add(found.object.id)

    def presence(self, ref: Ref, runtime: str, *, was_there: bool, must_be_confirmed: bool) -> Presence:
        """`was_there`: it was reported before. `must_be_confirmed`: one list that lacks it is not enough in any case."""
        answer = self.observed.get(ListKey(runtime, ref.kind))
        if not isinstance(answer, Listing):
            return Unknown(answer.reason if answer is not None else "the runtime has not answered yet")
        if not self.shows_last_action(ref, answer):
            return InFlight()
        found = self.ours.get(ref, [])
        if len(found) == 1 and found[0].runtime == runtime:
            return Present(found[0].object)
        if found:
            return Duplicates(tuple(sorted(found, key=lambda one: (one.runtime, one.object.id))))
        if not was_there and not must_be_confirmed and ref not in self.executor.ended_ms:
            return Absent()
        return self.missing(ref, answer, was_there=was_there)

    def shows_last_action(self, ref: Ref, listing: Listing) -> bool:
        """Whether the list was begun after the last action on the object ended. One that was begun before may
        show the state before it, or one in the middle."""
        return ref not in self.executor.busy and self.executor.ended_ms.get(ref, -1) < listing.started_ms

    def missing(self, ref: Ref, listing: Listing, *, was_there: bool) -> Absent | UnconfirmedAbsent:
        """Whether enough lists lack it. The first one that did is remembered; an action since then starts the
        wait again."""
        since = self.memory.missing.get(ref)
        if since is None or since.since_ms <= self.executor.ended_ms.get(ref, -1):
            since = Missing(
                listing.number, listing.started_ms
            )  # An object that was missing before the last action may exist since.
        wait_ms = EMPTY_MS if not listing.objects else CONFIRM_MS
        if not was_there or self._was_removed(ref):
            wait_ms = EXPECTED_MS
        if listing.number > since.number and listing.started_ms - since.since_ms >= wait_ms:
            return Absent()
        return UnconfirmedAbsent(since, max(since.since_ms + wait_ms, listing.started_ms))

    def _was_removed(self, ref: Ref) -> bool:
        """Whether its removal was called for, so that it is expected to be missing."""
        return any(
            isinstance(one.call, RemoveCall) for one in self.memory.retries.get(ref, NO_RETRIES).attempts
        )

    def listing(self, runtime: str, kind: RuntimeKind) -> Listing | None:
        """The complete list; None while that is unknown, for the last call failed or none was made."""
        found = self.observed.get(ListKey(runtime, kind))
        return found if isinstance(found, Listing) else None

    def at(self, ref: Ref, runtime: str) -> RuntimeObject | None:
        """The one object of the uid, if the runtime says now that it has it."""
        found = self.ours.get(ref, [])
        if len(found) != 1 or found[0].runtime != runtime:
            return None
        return found[0].object if self.listing(runtime, ref.kind) is not None else None

    def find_silent(self, runtimes: Iterable[str]) -> tuple[str, ...]:
        """Those of these runtimes, and of all that list machines, whose machines are unknown now."""
        listing = {place.runtime for place in self.observed if place.kind is RuntimeMachine}
        return tuple(
            runtime
            for runtime in sorted(listing | set(runtimes))
            if self.listing(runtime, RuntimeMachine) is None
        )


def _objects(answer: Listing | ListFailed) -> Mapping[str, RuntimeObject]:
    """The last list there was, where there is none now: what was there is charged, and held, until it is known better."""
    if isinstance(answer, Listing):
        return answer.objects
    return answer.last.objects if answer.last is not None else {}


def handles(machine: RuntimeMachine) -> set[str]:
    """Of the disks that it holds or is to hold; one that was detached stays until it is really out."""
    desired = {disk.connection.handle for disk in machine.spec.volumes if disk.connection is not None}
    attached = {entry.handle for entry in machine.status.volumes}
    return {handle for handle in desired | attached if handle}
