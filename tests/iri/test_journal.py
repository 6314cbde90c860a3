"""Events are bounded in count and age; every notice reaches every watcher once, or a RESYNC does."""

from __future__ import annotations

import threading
import time

import pytest

from iri import journal
from iri.errors import ResourceExhausted
from iri.journal import Journal
from iri.machine import RuntimeMachine
from iri.runtime import ChangeNotice, ChangeType, EventType
from iri.volume import RuntimeVolume

SECOND = 1_000_000_000
RESYNC = ChangeNotice(None, "", ChangeType.RESYNC)


class Clock:
    def __init__(self) -> None:
        self.now = 1000 * SECOND

    def __call__(self) -> int:
        return self.now


def test_event_names_object_reason_and_action() -> None:
    clock = Clock()
    log = Journal(clock)
    log.event(
        RuntimeMachine(id="m1", labels={"a": "b"}),
        "Crashed",
        "Watch",
        "the guest has crashed",
        is_warning=True,
    )
    (event,) = log.events()
    assert (event.kind, event.id, event.labels, event.time) == (RuntimeMachine, "m1", {"a": "b"}, 1000)
    assert (event.type, event.reason, event.action) == (EventType.WARNING, "Crashed", "Watch")


def test_events_are_bounded_in_count_and_age() -> None:
    clock = Clock()
    log = Journal(clock, events_kept=3)
    for number in range(5):
        log.event(RuntimeMachine(id=str(number)), "R", "A", "m")
        clock.now += SECOND
    assert [event.id for event in log.events()] == ["2", "3", "4"]
    clock.now = (1003 + journal.EVENTS_KEPT_SECONDS) * SECOND
    assert [event.id for event in log.events()] == ["3", "4"]


def test_watch_begins_with_a_resync_then_reports_each_object_once() -> None:
    log = Journal(Clock())
    log.notice(RuntimeMachine, "before", ChangeType.CREATED)
    watcher = log.watch()
    log.notice(RuntimeMachine, "m1", ChangeType.CREATED)
    log.notice(RuntimeMachine, "m1", ChangeType.CHANGED)
    log.notice(RuntimeVolume, "m1", ChangeType.CHANGED)
    assert watcher.next(0) == (
        RESYNC,
        ChangeNotice(RuntimeMachine, "m1", ChangeType.CREATED),
        ChangeNotice(RuntimeVolume, "m1", ChangeType.CHANGED),
    )
    assert watcher.next(0) == ()
    log.notice(RuntimeMachine, "m1", ChangeType.CHANGED)
    log.notice(RuntimeMachine, "m1", ChangeType.DELETED)
    assert watcher.next(0) == (ChangeNotice(RuntimeMachine, "m1", ChangeType.DELETED),)


def test_watcher_waits_until_something_happens() -> None:
    log = Journal(Clock())
    watcher = log.watch()
    watcher.next(0)
    timer = threading.Timer(0.05, log.notice, (RuntimeMachine, "m1", ChangeType.CHANGED))
    timer.start()
    start = time.monotonic()
    assert watcher.next(10) == (ChangeNotice(RuntimeMachine, "m1", ChangeType.CHANGED),)
    assert time.monotonic() - start < 5
    timer.join()


def test_watcher_that_falls_behind_gets_a_resync() -> None:
    log = Journal(Clock())
    watcher = log.watch()
    watcher.next(0)
    for number in range(journal.NOTICES_PENDING + 5):
        log.notice(RuntimeMachine, str(number), ChangeType.CHANGED)
    notices = watcher.next(0)
    assert notices[0] == RESYNC
    assert len(notices) < 10


def test_closing_a_watcher_frees_its_place_and_wakes_its_reader() -> None:
    log = Journal(Clock())
    watchers = [log.watch() for _ in range(journal.WATCHERS)]
    with pytest.raises(ResourceExhausted, match="watchers"):
        log.watch()
    watchers[0].next(0)
    reader = threading.Thread(target=watchers[0].next, args=(60,))
    reader.start()
    watchers[0].close()
    reader.join(60)
    assert not reader.is_alive()
    log.watch().close()
