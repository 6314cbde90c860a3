"""The hand a text is written in: its line ending, its indent, where its lists stand. New text follows it."""

from __future__ import annotations

import re
from typing import NamedTuple

_FIRST_STEP = re.compile(
    r"^( *)[^ \t\r\n#-][^\r\n]*:[ \t]*(?:#[^\r\n]*)?\r?\n(?:[ \t]*(?:#[^\r\n]*)?\r?\n)*\1( +)(?!- )[^ \t\r\n#]",
    re.M,
)
_FIRST_LIST = re.compile(r"^( *)[^ \t\r\n#-][^\r\n]*:[ \t]*\r?\n\1( *)- ", re.M)
_BREAK = re.compile(r"\r\n|\n|\r")


class Style(NamedTuple):
    eol: str = "\n"
    step: int = 2
    list_step: int = 2
    """How much deeper than its key a list's dashes stand."""


def of(text: str) -> Style:
    nested = _FIRST_STEP.search(text)
    step = len(nested[2]) if nested else 2
    dash = _FIRST_LIST.search(text)
    return Style(line_ending(text), step, len(dash[2]) if dash else step)


def line_ending(text: str) -> str:
    found = _BREAK.search(text)
    return found[0] if found else "\n"


def line_end(text: str, at: int) -> int:
    """After the break that ends the line `at` stands on."""
    found = _BREAK.search(text, at)
    return found.end() if found else len(text)


def line_start(text: str, at: int) -> int:
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
