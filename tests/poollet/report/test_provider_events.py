"""What the events of stock providers become: explanations of objects that wait, and events of the report. Their texts are not trusted."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from iri.identity import UID_LABELS
from iri.machine import MachineState, RuntimeMachine, RuntimeMachineStatus
from iri.runtime import EventType, RuntimeEvent, RuntimeObject
from iri.volume import RuntimeVolume, RuntimeVolumeStatus, VolumeState
from poollet.clock import Clock
from poollet.decide.actions import EventText, Ref
from poollet.report.events import MOST_IMPORTED, Events
from poollet.report.provider_events import LONGEST_MESSAGE, OTHER_WORD, ProviderEvents, clean_event
from poollet.runtimes.runtime_lists import ListFailed, Listing, ListKey, RuntimeLists
from schemas.kinds import Key, Kind
from schemas.report import MachineReport, Report, ReportedCondition, ReportedEvent, ReportedMachineStatus

UID = "00000000-0000-4000-8000-000000000001"
WEB = Ref(RuntimeMachine, UID)
KEY = Key(Kind.MACHINE, "default", "web")
NOON = int(datetime(2026, 5, 4, 12, tzinfo=UTC).timestamp())
ENTRY = MachineReport(UID, "a", "present", "rack-a")


def event(
    reason: str, message: str = "", time: int = NOON, *, normal: bool = False, id: str = "m"
) -> RuntimeEvent:
    type = EventType.NORMAL if normal else EventType.WARNING
    return RuntimeEvent(
        kind=RuntimeMachine, id=id, type=type, reason=reason, action="Act", message=message, time=time
    )


def list_objects(*objects: RuntimeObject) -> RuntimeLists:
    kinds = {type(one) for one in objects} | {RuntimeMachine}
    return {
        ListKey("r1", kind): Listing(1, 0, {one.id: one for one in objects if type(one) is kind})
        for kind in kinds
    }


def guest(
    state: MachineState = MachineState.PENDING, *, deleted_at: int = 0, uid: str = UID
) -> RuntimeMachine:
    labels = {UID_LABELS[RuntimeMachine]: uid} if uid else {}
    return RuntimeMachine(
        id="m", labels=labels, deleted_at=deleted_at, status=RuntimeMachineStatus(state=state)
    )


def recorder() -> tuple[ProviderEvents, Events]:
    events = Events("host-1", Clock(lambda: NOON * 1000))
    return ProviderEvents(events), events


def pull_failure(message: str = "not found") -> EventText:
    return EventText("PullFailed", message, is_warning=True)


EXPLAINED: Mapping[str, tuple[tuple[RuntimeEvent, ...], RuntimeLists, EventText | None]] = {
    "a warning": ((event("PullFailed", "not found"),), list_objects(guest()), pull_failure()),
    "the newest warning": (
        (event("First"), event("PullFailed", "not found")),
        list_objects(guest()),
        pull_failure(),
    ),
    "a warning before progress": (
        (event("PullFailed", "not found"), event("Pulling", normal=True)),
        list_objects(guest()),
        pull_failure(),
    ),
    "progress alone": (
        (event("Pulling", "web.img", normal=True),),
        list_objects(guest()),
        EventText("Pulling", "web.img"),
    ),
    "advice": ((event("NoIgnitionData"),), list_objects(guest()), None),
    "advice after progress, as of libvirt-provider 0.4.0": (
        (event("PullingImage", "in progress", normal=True), event("IgnitionDataNotFound", "no data")),
        list_objects(guest()),
        EventText("PullingImage", "in progress"),
    ),
    "it ended": (
        (event("PullFailed", "not found"),),
        list_objects(guest(MachineState.TERMINATED)),
        pull_failure(),
    ),
    "it runs": ((event("PullFailed"),), list_objects(guest(MachineState.RUNNING)), None),
    "it is off by order": ((event("PullFailed"),), list_objects(guest(MachineState.SUSPENDED)), None),
    "it is being removed": ((event("PullFailed"),), list_objects(guest(deleted_at=1)), None),
    "no fleet ordered it": ((event("PullFailed"),), list_objects(guest(uid="")), None),
    "about another object": ((event("PullFailed", id="x"),), list_objects(guest()), None),
    "machines cannot be listed": (
        (event("PullFailed"),),
        {ListKey("r1", RuntimeMachine): ListFailed("x")},
        None,
    ),
}


@pytest.mark.parametrize(("events", "lists", "want"), EXPLAINED.values(), ids=EXPLAINED.keys())
def test_an_object_that_waits_is_explained(
    events: tuple[RuntimeEvent, ...], lists: RuntimeLists, want: EventText | None
) -> None:
    found = recorder()[0].read({"r1": events}, lists)
    assert found == ({} if want is None else {WEB: want})


def test_a_volume_is_explained_too() -> None:
    volume = RuntimeVolume(
        id="v",
        labels={UID_LABELS[RuntimeVolume]: UID},
        status=RuntimeVolumeStatus(state=VolumeState.ERROR),
    )
    answer = RuntimeEvent(
        kind=RuntimeVolume,
        id="v",
        type=EventType.WARNING,
        reason="NoSpace",
        action="Create",
        message="full",
        time=NOON,
    )
    found = recorder()[0].read({"r1": (answer,)}, list_objects(volume))
    assert found == {Ref(RuntimeVolume, UID): EventText("NoSpace", "full", is_warning=True)}


def test_an_explanation_outlives_the_event_and_ends_when_the_object_runs() -> None:
    one, answer = recorder()[0], {"r1": (event("PullFailed", "not found"),)}
    silent: RuntimeLists = {ListKey("r1", RuntimeMachine): ListFailed("no answer")}
    assert one.read(answer, list_objects(guest())) == {WEB: pull_failure()}
    assert one.read({"r1": ()}, list_objects(guest())) == {WEB: pull_failure()}
    assert one.read({"r1": ()}, silent) == {WEB: pull_failure()}
    assert one.read(answer, list_objects(guest(MachineState.RUNNING))) == {}
    assert one.read(answer, list_objects(guest())) == {}, "an old event explains no later wait"
    one.read({"r1": (event("PullFailed", "again", NOON + 1),)}, list_objects(guest()))
    assert one.read({"r1": ()}, list_objects()) == {}, "the object is gone"


def test_an_event_that_comes_before_its_object_is_listed_is_not_lost() -> None:
    one, answer = recorder()[0], {"r1": (event("PullFailed", "not found"),)}
    assert one.read(answer, list_objects()) == {}
    assert one.read(answer, list_objects(guest())) == {WEB: pull_failure()}


def test_a_restart_takes_the_explanation_from_the_last_report() -> None:
    ready = ReportedCondition("Ready", "False", "PullFailed", "not found")
    status = ReportedMachineStatus(state="Pending", conditions=(ready,))
    at = "2026-05-04T12:00:00Z"
    kept = tuple(
        ReportedEvent(
            "Machine", "web", type="Warning", reason=reason, message="not found", count=1, last=at, uid=UID
        )
        for reason in ("Earlier", "PullFailed")
    )
    entry = MachineReport(UID, "a", "present", "rack-a", status=status)
    last = Report(machines={("default", "web"): entry}, events=kept)
    one = recorder()[0]
    one.start(last)
    assert one.read({"r1": ()}, list_objects(guest())) == {WEB: pull_failure()}
    assert one.reasons == {"PullFailed"}


def test_an_event_is_recorded_once_under_the_name_of_its_object() -> None:
    one, events = recorder()
    answer = {"r1": (event("PullFailed", "not found"),)}
    for _ in range(3):
        one.read(answer, list_objects(guest()))
        one.record({KEY: ENTRY})
    (found,) = events.all()
    assert (found.kind, found.namespace, found.name, found.uid) == ("Machine", "default", "web", UID)
    assert (found.type, found.reason, found.count, found.last) == (
        "Warning",
        "PullFailed",
        1,
        "2026-05-04T12:00:00Z",
    )
    again, kept = recorder()
    kept.start(events.all())
    again.read(answer, list_objects(guest()))
    again.record({KEY: ENTRY})
    assert kept.all() == events.all(), "a restart counts no event again"


def test_events_that_differ_in_a_number_are_one() -> None:
    one, events = recorder()
    for number in range(5):
        one.read({"r1": (event("PullFailed", f"try {number}", NOON - 10 + number),)}, list_objects(guest()))
        one.record({KEY: ENTRY})
    assert [(each.message, each.count, each.last) for each in events.all()] == [
        ("try 4", 5, "2026-05-04T11:59:54Z")
    ]


def test_a_provider_cannot_push_out_what_the_poollet_did() -> None:
    one, events = recorder()
    events.record_own(EventText("Following", "the target branch is followed again"))
    answer = tuple(event(f"Reason{number}", time=NOON) for number in range(3 * MOST_IMPORTED))
    one.read({"r1": answer}, list_objects(guest()))
    one.record({KEY: ENTRY})
    reasons = [each.reason for each in events.all()]
    assert reasons[0] == "Following"
    assert len(reasons) == 1 + MOST_IMPORTED


def test_an_event_of_a_foreign_object_is_not_recorded() -> None:
    one, events = recorder()
    one.read({"r1": (event("PullFailed"),)}, list_objects(guest()))
    one.record({})
    assert events.all() == ()


@pytest.mark.parametrize("time", [-1, 0, NOON + 10**6, 1 << 62])
def test_any_time_of_a_provider_can_be_reported(time: int) -> None:
    one, events = recorder()
    one.read({"r1": (event("PullFailed", time=time),)}, list_objects(guest()))
    one.record({KEY: ENTRY})
    assert events.all()[0].last == ("1970-01-01T00:00:00Z" if time <= 0 else "2026-05-04T12:00:00Z")


TEXTS = {
    "as it is": ("PullFailed", "no such image", "PullFailed", "no such image"),
    "no word": ("pull failed", "x", OTHER_WORD, "x"),
    "no reason": ("", "x", OTHER_WORD, "x"),
    "long reason": ("A" * 300, "x", OTHER_WORD, "x"),
    "a word by which programs decide": ("Lost", "x", OTHER_WORD, "x"),
    "a machine that is kept for an undo": ("Deleted", "x", OTHER_WORD, "x"),
    "the class of an error": ("NotFound", "x", OTHER_WORD, "x"),
    "several lines": ("PullFailed", "a\r\n\tb", "PullFailed", "a b"),
    "an escape sequence": ("PullFailed", "\x1b[31mred\x07", "PullFailed", "red?"),
    "long": ("PullFailed", "x" * 10**6, "PullFailed", "x" * LONGEST_MESSAGE),
    "a password": (
        "PullFailed",
        "https://ann:s3cret@registry/web: Authorization: Bearer t0ken",
        "PullFailed",
        "https://***@registry/web: Authorization: ***",
    ),
}


@pytest.mark.parametrize(("reason", "message", "want", "text"), TEXTS.values(), ids=TEXTS.keys())
def test_texts_of_a_provider_are_made_fit(reason: str, message: str, want: str, text: str) -> None:
    assert clean_event(event(reason, message)) == EventText(want, text, is_warning=True)
