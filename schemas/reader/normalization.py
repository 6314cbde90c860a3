"""Parsed values as YAML 1.2 and Kubernetes' tools mean them: merges resolved, numbers unmasked, sets as mappings.

Only values of the careful reader come here. They are changed in place: they are fresh from the parser and share nothing.
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
    """Why the values of a text are refused."""

    TOO_DEEP = "more than MAX_DEPTH levels"
    LONG_NUMBER = "a number of more than MAX_DIGITS digits"
    NOT_MERGEABLE = "a merge key whose value is neither a mapping nor a sequence of mappings"


def normalize(documents: list[Value], masked: MaskedText | None) -> Flaw | None:
    """Change the documents in place, and stop at the first flaw. Measures the depth exactly, without recursion."""
    mappings: list[Mapping] = []
    waiting: list[tuple[list[Value] | Mapping, int]] = [(documents, 0)]
    while waiting:
        node, depth = waiting.pop()
        if depth > MAX_DEPTH:
            return Flaw.TOO_DEEP
        if isinstance(node, dict):
            if masked is not None and not _unmask_keys(node, masked):
                return Flaw.LONG_NUMBER
            mappings.append(node)
            children: Iterable[tuple[Any, Value]] = list(node.items())
        else:
            children = enumerate(node)
        for at, child in children:
            if masked is not None and isinstance(child, str) and masked.is_long_number(child):
                return Flaw.LONG_NUMBER
            normalized = _normalize_value(child, masked)
            if normalized is not child:
                cast("dict[Any, Value]", node)[at] = normalized  # an index of a list, or a key of a mapping
            if isinstance(normalized, list | dict):
                waiting.append((normalized, depth + 1))
    # In `mappings` outer ones precede inner ones. Reversed, so that a merge copies what the inner ones have merged.
    can_merge = all(_merge(mapping) for mapping in reversed(mappings) if MERGE in mapping)
    return None if can_merge else Flaw.NOT_MERGEABLE


def _normalize_value(child: Value | set[Hashable], masked: MaskedText | None) -> Value:
    """A scalar unmasked, a set as a mapping; other values are returned unchanged."""
    if isinstance(child, set):  # the parser's idea of !!set
        return dict.fromkeys(sorted(child, key=str))
    return masked.unmask(child) if masked is not None and isinstance(child, str) else child


def _unmask_keys(node: Mapping, masked: MaskedText) -> bool:
    """Unmask the keys; False if one of them is a number that is too long."""
    if any(isinstance(key, str) and masked.is_long_number(key) for key in node):
        return False
    unmasked = {masked.unmask(key) if isinstance(key, str) else key: value for key, value in node.items()}
    node.clear()
    node.update(unmasked)
    return True


def _merge(mapping: Mapping) -> bool:
    """The mapping's own keys win, then the earlier of several merged mappings. False if the value is not a mapping."""
    merged = mapping.pop(MERGE)
    for source in merged if isinstance(merged, list) else [merged]:
        if not isinstance(source, dict):
            return False
        for key, value in source.items():
            mapping.setdefault(key, value)
    return True
