"""Whether one document fits the schema of its kind. All findings at once, in words of our own; never an exception.

A document that fits costs one pass of the compiled validator; only one that does not is looked at closely.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema_rs import Draft202012Validator, RegexOptions

import schemas
from schemas.kinds import Kind
from schemas.manifest.schema_errors import explain_errors
from schemas.manifest.value_rules import check_values
from schemas.problem import Violation
from schemas.reader.plain_data import extract_plain_data

__all__ = ["Violation", "schema", "violations"]

_MOST = 1_000  # A document with more findings than this is not mended by reading all of them.


def violations(kind: Kind, body: object) -> tuple[Violation, ...]:
    """What in this document its kind does not allow; nothing when it fits."""
    try:
        if _validator(kind).is_valid(body):
            return check_values(kind, body)
    except ValueError:  # the validator cannot even look: keys that are no text, an abyss, foreign types
        pass
    return _findings(kind, body)


@cache
def schema(kind: Kind) -> dict[str, Any]:
    """The JSON Schema of a kind."""
    loaded: dict[str, Any] = json.loads((Path(schemas.__file__).parent / kind.schema_file).read_bytes())
    return loaded


@cache
def _validator(kind: Kind) -> Draft202012Validator:
    # The engine without backtracking: a hostile name cannot make a pattern slow.
    return Draft202012Validator(schema(kind), pattern_options=RegexOptions())


def _findings(kind: Kind, body: object) -> tuple[Violation, ...]:
    part, flaws = extract_plain_data(body)
    found = explain_errors(kind, schema(kind), part, _validator(kind).iter_errors(part))
    if flaws:  # what seems to be missing may stand in the part that was left out
        found = [violation for violation in found if violation.code not in ("GV202", "GV208")]
    found += check_values(kind, part)
    if len(found) > _MOST:
        left_out = f"{len(found) - _MOST} further findings in this document are left out"
        found = [*found[:_MOST], Violation("", "GV213", left_out, "mend these first")]
    return tuple(dict.fromkeys((*flaws, *found)))
