"""What a name that nothing has was meant to be."""

from __future__ import annotations

from schemas.kinds import Key, Kind
from schemas.spelling import nearest
from schemas.validate.finding import some
from schemas.validate.tree import Tree

# The work for one run is bounded: a typo deserves a suggestion, a hundred thousand missing objects do not.
MOST_COMPARED = 20_000  # letter by letter
MOST_LISTED = 2_000_000  # looked at
FEW = 2_000


class Names:
    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.hints: dict[tuple[Kind, str, str], str] = {}
        self.left_to_compare = MOST_COMPARED
        self.left_to_list = MOST_LISTED

    def is_refused(self, kind: Kind, namespace: str, name: str) -> bool:
        """Whether its document is there and invalid, which is reported already."""
        return Key(kind, namespace, name) in self.tree.refused

    def hint(self, kind: Kind, namespace: str, name: str) -> str:
        sought = (kind, namespace, name)
        if sought not in self.hints:
            self.hints[sought] = self.new_hint(kind, namespace, name)
        return self.hints[sought]

    def new_hint(self, kind: Kind, namespace: str, name: str) -> str:
        known = self.tree.by_kind[kind]
        self.left_to_list -= len(known)
        if self.left_to_list < 0:
            return ""
        here = [other for space, other in known if space == namespace]
        if meant := self.nearest(name, here):
            return f'did you mean "{meant}"?'
        if elsewhere := [space for space, other in known if other == name]:
            return f"there is one in namespace {some(elsewhere)}, but references stay in their namespace"
        for other in Kind:
            if self.tree.find(other, namespace, name):
                return f"{name} is a {other}"
        if self.tree.unreadable:
            return f"perhaps it stands in {some(list(self.tree.unreadable))}, which cannot be read"
        if here:
            return f"there is {some(here)}"
        return f"this repo declares no {kind}" + (f" in namespace {namespace}" if namespace else "")

    def nearest(self, name: str, known: list[str]) -> str | None:
        if len(known) > FEW:  # then only those that begin alike
            known = [other for other in known if other[:2] == name[:2] and abs(len(other) - len(name)) <= 2]
        self.left_to_compare -= len(known)
        return nearest(name, known) if self.left_to_compare >= 0 else None
