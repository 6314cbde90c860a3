"""A settings file (gitvirt.yaml, poollet.yaml): text into one frozen object, or every problem with line and column.

All or nothing: there is no settings object from a file with a problem, because half of a fleet's limits or owners would be
another policy. What then applies is the caller's to decide: the reconciler keeps the last settings that could be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import msgspec

from schemas.manifest.schema_errors import explain_errors
from schemas.problem import Problem, Violation
from schemas.reader import Unreadable, read
from schemas.reader.plain_data import SizeLimits, extract_plain_data
from schemas.reader.positions import Positions

# Two certificates for each of 5,000 hosts.
LARGEST = 8 * 1024 * 1024
MOST = SizeLimits(widest=10_000, largest=200_000)  # hosts, and all values

T = TypeVar("T", bound=msgspec.Struct)


class Section(msgspec.Struct, frozen=True, rename="camel"):
    """A mapping of a settings file. Missing fields take their defaults."""


def load(
    path: str, data: bytes, schema: str, form: type[T], *checks: Callable[[T], Iterable[Violation]]
) -> T | tuple[Problem, ...]:
    """The one document of the file as `form`. `schema` is the name of a JSON Schema in schemas/.

    `checks` are the rules that no schema can express. They see only a document that its schema allows.
    """
    if len(data) > LARGEST:
        return _refuse(
            path, f"the file has {len(data)} bytes", f"settings files have at most {LARGEST} bytes"
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return _refuse(path, "the file is not UTF-8", "save the file as UTF-8", line)
    values = read(text)
    if isinstance(values, Unreadable):
        return (values.locate(path),)
    if len(values) != 1:
        message = "the file is empty" if not values else f"the file contains {len(values)} documents"
        return _refuse(path, message, "a settings file contains one document")
    part, flaws = extract_plain_data(values[0], MOST)
    violations = (*flaws, *explain_errors(None, schema, part))
    if violations:
        return locate_problems(violations, path, text)
    # Not strict, because JSON Schema counts 1.0 as an integer.
    loaded = msgspec.convert(values[0], form, strict=False)
    found = tuple(violation for check in checks for violation in check(loaded))
    return locate_problems(found, path, text) if found else loaded


def _refuse(path: str, message: str, hint: str, line: int = 0) -> tuple[Problem, ...]:
    return (Violation("", "GV601", message, hint).locate(path, (line, 0)),)


def locate_problems(found: tuple[Violation, ...], path: str, text: str) -> tuple[Problem, ...]:
    """Violations as Problems with line and column."""
    marks = Positions(text)
    return tuple(one.locate(path, marks.position(0, one.pointer)) for one in found)
