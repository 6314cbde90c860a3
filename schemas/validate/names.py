"""Suggestions for a name that no object has.

A suggestion is a courtesy, so its cost is bounded and its absence is not an error: with many missing names, later ones get
none. Suggestions stay in the kind and the namespace of the reference, because no other object could be meant; where the
name exists elsewhere, the hint says so instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from schemas.kinds import Key, Kind
from schemas.spelling import nearest
from schemas.validate.finding import shorten_list
from schemas.validate.tree import Tree

# The work of one run is bounded: a typing mistake deserves a suggestion, a hundred thousand missing objects do not.
MOST_WORK = 2_000_000  # compared names
FEW = 2_000  # up to this many names are compared by distance; with more, only names one mistake away are looked up
DATA = (Kind.VOLUME, Kind.VOLUME_SNAPSHOT)
NUMBER = re.compile(r"[0-9]+")
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789-."


class NameHints:
    """Hints for the names of one run, computed once for each name."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.hints: dict[tuple[Kind, str, str], str] = {}
        self.work_left = MOST_WORK

    def is_refused(self, kind: Kind, namespace: str, name: str) -> bool:
        """Whether the object's document exists and is invalid, which another problem reports."""
        return Key(kind, namespace, name) in self.tree.invalid

    def hint(self, kind: Kind, namespace: str, name: str) -> str:
        """The hint for a missing object, or an empty text."""
        sought = (kind, namespace, name)
        if sought not in self.hints:
            self.hints[sought] = self.new_hint(kind, namespace, name)
        return self.hints[sought]

    def new_hint(self, kind: Kind, namespace: str, name: str) -> str:
        """A similar name of the same kind and namespace, else where the name occurs."""
        known = self.tree.by_kind[kind]
        self.work_left -= 50 * min(len(known), FEW) + len(known)
        if self.work_left < 0:
            return ""
        here = [other for space, other in known if space == namespace]
        if len(here) <= FEW:
            meant = nearest(name, (other for other in here if not is_other_disk(kind, name, other)))
        else:
            typos = (typo for typo in one_typo_away(name) if not is_other_disk(kind, name, typo))
            meant = next((typo for typo in typos if (namespace, typo) in known), None)
        return f'did you mean "{meant}"?' if meant else self.whereabouts(kind, namespace, name, here)

    def whereabouts(self, kind: Kind, namespace: str, name: str, here: list[str]) -> str:
        """The name in another namespace or kind, an unreadable file, or what is declared."""
        others = [space for space, other in self.tree.by_kind[kind] if other == name]
        if others:
            return f"namespace {shorten_list(others)} has one, but a reference cannot leave its namespace"
        for other in Kind:
            if self.tree.find(other, namespace, name):
                return f"{name} is a {other}"
        if self.tree.unreadable:
            return f"perhaps declared in {shorten_list(list(self.tree.unreadable))}, which cannot be read"
        if here:
            return f"declared: {shorten_list(here)}"
        return f"this repo declares no {kind}" + (f" in namespace {namespace}" if namespace else "")


def is_other_disk(kind: Kind, name: str, other: str) -> bool:
    """Whether a volume differs in a number alone: `db-1-data` is the disk of another database than `db-2-data`, and never to be suggested."""
    if kind not in DATA:
        return False
    numbers = ([int(each) for each in NUMBER.findall(text)] for text in (name, other))
    return NUMBER.sub("0", name) == NUMBER.sub("0", other) and next(numbers) != next(numbers)


def one_typo_away(name: str) -> Iterator[str]:
    """Every name that is one mistake away: a letter too many, two letters swapped, one wrong, one missing."""
    for at in range(len(name) + 1):
        before, after = name[:at], name[at:]
        if after:
            yield before + after[1:]
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]
        for letter in LETTERS:
            if after:
                yield before + letter + after[1:]
            yield before + letter + after
