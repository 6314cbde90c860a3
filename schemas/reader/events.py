"""libyaml's events with their positions. Slower than the parser, so used only for texts with aliases or with findings.

libyaml reads YAML 1.1. Differences to 1.2 that would move a position are removed first. Where libyaml gives up, the
events end with BROKEN.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import Any, NamedTuple

from schemas.reader.value import MAX_DEPTH

# Characters that are line breaks in YAML 1.1 alone, and halves of surrogate pairs. Replaced one for one: no column moves.
_NOT_1_1 = re.compile("[\x85\u2028\u2029\ud800-\udfff]")

# JSON writes some characters as a pair of escapes, which YAML 1.1 does not know.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")

# Outside of scalars: libyaml takes each `#` there for the start of a comment.
_COMMENT = re.compile(r"#([^\n]*)")

# libyaml's time grows with the square of the depth. The reader refuses texts at half of it.
_MAX_DEPTH = 2 * MAX_DEPTH

Position = tuple[int, int]  # line and column, from 1


class ParseEventType(Enum):
    """The events that matter here."""

    DOCUMENT = auto()  # the start of one
    SCALAR = auto()
    SEQUENCE = auto()
    MAPPING = auto()
    ALIAS = auto()
    END = auto()  # of a sequence or mapping
    BROKEN = auto()  # the text continues, but libyaml cannot read on


# By the name of libyaml's type, because the module is imported only when needed.
_TYPES = {
    "DocumentStartEvent": ParseEventType.DOCUMENT,
    "ScalarEvent": ParseEventType.SCALAR,
    "SequenceStartEvent": ParseEventType.SEQUENCE,
    "MappingStartEvent": ParseEventType.MAPPING,
    "AliasEvent": ParseEventType.ALIAS,
    "SequenceEndEvent": ParseEventType.END,
    "MappingEndEvent": ParseEventType.END,
}
_DEEPER = {ParseEventType.SEQUENCE: 1, ParseEventType.MAPPING: 1, ParseEventType.END: -1}


class ParseEvent(NamedTuple):
    """One event with the position of its first character."""

    type: ParseEventType
    position: Position
    value: str = ""
    anchor: str = ""  # of a node; for an alias, the anchor that it refers to
    tag: str = ""
    is_plain: bool = False  # a scalar without quotes, or a collection without brackets


def parse_events(text: str) -> Iterator[ParseEvent]:
    """All events in order. `text` has no byte order mark.

    Never raises: a text that libyaml cannot read ends with BROKEN, and what came before remains valid. Lazy, so a caller that
    has found its position stops reading.
    """
    import yaml  # takes 10 ms; runs without findings do not need it

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    if not text.isascii():
        text = _NOT_1_1.sub("x", text)
    depth = 0
    try:
        for event in yaml.parse(_SURROGATE.sub(r"\\ue0ff", text), Loader=loader):
            kind = _TYPES.get(type(event).__name__)
            mark, fields = event.start_mark, vars(event).get
            if kind is None or mark is None:
                continue
            is_plain = kind is not ParseEventType.ALIAS and not fields("style") and not fields("flow_style")
            if kind in _DEEPER:
                depth += _DEEPER[kind]
                if depth > _MAX_DEPTH:
                    yield ParseEvent(ParseEventType.BROKEN, (mark.line + 1, mark.column + 1))
                    return
            yield ParseEvent(
                kind,
                (mark.line + 1, mark.column + 1),
                fields("value") or "",
                fields("anchor") or "",
                fields("tag") or "",
                is_plain,
            )
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        yield ParseEvent(
            ParseEventType.BROKEN, (0, 0) if mark is None else _within(text, mark.line + 1, mark.column + 1)
        )


class Node(NamedTuple):
    """A node of a document with the characters that it takes. `entries` are those of a mapping; None for scalars and lists."""

    start: int
    end: int
    column: int  # from 0
    text: str = ""
    style: str = ""  # of a scalar: `|`, `>`, a quote, or empty
    is_flow: bool = False
    entries: tuple[tuple[Node, Node], ...] | None = None
    is_scalar: bool = False


def compose_document(text: str) -> Node | None:
    """The one document of a text by its places, or None where it has several, or libyaml cannot read it. For edits in place; what the
    values are says the parser alone."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        root = yaml.compose(_SURROGATE.sub(r"\\ue0ff", _NOT_1_1.sub("x", text)), Loader=loader)
    except yaml.YAMLError:
        return None
    return _node(root) if root is not None else None


def find_comments(text: str) -> Iterator[tuple[int, int]]:
    """The comments of a text that `compose_document` reads: from behind each `#` to the end of its line. A `#` within a scalar begins none."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    tokens = yaml.scan(_SURROGATE.sub(r"\\ue0ff", _NOT_1_1.sub("x", text)), Loader=loader)
    marks = [(one.start_mark, one.end_mark) for one in tokens if isinstance(one, yaml.ScalarToken)]
    at = 0
    for start, end in (*((start.index, end.index) for start, end in marks), (len(text), len(text))):
        for match in _COMMENT.finditer(text, at, start):
            yield match.span(1)
        at = end


def _node(found: Any) -> Node:
    """Without what is below a list."""
    start, end, column = found.start_mark.index, found.end_mark.index, found.start_mark.column
    if found.id == "mapping":
        entries = tuple((_node(key), _node(value)) for key, value in found.value)
        return Node(start, end, column, is_flow=bool(found.flow_style), entries=entries)
    if found.id == "scalar":
        return Node(start, end, column, found.value, found.style or "", is_scalar=True)
    return Node(start, end, column, is_flow=bool(found.flow_style))


def _within(text: str, line: int, column: int) -> Position:
    """At the end of a text, libyaml may report one line more than the text has."""
    last = text.count("\n") + text.count("\r") + 1
    return (line, column) if line <= last else (last, 1)
