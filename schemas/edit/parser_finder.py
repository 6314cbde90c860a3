"""Finds fields by the marks of a parser: for text that `line_finder` cannot read, such as explicit keys, tags, anchors,
texts that look like keys, or carriage returns as line ends. Slow, so it is used only then.

libyaml composes the document into nodes with marks, the offsets where each one starts and ends. Marks alone do not
suffice: a block collection ends at the next token, behind blank lines and comments, a null has no text at all, and an
alias has the marks of its anchor. So the colon, the end of the value and its part on the key's line are read from the
text, beginning at a mark. libyaml reads YAML 1.1; values are never taken from it, only positions.

Must never happen: a position inside of an anchor's value for a path that leads over an alias. The text is in another
place, and changing it would change every user of the anchor: `_node` returns None there, and the edit is refused or the
alias is replaced by a mapping of its own.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

import yaml
from yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode

from schemas.edit import flow_reader
from schemas.edit.fields import Path
from schemas.edit.layout import BlockEntry, BlockMap, FlowMap, FlowPlace
from schemas.edit.style import line_end, line_start

LARGEST = 1 << 18
"""Larger texts are not composed: nodes take a hundred times the memory of their text."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_NO_BREAKS = {0x85: "x", 0x2028: "x", 0x2029: "x"}
"""Line breaks of YAML 1.1, which libyaml reads. The replacement has the same length, so every mark stays valid."""

_TO_COLON = re.compile(r"(?:[ \t\r\n]|(?<=[ \t\r\n])#[^\r\n]*)*+:")
_ON_LINE = re.compile(r"[ \t]*(?![ \t\r\n#]|\Z)")
_ALIAS = re.compile(r"\*[^ \t\r\n]+")
_ANCHOR = re.compile(r"(?:![^ \t\r\n]*[ \t]+)?&")
_MARK = re.compile(r"[|>][-+1-9]{0,2}")
_PROPERTIES = re.compile(r"[ \t]*((?:[&!][^ \t\r\n]*(?:[ \t]+|(?=[\r\n])|\Z))+)")
_BEFORE_KEY = re.compile(r" *(?:\?[ \t]+)?")


def map_at(text: str, path: Path) -> BlockMap | FlowMap | None:
    """The mapping that is the value at `path`, or None."""
    node = _node(text, path)
    return None if node is None else _map(text, node)


def entry_at(text: str, path: Path) -> BlockEntry | FlowPlace | None:
    """The entry at `path`, or None."""
    node = _node(text, path[:-1])
    if node is None:
        return None
    above = _map(text, node)
    if isinstance(above, FlowMap):
        index = flow_reader.index_of(text, above, path[-1])
        return None if index is None else FlowPlace(above, index)
    pair = _pair(node, path[-1])
    return _entry(text, above, *pair) if above and pair else None


@lru_cache(maxsize=1)
def compose(text: str) -> Node | None:
    """The tree of nodes of one document; None if the parser refuses the text or the text is too large."""
    if len(text) > LARGEST:
        return None
    try:
        return yaml.compose(text if text.isascii() else text.translate(_NO_BREAKS), _LOADER)
    except yaml.YAMLError:
        return None


def _node(text: str, path: Path) -> MappingNode | None:
    """The node of the mapping at `path`; None if an alias is on the way, because its text is in another place."""
    node = compose(text)
    for key in path:
        pair = _pair(node, key)
        if pair is None or _is_alias(*pair):
            return None
        node = pair[1]
    return node if isinstance(node, MappingNode) else None


def _pair(node: Node | None, key: str) -> tuple[Node, Node] | None:
    """Key and value nodes of one entry of a mapping."""
    if isinstance(node, MappingNode):
        for name, value in node.value:
            if isinstance(name, ScalarNode) and name.value == key:
                return name, value
    return None


def _is_alias(name: Node, value: Node) -> bool:
    """The parser returns the anchor's node for an alias, and that node precedes the key.

    Valid because YAML requires an anchor before its aliases: a value of its own always begins after its key.
    """
    return bool(value.start_mark.index < name.end_mark.index)


def _map(text: str, node: MappingNode) -> BlockMap | FlowMap | None:
    """The offsets of a mapping in block or flow style."""
    if node.flow_style:
        return flow_reader.read(text, text.find("{", node.start_mark.index))
    name = node.value[0][0]
    start = line_start(text, name.start_mark.index)
    indent = name.start_mark.index - start
    before = text[start : start + indent].rstrip(" \t")
    if before.endswith("?"):
        indent = len(before) - 1
    sign = text[name.start_mark.index]
    last = node.value[-1]
    end = line_end(text, _end(text, *last))
    return BlockMap(
        start, end, max(end, _line_floor(text, node.end_mark.index)), indent, sign if sign in "\"'" else ""
    )


def _line_floor(text: str, at: int) -> int:
    """The start of the line that contains `at`; the end of the text stays."""
    return at if at == len(text) else line_start(text, at)


def _entry(text: str, above: BlockMap, name: Node, value: Node) -> BlockEntry | None:
    """The offsets of an entry in block style."""
    found = _TO_COLON.match(text, name.end_mark.index)
    if found is None:
        return None
    colon = found.end()
    line = line_start(text, name.start_mark.index)
    if _BEFORE_KEY.fullmatch(text, line, name.start_mark.index) is None:
        line = -1
    tail = line_end(text, max(_end(text, name, value), colon))
    start, end = _on_the_line(text, colon, name, value)
    return BlockEntry(line, colon, start, end, tail, above.indent)


def _on_the_line(text: str, colon: int, name: Node, value: Node) -> tuple[int, int]:
    """Start and end of the value's part after the colon; both are `colon` if there is none."""
    blanks = _ON_LINE.match(text, colon)
    if blanks is None:
        return colon, colon
    start = blanks.end()
    if _is_alias(name, value):
        alias = _ALIAS.match(text, start)
        return (start, alias.end()) if alias else (colon, colon)
    if isinstance(value, ScalarNode) and value.style in ("|", ">"):
        mark = _MARK.search(text, start)
        return (start, mark.end()) if mark else (colon, colon)
    if not isinstance(value, CollectionNode) or value.flow_style:
        return start, max(value.end_mark.index, start)
    properties = _PROPERTIES.match(text, colon)
    return (start, start + len(properties[1].rstrip(" \t"))) if properties else (colon, colon)


def _end(text: str, name: Node, value: Node) -> int:
    """The offset after the last character of the value, or of the key if there is no value."""
    while (
        isinstance(value, CollectionNode)
        and not value.flow_style
        and not _is_alias(name, value)
        and value.value
    ):
        last = value.value[-1]
        name, value = last if isinstance(value, MappingNode) else (name, last)
    if _is_alias(name, value):
        alias = _ALIAS.search(text, name.end_mark.index)
        return alias.end() if alias else int(name.end_mark.index)
    start, end = int(value.start_mark.index), int(value.end_mark.index)
    if start == end:
        colon = _TO_COLON.match(text, name.end_mark.index)
        return colon.end() if colon else int(name.end_mark.index)
    if isinstance(value, ScalarNode) and value.style in ("|", ">"):
        return start + len(text[start:end].rstrip(" \t\r\n"))
    return end


class SharedNode(NamedTuple):
    """A node that other parts of the document share with the field: by an anchor, an alias or a merge."""

    path: Path
    is_merge: bool


def find_shared_node(text: str, path: Path) -> SharedNode | None:
    """The first node on `path` that has an anchor, is an alias, or gets the next key from a merge."""
    node = compose(text)
    merged: SharedNode | None = None
    for depth, key in enumerate(path):
        pair = _pair(node, key)
        if _pair(node, "<<"):
            merged = SharedNode(path[:depth], True)
        if pair is None:
            break
        if _is_alias(*pair) or _ANCHOR.match(text, pair[1].start_mark.index):
            return SharedNode(path[: depth + 1], False)
        node = pair[1]
    return merged
