"""The outcome of a validation: what was looked at, and what was found."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass

from reconciler.cli.exits import Exit
from schemas.problem import Problem, Severity


@dataclass(frozen=True, slots=True)
class ValidationOutcome:
    """Problems in their printed order; paths as seen from the caller's folder."""

    problems: tuple[Problem, ...]
    files: tuple[str, ...]
    objects: int
    foreign: int  # documents of kinds that are not ours
    seconds: float

    def counts(self) -> dict[Severity, int]:
        """How many findings of each severity, zero included, the gravest first."""
        found = Counter(problem.severity for problem in self.problems)
        return {severity: found[severity] for severity in Severity}

    def exit_code(self, is_strict: bool) -> Exit:
        """0, or 3 if there are errors; with `--strict` warnings count too. Notices never do."""
        counts = self.counts()
        is_bad = counts[Severity.ERROR] or (is_strict and counts[Severity.WARNING])
        return Exit.PROBLEMS if is_bad else Exit.OK


def place(problem: Problem) -> str:
    """`file:line:column`, as editors and terminals make it clickable."""
    parts = [readable(problem.file)]
    if problem.line:
        parts.append(str(problem.line))
        if problem.column:
            parts.append(str(problem.column))
    return ":".join(parts)


def readable(path: str) -> str:
    """A path as text that every program takes: bytes that are not UTF-8 are spelled out."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def count_words(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
