"""What stands where in a text: libyaml's events with their places. Slower than the parser, so only for texts in doubt.

libyaml speaks YAML 1.1. The differences are smoothed out where they would move a place; where it gives up, the events
end with BROKEN.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

from schemas.reader.value import MAX_DEPTH

# What YAML 1.1 takes for line breaks and 1.2 does not, and what is no text at all. One for one, so no column moves.
_ODD = re.compile("[\x85\u2028\u2029\ud800-\udfff]")

# A pair of escapes for one character, as JSON writes it, is unknown to YAML 1.1.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")

# libyaml takes time by the square of the depth; the reader refuses less.
_MAX_DEPTH = 2 * MAX_DEPTH

Position = tuple[int, int]  # line and column, from 1


class ParseEventType(Enum):
    DOCUMENT = auto()  # the start of one
    SCALAR = auto()
    SEQUENCE = auto()
    MAPPING = auto()
    ALIAS = auto()
    END = auto()  # of a sequence or mapping
    BROKEN = auto()  # the text goes on, and libyaml does not understand it


_DEEPER = {ParseEventType.SEQUENCE: 1, ParseEventType.MAPPING: 1, ParseEventType.END: -1}


class ParseEvent(NamedTuple):
    sort: ParseEventType
    place: Position
    value: str = ""
    anchor: str = ""  # of a node; of an alias what it refers to
    tag: str = ""
    is_plain: bool = False  # a scalar without quotes, or a collection without brackets


def parse_events(text: str) -> Iterator[ParseEvent]:
    """Everything in order. `text` has no byte order mark."""
    import yaml  # 10 ms that a run without findings does not pay

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    sorts = {
        yaml.DocumentStartEvent: ParseEventType.DOCUMENT,
        yaml.ScalarEvent: ParseEventType.SCALAR,
        yaml.SequenceStartEvent: ParseEventType.SEQUENCE,
        yaml.MappingStartEvent: ParseEventType.MAPPING,
        yaml.AliasEvent: ParseEventType.ALIAS,
        yaml.SequenceEndEvent: ParseEventType.END,
        yaml.MappingEndEvent: ParseEventType.END,
    }
    if not text.isascii():
        text = _ODD.sub("x", text)
    depth = 0
    try:
        for event in yaml.parse(_SURROGATE.sub(r"\\ue0ff", text), Loader=loader):
            sort = sorts.get(type(event))
            mark, fields = event.start_mark, vars(event).get
            if sort is None or mark is None:
                continue
            is_plain = sort is not ParseEventType.ALIAS and not fields("style") and not fields("flow_style")
            if sort in _DEEPER:
                depth += _DEEPER[sort]
                if depth > _MAX_DEPTH:
                    yield ParseEvent(ParseEventType.BROKEN, (mark.line + 1, mark.column + 1))
                    return
            yield ParseEvent(
                sort,
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


def _within(text: str, line: int, column: int) -> Position:
    """libyaml may count one line more than the text has where it breaks off at the end."""
    last = text.count("\n") + text.count("\r") + 1
    return (line, column) if line <= last else (last, 1)
