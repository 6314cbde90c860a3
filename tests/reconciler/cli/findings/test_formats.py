"""Each format: what its readers demand, however awkward the names and messages are."""

from __future__ import annotations

import json
import re
import urllib.parse
from typing import Any
from xml.etree import ElementTree

import jsonschema
from hypothesis import given
from hypothesis import strategies as st

from reconciler.cli.exits import Exit
from reconciler.cli.findings import as_github, as_json, as_junit, as_sarif
from reconciler.cli.findings.outcome import ValidationOutcome, place
from schemas.problem import Problem, Severity
from tests.reconciler.cli.findings.samples import ERROR, FINE, MIXED, NASTY, NOT_UTF8, WARNING

ANY_PROBLEM = st.builds(
    Problem,
    file=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1),
    line=st.integers(0, 3),
    column=st.integers(0, 3),
    code=st.just("GV310"),
    severity=st.sampled_from(Severity),
    object=st.text(),
    message=st.text(),
    hint=st.text(),
)


def outcome_of(*problems: Problem) -> ValidationOutcome:
    ordered = tuple(sorted(problems))
    return ValidationOutcome(ordered, tuple(sorted({problem.file for problem in problems})), 1, 0, 0.0)


def test_exit_code() -> None:
    assert MIXED.exit_code(is_strict=False) == Exit.PROBLEMS
    assert outcome_of(WARNING, NASTY).exit_code(is_strict=False) == Exit.OK
    assert outcome_of(WARNING, NASTY).exit_code(is_strict=True) == Exit.PROBLEMS
    assert outcome_of(NASTY).exit_code(is_strict=True) == Exit.OK
    assert FINE.exit_code(is_strict=True) == Exit.OK


def test_place_is_clickable() -> None:
    assert place(ERROR) == "machines/web-1.yaml:4:26"
    assert place(WARNING) == r"caf\xe9.yaml"


def test_json_is_complete_and_strict() -> None:
    text = as_json.render(MIXED)
    text.encode("ascii")
    read = json.loads(text)
    assert read["version"] == 1
    assert read["summary"] == {
        "errors": 1,
        "warnings": 1,
        "notices": 1,
        "files": 4,
        "objects": 7,
        "foreign": 0,
        "seconds": 1.5,
    }
    assert read["problems"][2] == {
        "file": "machines/web-1.yaml",
        "line": 4,
        "column": 26,
        "severity": "error",
        "code": "GV310",
        "object": "Machine/default/web-1",
        "pointer": "/spec/machineClassRef/name",
        "message": 'there is no MachineClass "smal"',
        "hint": 'did you mean "small"?',
    }
    assert read["problems"][1]["file"] == r"caf\xe9.yaml"
    assert not re.search(r"\\ud[89a-f]", text)  # half a surrogate pair is refused by strict parsers


def test_github_commands_are_one_line_each_and_escaped() -> None:
    lines = [as_github.command(problem) for problem in MIXED.problems]
    assert lines[2] == (
        "::error file=machines/web-1.yaml,line=4,col=26,title=GV310 Machine/default/web-1"
        '::there is no MachineClass "smal"%0Adid you mean "small"?'
    )
    assert lines[0].startswith(
        "::notice file=a%2Cb%3Ac%25%0A.yaml,line=1,col=1,title=GV362 Machine/default/x::100%25 <&"
    )
    assert "%0D%0Aend%0Aline one%0Aline two" in lines[0]
    assert lines[1] == (
        r"::warning file=caf\xe9.yaml,title=GV184"
        "::the name contains unprintable characters, or is not UTF-8"
    )


@given(problem=ANY_PROBLEM)
def test_github_gives_one_command_a_problem(problem: Problem) -> None:
    commands = re.split(r"[\r\n]", as_github.command(problem))
    assert len(commands) == 1
    assert all(
        re.match(r"::(error|warning|notice) file=[^,:]*(,(line|col|title)=[^,:]*)*::", c) for c in commands
    )


def test_junit_counts_files_as_cases() -> None:
    suites = ElementTree.fromstring(as_junit.render(MIXED))
    (suite,) = suites
    assert suite.attrib["tests"] == "4"
    assert suite.attrib["failures"] == "1"
    failures = {case.attrib["name"]: case.find("failure") for case in suite}
    failed = failures["machines/web-1.yaml"]
    assert failed is not None
    assert failed.attrib["type"] == "GV310"
    assert "machines/web-1.yaml:4:26: error GV310" in (failed.text or "")
    assert failures["ok.yaml"] is None
    assert failures[r"caf\xe9.yaml"] is None


@given(problems=st.lists(ANY_PROBLEM, max_size=4))
def test_junit_is_well_formed_whatever_is_in_it(problems: list[Problem]) -> None:
    outcome = outcome_of(*problems)
    suites = ElementTree.fromstring(as_junit.render(outcome))
    assert len(suites[0]) == len(outcome.files)


SARIF: dict[str, Any] = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "properties": {
                    "tool": {
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "required": ["name"],
                                "properties": {
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {"$ref": "#/$defs/rule"},
                                    }
                                },
                            }
                        },
                    },
                    "results": {"type": "array", "items": {"$ref": "#/$defs/result"}},
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                },
            },
        },
    },
    "$defs": {
        "text": {
            "type": "object",
            "required": ["text"],
            "properties": {"text": {"type": "string", "minLength": 1}},
        },
        "rule": {
            "type": "object",
            "required": ["id", "shortDescription", "help"],
            "properties": {
                "id": {"type": "string"},
                "shortDescription": {"$ref": "#/$defs/text"},
                "fullDescription": {"$ref": "#/$defs/text"},
                "help": {"$ref": "#/$defs/text"},
                "helpUri": {"type": "string", "format": "uri"},
            },
        },
        "result": {
            "type": "object",
            "required": ["message", "ruleId", "ruleIndex", "level", "locations"],
            "properties": {
                "message": {"required": ["text"]},
                "level": {"enum": ["none", "note", "warning", "error"]},
                "ruleIndex": {"type": "integer", "minimum": 0},
                "locations": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/location"}},
                "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
            },
        },
        "location": {
            "required": ["physicalLocation"],
            "properties": {
                "physicalLocation": {
                    "required": ["artifactLocation"],
                    "properties": {
                        "artifactLocation": {
                            "required": ["uri"],
                            "properties": {"uri": {"type": "string", "pattern": "^[A-Za-z0-9%/._~-]+$"}},
                        },
                        "region": {
                            "required": ["startLine"],
                            "properties": {
                                "startLine": {"type": "integer", "minimum": 1},
                                "startColumn": {"type": "integer", "minimum": 1},
                            },
                        },
                    },
                }
            },
        },
    },
}


def test_sarif_points_every_result_to_its_rule() -> None:
    log = json.loads(as_sarif.render(MIXED, "1.2.3"))
    jsonschema.Draft202012Validator(SARIF).validate(log)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rules[result["ruleIndex"]]["id"] for result in run["results"]] == ["GV362", "GV184", "GV310"]
    uris = [
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in run["results"]
    ]
    assert uris == ["a%2Cb%3Ac%25%0A.yaml", "caf%E9.yaml", "machines/web-1.yaml"]
    assert run["results"][2]["locations"][0]["physicalLocation"]["region"] == {
        "startLine": 4,
        "startColumn": 26,
    }


@given(problems=st.lists(ANY_PROBLEM, max_size=4))
def test_sarif_has_the_required_shape(problems: list[Problem]) -> None:
    log = json.loads(as_sarif.render(outcome_of(*problems), "1"))
    jsonschema.Draft202012Validator(SARIF).validate(log)
    assert len(log["runs"][0]["results"]) == len(problems)


def test_sarif_names_files_that_are_not_utf8() -> None:
    assert urllib.parse.unquote_to_bytes(as_sarif.uri(NOT_UTF8)) == b"caf\xe9.yaml"


def test_fingerprints_survive_moving_lines() -> None:
    moved = Problem(
        file=ERROR.file,
        line=9,
        column=1,
        code=ERROR.code,
        object=ERROR.object,
        pointer=ERROR.pointer,
        message=ERROR.message,
    )
    assert as_sarif.fingerprint(moved) == as_sarif.fingerprint(ERROR)
    assert as_sarif.fingerprint(NASTY) != as_sarif.fingerprint(ERROR)
