"""Findings as workflow commands, which GitHub shows as annotations on the lines of a pull request."""

from __future__ import annotations

from reconciler.cli.findings.outcome import readable
from schemas.problem import Problem, Severity

COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTICE: "notice"}


def command(problem: Problem) -> str:
    """One finding as one line. GitHub shows a hint only as part of the message, so it follows on a line of its own."""
    properties = {"file": readable(problem.file)}
    if problem.line:
        properties["line"] = str(problem.line)
        if problem.column:
            properties["col"] = str(problem.column)
    properties["title"] = f"{problem.code} {problem.object}".rstrip()
    listed = ",".join(f"{name}={in_property(value)}" for name, value in properties.items())
    text = problem.message + (f"\n{problem.hint}" if problem.hint else "")
    return f"::{COMMANDS[problem.severity]} {listed}::{in_message(text)}"


def in_message(text: str) -> str:
    """Escapes what would end the command or begin another one."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def in_property(text: str) -> str:
    """As `in_message`, and what would end a property."""
    return in_message(text).replace(":", "%3A").replace(",", "%2C")
