"""Whether one document fits the JSON Schema of its kind: all violations at once, and never an exception.

A valid document costs one pass of the compiled validator. Only an invalid one is examined for explanations.

    1. the validator accepts        -> value_rules: what the schema cannot say
    2. it refuses, or cannot read   -> plain_data: the part that it can read, with a violation for the rest
                                    -> schema_errors: its errors in our words
                                    -> value_rules: on that part, so that all problems come at once

The schema is the contract, and `model.decode` relies on every document that passed. So this is the only place that says
whether a document is valid by itself; what `validate` finds later is about a fleet's policy or other documents.
"""

from __future__ import annotations

from schemas.kinds import Kind
from schemas.manifest.schema_errors import explain_errors
from schemas.manifest.schema_file import compile_schema
from schemas.manifest.value_rules import check_values
from schemas.problem import Violation
from schemas.reader.plain_data import extract_plain_data

_MOST = 1_000  # enough to read for one document


def violations(kind: Kind, body: object) -> tuple[Violation, ...]:
    """Everything in this document that its kind does not allow; empty if it is valid."""
    try:
        if compile_schema(kind.schema_file).is_valid(body):
            return check_values(kind, body)
    except ValueError:
        pass  # the validator cannot process it: keys that are not text, too deep, types that JSON lacks
    return _findings(kind, body)


def _findings(kind: Kind, body: object) -> tuple[Violation, ...]:
    """All violations of a document that the validator refused, in our own words."""
    part, flaws = extract_plain_data(body)
    found = explain_errors(kind, kind.schema_file, part)
    if flaws:  # a field that seems to be missing may be in the part that was left out
        found = [violation for violation in found if violation.code not in ("GV202", "GV208")]
    found += check_values(kind, part)
    if len(found) > _MOST:
        message = f"{len(found) - _MOST} more problems of this document are not shown"
        found = [*found[:_MOST], Violation("", "GV213", message, "fix the shown ones first")]
    return tuple(dict.fromkeys((*flaws, *found)))
