"""A finding: what a rule reports about one place in one document, and how it becomes a Problem with line and column.

Rules know pointers, not lines. Only files with findings are read again for their positions: finding a line costs several
times as much as reading the file, and nearly all files have no findings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from schemas.problem import Problem, Severity, Violation
from schemas.reader.positions import Positions


class Finding(NamedTuple):
    """What one rule reports."""

    path: str
    document: int | None  # index in the file; None for the file, or an object that it no longer declares
    object: str
    pointer: str
    code: str
    message: str
    hint: str = ""
    severity: Severity = Severity.ERROR
    also: tuple[str, ...] = ()  # other files involved: a change of one of them can cause or fix the finding


def shorten_list(names: list[str], shown: int = 3) -> str:
    """`a, b, c and 7 more`"""
    listed = ", ".join(names[:shown])
    return f"{listed} and {len(names) - shown:,} more" if len(names) > shown else listed


TextOf: TypeAlias = Callable[[str], str | None]


def to_problems(findings: Iterable[Finding], text_of: TextOf) -> Iterator[Problem]:
    """The findings as Problems, by file, in the order of the rules within each.

    `text_of` returns None for a file that no longer exists, which gives Problems without a line. It is called once for a file.
    """
    ordered = sorted(findings, key=attrgetter("path"))
    for path, group in groupby(ordered, key=attrgetter("path")):
        found = list(group)
        text = text_of(path) if any(finding.document is not None for finding in found) else None
        marks = Positions(text) if text is not None else None
        for finding in found:
            place = (0, 0)
            if marks is not None and finding.document is not None:
                place = marks.position(finding.document, finding.pointer)
            violation = Violation(
                finding.pointer, finding.code, finding.message, finding.hint, finding.severity
            )
            yield violation.locate(path, place, finding.object)
