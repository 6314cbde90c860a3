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
    entries: defaultdict[str, list[str]] = defaultdict(list)  # of each folder
    for path in paths:
        at = path
        while at:
            parent = at.rpartition("/")[0]
            is_known = parent in entries
            entries[parent].append(at)
            at = "" if is_known else parent
    # One folder after the other: the folded names of a whole fleet would take more memory than all its paths.
    for group in sorted(group for found in entries.values() for group in _groups(found)):
        yield collision(group)


def _groups(entries: Sequence[str]) -> Iterator[list[str]]:
    """The paths of one folder whose names collide."""
    if len({_fold_name(entry) for entry in entries}) == len(entries):
        return
    alike: defaultdict[str, set[str]] = defaultdict(set)
    for entry in entries:
        alike[_fold_name(entry)].add(entry)
    yield from (sorted(found) for found in alike.values() if len(found) > 1)


def _fold_name(path: str) -> str:
    return fold(path.rpartition("/")[2])
