"""What stands where in a text: libyaml's events with their places. Slower than the parser, so only for texts in doubt.

libyaml speaks YAML 1.1. The differences are smoothed out where they would move a place; where it gives up, the events
end with BROKEN.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

# YAML 1.1 broke lines at these; 1.2 does not. One character each, so no column moves.
_NO_BREAKS = {0x85: "x", 0x2028: "x", 0x2029: "x"}

Place = tuple[int, int]  # line and column, from 1


class Sort(Enum):
    DOCUMENT = auto()  # the start of one
    SCALAR = auto()
    SEQUENCE = auto()
    MAPPING = auto()
    ALIAS = auto()
    END = auto()  # of a sequence or mapping
    BROKEN = auto()  # the text goes on, and libyaml does not understand it


class Event(NamedTuple):
    sort: Sort
    place: Place
    value: str = ""
    anchor: str = ""  # of a node; of an alias what it refers to
    tag: str = ""
    is_plain: bool = False  # a scalar without quotes, or a collection without brackets


def events(text: str) -> Iterator[Event]:
    """Everything in order. `text` has no byte order mark."""
    import yaml  # 10 ms that a run without findings does not pay

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    sorts = {
        yaml.DocumentStartEvent: Sort.DOCUMENT,
        yaml.ScalarEvent: Sort.SCALAR,
        yaml.SequenceStartEvent: Sort.SEQUENCE,
        yaml.MappingStartEvent: Sort.MAPPING,
        yaml.AliasEvent: Sort.ALIAS,
        yaml.SequenceEndEvent: Sort.END,
        yaml.MappingEndEvent: Sort.END,
    }
    try:
        for event in yaml.parse(text if text.isascii() else text.translate(_NO_BREAKS), Loader=loader):
            sort = sorts.get(type(event))
            mark, fields = event.start_mark, vars(event).get
            if sort is None or mark is None:
                continue
            is_plain = not fields("style") if sort is Sort.SCALAR else not fields("flow_style")
            yield Event(
                sort,
                (mark.line + 1, mark.column + 1),
                fields("value") or "",
                fields("anchor") or "",
                fields("tag") or "",
                is_plain,
            )
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        yield Event(Sort.BROKEN, (0, 0) if mark is None else (mark.line + 1, mark.column + 1))
