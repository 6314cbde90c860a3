"""Nesting by indentation: bounded before parsing, because the parser recurses on the C stack and crashes at its end.

The parser counts brackets itself, so they need no check here. A block collection has its own column of indentation, or
follows other indicators on the same line (`- - - x`), so the beginnings of lines bound the depth. The bound is generous:
texts that pass are measured exactly after parsing.
"""

from __future__ import annotations

import re

from schemas.reader.value import MAX_DEPTH, Unreadable, position_at

# Up to 25 columns of indentation and indicators are harmless: at most two collections begin in one column.
_STEEP = re.compile(r"\n[ \t?:-]{25}")
_STEEP_CR = re.compile(r"[\r\n][ \t?:-]{25}")
_CLIFF = 2 * MAX_DEPTH

_INDENTATION = re.compile(r"[\r\n]( {25,})(?=[^ \r\n])")
_INDICATORS = re.compile(r"[\r\n][ \t]*((?:[?:-][ \t]+){25,})")


def may_be_too_deep(text: str) -> bool:
    """Whether a line begins with so many blanks and indicators that the text may nest deeper than MAX_DEPTH."""
    pattern = _STEEP_CR if "\r" in text else _STEEP
    return pattern.search("\n" + text) is not None


def why_too_deep(text: str) -> Unreadable | None:
    """Why the text could overflow the stack, or None. Each width of indentation counts once: aligned text is not deep."""
    lines = "\n" + text
    widths = {len(blanks) for blanks in _INDENTATION.findall(lines)}
    if len(widths) > _CLIFF:
        return Unreadable("GV103", f"nested deeper than {MAX_DEPTH} levels", "nest less")
    for match in _INDICATORS.finditer(lines):
        if sum(map(match[1].count, "?:-")) > _CLIFF:
            line, column = position_at(text, max(0, match.start(1) - 1))
            return Unreadable("GV103", f"nested deeper than {MAX_DEPTH} levels", "nest less", line, column)
    return None
