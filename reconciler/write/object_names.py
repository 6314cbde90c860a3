"""Names of objects as commit subjects list them: `web-1..web-8, volume data and 3 more`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from schemas.kinds import Key, Kind

LEAST_RUN = 3  # two names are as short as a range
_NUMBER = re.compile(r"(0|[1-9][0-9]*)$")
# What it is mostly about, so that the kind is left out.
_PLAIN = (Kind.MACHINE, Kind.MACHINE_POOL)


def full_name(key: Key) -> str:
    """`default/web-1`, `volume default/data`: as the line of an object has it, by which `gitvirt history` finds it."""
    name = f"{key.namespace}/{key.name}" if key.namespace else key.name
    return name if key.kind in _PLAIN else f"{noun(key.kind)} {name}"


def short_name(key: Key) -> str:
    """As in a subject: the namespace `default` is left out."""
    return key.name if key.namespace in ("", "default") else f"{key.namespace}/{key.name}"


def noun(kind: Kind) -> str:
    """VolumePool: volume pool."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in kind.value).strip()


def list_names(keys: Iterable[Key], most: int) -> str:
    """At most so many names and ranges, and how many objects are left out. Machines and their pools come first."""
    items = [item for kind, of_kind in _by_kind(keys) for item in _items(kind, of_kind)]
    shown, left = items[:most], sum(count for _, count in items[most:])
    text = ", ".join(text for text, _ in shown)
    return f"{text} and {left:,} more" if left else text


def _by_kind(keys: Iterable[Key]) -> Iterator[tuple[Kind, list[str]]]:
    ordered = sorted(keys, key=lambda key: (key.kind not in _PLAIN, key.kind, natural(short_name(key))))
    for kind, found in groupby(ordered, key=lambda key: key.kind):
        yield kind, [short_name(key) for key in found]


def _items(kind: Kind, names: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Texts, and of how many objects each is. The first one names the kind."""
    prefix = "" if kind in _PLAIN else noun(kind) + ("s " if len(names) > 1 else " ")
    for run in _runs(names):
        texts = [(f"{run[0]}..{run[-1]}", len(run))] if len(run) >= LEAST_RUN else [(name, 1) for name in run]
        for text, count in texts:
            yield prefix + text, count
            prefix = ""


def _runs(names: Sequence[str]) -> Iterator[list[str]]:
    """Names that differ in a number at their end, which goes up by one."""
    run: list[str] = []
    expected = ""
    for name in names:
        if run and name != expected:
            yield run
            run = []
        run.append(name)
        found = _NUMBER.search(name)
        expected = f"{name[: found.start()]}{int(found.group()) + 1}" if found else ""
    if run:
        yield run


def natural(name: str) -> list[tuple[int, int, str]]:
    """Sorts `web-2` before `web-10`."""
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    return [(0, int(part), part) if part.isdecimal() else (1, 0, part) for part in parts]
