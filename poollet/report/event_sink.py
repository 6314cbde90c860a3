"""Where events of one poollet are collected for its report: what became of actions, and whether `live` is applied."""

from __future__ import annotations

from collections.abc import Iterable

from poollet.clock import Clock
from poollet.decide.actions import NAMES, EventText, ObjectAction
from poollet.report.assemble import stamp
from poollet.report.events import Events, Subject
from schemas.report import ReportedEvent


class EventSink:
    """Any thread may record."""

    def __init__(self, name: str, clock: Clock) -> None:
        self._poollet = Subject("Poollet", name)
        self._clock = clock
        self._events = Events()

    def start(self, kept: Iterable[ReportedEvent]) -> None:
        """With the events of the last report, so that a restart forgets nothing."""
        self._events = Events(kept)

    def all(self) -> tuple[ReportedEvent, ...]:
        return self._events.all()

    def record_own(self, event: EventText) -> None:
        """About the poollet itself."""
        self._events.record(self._poollet, event, stamp(self._clock.now()))

    def record_result(self, action: ObjectAction, error: str) -> None:
        """What became of an action; an empty error is success."""
        subject = Subject(NAMES[action.ref.kind], action.name, action.namespace, action.ref.uid)
        for event in (EventText("Failed", error, True),) if error else action.events:
            self._events.record(subject, event, stamp(self._clock.now()))
