"""The style of a text: its line ending, its indentation, the indentation of its lists. New text follows it."""

from __future__ import annotations

import re

_FIRST_STEP = re.compile(
    r"^( *)[^ \t\r\n#-][^\r\n]*:[ \t]*(?:#[^\r\n]*)?\r?\n(?:[ \t]*(?:#[^\r\n]*)?\r?\n)*\1( +)(?!- )[^ \t\r\n#]",
    re.M,
)
_FIRST_LIST = re.compile(r"^( *)[^ \t\r\n#-][^\r\n]*:[ \t]*\r?\n\1( *)- ", re.M)
_BREAK = re.compile(r"\r\n|\n|\r")


class YamlStyle:
    """The style of one text, or gitvirt's own. Each property is computed when first needed."""

    __slots__ = ("_list_step", "_step", "_text", "eol")

    def __init__(self, text: str = "", eol: str = "\n") -> None:
        self.eol = eol
        self._text = text
        self._step = self._list_step = -1

    @property
    def step(self) -> int:
        """How much deeper the entries of a nested mapping are indented."""
        if self._step < 0:
            nested = _FIRST_STEP.search(self._text)
            self._step = len(nested[2]) if nested else 2
        return self._step

    @property
    def list_step(self) -> int:
        """How much deeper than its key the dashes of a list are indented."""
        if self._list_step < 0:
            dash = _FIRST_LIST.search(self._text)
            self._list_step = len(dash[2]) if dash else self.step
        return self._list_step


def line_ending(text: str) -> str:
    """The line ending that most lines have."""
    if "\r" not in text:
        return "\n"
    both, feeds, returns = text.count("\r\n"), text.count("\n"), text.count("\r")
    return max(("\n", feeds - both), ("\r\n", both), ("\r", returns - both), key=lambda ending: ending[1])[0]


def has_break(text: str) -> bool:
    """Whether the text has more than one line."""
    return "\n" in text or "\r" in text


def line_end(text: str, at: int) -> int:
    """The offset after the line break of the line that contains `at`."""
    found = _BREAK.search(text, at)
    return found.end() if found else len(text)


def line_start(text: str, at: int) -> int:
    """The offset of the first character of the line that contains `at`."""
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
