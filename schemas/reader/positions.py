"""Line and column of every key and value of a text, by document and JSON pointer.

Only for texts with findings, because it costs several times as much as reading. Never raises: where a pointer leads
nowhere, the position of the nearest enclosing value is returned.

How it works: the parser returns values without positions, so libyaml reads the text a second time, and its events become a
tree of nodes that mirrors the values (`_Composer`). An alias gets the children of its anchor, and a key that a merge brings
in is looked for in the merged mappings, as the reader does. A pointer is then followed from the document down.

libyaml and the parser may disagree about a text. Then a position may be wrong or missing, and nothing else: no finding
appears or disappears because of a position.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from schemas.reader.events import ParseEvent, ParseEventType, Position, parse_events
from schemas.reader.value import BYTE_ORDER_MARK

UNKNOWN: Position = (0, 0)

# Mappings looked into for a key: a text may merge in circles, and then has no better place.
_MOST_MERGES = 1000


@dataclass(slots=True)
class _Node:
    """Positions of a value, of its key (of the value if there is no key), and of the one that a reader looks for."""

    value: Position
    key: Position
    at: Position
    children: dict[str, _Node] | list[_Node] | None = None  # by key as it is written; None for a scalar


class Positions:
    """The positions in one text, computed at the first request."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._documents: list[_Node] | None = None

    def position(self, document: int, pointer: str) -> Position:
        """Where a reader looks: the value itself, or its key if the value is empty or on the lines below."""
        return self._find(document, pointer).at

    def key(self, document: int, pointer: str) -> Position:
        """The key of the value; the value itself for an entry of a list and for a whole document."""
        return self._find(document, pointer).key

    def value(self, document: int, pointer: str) -> Position:
        """Where the value itself begins."""
        return self._find(document, pointer).value

    def _find(self, document: int, pointer: str) -> _Node:
        """The node that the pointer leads to, or the last one on the way."""
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
    """The child of that name, including one that comes from a merge key."""
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
    key: str | None = None  # None if the key is not a scalar
    key_position: Position = UNKNOWN


@dataclass(slots=True)
class _Composer:
    """Builds the tree of positions from events."""

    documents: list[_Node] = field(default_factory=list)
    _open: list[_Frame] = field(default_factory=list)
    _anchors: dict[str, _Node] = field(default_factory=dict)
    _scalars: dict[str, str] = field(default_factory=dict)  # what an alias that is a key stands for

    def add(self, event: ParseEvent) -> None:
        """One event."""
        match event.type:
            case ParseEventType.DOCUMENT:
                self._anchors.clear()
                self._scalars.clear()
            case ParseEventType.END:
                self._open.pop()
            case ParseEventType.BROKEN:
                pass
            case _:  # a scalar, a sequence, a mapping or an alias
                node = self._attach(event)
                if event.type is ParseEventType.ALIAS:
                    target = self._anchors.get(event.anchor)
                    node.children = None if target is None else target.children
                elif event.anchor:
                    self._anchors[event.anchor] = node
                    self._scalars[event.anchor] = event.value

    def _attach(self, event: ParseEvent) -> _Node:
        """The node of an event, in its place in the tree; opened if it is a collection."""
        parent = self._open[-1] if self._open else None
        node = _Node(event.position, event.position, event.position)
        if parent is None:
            self.documents.append(node)
        elif isinstance(parent.node.children, list):
            parent.node.children.append(node)
        elif parent.is_key:
            parent.key, parent.key_position, parent.is_key = self._key_text(event), event.position, False
        else:
            node.key = parent.key_position
            if event.is_plain and not (event.type is ParseEventType.SCALAR and event.value):
                node.at = node.key
            if parent.key is not None and isinstance(parent.node.children, dict):
                parent.node.children.setdefault(parent.key, node)
            parent.is_key = True
        if event.type is ParseEventType.MAPPING:
            node.children = {}
            self._open.append(_Frame(node, is_key=True))
        elif event.type is ParseEventType.SEQUENCE:
            node.children = []
            self._open.append(_Frame(node))
        return node

    def _key_text(self, event: ParseEvent) -> str | None:
        """The text of a key; None for a key that is a collection."""
        if event.type is ParseEventType.ALIAS:
            return self._scalars.get(event.anchor)
        return event.value if event.type is ParseEventType.SCALAR else None
