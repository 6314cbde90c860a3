"""Recent events, for the report: counted, bounded, the newest kept. Time is an argument; any thread may record."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import NamedTuple

from poollet.decide.actions import EventText
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
    """`kept` are those of the last report, so that a restart forgets nothing."""

    def __init__(self, kept: Iterable[ReportedEvent] = ()) -> None:
        self._events: dict[tuple[Subject, EventText], ReportedEvent] = {}
        self._writing = threading.Lock()
        for event in kept:
            subject = Subject(event.kind, event.name, event.namespace, event.uid)
            happening = EventText(event.reason, event.message, event.type == "Warning")
            self._events[subject, happening] = event

    def record(self, subject: Subject, happening: EventText, at: str) -> None:
        """`at` in RFC 3339. What happens again comes last again, with its count."""
        happening = happening._replace(message=happening.message[:LONGEST_MESSAGE])
        with self._writing:
            self._record(subject, happening, at)

    def all(self) -> tuple[ReportedEvent, ...]:
        """Oldest first."""
        with self._writing:
            return tuple(self._events.values())

    def _record(self, subject: Subject, happening: EventText, at: str) -> None:
        before = self._events.pop((subject, happening), None)
        self._events[subject, happening] = ReportedEvent(
            kind=subject.kind,
            name=subject.name,
            namespace=subject.namespace,
            uid=subject.uid,
            type="Warning" if happening.is_warning else "Normal",
            reason=happening.reason,
            message=happening.message,
            count=before.count + 1 if before else 1,
            first=before.first if before else at,
            last=at,
        )
        if len(self._events) > MOST_KEPT:
            del self._events[next(iter(self._events))]
