"""What reading returns: plain values, or the one reason why the text cannot be read."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

from schemas.problem import Problem, Violation, printable

# Keys are text in every manifest of ours, but a foreign document may have numbers or sequences as keys.
Value = None | bool | int | float | str | list["Value"] | dict[Hashable, "Value"]

BYTE_ORDER_MARK = "\ufeff"
MAX_DEPTH = 100  # levels of nesting; manifests have less than 15
_LONGEST = 300  # characters of a message
MAX_DIGITS = 1000  # digits of a number; 64 bits have 20


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a text cannot be read. Lines and columns count from 1, columns in characters; 0 means unknown."""

    code: str
    message: str
    hint: str = ""
    line: int = 0
    column: int = 0

    def printable(self) -> Unreadable:
        """The same without control characters: messages quote the text, and a terminal must not obey it."""
        if (
            self.message.isprintable()
            and self.hint.isprintable()
            and len(self.message) + len(self.hint) < _LONGEST
        ):
            return self
        return replace(self, message=printable(self.message, _LONGEST), hint=printable(self.hint, _LONGEST))

    def locate(self, file: str) -> Problem:
        """The reason as the problem of a file."""
        return Violation("", self.code, self.message, self.hint).locate(file, (self.line, self.column))


def position_at(text: str, offset: int) -> tuple[int, int]:
    """Line and column of the character at `offset`. LF, CRLF and CR each end a line."""
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
    return before.count("\n") + 1, len(before) - before.rfind("\n")
