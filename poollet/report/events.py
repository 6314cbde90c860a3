"""Recent events of one poollet, for its report: what became of actions, and whether `live` is applied.

Theory of operation. Events are equal when subject, reason, message and type are. An equal one is counted,
gets a new `last` and moves to the end, so that a call that fails again and again takes one place. Beyond
MOST_KEPT the oldest is dropped. The list is part of the report, so a restart continues with it.

An event of a provider that others wrote is imported with its own time, and is counted once however often it is listed. While its subject,
reason and type stay the same, a new message takes the place of the old one, because some messages have a number in them. Such
events take half of the list at most.

Events are for people: no program decides by them, and one that is lost changes nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from poollet.clock import Clock
from poollet.decide.actions import NAMES, EventText, ObjectAction
from poollet.report.assemble import stamp
from poollet.report.conditions import FAILED
from schemas.report import ReportedEvent

MOST_KEPT = 200
MOST_IMPORTED = MOST_KEPT // 2
LONGEST_MESSAGE = 1000


class Subject(NamedTuple):
    """Whom an event is about."""

    kind: str
    name: str
    namespace: str = ""
    uid: str | None = None


class Events:
    """Any thread may record."""

    def __init__(self, name: str, clock: Clock) -> None:
        """`name` is the poollet, which is the subject of its own events."""
        self._poollet = Subject("Poollet", name)
        self._clock = clock
        self._events: dict[tuple[Subject, EventText], ReportedEvent] = {}
        self._imported: dict[
            tuple[Subject, EventText], None
        ] = {}  # keys of events, whose messages are left out
        self._writing = threading.Lock()

    def start(self, kept: Iterable[ReportedEvent]) -> None:
        """With the events of the last report, so that a restart forgets nothing."""
        for event in kept:
            subject = Subject(event.kind, event.name, event.namespace, event.uid)
            self._events[subject, EventText(event.reason, event.message, event.type == "Warning")] = event

    def all(self) -> tuple[ReportedEvent, ...]:
        """Oldest first."""
        with self._writing:
            return tuple(self._events.values())

    def record_own(self, event: EventText) -> None:
        """About the poollet itself."""
        self.record(self._poollet, event)

    def record_result(self, action: ObjectAction, error: str) -> None:
        """What became of an action; an empty error is success."""
        subject = Subject(NAMES[action.ref.kind], action.name, action.namespace, action.ref.uid)
        for event in (EventText(FAILED, error, True),) if error else action.events:
            self.record(subject, event)

    def record(self, subject: Subject, event: EventText) -> None:
        """What happens again comes last again, with its count. The message is cut before events are compared:
        what is cut off would tell two events apart that look the same in the report."""
        event = event._replace(message=event.message[:LONGEST_MESSAGE])
        at = stamp(self._clock.now())
        with self._writing:
            before = self._events.pop((subject, event), None)
            self._put((subject, event), count_event(subject, event, at, before))

    def record_imported(self, subject: Subject, event: EventText, time: int) -> None:
        """Of a provider, in Unix seconds by its own clock; a time to come counts as now."""
        event = event._replace(message=event.message[:LONGEST_MESSAGE])
        now = self._clock.now()
        at = stamp(datetime.fromtimestamp(max(0, min(time, int(now.timestamp()))), UTC))
        key = (subject, event._replace(message=""))
        with self._writing:
            place = key if key in self._imported and key in self._events else (subject, event)
            before = self._events.get(place)
            if before is not None and at <= before.last and before.message == event.message:
                return  # listed again, after a restart
            self._events.pop(place, None)
            self._imported.pop(key, None)
            self._imported[key] = None
            self._put(key, count_event(subject, event, at, before))
            if len(self._imported) > MOST_IMPORTED:
                oldest = next(iter(self._imported))
                del self._imported[oldest]
                self._events.pop(oldest, None)

    def _put(self, key: tuple[Subject, EventText], event: ReportedEvent) -> None:
        """As the newest one."""
        self._events[key] = event
        if len(self._events) > MOST_KEPT:
            del self._events[next(iter(self._events))]


def count_event(subject: Subject, event: EventText, at: str, before: ReportedEvent | None) -> ReportedEvent:
    """The event as it is reported, after `before` of the same subject."""
    return ReportedEvent(
        kind=subject.kind,
        name=subject.name,
        namespace=subject.namespace,
        uid=subject.uid,
        type="Warning" if event.is_warning else "Normal",
        reason=event.reason,
        message=event.message,
        count=before.count + 1 if before else 1,
        first=before.first if before else at,
        last=max(at, before.last) if before else at,
    )
