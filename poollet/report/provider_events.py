"""What the events of stock providers say about objects of this host: for the report's events, and as the reason of an object that is not ready.

Theory of operation. A provider that others wrote has no field for the reason why an object waits; it makes an event. An event counts only if its
id is that of a listed object with one of our uids. It is used twice:

    read      before a decision: of each object that is on its way or failed, the newest warning, else the newest other event
    record    after it: all that is new becomes an event of the report, under the name that the decision has for the uid

    the object is                                            its explanation
    -------------------------------------------------------  ------------------------------------------------
    Pending, Terminated or in error                          is kept, also when the provider forgets the event
    anything else, or not listed any more                    is dropped
    in a list that failed                                    stays

After a restart the last report gives it back: the event whose reason the condition Ready has.

Texts of a provider are not trusted: they are one printable line of bounded length, without credentials. A word of a provider never equals
one by which a program decides.

Must never happen: an event changes what is ordered of a runtime.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import NamedTuple

from iri.identity import UID_LABELS
from iri.machine import MachineState, RuntimeMachine
from iri.runtime import EventType, RuntimeEvent, RuntimeKind, RuntimeObject
from iri.volume import RuntimeSnapshot, RuntimeVolume, SnapshotState, VolumeState
from poollet.decide.actions import NAMES, RUNTIME_KINDS, EventText, Ref
from poollet.decide.memory import Entry
from poollet.report.conditions import CALL_REASONS, DELETED, DUPLICATES, FAILED, LOST, READY
from poollet.report.events import Events, Subject
from poollet.runtimes.runtime_lists import Listing, ListKey, RuntimeLists, identify_event
from reconciler.gitstore.redaction import Redactor
from schemas.kinds import Key, Kind
from schemas.report import Report

LONGEST_MESSAGE = 500
WORD = re.compile(r"[A-Z][A-Za-z0-9]{0,62}")
OTHER_WORD = "RuntimeEvent"  # in place of a reason that is not a CamelCase word, or is one of ours
# Programs decide by these.
OUR_WORDS = CALL_REASONS | {FAILED, LOST, DELETED, DUPLICATES, "Stopping", "PoolLost"}
# libvirt-provider warns of each machine without ignition data, and starts it. The second name is that of its version 0.4.0.
ADVICE = frozenset({"NoIgnitionData", "IgnitionDataNotFound"})
# States in which an object waits for something, or failed.
EXPLAINED: Mapping[RuntimeKind, frozenset[IntEnum]] = {
    RuntimeMachine: frozenset({MachineState.PENDING, MachineState.TERMINATED}),
    RuntimeVolume: frozenset({VolumeState.PENDING, VolumeState.ERROR}),
    RuntimeSnapshot: frozenset({SnapshotState.PENDING, SnapshotState.FAILED}),
}
Explanations = Mapping[Ref, EventText]
RuntimeEvents = Mapping[str, tuple[RuntimeEvent, ...]]  # by the name of the runtime


class NewEvent(NamedTuple):
    """One that is not in the report yet."""

    ref: Ref
    event: EventText
    time: int


class ProviderEvents:
    """One agent's. `events` is where they are recorded."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._seen: frozenset[tuple[object, ...]] = frozenset()
        self._explanations: dict[Ref, EventText] = {}
        self._new: list[NewEvent] = []
        self.reasons: frozenset[str] = frozenset()  # of all events that were read

    def start(self, last: Report) -> None:
        """With what the last report explains, because the provider may have forgotten it."""
        shown = dict(list_reasons(last))
        for event in last.events:
            ref = (
                Ref(RUNTIME_KINDS[kind], event.uid) if event.uid and (kind := KINDS.get(event.kind)) else None
            )
            if (
                ref is not None
                and event.type == "Warning"
                and shown.get(ref) == event.reason not in OUR_WORDS
            ):
                self._explanations[ref] = EventText(event.reason, event.message, is_warning=True)
                self.reasons |= {event.reason}

    def read(self, events: RuntimeEvents, lists: RuntimeLists) -> Explanations:
        """What explains the objects that wait, by all events so far."""
        self._new = []
        if not self._explanations and not any(events.values()):
            return {}
        seen: set[tuple[object, ...]] = set()
        for runtime, found in events.items():
            for event in found:
                # One whose object is not listed yet is looked at again.
                if (ref := find_ref(runtime, event, lists)) is not None:
                    seen.add((runtime, *identify_event(event)))
                    if (runtime, *identify_event(event)) not in self._seen:
                        self._new.append(NewEvent(ref, clean_event(event), event.time))
        self._seen = frozenset(seen)
        self.reasons |= {new.event.reason for new in self._new}
        self._explain(lists)
        return dict(self._explanations)

    def record(self, entries: Mapping[Key, Entry]) -> None:
        """Of objects that have an entry. Whoever reads this report is not concerned with others."""
        names = {Ref(RUNTIME_KINDS[key.kind], entry.uid): key for key, entry in entries.items() if self._new}
        for ref, event, time in self._new:
            if (key := names.get(ref)) is not None:
                self._events.record_imported(
                    Subject(NAMES[ref.kind], key.name, key.namespace, ref.uid), event, time
                )
        self._new = []

    def _explain(self, lists: RuntimeLists) -> None:
        """By the table above."""
        for ref, event, _ in self._new:
            before = self._explanations.get(ref)
            if event.reason not in ADVICE and (event.is_warning or before is None or not before.is_warning):
                self._explanations[ref] = event
        unlisted = {place.kind for place, answer in lists.items() if not isinstance(answer, Listing)}
        waiting = set(list_waiting(lists))
        self._explanations = {
            ref: event for ref, event in self._explanations.items() if ref in waiting or ref.kind in unlisted
        }


KINDS = {kind.value: kind for kind in (Kind.MACHINE, Kind.VOLUME, Kind.VOLUME_SNAPSHOT)}


def list_reasons(last: Report) -> Iterator[tuple[Ref, str]]:
    """Why each object was not ready, by the condition Ready of its entry."""
    entries: list[tuple[Kind, Iterable[Entry]]] = [
        (Kind.MACHINE, last.machines.values()),
        (Kind.VOLUME, last.volumes.values()),
        (Kind.VOLUME_SNAPSHOT, last.snapshots.values()),
    ]
    for kind, found in entries:
        for entry in found:
            conditions = entry.status.conditions if entry.status is not None else ()
            for one in conditions:
                if one.type == READY and one.status == "False":
                    yield Ref(RUNTIME_KINDS[kind], entry.uid), one.reason


def list_waiting(lists: RuntimeLists) -> Iterator[Ref]:
    """The listed objects that an event may explain."""
    for (_, kind), answer in lists.items():
        for there in answer.objects.values() if isinstance(answer, Listing) else ():
            is_waiting = not there.deleted_at and there.status.state in EXPLAINED[kind]
            if is_waiting and (uid := find_uid(kind, there)):
                yield Ref(kind, uid)


def find_ref(runtime: str, event: RuntimeEvent, lists: RuntimeLists) -> Ref | None:
    """The object that it is about, by the labels that the list has of it: those of the event may be anything."""
    answer = lists.get(ListKey(runtime, event.kind))
    there = answer.objects.get(event.id) if isinstance(answer, Listing) else None
    uid = find_uid(event.kind, there) if there is not None else ""
    return Ref(event.kind, uid) if uid else None


def find_uid(kind: RuntimeKind, there: RuntimeObject) -> str:
    """Empty for an object that no fleet ordered."""
    return there.labels.get(UID_LABELS[kind], "")


def clean_event(event: RuntimeEvent) -> EventText:
    """Fit for a report, whatever the provider wrote."""
    is_word = WORD.fullmatch(event.reason) is not None and event.reason not in OUR_WORDS
    # Cut before it is cleaned as well, because cleaning costs time.
    message = " ".join(Redactor().clean(event.message[: 4 * LONGEST_MESSAGE]).split())[:LONGEST_MESSAGE]
    return EventText(event.reason if is_word else OTHER_WORD, message, event.type is EventType.WARNING)
