"""Problems and violations: what is wrong, where, and how to fix it. Data only; the command line prints it.

A Violation is about one document and knows a JSON pointer. A Problem is about one place in a repo: file, line and column.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """Errors make a check fail, warnings only with --strict, notices never."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Problem:
    """Sorts by place. `line` and `column` count from 1; 0 means the file as a whole."""

    file: str
    line: int = 0
    column: int = 0
    code: str  # GV + number, as docs/problems.md explains it
    severity: Severity = Severity.ERROR
    object: str = ""  # Kind/namespace/name, Kind/name, or empty if the identity could not be read
    pointer: str = ""  # JSON pointer into the document
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True, order=True)
class Violation:
    """One thing in one document that its kind does not allow. `pointer` is a JSON pointer into the document.

    Message and hint quote the document, so control characters are removed from them: a terminal must not obey them.
    """

    pointer: str
    code: str
    message: str
    hint: str = ""
    severity: Severity = Severity.ERROR

    def __post_init__(self) -> None:
        for field in ("message", "hint"):
            text: str = getattr(self, field)
            if not text.isprintable():
                plain = "".join(
                    letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text
                )
                object.__setattr__(self, field, plain)

    def locate(self, file: str, place: tuple[int, int] = (0, 0), object: str = "") -> Problem:
        """The problem at this line and column of a file; without them, of the file as a whole."""
        return Problem(
            file=file,
            line=place[0],
            column=place[1],
            code=self.code,
            severity=self.severity,
            object=object,
            pointer=self.pointer,
            message=self.message,
            hint=self.hint,
        )


def json_pointer(path: Iterable[object]) -> str:
    """The JSON pointer for a path of keys and indices."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)


def printable(text: str, longest: int = 60) -> str:
    """Quoted text inside a message: on one line, without control characters, and shortened."""
    return "".join(letter if letter.isprintable() else " " for letter in text[:longest])


def printable_json(text: str) -> str:
    """The same JSON, with every control character escaped: JSON itself escapes only those below U+0020."""
    if text.replace("\n", "").isprintable():
        return text
    return "".join(
        letter if letter == "\n" or letter.isprintable() else json.dumps(letter)[1:-1] for letter in text
    )
