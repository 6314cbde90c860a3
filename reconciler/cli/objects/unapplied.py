"""What verbs say of an object that people declared and that is not on `live`, because its file has errors. Pure.

    Machine/default/web-9 is not applied: machines/web-9.yaml:6:3: GV201 there is no field 'powr'
      did you mean power?

The same words in `get`, `describe`, `wait`, `diff` and `status`, so that a person who knows one verb knows all.
"""

from __future__ import annotations

from collections.abc import Sequence

from reconciler.query.inventory import FleetInventory
from reconciler.query.unapplied import UnappliedObject
from schemas.kinds import Key
from schemas.problem import Problem

MOST_NAMED = 5


def find_unapplied(inventory: FleetInventory, key: Key) -> UnappliedObject | None:
    return next((each for each in inventory.unapplied if each.key == key), None)


def describe_unapplied(found: UnappliedObject) -> str:
    """One line: the object, the place, the code and the message; how many errors there are beside it."""
    return f"{name_of(found)} is not applied: {describe_errors(found)}"


def describe_errors(found: UnappliedObject) -> str:
    first, *others = found.problems
    more = f" (and {len(others)} more error{'s' if len(others) > 1 else ''})" if others else ""
    return f"{place_of(first)}: {first.code} {first.message}{more}"


def name_of(found: UnappliedObject) -> str:
    """The object, or a file of which nothing is known but its path."""
    return str(found.key) if found.key is not None else found.path


def place_of(problem: Problem) -> str:
    return ":".join(str(part) for part in (problem.file, problem.line, problem.column) if part)


def describe_cure(found: UnappliedObject) -> str:
    first = found.problems[0]
    return first.hint or f"`gitvirt help {first.code}` says how to fix it"


def list_lines(found: Sequence[UnappliedObject]) -> list[str]:
    """A line for each of the first, and how many more there are."""
    lines = [f"{describe_unapplied(each)}; {describe_cure(each)}" for each in found[:MOST_NAMED]]
    if len(found) > MOST_NAMED:
        lines.append(f"{len(found) - MOST_NAMED} more are not applied; `gitvirt validate` lists every error")
    return lines
