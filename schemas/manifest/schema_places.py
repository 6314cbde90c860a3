"""Where a JSON Schema of a kind has its fields: a misplaced field is hinted to the one place that has it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]

# By $id, so that each schema is walked once and not for each document.
_PLACES: dict[str, dict[str, str]] = {}


def _only_places(schema: Schema) -> dict[str, str]:
    """The place of each field that the kind has in one place only. Ignores status, which people do not write."""
    places: dict[str, set[tuple[str, ...]]] = {}
    for place, fields in _places(schema, schema, ()):
        if place[:1] != ("status",):
            for name in fields:
                places.setdefault(name, set()).add(place)
    return {name: ".".join(next(iter(found))) for name, found in places.items() if len(found) == 1}


def _places(schema: Schema, rule: Schema, at: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Schema]]:
    """Each mapping of the schema, by its path, following references and lists."""
    if "$ref" in rule:
        yield from _places(schema, schema["$defs"][rule["$ref"].rpartition("/")[2]], at)
        return
    fields = rule.get("properties", {})
    if fields:
        yield at, fields
    for name, inner in fields.items():
        if isinstance(inner, dict):
            yield from _places(schema, inner, (*at, name))
    if "items" in rule:
        yield from _places(schema, rule["items"], (*at[:-1], f"{at[-1]}[]"))


def only_place(schema: Schema, name: str) -> str | None:
    """The path of the one mapping that has the field, empty for the top level; None if there is none or more than one."""
    known = _PLACES.get(schema["$id"])
    if known is None:
        known = _PLACES[schema["$id"]] = _only_places(schema)
    return known.get(name)
