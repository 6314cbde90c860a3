"""What the tests of `validate` share: texts in, and findings as one line each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from schemas.problem import Problem
from schemas.validate import Policy, validate


def checked(
    files: Mapping[str, str], policy: Policy, against: Mapping[str, str] | None = None
) -> tuple[Problem, ...]:
    return validate(encoded(files), policy, None if against is None else encoded(against))


def encoded(files: Mapping[str, str]) -> dict[str, bytes]:
    return {path: text.encode() for path, text in files.items()}


def told(problems: Iterable[Problem]) -> set[str]:
    return {f"{each.code} {each.severity} {each.file} {each.pointer}" for each in problems}
