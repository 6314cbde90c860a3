"""Output for people: aligned tables, and color only on a terminal.

All verbs print through a Terminal: `out()` is for the answer, `err()` for notes and errors. Each call makes a new
one, so a test that replaces sys.stdout needs no more than that. A write that fails (a full disk, a closed pipe)
becomes an error of `streams`, never a traceback.
"""

from __future__ import annotations

import os
import shutil
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TextIO

from reconciler.cli.streams import output_error


class TextStyle(StrEnum):
    BOLD = "1"
    DIM = "2"
    RED = "31"
    GREEN = "32"
    YELLOW = "33"
    CYAN = "36"


class Terminal:
    """Prints to one stream. Color is decided once: a terminal that says what it is by TERM, and no NO_COLOR."""

    def __init__(self, stream: TextIO, environment: Mapping[str, str] | None = None) -> None:
        environment = os.environ if environment is None else environment
        self.stream = stream
        self.is_interactive = stream.isatty() and environment.get("TERM", "") not in ("", "dumb")
        self.has_color = self.is_interactive and not environment.get("NO_COLOR")

    def paint(self, text: str, *styles: TextStyle) -> str:
        """The text in these styles, or as it is where there is no color. Painted text still aligns: `width` counts
        no escape sequences."""
        if not self.has_color or not styles:
            return text
        return f"\x1b[{';'.join(styles)}m{text}\x1b[0m"

    def line(self, text: str = "") -> None:
        """Prints one line. Text of others must have gone through `printable`, or a manifest could move the cursor
        of its reader."""
        try:
            self.stream.write(text + "\n")
        except OSError as error:
            raise output_error(error, self.stream) from None

    @property
    def size(self) -> os.terminal_size | None:
        """Columns and lines of the screen; None where there is none, so that a file gets everything."""
        return shutil.get_terminal_size() if self.is_interactive else None

    def clear(self) -> None:
        """Before a screen that replaces the one before; without a terminal an empty line separates them."""
        if self.is_interactive:
            self.stream.write("\x1b[H\x1b[2J\x1b[3J")
        else:
            self.line()

    def table(
        self, header: Sequence[str], rows: Sequence[Sequence[str]], earlier: Sequence[int] = ()
    ) -> list[int]:
        """Columns two spaces apart, left aligned, nothing trailing; cells may be painted already. No header: rows alone.
        Returns the widths; a table that goes on is given those of its `earlier` rows, so that its columns never shrink."""
        painted = [*([[self.paint(cell, TextStyle.BOLD) for cell in header]] if header else []), *rows]
        widths = [max(map(width, cells)) for cells in zip(*painted, strict=True)]
        widths = [max(pair) for pair in zip(widths, earlier, strict=True)] if earlier else widths
        for row in painted:
            cells = [cell + " " * (widths[column] - width(cell)) for column, cell in enumerate(row)]
            self.line("  ".join(cells).rstrip())
        return widths


def width(text: str) -> int:
    """Terminal columns: escape sequences take none, combining marks none, wide characters two."""
    if text.isascii() and "\x1b" not in text:
        return len(text)  # nearly all: a table of thousands is mostly measuring
    columns, position = 0, 0
    while position < len(text):
        if text.startswith("\x1b[", position):
            position = text.index("m", position) + 1
            continue
        character = text[position]
        if not unicodedata.combining(character):
            columns += 2 if unicodedata.east_asian_width(character) in "WF" else 1
        position += 1
    return columns


def printable(text: str) -> str:
    """Text from a manifest or a server, safe to print: control characters become visible escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def out() -> Terminal:
    return Terminal(sys.stdout)


def err() -> Terminal:
    return Terminal(sys.stderr)
