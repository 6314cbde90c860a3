"""Findings as SARIF 2.1.0, which code scanning services take.

Each code is a rule with the texts of docs/problems.md. A finding has a fingerprint without its line, so that a
service knows it again after lines moved, and does not reopen what a person closed.
"""

from __future__ import annotations

import hashlib
import json
import os
import urllib.parse
from typing import Any

from reconciler.cli.codes import CODES
from reconciler.cli.findings.outcome import ValidationOutcome
from schemas.problem import Problem, Severity

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTICE: "note"}


def render(outcome: ValidationOutcome, version: str) -> str:
    codes = sorted({problem.code for problem in outcome.problems})
    driver = {
        "name": "gitvirt",
        "version": version,
        "rules": [describe_rule(code) for code in codes],
    }
    index = {code: position for position, code in enumerate(codes)}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SRCROOT": {"description": {"text": "the working directory of gitvirt"}}},
        "results": [describe_result(problem, index[problem.code]) for problem in outcome.problems],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def describe_rule(code: str) -> dict[str, Any]:
    """A code as a rule. Every code that can be found is in docs/problems.md; a test holds the page to that."""
    explained = CODES[code]
    return {
        "id": code,
        "shortDescription": {"text": explained.title},
        "fullDescription": {"text": explained.cause},
        "help": {"text": f"{explained.cure}\n`gitvirt help {code}` shows this page."},
    }


def describe_result(problem: Problem, rule_index: int) -> dict[str, Any]:
    """One problem as an entry of SARIF's `results`: the file and line, and the object where it is known."""
    physical: dict[str, Any] = {"artifactLocation": {"uri": uri(problem.file), "uriBaseId": "SRCROOT"}}
    if problem.line:
        physical["region"] = {"startLine": problem.line, "startColumn": max(1, problem.column)}
    location: dict[str, Any] = {"physicalLocation": physical}
    if problem.object:
        name = problem.object + problem.pointer
        location["logicalLocations"] = [{"fullyQualifiedName": name, "kind": "object"}]
    text = problem.message + (f"\n{problem.hint}" if problem.hint else "")
    return {
        "ruleId": problem.code,
        "ruleIndex": rule_index,
        "level": LEVELS[problem.severity],
        "message": {"text": text},
        "locations": [location],
        "partialFingerprints": {"gitvirt/v1": fingerprint(problem)},
    }


def fingerprint(problem: Problem) -> str:
    """The same finding keeps it when lines move, so that a service does not report it as new."""
    parts = (problem.code, problem.object or problem.file, problem.pointer, problem.message)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def uri(path: str) -> str:
    """A path as a relative reference. Bytes that are not UTF-8 are kept by percent signs."""
    return urllib.parse.quote(os.fsencode(path))
