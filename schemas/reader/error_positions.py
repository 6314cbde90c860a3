"""Positions of mistakes that the parser reports without one: a duplicate key, a wrong tag, a merge of a non-mapping.

Each function searches the events for the first place where the mistake can be. The parser has decided already that there is
one, so a miss costs the position, and never the finding.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemas.reader.events import ParseEvent, ParseEventType, Position, parse_events
from schemas.reader.value import MAX_DEPTH

_CORE_TAG = "tag:yaml.org,2002:"
_COLLECTIONS = (ParseEventType.MAPPING, ParseEventType.SEQUENCE)


def find_duplicate_key(text: str, key: str) -> Position | None:
    """The second `key` (as repr writes it) in the first mapping that contains it twice."""
    seen: list[set[str]] = []
    for event, is_key, depth in _nodes(text):
        del seen[depth:]
        if event.type in _COLLECTIONS:
            seen.append(set())
        elif is_key and event.type is ParseEventType.SCALAR and key in (repr(event.value), event.value):
            if event.value in seen[-1]:
                return event.position
            seen[-1].add(event.value)
    return None


def find_too_deep(text: str) -> Position | None:
    """The first collection below MAX_DEPTH levels."""
    nodes = _nodes(text)
    return next(
        (event.position for event, _, depth in nodes if depth >= MAX_DEPTH and event.type in _COLLECTIONS),
        None,
    )


def find_tag(text: str, message: str) -> Position | None:
    """The first node with a tag of YAML's own (`!!int`) and, if one is quoted, the value that the message names."""
    for event, _, _ in _nodes(text):
        is_named = event.tag.startswith(_CORE_TAG) and f"!!{event.tag.removeprefix(_CORE_TAG)}" in message
        if is_named and (not message.startswith("'") or f"'{event.value}'" in message):
            return event.position
    return None


def find_merge(text: str) -> Position | None:
    """The first merge key whose value is a scalar, or a sequence with a scalar in it; aliases are followed."""
    scalars: set[str] = set()
    wanted, in_list = -1, False  # the depth of what is merged: the value of <<, or then its entries
    for event, is_key, depth in _nodes(text):
        if event.type is ParseEventType.SCALAR and event.anchor:
            scalars.add(event.anchor)
        if depth == wanted:
            is_scalar = event.type is ParseEventType.SCALAR or (
                event.type is ParseEventType.ALIAS and event.anchor in scalars
            )
            if is_scalar or (in_list and event.type is ParseEventType.SEQUENCE):
                return event.position
            if event.type is ParseEventType.SEQUENCE:
                wanted, in_list = depth + 1, True
            elif not in_list:
                wanted = -1
        elif depth < wanted:
            wanted = -1
        if is_key and event.value == "<<":
            wanted, in_list = depth, False
    return None


def _nodes(text: str) -> Iterator[tuple[ParseEvent, bool, int]]:
    """Every node, whether it is a key, and how many collections enclose it."""
    # For each open collection: whether the next node is a key; None in a sequence.
    turns: list[bool | None] = []
    for event in parse_events(text):
        if event.type is ParseEventType.END:
            turns.pop()
        elif event.type not in (ParseEventType.DOCUMENT, ParseEventType.BROKEN):
            is_key = bool(turns and turns[-1])
            yield event, is_key, len(turns)
            if turns and turns[-1] is not None:
                turns[-1] = not is_key
            if event.type in _COLLECTIONS:
                turns.append(True if event.type is ParseEventType.MAPPING else None)
