"""Recent events of one poollet, for its report: what became of actions, and whether `live` is applied.

Theory of operation. Events are equal when subject, reason, message and type are. An equal one is counted,
gets a new `last` and moves to the end, so that a call that fails again and again takes one place. Beyond
MOST_KEPT the oldest is dropped. The list is part of the report, so a restart continues with it.

Events are for people: no program decides by them, and one that is lost changes nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import NamedTuple

from poollet.clock import Clock
from poollet.decide.actions import NAMES, EventText, ObjectAction
from poollet.report.assemble import stamp
from poollet.report.conditions import FAILED
from schemas.report import ReportedEvent

MOST_KEPT = 200
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
            self._events[subject, event] = ReportedEvent(
                kind=subject.kind,
                name=subject.name,
                namespace=subject.namespace,
                uid=subject.uid,
                type="Warning" if event.is_warning else "Normal",
                reason=event.reason,
                message=event.message,
                count=before.count + 1 if before else 1,
                first=before.first if before else at,
                last=at,
            )
            if len(self._events) > MOST_KEPT:
                del self._events[next(iter(self._events))]
