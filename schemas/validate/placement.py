"""Findings to Problems: the line and column of what a pointer points to. Only files with findings are looked at again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import TypeAlias

from schemas.marks import Marks
from schemas.problem import Problem
from schemas.validate.finding import Finding

TextOf: TypeAlias = Callable[[str], str | None]


def problems(findings: Iterable[Finding], text_of: TextOf) -> Iterator[Problem]:
    """A file whose text is not to be had any more is named without a line."""
    ordered = sorted(findings, key=attrgetter("path"))
    for path, group in groupby(ordered, key=attrgetter("path")):
        found = list(group)
        text = text_of(path) if any(finding.document is not None for finding in found) else None
        marks = Marks(text) if text is not None else None
        for finding in found:
            line, column = 0, 0
            if marks is not None and finding.document is not None:
                line, column = marks.position(finding.document, finding.pointer)
            yield Problem(
                file=path,
                line=line,
                column=column,
                code=finding.code,
                severity=finding.severity,
                object=finding.object,
                pointer=finding.pointer,
                message=finding.message,
                hint=finding.hint,
            )
