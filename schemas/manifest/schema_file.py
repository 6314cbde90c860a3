"""The JSON Schemas beside `schemas/__init__.py` and in its folders, by their paths: each is read and compiled once.

Files are read from the installed package, never from the repo of a user: a repo cannot change its own rules.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema_rs import Draft202012Validator, RegexOptions

import schemas

Schema = dict[str, Any]


@cache
def load_schema(file: str) -> Schema:
    """The JSON Schema in this file."""
    loaded: Schema = json.loads((Path(schemas.__file__).parent / file).read_bytes())
    return loaded


@cache
def compile_schema(file: str) -> Draft202012Validator:
    """Its validator, with the engine without backtracking: a hostile name cannot make a pattern slow."""
    return Draft202012Validator(load_schema(file), pattern_options=RegexOptions())


@cache
def only_places(file: str) -> dict[str, str]:
    """The place of each field that the schema has in one place only, empty for the top level: a misplaced field is hinted there.

    Ignores status, which people do not write.
    """
    places: dict[str, set[tuple[str, ...]]] = {}
    schema = load_schema(file)
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
