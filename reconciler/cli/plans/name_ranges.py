"""Many names in few words: `web-9 .. web-16`. Pure.

Consecutive numbers after equal text are one range, if there are three or more; `web-2` comes before `web-10`.
Leading zeros count as text, so that `web-01` and `web-1` are never mixed up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from schemas.kinds import Key

MOST_RANGES = 8
_NUMBER = re.compile(r"(\d+)")
_LAST_NUMBER = re.compile(r"(.*?)(0|[1-9]\d{0,8})")


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """The order in which people count: a number in a name is compared as a number."""
    parts = _NUMBER.split(name)
    return tuple(
        (1, int(part), part) if part.isdigit() and part.isascii() else (0, 0, part) for part in parts
    )


def natural_key(key: Key) -> tuple[object, ...]:
    """By kind, namespace and the natural order of names."""
    return (key.kind, key.namespace, natural(key.name))


def join_names(names: Iterable[str], most: int = MOST_RANGES) -> str:
    """`db, web-9 .. web-16`; beyond `most` parts the number of names that are left out."""
    ordered = sorted(dict.fromkeys(names), key=natural)
    runs = list(_runs(ordered))
    shown = [_join_run(run) for run in runs[:most]]
    rest = sum(map(len, runs[most:]))
    return ", ".join(shown) + (f" and {rest:,} more" if rest else "")


def _runs(ordered: Sequence[str]) -> Iterable[list[str]]:
    """Names that count up by one, or one name alone."""

    def place(entry: tuple[int, str]) -> tuple[str, int | None]:
        index, name = entry
        match = _LAST_NUMBER.fullmatch(name)
        return (match[1], int(match[2]) - index) if match else (name, None)

    for _, group in groupby(enumerate(ordered), key=place):
        run = [name for _, name in group]
        if len(run) >= 3:
            yield run
        else:
            yield from ([name] for name in run)


def _join_run(run: Sequence[str]) -> str:
    return run[0] if len(run) == 1 else f"{run[0]} .. {run[-1]}"


def join_keys(keys: Sequence[Key]) -> str:
    """`Machine/default/web-9 .. web-16`: kind and namespace once, where all have the same."""
    first = keys[0]
    if len(keys) == 1:
        return str(first)
    if any((key.kind, key.namespace) != (first.kind, first.namespace) for key in keys):
        return join_names(str(key) for key in keys)
    prefix = str(first).removesuffix(first.name)
    return prefix + join_names(key.name for key in keys)
