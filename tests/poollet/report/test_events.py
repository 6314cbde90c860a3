"""Events for people: counted, bounded, and not forgotten by a restart."""

from __future__ import annotations

from poollet.clock import Clock
from poollet.decide.actions import EventText
from poollet.report.events import LONGEST_MESSAGE, MOST_KEPT, Events, Subject

WEB = Subject("Machine", "web", "default")
AT = "2026-05-04T12:00:{:02}Z".format
NOON_MS = 1_777_896_000_000


def events_at(*seconds: int) -> Events:
    """With a clock that shows these seconds after noon, one after the other."""
    moments = iter(seconds)
    return Events("host-1", Clock(now_ms=lambda: NOON_MS + 1000 * next(moments)))


def test_a_repeated_event_is_counted_and_comes_last() -> None:
    events = events_at(1, 2, 3)
    events.record(WEB, EventText("Failed", "no room", True))
    events.record(WEB, EventText("Created", "with 1 disk"))
    events.record(WEB, EventText("Failed", "no room", True))
    assert [(one.reason, one.count, one.first, one.last, one.type) for one in events.all()] == [
        ("Created", 1, AT(2), AT(2), "Normal"),
        ("Failed", 2, AT(1), AT(3), "Warning"),
    ]


def test_the_newest_events_are_kept_and_counted_on_after_a_restart() -> None:
    events = events_at(*[0] * (MOST_KEPT + 5))
    for number in range(MOST_KEPT + 5):
        events.record(WEB._replace(name=f"m{number}"), EventText("Created", "x" * 5000))
    kept = events.all()
    assert len(kept) == MOST_KEPT
    assert kept[0].name == "m5"
    assert len(kept[0].message) == LONGEST_MESSAGE
    after = events_at(9)
    after.start(kept)
    assert after.all() == kept
    after.record(WEB._replace(name="m7"), EventText("Created", "x" * 5000))
    assert (after.all()[-1].name, after.all()[-1].count) == ("m7", 2)
