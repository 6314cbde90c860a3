"""What is new about the status of an object: each case once."""

from __future__ import annotations

import msgspec
import pytest

from reconciler.plan.significance import condition_of, state_of, words_of
from reconciler.plan.types import Action, Change
from reconciler.world.record import NOTHING, Record
from schemas.kinds import Key, Kind
from schemas.model import Condition, MachineStatus

WEB = Key(Kind.MACHINE, "default", "web")


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
