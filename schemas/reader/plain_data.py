"""What a validator can look at: plain JSON-like values, text keys, no abyss, no flood.

A YAML document may hold keys that are no text, and a hostile one may be deep or large without end. Only documents
that did not pass at once are examined here, so the cost falls on them alone.
"""

from __future__ import annotations

from typing import NamedTuple

from schemas.problem import Violation, json_pointer

DEEPEST = 50
WIDEST = 1_000
LARGEST = 20_000

Path = tuple[str | int, ...]


class PlainData(NamedTuple):
    """The part of a document that can be validated, and what was wrong with the rest."""

    body: object
    flaws: tuple[Violation, ...]


class _Visit(NamedTuple):
    path: Path
    value: object
    into: dict[str, object] | list[object]


def extract_plain_data(body: object) -> PlainData:
    """A copy without what no validator can read. Iterative: depth costs no stack."""
    root: list[object] = []
    flaws: list[Violation] = []
    pending = [_Visit((), body, root)]
    left = LARGEST
    while pending:
        visit = pending.pop()
        if left == 0:
            flaws.append(_flaw((), "it is too large to be checked in full", "split it, or shorten its lists"))
            break
        left -= 1
        _put(visit, pending, flaws)
    return PlainData(root[0] if root else None, tuple(dict.fromkeys(flaws)))


def _put(visit: _Visit, pending: list[_Visit], flaws: list[Violation]) -> None:
    value, path = visit.value, visit.path
    match value:
        case dict() | list() if len(path) >= DEEPEST:
            flaws.append(_flaw(path, f"it is nested deeper than {DEEPEST} levels"))
            return
        case dict():
            copied: dict[str, object] = {}
            _place(visit, copied)
            pending.extend(reversed(_children(value, path, copied, flaws)))
        case list():
            items: list[object] = []
            _place(visit, items)
            if len(value) > WIDEST:
                flaws.append(_flaw(path, f"of its {len(value)} entries only the first {WIDEST} were checked"))
            pending.extend(
                _Visit((*path, index), value[index], items) for index in range(min(len(value), WIDEST))[::-1]
            )
        case str() if not _is_text(value):
            flaws.append(_flaw(path, "its text is not valid Unicode", "write it anew"))
        case str() | bool() | int() | float() | None:
            _place(visit, value)
        case _:
            flaws.append(_flaw(path, f"a {type(value).__name__} is not plain data", "put it in quotes"))


def _children(
    value: dict[object, object], path: Path, copied: dict[str, object], flaws: list[Violation]
) -> list[_Visit]:
    found: list[_Visit] = []
    for key, inner in value.items():
        if len(found) == WIDEST:
            flaws.append(_flaw(path, f"of its {len(value)} fields only the first {WIDEST} were checked"))
            break
        if isinstance(key, str) and _is_text(key):
            found.append(_Visit((*path, key), inner, copied))
        else:
            flaws.append(_flaw(path, f"a key there is not text but {_name(key)}", "put the key in quotes"))
    return found


def _place(visit: _Visit, value: object) -> None:
    if isinstance(visit.into, list):
        visit.into.append(value)
    else:
        visit.into[str(visit.path[-1])] = value


def _flaw(path: Path, message: str, hint: str = "") -> Violation:
    return Violation(json_pointer(path), "GV213", message, hint)


def _is_text(value: str) -> bool:
    """Half of a surrogate pair, which an escape can smuggle in, is in no encoding."""
    return value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)


def _name(key: object) -> str:
    if isinstance(key, str):
        return "half a character"
    return str(key) if isinstance(key, bool | float | None) else type(key).__name__
