"""A Problem: one finding about one place in a repo, with its cause and its cure. It is data; others print it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Problem:
    """Sorts by place. `line` and `column` count from 1; 0 means the file as a whole."""

    file: str
    line: int = 0
    column: int = 0
    code: str  # GV + number; docs/problems.md explains each
    severity: Severity = Severity.ERROR
    object: str = ""  # Kind/namespace/name, Kind/name, or nothing when no identity could be read
    pointer: str = ""  # JSON pointer into the document
    message: str
    hint: str = ""
