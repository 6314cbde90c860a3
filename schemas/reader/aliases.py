"""Anchors and aliases: what a text would grow to. Decided before parsing, because the parser copies what is aliased."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from schemas.reader.events import ParseEvent, ParseEventType, parse_events
from schemas.reader.value import MAX_DEPTH, Unreadable

MAX_GROWTH = 100_000  # values that aliases may add; a long string counts one for each 64 characters

_ALIAS = re.compile(r"(?<![^\s,\[\]{}:?-])\*[^\s,\[\]{}]")
_SAFE_GROWTH = 1 << 24  # characters: less than this is harmless, even if every alias stood for the whole text


@dataclass(frozen=True, slots=True)
class UnverifiedAliases:
    """Parsing is harmless, but what the aliases stand for is not known. A parser that refuses knows a better reason."""

    finding: Unreadable


@dataclass(slots=True)
class _Node:
    anchor: str  # empty if it has none
    weight: int = 1
    height: int = 0


@dataclass(slots=True)
class _Audit:
    open: list[_Node] = field(default_factory=list)
    anchors: dict[str, _Node] = field(default_factory=dict)
    growth: int = 0

    def add(self, event: ParseEvent) -> Unreadable | None:
        match event.sort:
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
                return self._expand(event.anchor, *event.place)
            case ParseEventType.BROKEN:
                pass
        return None

    def _close(self, node: _Node) -> None:
        self.anchors[node.anchor] = node
        self._charge(node)

    def _charge(self, node: _Node) -> None:
        if self.open:
            self.open[-1].weight += node.weight
            self.open[-1].height = max(self.open[-1].height, node.height + 1)

    def _expand(self, name: str, line: int, column: int) -> Unreadable | None:
        node = self.anchors.get(name)
        if node is None:
            message = f"*{name} refers to an anchor that does not stand above it"
            hint = f"write &{name} where the value stands, in the same document; quote a value that starts with *"
            return Unreadable("GV112", message, hint, line, column)
        if any(node is around for around in self.open):
            message = f"*{name} stands within what it refers to"
            return Unreadable("GV112", message, "write the value out", line, column)
        self.growth += node.weight
        if self.growth > MAX_GROWTH:
            message = f"aliases expand to more than {MAX_GROWTH:,} values"
            return Unreadable("GV104", message, "write the values out", line, column)
        if len(self.open) + node.height >= MAX_DEPTH:
            message = f"with its aliases it nests deeper than {MAX_DEPTH} levels"
            return Unreadable("GV103", message, "nest less", line, column)
        self._charge(node)
        return None


def has_aliases(text: str) -> bool:
    return "&" in text and _ALIAS.search(text) is not None


def check_aliases(text: str) -> Unreadable | UnverifiedAliases | None:
    """What is wrong with the anchors and aliases of a text, if anything is."""
    state = _Audit()
    for event in parse_events(text):
        if event.sort is ParseEventType.BROKEN:
            return _doubt(text, *event.place)
        fault = state.add(event)
        if fault is not None:
            return fault
    return None


def _doubt(text: str, line: int, column: int) -> Unreadable | UnverifiedAliases:
    message, hint = "cannot tell what aliases stand for from here on", "write the values out"
    if len(_ALIAS.findall(text)) * len(text) <= _SAFE_GROWTH:
        return UnverifiedAliases(Unreadable("GV112", message, hint, line, column))
    return Unreadable("GV104", message, hint, line, column)
