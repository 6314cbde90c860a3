"""Where things stand in a text: what the two ways to find them agree on, and what splicing needs to know.

All numbers are offsets into one document's text.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, Protocol

from schemas.edit.fields import Path


class BlockEntry(NamedTuple):
    """A key in block style, with its value.

    `line` is where its first line starts, -1 where something else stands on that line too, `colon` is after its colon, `value` to `value_end` is what of the value stands
    on the key's line (a scalar, brackets that may end lines below, the mark of a block scalar, or nothing), `tail` is
    after the last line that belongs to it. What stands between `value_end` and the end of that line is a comment.
    """

    line: int
    colon: int
    value: int
    value_end: int
    tail: int
    indent: int


class BlockMap(NamedTuple):
    """A map in block style: `start` is where its first line starts, `last` is after its last line of content, `end`
    where the next thing starts; `quote` is how its first key is quoted."""

    start: int
    last: int
    end: int
    indent: int
    quote: str


class FlowEntry(NamedTuple):
    """A key between braces; -1 for a colon, a value or a comma that is not there."""

    key: int
    key_end: int
    colon: int
    value: int
    value_end: int
    comma: int


class FlowMap(NamedTuple):
    """A map between braces, `end` after the closing one."""

    start: int
    end: int
    entries: tuple[FlowEntry, ...]


class FlowPlace(NamedTuple):
    """One entry, and the map it stands in."""

    flow: FlowMap
    number: int


class InsertionPoint(Enum):
    """Where a new entry goes in a block map, and whether comments stay that stand deeper than an entry before them. A
    block scalar can make either impossible: one that keeps its last blank lines, or takes such a comment for its own."""

    LAST = "after the last line of content; all comments stay"
    END = "after the comments and blank lines too; deeper ones behind what changes go"
    START = "before the first entry; the same"


class Finder(Protocol):
    """Finds, or returns None: this text is beyond it. It may be wrong; every edit is verified by reading back."""

    def map_at(self, text: str, path: Path) -> BlockMap | FlowMap | None: ...

    def entry_at(self, text: str, path: Path) -> BlockEntry | FlowPlace | None: ...
