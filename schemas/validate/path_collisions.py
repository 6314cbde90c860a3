"""Paths that are one where case, or the form of an accent, does not count: macOS and Windows cannot check out both. Pure.

Git and the reconciler keep such files apart, so this is a warning: only people on those systems see one file for two, and
the next commit from there would delete the other one.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from schemas.problem import Problem, Severity, Violation


def fold(name: str) -> str:
    """Equal for names that such a file system takes for one."""
    return name.lower() if name.isascii() else unicodedata.normalize("NFC", name).casefold()


def collision(paths: Sequence[str]) -> Problem:
    """GV813, at the first of the paths."""
    message = "differs only in case or accents from " + ", ".join(paths[1:])
    hint = "rename all but one: macOS and Windows check out only one of them"
    return Violation("", "GV813", message, hint, Severity.WARNING).locate(paths[0])


def collisions(paths: Iterable[str]) -> Iterator[Problem]:
    """Names within one folder are compared, those of folders too. Of two folders that collide only they are reported, not the
    files below them.
    """
    alike: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    known: set[str] = set()
    for path in paths:
        at: str = path
        while at and at not in known:
            known.add(at)
            parent, _, name = at.rpartition("/")
            alike[parent, fold(name)].add(at)
            at = parent
    for group in sorted(sorted(found) for found in alike.values() if len(found) > 1):
        yield collision(group)
