"""Findings for scripts: one JSON object, whose shape docs/validate.md promises."""

from __future__ import annotations

import json
from typing import Any

from reconciler.cli.findings.outcome import ValidationOutcome, readable
from schemas.problem import Problem

VERSION = 1  # goes up when a field is removed or changes its meaning; new fields may come at any time


def render(outcome: ValidationOutcome) -> str:
    return json.dumps(document(outcome), indent=2)


def document(outcome: ValidationOutcome) -> dict[str, Any]:
    """The outcome as plain values. The YAML format prints the same."""
    summary: dict[str, Any] = {f"{severity}s": number for severity, number in outcome.counts().items()}
    summary |= {"files": len(outcome.files), "objects": outcome.objects, "foreign": outcome.foreign}
    summary["seconds"] = round(outcome.seconds, 3)
    found = [entry(problem) for problem in outcome.problems]
    return {"version": VERSION, "summary": summary, "problems": found}


def entry(problem: Problem) -> dict[str, Any]:
    """One finding. All fields are always there, so a script needs no defaults; a line of 0 means the file as a
    whole."""
    return {
        "file": readable(problem.file),
        "line": problem.line,
        "column": problem.column,
        "severity": str(problem.severity),
        "code": problem.code,
        "object": problem.object,
        "pointer": problem.pointer,
        "message": problem.message,
        "hint": problem.hint,
    }
