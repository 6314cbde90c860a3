"""Parsed values as YAML 1.2 and Kubernetes' tools mean them: merges resolved, veils lifted, sets as mappings, depth known.

Only texts in doubt come here. Values are changed in place: they are fresh from the parser and share nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from enum import Enum
from typing import Any, cast

from schemas.reader.numerals import MaskedText
from schemas.reader.value import MAX_DEPTH, Value

MERGE = "<<"

Mapping = dict[Hashable, Value]


class Flaw(Enum):
    """Why values cannot stand as they are."""

    TOO_DEEP = "more than MAX_DEPTH levels"
    LONG_NUMBER = "a number of more than MAX_DIGITS digits"
    NOT_MERGEABLE = "a merge key whose value is neither a mapping nor a sequence of mappings"


def normalize(documents: list[Value], veil: MaskedText | None) -> Flaw | None:
    """Changes the documents in place, until it finds a flaw."""
    mappings: list[Mapping] = []
    waiting: list[tuple[list[Value] | Mapping, int]] = [(documents, 0)]
    while waiting:
        node, depth = waiting.pop()
        if depth > MAX_DEPTH:
            return Flaw.TOO_DEEP
        if isinstance(node, dict):
            if veil is not None and not _lift_keys(node, veil):
                return Flaw.LONG_NUMBER
            mappings.append(node)
            children: Iterable[tuple[Any, Value]] = list(node.items())
        else:
            children = enumerate(node)
        for at, child in children:
            if veil is not None and isinstance(child, str) and veil.is_long_number(child):
                return Flaw.LONG_NUMBER
            settled = _settled(child, veil)
            if settled is not child:
                cast("dict[Any, Value]", node)[at] = settled  # an index of a list, or a key of a mapping
            if isinstance(settled, list | dict):
                waiting.append((settled, depth + 1))
    # Outer mappings come before their inner ones, and merge what those have merged.
    return (
        None
        if all(_merge(mapping) for mapping in reversed(mappings) if MERGE in mapping)
        else Flaw.NOT_MERGEABLE
    )


def _settled(child: Value | set[Hashable], veil: MaskedText | None) -> Value:
    if isinstance(child, set):  # the parser's idea of !!set
        return dict.fromkeys(sorted(child, key=str))
    return veil.lift(child) if veil is not None and isinstance(child, str) else child


def _lift_keys(node: Mapping, veil: MaskedText) -> bool:
    """False if one of the keys is a number that is too long."""
    if any(isinstance(key, str) and veil.is_long_number(key) for key in node):
        return False
    lifted = {veil.lift(key) if isinstance(key, str) else key: value for key, value in node.items()}
    node.clear()
    node.update(lifted)
    return True


def _merge(mapping: Mapping) -> bool:
    """The mapping's own keys win; of several merged mappings, the earlier one. False if something else is merged."""
    merged = mapping.pop(MERGE)
    for source in merged if isinstance(merged, list) else [merged]:
        if not isinstance(source, dict):
            return False
        for key, value in source.items():
            mapping.setdefault(key, value)
    return True
