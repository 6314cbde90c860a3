"""JSON that is not YAML: keys over 1,024 characters. Tried when the parser refuses a text that begins like JSON.

YAML limits a key on one line to 1,024 characters; JSON does not. Report files are read with `refuse_duplicates` as well:
a key that is written twice has no value that sender and reader would agree on.
"""

from __future__ import annotations

import json
from collections.abc import Hashable

from schemas.reader.value import Value


def parse(text: str) -> Value | None:
    """The value of a JSON text; None if it is not JSON, or JSON that YAML refuses rightly."""
    if not text.lstrip(" \t\r\n").startswith(("{", "[")):
        return None
    try:
        value: Value = json.loads(text, object_pairs_hook=refuse_duplicates, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value


def refuse_duplicates(pairs: list[tuple[Hashable, Value]]) -> dict[Hashable, Value]:
    """Refuses duplicate keys, which json.loads would accept."""
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise ValueError("duplicate key in one object")
    return mapping


def _refuse(constant: str) -> Value:
    """Refuses NaN and Infinity, which are not JSON."""
    raise ValueError(constant)
