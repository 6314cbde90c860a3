"""The part of a document that a JSON Schema validator can process: JSON-like values, text keys, bounded depth and size.

A YAML document may have keys that are not text, and a hostile one may be very deep or large. Only documents that did not
pass the validator at once come here, so valid documents do not pay for it.
"""

from __future__ import annotations

from typing import NamedTuple

from schemas.problem import Violation, json_pointer

DEEPEST = 50

Path = tuple[str | int, ...]


class SizeLimits(NamedTuple):
    """The most entries of one collection, and the most values of a document, that are checked."""

    widest: int = 1_000
    largest: int = 20_000


DOCUMENT = SizeLimits()


class PlainData(NamedTuple):
    """The part of a document that can be validated, and a Violation for each part that was left out."""

    body: object
    flaws: tuple[Violation, ...]


class _Visit(NamedTuple):
    """A value to copy, and the copied collection that gets it."""

    path: Path
    value: object
    into: dict[str, object] | list[object]


def extract_plain_data(body: object, limits: SizeLimits = DOCUMENT) -> PlainData:
    """A copy without the parts that no validator can read. Iterative, so that depth costs no stack."""
    root: list[object] = []
    flaws: list[Violation] = []
    pending = [_Visit((), body, root)]
    left = limits.largest
    while pending:
        visit = pending.pop()
        if left == 0:
            flaws.append(
                _flaw((), "the document is too large to be checked in full", "split it, or shorten its lists")
            )
            break
        left -= 1
        _copy(visit, pending, flaws, limits.widest)
    return PlainData(root[0] if root else None, tuple(dict.fromkeys(flaws)))


def _copy(visit: _Visit, pending: list[_Visit], flaws: list[Violation], widest: int) -> None:
    """Copy one value, and put its children on the list of pending visits."""
    value, path = visit.value, visit.path
    match value:
        case dict() | list() if len(path) >= DEEPEST:
            flaws.append(_flaw(path, f"the value is nested deeper than {DEEPEST} levels"))
            return
        case dict():
            copied: dict[str, object] = {}
            _insert(visit, copied)
            pending.extend(reversed(_children(_Visit(path, value, copied), flaws, widest)))
        case list():
            items: list[object] = []
            _insert(visit, items)
            if len(value) > widest:
                flaws.append(_flaw(path, f"of its {len(value)} entries only the first {widest} were checked"))
            pending.extend(
                _Visit((*path, index), value[index], items) for index in range(min(len(value), widest))[::-1]
            )
        case str() if not _is_text(value):
            flaws.append(_flaw(path, "the text is not valid Unicode", "write it again"))
        case str() | bool() | int() | float() | None:
            _insert(visit, value)
        case _:
            flaws.append(_flaw(path, f"a {type(value).__name__} is not plain data", "put it in quotes"))


def _children(visit: _Visit, flaws: list[Violation], widest: int) -> list[_Visit]:
    """The fields of a mapping that can be copied, for the copy `visit.into`."""
    value, path, copied = visit.value, visit.path, visit.into
    assert isinstance(value, dict)
    found: list[_Visit] = []
    for key, inner in value.items():
        if len(found) == widest:
            flaws.append(_flaw(path, f"of its {len(value)} fields only the first {widest} were checked"))
            break
        if isinstance(key, str) and _is_text(key):
            found.append(_Visit((*path, key), inner, copied))
        else:
            flaws.append(_flaw(path, f"a key is not text but {_describe_key(key)}", "put the key in quotes"))
    return found


def _insert(visit: _Visit, value: object) -> None:
    """Add the copy to its collection."""
    if isinstance(visit.into, list):
        visit.into.append(value)
    else:
        visit.into[str(visit.path[-1])] = value


def _flaw(path: Path, message: str, hint: str = "") -> Violation:
    return Violation(json_pointer(path), "GV213", message, hint)


def _is_text(value: str) -> bool:
    """False for half of a surrogate pair, which an escape can produce and no encoding can represent."""
    return value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)


def _describe_key(key: object) -> str:
    """What a key is that is not text."""
    if isinstance(key, str):
        return "half a character"
    return str(key) if isinstance(key, bool | float | None) else type(key).__name__
