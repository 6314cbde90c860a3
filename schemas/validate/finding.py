"""A finding: what a rule has against one place in one document. It becomes a Problem once line and column are known."""

from __future__ import annotations

from typing import NamedTuple

from schemas.problem import Severity


class Finding(NamedTuple):
    path: str
    document: int | None  # which of the file; None: it is about the file, or about what is gone from it
    object: str
    pointer: str
    code: str
    message: str
    hint: str = ""
    severity: Severity = Severity.ERROR
    also: tuple[str, ...] = ()  # further files it is about: it concerns whoever changes any of them


def token(key: str) -> str:
    """One step of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1") if "~" in key or "/" in key else key


def some(names: list[str], shown: int = 3) -> str:
    """`a, b, c and 7 more`"""
    listed = ", ".join(names[:shown])
    return f"{listed} and {len(names) - shown:,} more" if len(names) > shown else listed
