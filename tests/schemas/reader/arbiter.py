"""ruamel.yaml's composer as a second opinion: slow, in Python, with marks; its nodes resolved by the core schema alone."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from schemas.reader import Value

_WORDS: dict[str, Value] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}
_DECIMAL = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


def compose(text: str) -> list[Node]:
    return [
        node
        for node in YAML(typ="safe", pure=True).compose_all(text.removeprefix("\ufeff"))
        if node is not None
    ]


def documents(text: str) -> tuple[Value, ...]:
    return tuple(_value(node) for node in compose(text))


def places(text: str) -> Iterator[tuple[int, str, tuple[int, int]]]:
    """Document, JSON pointer and the place of the value, for every value under keys that are text."""
    for index, root in enumerate(compose(text)):
        yield from _places(index, "", root)


def scalar(word: str) -> Value:
    """A plain scalar by the core schema of YAML 1.2."""
    if word in _WORDS:
        return _WORDS[word]
    if _DECIMAL.fullmatch(word):
        return int(word)
    if _OCTAL.fullmatch(word):
        return int(word[2:], 8)
    if _HEXADECIMAL.fullmatch(word):
        return int(word[2:], 16)
    return float(word) if _FLOAT.fullmatch(word) else word


def _pair_keys(text: str) -> str:
    """ruamel.yaml leaves surrogate pairs as two."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16")


def _value(node: Node) -> Value:
    match node:
        case ScalarNode():
            return scalar(node.value) if not node.style else _pair_keys(node.value)
        case SequenceNode():
            return [_value(child) for child in node.value]
        case MappingNode():
            return {_value(key): _value(child) for key, child in node.value}  # type: ignore[misc]  # hashable here
        case _:
            raise AssertionError(node)


def _places(index: int, pointer: str, node: Node) -> Iterator[tuple[int, str, tuple[int, int]]]:
    yield index, pointer, (node.start_mark.line + 1, node.start_mark.column + 1)
    if isinstance(node, SequenceNode):
        for at, child in enumerate(node.value):
            yield from _places(index, f"{pointer}/{at}", child)
    elif isinstance(node, MappingNode):
        for key, child in node.value:
            token = key.value.replace("~", "~0").replace("/", "~1")
            yield from _places(index, f"{pointer}/{token}", child)
