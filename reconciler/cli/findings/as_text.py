"""Findings for people: by file, each with its cure, and the line it is about where that helps."""

from __future__ import annotations

import itertools
import re

from reconciler.cli.findings.outcome import ValidationOutcome, count_words, place
from reconciler.cli.terminal import Terminal, TextStyle, printable, width
from schemas.problem import Problem, Severity
from schemas.validate.finding import TextOf

COLOURS = {Severity.ERROR: TextStyle.RED, Severity.WARNING: TextStyle.YELLOW, Severity.NOTICE: TextStyle.CYAN}
LINE_END = re.compile(r"\r\n|\n|\r")
WIDEST = 100  # columns of a source line that are shown
SECRET_CODE = "GV337"
SECRET = re.compile(r"""kind["']?\s*:\s*["']?secret|PRIVATE KEY-----|AGE-SECRET-KEY-""", re.IGNORECASE)


def write(outcome: ValidationOutcome, terminal: Terminal, text_of: TextOf) -> None:
    """Prints the findings by file, then one line that sums up. `text_of` gives the text of a file as it was
    checked, which may be a revision and not what is on disk."""
    for file, problems in itertools.groupby(outcome.problems, key=lambda problem: problem.file):
        found = list(problems)
        # Whatever looks like a secret in a file is not printed again, where logs of CI would keep it.
        has_secret = any(problem.code == SECRET_CODE for problem in found)
        lines = [] if has_secret else source_lines(text_of(file))
        for problem in found:
            write_problem(problem, terminal, lines)
        terminal.line()
    terminal.line(summary(outcome, terminal))


def source_lines(text: str | None) -> list[str]:
    """None for a file that holds a Secret or a private key: what is wrong with it may be told, never what is in it."""
    if text is None or SECRET.search(text):
        return []
    return LINE_END.split(text.removeprefix("\ufeff"))


def write_problem(problem: Problem, terminal: Terminal, lines: list[str]) -> None:
    """One finding: place, severity, code and message; the line with a caret where it helps; the hint."""
    severity = terminal.paint(problem.severity, COLOURS[problem.severity], TextStyle.BOLD)
    where = terminal.paint(printable(place(problem)) + ":", TextStyle.BOLD)
    terminal.line(f"{where} {severity} {problem.code} {printable(problem.message)}")
    if excerpt := source_excerpt(problem, lines):
        source, caret = excerpt
        terminal.line(f"    {source}")
        terminal.line(f"    {caret}{terminal.paint('^', COLOURS[problem.severity], TextStyle.BOLD)}")
    if problem.hint:
        terminal.line(f"  {terminal.paint('hint:', TextStyle.DIM)} {printable(problem.hint)}")


def source_excerpt(problem: Problem, lines: list[str]) -> tuple[str, str] | None:
    """The line, and the blanks that put a caret under its column."""
    if not (problem.line and problem.column) or problem.line > len(lines):
        return None
    line = lines[problem.line - 1].replace("\t", " ")
    start = problem.column - 1
    if not line.strip() or start > len(line):
        return None
    begin = max(0, start - WIDEST // 2) if len(line) > WIDEST else len(line) - len(line.lstrip())
    begin = min(begin, start)
    shown = line[begin : begin + WIDEST]
    return printable(shown), " " * width(printable(line[begin:start]))


def summary(outcome: ValidationOutcome, terminal: Terminal) -> str:
    """`2 errors, 1 warning: 7 objects in 6 files`, or ok. Documents of other kinds are counted, so that a repo
    whose kinds are all misspelled does not look fine."""
    counts = outcome.counts()
    parts = [
        terminal.paint(count_words(number, severity), COLOURS[severity], TextStyle.BOLD)
        for severity, number in counts.items()
        if number
    ]
    verdict = ", ".join(parts) if parts else terminal.paint("ok", TextStyle.GREEN, TextStyle.BOLD)
    checked = f"{count_words(outcome.objects, 'object')} in {count_words(len(outcome.files), 'file')}"
    if outcome.foreign:
        checked += f", {count_words(outcome.foreign, 'document')} of other kinds ignored"
    return f"{verdict}: {checked} ({outcome.seconds:.2f}s)"
