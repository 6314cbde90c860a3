"""The text for people: place, cause, source line, cure; no color off a terminal; nothing out of a Secret."""

from __future__ import annotations

import dataclasses
import io

import pytest

from reconciler.cli.findings import as_text
from reconciler.cli.findings.outcome import ValidationOutcome
from reconciler.cli.terminal import Terminal
from schemas.problem import Problem
from tests.reconciler.cli.findings.samples import ERROR, FINE, MIXED, WEB_1


def render_text(outcome: ValidationOutcome, texts: dict[str, str]) -> str:
    stream = io.StringIO()
    as_text.write(outcome, Terminal(stream, {"TERM": "xterm"}), texts.get)
    return stream.getvalue()


def test_a_finding_shows_place_cause_line_and_cure() -> None:
    outcome = ValidationOutcome((ERROR,), (ERROR.file,), 1, 0, 0.02)
    assert render_text(outcome, {ERROR.file: WEB_1}) == (
        'machines/web-1.yaml:4:26: error GV310 there is no MachineClass "smal"\n'
        "    spec: {machineClassRef: {name: smal}}\n"
        "                             ^\n"
        '  hint: did you mean "small"?\n'
        "\n"
        "1 error: 1 object in 1 file (0.02s)\n"
    )


def test_nothing_found() -> None:
    assert render_text(FINE, {}) == "ok: 3 objects in 2 files, 1 document of other kinds ignored (0.01s)\n"


def test_counts_and_no_control_characters() -> None:
    text = render_text(MIXED, {})
    assert text.endswith("1 error, 1 warning, 1 notice: 7 objects in 4 files (1.50s)\n")
    assert "\x1b" not in text
    assert "\x00" not in text
    assert r"caf\xe9.yaml: warning GV184" in text


def test_colour_on_a_terminal_only() -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Screen()
    as_text.write(MIXED, Terminal(stream, {"TERM": "xterm"}), lambda path: None)
    assert "\x1b[31;1merror\x1b[0m" in stream.getvalue()


@pytest.mark.parametrize("kind", ["kind: Secret", '"kind": "Secret"', "kind :  'Secret'"])
def test_no_line_of_a_file_that_holds_a_secret(kind: str) -> None:
    text = f"a: hunter2\n{kind}\n"
    problem = Problem(file="s.yaml", line=1, column=4, code="GV101", message="broken")
    assert "hunter2" not in render_text(
        ValidationOutcome((problem,), ("s.yaml",), 0, 0, 0.0), {"s.yaml": text}
    )


@pytest.mark.parametrize(
    ("line", "column", "want"),
    [
        ("\tname: x", 2, ("name: x", "")),
        ("  name: 東京x", 11, ("name: 東京x", "          ")),
        ("    deep: x", 1, ("    deep: x", "")),
        ("x" * 300, 200, ("x" * 100, " " * 50)),
        ("short", 40, None),
        ("", 1, None),
        ("é\x1b[31m: x", 8, (r"é\x1b[31m: x", "          ")),
    ],
)
def test_the_caret_is_under_the_column(line: str, column: int, want: tuple[str, str] | None) -> None:
    problem = dataclasses.replace(ERROR, line=1, column=column)
    assert as_text.source_excerpt(problem, [line]) == want


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_those_of_yaml(end: str) -> None:
    assert as_text.source_lines(f"\ufeffa: 1{end}b: 2{end}") == ["a: 1", "b: 2", ""]


def test_a_line_that_looks_like_a_secret_is_not_printed_again() -> None:
    problem = Problem(file="m.yaml", line=2, column=3, code="GV337", message="a token")
    other = dataclasses.replace(problem, line=1, code="GV310")
    found = ValidationOutcome((other, problem), ("m.yaml",), 1, 0, 0.0)
    text = render_text(found, {"m.yaml": "a: hunter2\n  b: hunter2\n"})
    assert "hunter2" not in text
    assert "m.yaml:2:3: error GV337 a token" in text
