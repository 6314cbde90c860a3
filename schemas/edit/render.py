"""Values as block text in a given style, and whole new documents in the style of gitvirt's own files.

The same value always gives the same text: keys keep the order of the mapping, the top level has Kubernetes' order, and
nothing is wrapped. So a document that is rendered again without a change is the same blob in Git, and no commit.

Limits: renders plain data only. A value that is neither plain nor finite enough for its format raises UnwritableError, and
never becomes an approximation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from schemas.edit import scalars
from schemas.edit.fields import Value
from schemas.edit.scalars import UnwritableError
from schemas.edit.style import YamlStyle
from schemas.edit.verification import is_same_value, read_body

_DEEPEST = 64
_CANONICAL_ORDER = ("apiVersion", "kind", "metadata", "spec", "status")
_LITERAL = re.compile(r"[!-~](?:[ -~]*[!-~])?(?:\n+[ -~]*[!-~])*\n?")
"""Texts that a block scalar (|) keeps byte for byte: no outer blanks, nothing invisible, at most one final line break."""


class Rendered(NamedTuple):
    """The text after `key:`: on its line (with the space before it), and on the next lines (each with its ending)."""

    inline: str
    lines: str = ""


def value(given: Value, indent: int, style: YamlStyle, depth: int = 0) -> Rendered:
    """The text of a value whose key is indented by `indent`."""
    if depth > _DEEPEST:
        raise UnwritableError(f"a value of more than {_DEEPEST} levels")
    if isinstance(given, dict):
        if not given:
            return Rendered(" {}")
        return Rendered("", entries(given, indent + style.step, style, depth + 1))
    if isinstance(given, list):
        if not given:
            return Rendered(" []")
        return Rendered("", _items(given, indent + style.list_step, style, depth + 1))
    if isinstance(given, str):
        if "\n" in given and _LITERAL.fullmatch(given):
            return _literal(given, indent + style.step, style)
        return Rendered(" " + scalars.block(given))
    if given is None or isinstance(given, int | float):
        return Rendered(" " + scalars.atom(given))
    raise UnwritableError(f"a {type(given).__name__}")


def entry(key: str, given: Value, indent: int, style: YamlStyle, depth: int = 0, quote: str = "") -> str:
    """`key: value`, without the indent before the key, with the ending after the last line."""
    inline, lines = value(given, indent, style, depth)
    return f"{scalars.key(key, quote)}:{inline}{style.eol}{lines}"


def entries(given: Mapping[str, Value], indent: int, style: YamlStyle, depth: int = 0) -> str:
    """Several entries, each with its indentation."""
    pad = " " * indent
    out = []
    for key, item in given.items():
        if type(item) is str and scalars.is_plain(item):  # most are, and this is faster
            out.append(f"{pad}{scalars.key(key)}: {item}{style.eol}")
        else:
            out.append(pad + entry(key, item, indent, style, depth))
    return "".join(out)


def _items(given: list[Value], indent: int, style: YamlStyle, depth: int) -> str:
    """The items of a list. A mapping starts on the line of its dash, a list on the next line."""
    pad = " " * indent
    out = []
    for item in given:
        if isinstance(item, dict) and item:
            text = entries(item, indent + 2, style, depth + 1)
            out.append(f"{pad}- {text[indent + 2 :]}")
        elif isinstance(item, list) and item:
            if depth > _DEEPEST:
                raise UnwritableError(f"a value of more than {_DEEPEST} levels")
            out.append(f"{pad}-{style.eol}{_items(item, indent + 2, style, depth + 1)}")
        else:
            inline, lines = value(item, indent, style, depth)
            out.append(f"{pad}-{inline}{style.eol}{lines}")
    return "".join(out)


def _literal(text: str, indent: int, style: YamlStyle) -> Rendered:
    """A block scalar, with `-` if the text has no line break at its end."""
    pad = " " * indent
    header, text = (" |", text[:-1]) if text.endswith("\n") else (" |-", text)
    return Rendered(header, "".join([(pad + line if line else "") + style.eol for line in text.split("\n")]))


def render(body: Mapping[str, Value]) -> bytes:
    """A whole document. Reads its result back, and raises UnwritableError if `body` is not plain data.

    For documents that gitvirt creates, such as generated objects: no person has written in them, so there is no style to follow.
    """
    first = {key: body[key] for key in _CANONICAL_ORDER if key in body}
    text = entries(first | dict(body), 0, YamlStyle()) if body else "{}\n"
    if not is_same_value(read_body(text), dict(body)):
        raise UnwritableError("a body that reads back as another value")
    return text.encode()
