"""Where things stand in a text: line and column of every key and value, by document and JSON pointer.

Only for texts with findings, since it costs several times what reading costs. Never raises: of what it cannot find it
gives the nearest thing around that it can.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from schemas.reader.events import ParseEvent, ParseEventType, Position, parse_events
from schemas.reader.value import BYTE_ORDER_MARK

UNKNOWN: Position = (0, 0)

_MOST_MERGES = (
    1000  # mappings looked into for a key; a text may merge in circles, and then has no better place
)


@dataclass(slots=True)
class _Node:
    """A value, the key that introduces it (its own place if none does), and where a person looks for it."""

    value: Position
    key: Position
    at: Position
    children: dict[str, _Node] | list[_Node] | None = None  # by key as it is written; None for a scalar


class Positions:
    """The places in one text, found at the first question."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._documents: list[_Node] | None = None

    def position(self, document: int, pointer: str) -> Position:
        """Where a person looks: at the value itself, or at the key that introduces an indented or an empty one."""
        return self._find(document, pointer).at

    def key(self, document: int, pointer: str) -> Position:
        """The key of the value; of a list's entry and of a whole document the value."""
        return self._find(document, pointer).key

    def value(self, document: int, pointer: str) -> Position:
        """Where the value itself begins."""
        return self._find(document, pointer).value

    def _find(self, document: int, pointer: str) -> _Node:
        if self._documents is None:
            composer = _Composer()
            for event in parse_events(self._text.removeprefix(BYTE_ORDER_MARK)):
                composer.add(event)
            self._documents = composer.documents
        if not 0 <= document < len(self._documents):
            return _Node(UNKNOWN, UNKNOWN, UNKNOWN)
        node = self._documents[document]
        for token in pointer.split("/")[1:]:
            child = _child(node, token.replace("~1", "/").replace("~0", "~"))
            if child is None:
                return node
            node = child
        return node


def _child(node: _Node, name: str) -> _Node | None:
    """The child of that name, also one that a merge key brings."""
    if isinstance(node.children, list):
        is_index = name.isdecimal() and name.isascii() and len(name) < 10
        return node.children[int(name)] if is_index and int(name) < len(node.children) else None
    waiting = [node]
    for _ in range(_MOST_MERGES):
        if not waiting:
            break
        at = waiting.pop()
        if isinstance(at.children, dict):
            if name in at.children:
                return at.children[name]
            merged = at.children.get("<<")
            if merged is not None:
                waiting.extend(reversed(merged.children) if isinstance(merged.children, list) else [merged])
    return None


@dataclass(slots=True)
class _Frame:
    """An open collection. In a mapping, `key` is the one whose value comes next."""

    node: _Node
    is_key: bool = False  # the next node is a key
    key: str | None = None  # None if it is no scalar
    key_place: Position = UNKNOWN


@dataclass(slots=True)
class _Composer:
    documents: list[_Node] = field(default_factory=list)
    _open: list[_Frame] = field(default_factory=list)
    _anchors: dict[str, _Node] = field(default_factory=dict)
    _scalars: dict[str, str] = field(default_factory=dict)  # what an alias that is a key stands for

    def add(self, event: ParseEvent) -> None:
        match event.sort:
            case ParseEventType.DOCUMENT:
                self._anchors.clear()
                self._scalars.clear()
            case ParseEventType.END:
                self._open.pop()
            case (
                ParseEventType.SCALAR
                | ParseEventType.SEQUENCE
                | ParseEventType.MAPPING
                | ParseEventType.ALIAS
            ):
                node = self._attached(event)
                if event.sort is ParseEventType.ALIAS:
                    target = self._anchors.get(event.anchor)
                    node.children = None if target is None else target.children
                elif event.anchor:
                    self._anchors[event.anchor] = node
                    self._scalars[event.anchor] = event.value
            case ParseEventType.BROKEN:
                pass

    def _attached(self, event: ParseEvent) -> _Node:
        """The node of an event, in its place in the tree; opened if it is a collection."""
        parent = self._open[-1] if self._open else None
        node = _Node(event.place, event.place, event.place)
        if parent is None:
            self.documents.append(node)
        elif isinstance(parent.node.children, list):
            parent.node.children.append(node)
        elif parent.is_key:
            parent.key, parent.key_place, parent.is_key = self._written(event), event.place, False
        else:
            node.key = parent.key_place
            if event.is_plain and not (event.sort is ParseEventType.SCALAR and event.value):
                node.at = node.key
            if parent.key is not None and isinstance(parent.node.children, dict):
                parent.node.children.setdefault(parent.key, node)
            parent.is_key = True
        if event.sort is ParseEventType.MAPPING:
            node.children = {}
            self._open.append(_Frame(node, is_key=True))
        elif event.sort is ParseEventType.SEQUENCE:
            node.children = []
            self._open.append(_Frame(node))
        return node

    def _written(self, event: ParseEvent) -> str | None:
        if event.sort is ParseEventType.ALIAS:
            return self._scalars.get(event.anchor)
        return event.value if event.sort is ParseEventType.SCALAR else None
