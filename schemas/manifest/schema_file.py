"""The JSON Schemas beside `schemas/__init__.py` and in its folders, by their paths: each is read and compiled once."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema_rs import Draft202012Validator, RegexOptions

import schemas


@cache
def load_schema(file: str) -> dict[str, Any]:
    """The JSON Schema in this file."""
    loaded: dict[str, Any] = json.loads((Path(schemas.__file__).parent / file).read_bytes())
    return loaded


@cache
def compile_schema(file: str) -> Draft202012Validator:
    """Its validator, with the engine without backtracking: a hostile name cannot make a pattern slow."""
    return Draft202012Validator(load_schema(file), pattern_options=RegexOptions())
