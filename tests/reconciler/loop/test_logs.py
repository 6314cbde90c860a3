"""Log lines for people and for programs."""

import json
import logging
import sys

import pytest

from reconciler.loop.logs import JsonFormatter, LineFormatter, log_event


def record(message: str, *args: object, error: bool = False) -> logging.LogRecord:
    trace = None
    if error:
        try:
            raise ValueError("broken")
        except ValueError:
            trace = sys.exc_info()
    made = logging.LogRecord("reconciler.loop", logging.WARNING, "loop.py", 1, message, args, trace)
    made.created = 1_893_456_000.25
    return made


def test_text_is_one_line_whatever_a_server_says() -> None:
    line = LineFormatter().format(
        record("cannot reconcile trouble=%s cause=%s", "network", "no\nroute\x1b[2J")
    )
    assert line == "2030-01-01T00:00:00.250Z warning cannot reconcile trouble=network cause=no route [2J"


def test_json_has_each_pair_as_a_field() -> None:
    found = json.loads(JsonFormatter().format(record("wrote commit=%s changes=%d", "1f2e", 3)))
    assert found == {
        "time": "2030-01-01T00:00:00.250Z",
        "level": "warning",
        "logger": "reconciler.loop",
        "message": "wrote",
        "commit": "1f2e",
        "changes": 3,
    }


@pytest.mark.parametrize(
    ("message", "args", "want"),
    [
        pytest.param("plain words", (), "plain words", id="no pairs"),
        pytest.param("%d of 3", (2,), "2 of 3", id="not of that shape"),
        pytest.param("took=%.1f s", (0.25,), "s", id="with a precision"),
    ],
)
def test_json_message(message: str, args: tuple[object, ...], want: str) -> None:
    assert json.loads(JsonFormatter().format(record(message, *args)))["message"] == want


def test_json_has_no_control_characters() -> None:
    line = JsonFormatter().format(record("cannot reconcile cause=%s", "gr\u00fc\u00df\x1b[2J\x9b2J\u2028"))
    assert line.isprintable()
    assert json.loads(line)["cause"] == "gr\u00fc\u00df\x1b[2J\x9b2J\u2028"


def test_json_keeps_the_trace_of_an_error() -> None:
    found = json.loads(JsonFormatter().format(record("a tick failed", error=True)))
    assert "ValueError: broken" in found["exception"]


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        ({"objects": 2, "reason": "too many"}, "held objects=2 reason=too many"),
        ({"objects": 0, "reason": "too many", "trailer": ""}, "held reason=too many"),
        ({"file": "", "line": 0}, "held"),
    ],
)
def test_what_is_empty_is_not_logged(
    fields: dict[str, object], want: str, caplog: pytest.LogCaptureFixture
) -> None:
    log_event(logging.getLogger("gitvirt.test"), logging.WARNING, "held", fields)
    assert caplog.messages == [want]
