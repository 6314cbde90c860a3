"""A Problem: one finding about one place in a repo, with its cause and its cure. It is data; others print it."""

from __future__ import annotations

from collections.abc import Iterable
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


@dataclass(frozen=True, slots=True, order=True)
class Violation:
    """`pointer` is a JSON pointer into the document; of an unknown field it points at the field itself.

    Message and hint quote what people wrote, so whatever a terminal would obey is taken out of them.
    """

    pointer: str
    code: str
    message: str
    hint: str = ""

    def __post_init__(self) -> None:
        for field in ("message", "hint"):
            text: str = getattr(self, field)
            if not text.isprintable():
                plain = "".join(
                    letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text
                )
                object.__setattr__(self, field, plain)


def json_pointer(path: Iterable[object]) -> str:
    """The JSON pointer of a path of keys and indices."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)


def printable(text: str, longest: int = 60) -> str:
    """Somebody's text within a message: on one line, and not longer than a reader needs."""
    return "".join(letter if letter.isprintable() else " " for letter in text[:longest])
