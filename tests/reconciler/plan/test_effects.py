"""When a change of a field takes effect, and what is new about the status of an object: each field and each case once."""

from __future__ import annotations

import msgspec
import pytest

from reconciler.plan.significance import condition_of, is_minor, state_of, words_of
from reconciler.plan.source_changes import Effect, compare_sources, effect
from reconciler.plan.types import Action, Change
from reconciler.world.record import NOTHING, Record
from schemas.kinds import Key, Kind
from schemas.model import Condition, MachineStatus, VolumeStatus

M, V = Kind.MACHINE, Kind.VOLUME
WEB = Key(M, "default", "web")


@pytest.mark.parametrize(
    ("kind", "fields", "want"),
    [
        pytest.param(M, ["spec.power"], Effect.LIVE, id="power"),
        pytest.param(M, ["metadata.labels.app"], Effect.LIVE, id="a label"),
        pytest.param(M, ["spec.machinePoolRef.name"], Effect.NEXT_PLACEMENT, id="a pin"),
        pytest.param(M, ["spec.spread"], Effect.NEXT_PLACEMENT, id="spread as a whole"),
        pytest.param(M, ["spec.antiAffinity.topologyKey"], Effect.NEXT_PLACEMENT, id="a field of anti-affinity"),
        pytest.param(M, ["spec.priority"], Effect.NEXT_PLACEMENT, id="priority"),
        pytest.param(M, ["spec.priorityOther"], Effect.LIVE, id="a field whose name only begins like another"),
        pytest.param(M, ["spec.machineClassRef.name"], Effect.NEXT_BOOT, id="the class"),
        pytest.param(M, ["spec.efiVars"], Effect.NEXT_BOOT, id="EFI variables"),
        pytest.param(M, ["spec.ignitionRef.name"], Effect.RECREATE, id="boot data"),
        pytest.param(M, ["spec.guestConfig"], Effect.RECREATE, id="the guest's configuration"),
        pytest.param(M, ["spec.guestConfig", "spec.efiVars", "spec.power"], Effect.RECREATE, id="of several the one that takes longest"),
        pytest.param(M, ["spec.efiVars", "spec.spread"], Effect.NEXT_BOOT, id="a boot after a placement"),
        pytest.param(M, [], Effect.LIVE, id="no fields"),
        pytest.param(V, ["spec.resources.storage"], Effect.LIVE, id="the size of a volume"),
        pytest.param(V, ["spec.volumePoolSelector.zone"], Effect.NEXT_PLACEMENT, id="where a volume goes"),
        pytest.param(V, ["spec.volumeClassRef.name"], Effect.RECREATE, id="the class of a volume"),
        pytest.param(V, ["spec.image"], Effect.RECREATE, id="the image of a volume"),
        pytest.param(V, ["spec.encryption.secretRef"], Effect.RECREATE, id="the key of a volume"),
        pytest.param(V, ["spec.machineClassRef"], Effect.LIVE, id="a field of another kind"),
        pytest.param(Kind.NETWORK, ["spec.image"], Effect.LIVE, id="a kind without slow fields"),
    ],
)  # fmt: skip
def test_each_field_takes_effect_at_its_time(kind: Kind, fields: list[str], want: Effect) -> None:
    assert effect(kind, fields) is want


@pytest.mark.parametrize(
    ("before", "after", "want"),
    [
        pytest.param({"a": 1}, {"a": 2}, ("a",), id="a value"),
        pytest.param({}, {"a": 2}, ("a",), id="a new field"),
        pytest.param({"a": 1}, {}, ("a",), id="a field that is gone"),
        pytest.param({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, ("a.c",), id="a field of a field"),
        pytest.param({"a": {"b": 1}}, {"a": 1}, ("a",), id="a mapping becomes a value"),
        pytest.param({"a": [1, 2]}, {"a": [2, 1]}, ("a",), id="a list is one value"),
        pytest.param({"b": 1, "a": 1}, {"b": 2, "a": 2}, ("a", "b"), id="sorted"),
        pytest.param({"status": {"a": 1}}, {"status": {"a": 2}}, None, id="status is not for people"),
        pytest.param({"spec": {"status": 1}}, {"spec": {"status": 2}}, ("spec.status",), id="a field below that is called status"),
        pytest.param({"a": 1, "b": 2}, {"b": 2, "a": 1}, None, id="another order"),
    ],
)  # fmt: skip
def test_changed_fields_are_dotted_paths(
    before: dict[str, object], after: dict[str, object], want: tuple[str, ...] | None
) -> None:
    found = compare_sources({WEB: before}, {WEB: after})
    assert tuple(change.fields for change in found) == (() if want is None else (want,))


def test_changes_of_the_source_come_in_the_order_of_keys() -> None:
    keys = [Key(M, "default", name) for name in "cab"]
    found = compare_sources({keys[0]: {}, keys[1]: {"a": 1}}, {keys[1]: {"a": 2}, keys[2]: {}})
    assert [(each.key.name, each.is_added, each.is_gone) for each in found] == [
        ("a", False, False),
        ("b", True, False),
        ("c", False, True),
    ]


def condition(type: str, status: str = "False", reason: str = "", message: str = "") -> Condition:
    return msgspec.convert({"type": type, "status": status, "reason": reason, "message": message}, Condition)


def record(state: str = "", *conditions: Condition) -> Record:
    status = msgspec.structs.replace(MachineStatus(conditions=conditions), state=state)
    return Record(uid="u", status=status)


@pytest.mark.parametrize(
    ("before", "after", "state", "type"),
    [
        pytest.param(record("Pending"), record("Running"), "Running", None, id="a new state"),
        pytest.param(record("Running"), record("Running"), "", None, id="the same state"),
        pytest.param(None, record("Running"), "Running", None, id="an object that is new"),
        pytest.param(record("Running"), None, "", None, id="an object that is gone"),
        pytest.param(NOTHING, NOTHING, "", None, id="no status"),
        pytest.param(record("", condition("A")), record("", condition("A"), condition("B")), "", "B", id="a new condition"),
        pytest.param(record("", condition("A")), record("", condition("A", "True")), "", "A", id="a condition that came true"),
        pytest.param(record("", condition("A", reason="X")), record("", condition("A", reason="Y")), "", "A", id="another reason"),
        pytest.param(record("", condition("A"), condition("B")), record("", condition("B"), condition("A")), "", None, id="another order"),
        pytest.param(record("", condition("A"), condition("B")), record("", condition("A")), "", None, id="a condition that is gone"),
    ],
)  # fmt: skip
def test_the_news_of_a_status(
    before: Record | None, after: Record | None, state: str, type: str | None
) -> None:
    change = Change(WEB, Action.STATUS, before, after)
    found = condition_of(change)
    assert (state_of(change), found and found.type) == (state, type)


@pytest.mark.parametrize(
    ("found", "want"),
    [
        pytest.param(condition("Ready", reason="VolumesPending"), "volumes pending", id="a reason in words"),
        pytest.param(condition("Ready"), "ready", id="without a reason its type"),
        pytest.param(condition("Ready", reason="IPv4Missing"), "ipv4 missing", id="a digit ends a word"),
    ],
)
def test_a_condition_in_words(found: Condition, want: str) -> None:
    assert words_of(found) == want


@pytest.mark.parametrize(
    ("action", "before", "after", "want"),
    [
        pytest.param(Action.STATUS, record("Pending"), record("Pending"), True, id="nothing is new"),
        pytest.param(Action.STATUS, record(""), record("Pending"), True, id="being pending"),
        pytest.param(Action.STATUS, record("Pending"), record("Shutdown"), False, id="another state"),
        pytest.param(Action.STATUS, record("", condition("A")), record("", condition("A", "True")), False, id="a condition came true"),
        pytest.param(Action.STATUS, record("", condition("A", reason="X")), record("", condition("A", reason="Y")), True, id="another reason for the same"),
        pytest.param(Action.STATUS, record(), Record(uid="v", status=MachineStatus()), False, id="another uid"),
        pytest.param(Action.STATUS, record(), Record(uid="u", status=VolumeStatus()), False, id="a status of another kind"),
        pytest.param(Action.STATUS, record(), NOTHING, False, id="no status any more"),
        pytest.param(Action.STATUS, None, record(), False, id="an object that is new"),
        pytest.param(Action.SYNC, record(), record(), False, id="text of people"),
        pytest.param(Action.BLOCKED, record(), record(), False, id="a decision"),
    ],
)  # fmt: skip
def test_only_status_without_news_can_wait(
    action: Action, before: Record | None, after: Record | None, want: bool
) -> None:
    assert is_minor(Change(WEB, action, before, after)) is want
