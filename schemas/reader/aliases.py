"""Anchors and aliases: how large a text becomes when aliases are expanded.

Decided before parsing, because the parser copies the value for each alias: ten lines can become a billion values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from schemas.reader.events import ParseEvent, ParseEventType, parse_events
from schemas.reader.value import MAX_DEPTH, Unreadable

MAX_GROWTH = 100_000  # values that aliases may add; a long string counts one for each 64 characters

_ALIAS = re.compile(r"(?<![^\s,\[\]{}:?-])\*[^\s,\[\]{}]")
# Less than this is harmless, even if every alias stood for the whole text.
_HARMLESS_CHARACTERS = 1 << 24


@dataclass(frozen=True, slots=True)
class UnverifiedAliases:
    """Parsing is safe, but libyaml gave up, so the aliases were not all checked. If the parser refuses too, its
    reason is the better one; if it does not, `finding` refuses the text."""

    finding: Unreadable


@dataclass(slots=True)
class _Node:
    """An anchored value: how many values it contains, and how deep it nests."""

    anchor: str  # empty if it has none
    weight: int = 1
    height: int = 0


@dataclass(slots=True)
class _Audit:
    """Adds up what the aliases of one document would copy.

    An anchored value has a weight, the number of values in it, with its own aliases expanded. Each alias adds the weight of
    what it refers to: to the collection around it, so that anchors of anchors multiply, and to the growth, which is bounded.
    Nothing is expanded to find that out, so the audit is linear where the expansion would be exponential.
    """

    open: list[_Node] = field(default_factory=list)
    anchors: dict[str, _Node] = field(default_factory=dict)
    growth: int = 0

    def add(self, event: ParseEvent) -> Unreadable | None:
        """One event; the reason if it makes the text unreadable."""
        match event.type:
            case ParseEventType.DOCUMENT:
                self.anchors.clear()
            case ParseEventType.SCALAR:
                self._close(_Node(event.anchor, 1 + len(event.value) // 64))
            case ParseEventType.SEQUENCE | ParseEventType.MAPPING:
                node = _Node(event.anchor)
                self.open.append(node)
                self.anchors[event.anchor] = node
            case ParseEventType.END:
                self._close(self.open.pop())
            case ParseEventType.ALIAS:
                return self._expand(event.anchor, *event.position)
            case ParseEventType.BROKEN:
                pass
        return None

    def _close(self, node: _Node) -> None:
        """A node is complete, so its anchor can be used."""
        self.anchors[node.anchor] = node
        self._charge(node)

    def _charge(self, node: _Node) -> None:
        """Count the node into the collection around it."""
        if self.open:
            self.open[-1].weight += node.weight
            self.open[-1].height = max(self.open[-1].height, node.height + 1)

    def _expand(self, name: str, line: int, column: int) -> Unreadable | None:
        """An alias: its anchor must precede it, and the sum of all copies is bounded."""
        node = self.anchors.get(name)
        if node is None:
            message = f"*{name} refers to an anchor that does not precede it"
            hint = f"write &{name} before the value, in the same document; quote a value that starts with *"
            return Unreadable("GV112", message, hint, line, column)
        if any(node is around for around in self.open):
            message = f"*{name} is inside the value that it refers to"
            return Unreadable("GV112", message, "write the value out", line, column)
        self.growth += node.weight
        if self.growth > MAX_GROWTH:
            message = f"aliases expand to more than {MAX_GROWTH:,} values"
            return Unreadable("GV104", message, "write the values out", line, column)
        if len(self.open) + node.height >= MAX_DEPTH:
            message = f"with its aliases expanded the value nests deeper than {MAX_DEPTH} levels"
            return Unreadable("GV103", message, "nest less", line, column)
        self._charge(node)
        return None


def has_aliases(text: str) -> bool:
    """Whether the text may have aliases. May be wrong for texts in quotes."""
    return "&" in text and _ALIAS.search(text) is not None


def check_aliases(text: str) -> Unreadable | UnverifiedAliases | None:
    """What is wrong with the anchors and aliases of a text, or None."""
    state = _Audit()
    for event in parse_events(text):
        if event.type is ParseEventType.BROKEN:
            return _explain_broken(text, *event.position)
        fault = state.add(event)
        if fault is not None:
            return fault
    return None


def _explain_broken(text: str, line: int, column: int) -> Unreadable | UnverifiedAliases:
    """libyaml gave up. Harmless if even the worst case of aliases stays small."""
    message, hint = "aliases cannot be resolved from here on", "write the values out"
    if len(_ALIAS.findall(text)) * len(text) <= _HARMLESS_CHARACTERS:
        return UnverifiedAliases(Unreadable("GV112", message, hint, line, column))
    return Unreadable("GV104", message, hint, line, column)
