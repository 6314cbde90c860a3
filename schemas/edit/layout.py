"""Offsets of entries and mappings in one document's text: what both finders return, and what splicing needs.

All offsets count characters from the start of the document, not of the file, and are valid for that one text: after each
step they are looked up again. An `end` is always the offset after the last character. The two finders must agree on this
form and on nothing else, so that `splice` does not know which of them found a position.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, Protocol

from schemas.edit.fields import Path


class BlockEntry(NamedTuple):
    """A key in block style, with its value.

    `line` is the start of its first line, or -1 if other text precedes the key on that line. `colon` is after its colon.
    `value` to `value_end` is the part of the value on the key's line: a scalar, brackets that may end on later lines, the
    mark of a block scalar, or nothing. `tail` is after the last line that belongs to the entry. Text between `value_end`
    and the end of that line is a comment.
    """

    line: int
    colon: int
    value: int
    value_end: int
    tail: int
    indent: int


class BlockMap(NamedTuple):
    """A mapping in block style: `start` is the start of its first line, `last` is after its last line of content, `end`
    is where the following text starts. `quote` is the quote of its first key."""

    start: int
    last: int
    end: int
    indent: int
    quote: str


class FlowEntry(NamedTuple):
    """An entry of a flow mapping; -1 stands for a missing colon, value or comma."""

    key: int
    key_end: int
    colon: int
    value: int
    value_end: int
    comma: int


class FlowMap(NamedTuple):
    """A flow mapping; `end` is after its closing brace."""

    start: int
    end: int
    entries: tuple[FlowEntry, ...]


class FlowPlace(NamedTuple):
    """One entry of a flow mapping, by its number."""

    flow: FlowMap
    number: int


class InsertionPoint(Enum):
    """Where a new entry is inserted into a block mapping, and whether comments stay that are indented deeper than the
    entry before them. A block scalar can make either impossible: it may keep trailing blank lines, or contain the comment."""

    LAST = "after the last line of content; all comments stay"
    END = "after trailing comments and blank lines; deeper comments after a changed entry are removed"
    START = "before the first entry; deeper comments after a changed entry are removed"


class Finder(Protocol):
    """Finds an entry or a mapping; None if it cannot read this text. It may be wrong: every edit is read back.

    The modules `line_finder` and `parser_finder` themselves are the two finders. None means "try the next finder", and never
    "the entry does not exist": whether it does is known from the body before any finder runs.
    """

    def map_at(self, text: str, path: Path) -> BlockMap | FlowMap | None:
        """The mapping that is the value at `path`; the empty path is the document's own mapping."""

    def entry_at(self, text: str, path: Path) -> BlockEntry | FlowPlace | None:
        """The entry at `path`: key and value."""
