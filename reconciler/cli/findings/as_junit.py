"""Findings as JUnit XML: one test case a file, so that GitLab, Jenkins and the like list and count them.

Errors are failures; warnings and notices are output of the case, since JUnit has no word for them. A file without
problems is a passed case, so the number of cases is that of the files, and a server sees a file get fixed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from reconciler.cli.findings.outcome import ValidationOutcome, place, readable
from reconciler.cli.terminal import printable
from schemas.problem import Problem, Severity


def render(outcome: ValidationOutcome) -> str:
    return "\n".join(lines(outcome))


def lines(outcome: ValidationOutcome) -> Iterator[str]:
    """The XML, line by line. It is written by hand, because names may hold characters that XML 1.0 cannot; they are spelled out."""
    by_file = {
        file: list(problems)
        for file, problems in itertools.groupby(outcome.problems, key=lambda problem: problem.file)
    }
    files = sorted({*outcome.files, *by_file})
    failed = sum(any(is_failure(problem) for problem in problems) for problems in by_file.values())
    totals = f'tests="{len(files)}" failures="{failed}" errors="0" time="{outcome.seconds:.3f}"'
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<testsuites name="gitvirt validate" {totals}>'
    yield f'  <testsuite name="gitvirt validate" skipped="0" {totals}>'
    for file in files:
        yield from test_case(file, by_file.get(file, []))
    yield "  </testsuite>"
    yield "</testsuites>"


def test_case(file: str, problems: list[Problem]) -> Iterator[str]:
    """One file with its problems as lines of JUnit's XML. A file without a failure is a test that passed."""
    name = attribute(readable(file))
    opening = f'    <testcase classname="gitvirt.validate" name={name} file={name} time="0"'
    if not problems:
        yield opening + "/>"
        return
    yield opening + ">"
    failures = [problem for problem in problems if is_failure(problem)]
    if failures:  # one element a case: several servers show only the first
        first = failures[0]
        yield f"      <failure type={attribute(first.code)} message={attribute(first.message)}>{problem_lines(failures)}</failure>"
    if others := [problem for problem in problems if not is_failure(problem)]:
        yield f"      <system-out>{problem_lines(others)}</system-out>"
    yield "    </testcase>"


def is_failure(problem: Problem) -> bool:
    return problem.severity is Severity.ERROR


def problem_lines(problems: list[Problem]) -> str:
    return "\n".join(escape(line) for problem in problems for line in format_problem(problem))


def format_problem(problem: Problem) -> Iterator[str]:
    yield f"{printable(place(problem))}: {problem.severity} {problem.code} {printable(problem.message)}"
    if problem.hint:
        yield f"  {printable(problem.hint)}"


def attribute(text: str) -> str:
    """XML 1.0 has no way to write most control characters, so they are spelled out."""
    return quoteattr(printable(text))
