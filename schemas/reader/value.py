"""What reading yields: plain values, or the one reason why there are none."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

from schemas.problem import printable

# Keys are text in every manifest of ours, but a foreign document may have numbers, sequences or mappings for keys.
Value = None | bool | int | float | str | list["Value"] | dict[Hashable, "Value"]

BYTE_ORDER_MARK = "\ufeff"
MAX_DEPTH = 100  # levels of nesting; manifests have less than 15
_LONGEST = 300  # characters of a message
MAX_DIGITS = 1000  # digits of a number; 64 bits have 20


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a text yields no documents. Lines and columns count from 1, columns in characters; 0 is "somewhere"."""

    code: str
    message: str
    hint: str = ""
    line: int = 0
    column: int = 0

    def shown(self) -> Unreadable:
        """The same with nothing in its words that a terminal would obey: they quote the text."""
        if (
            self.message.isprintable()
            and self.hint.isprintable()
            and len(self.message) + len(self.hint) < _LONGEST
        ):
            return self
        return replace(self, message=printable(self.message, _LONGEST), hint=printable(self.hint, _LONGEST))


def position_at(text: str, offset: int) -> tuple[int, int]:
    """Line and column of the character at `offset`, with LF, CRLF and CR as line breaks."""
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
    return before.count("\n") + 1, len(before) - before.rfind("\n")
