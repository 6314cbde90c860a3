"""Finds fields by scanning lines, without parsing: for plain block style, and for flow mappings inside it.

It relies on indentation and can be wrong: a line inside a quoted text can look like a key. Every edit is read back, so it
is enough to be fast and nearly always right. It returns None for text that it does not know.

A mapping in block style is a range of lines and the indentation of its keys. To find `spec.power`, the finder looks for a
line with `spec:` at the document's indentation, takes the lines up to the next one that is not indented deeper, reads the
indentation of the first of them, and looks for `power:` there.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from schemas.edit import flow_reader
from schemas.edit.fields import Path
from schemas.edit.layout import BlockEntry, BlockMap, FlowMap, FlowPlace

_PROLOGUE = re.compile(
    r"(?:(?:[ \t\r]*(?:#[^\n]*)?|%[^\n]*|---(?:[ \t]+#[^\n]*|[ \t\r]*))\n)*+(?:---[ \t]+(?=\{))?( *)"
)
_FOOTER = re.compile(r"^\.\.\.(?=[ \t\r\n]|\Z)", re.M)
_CONTENT = re.compile(r"^( *+)(?![\t\r\n#])", re.M)
_CONTENT_OR_COMMENT = re.compile(r"^( *+)(?![\t\r\n])", re.M)
_TRAILER = re.compile(r"(?:[ \t]+#[^\n]*|[ \t\r]*)(?:\n|\Z)")
_INLINE = re.compile(
    r"""(?x)
    "(?:[^"\\\n]|\\[^\n])*+"
  | '(?:[^'\n]|'')*+'
  | (?:[^ \t\r\n"'\#&*!|>%@`{}\[\],?:-]|[?:-](?=[^ \t\r\n]))
    (?:[^ \t\r\n:\#]|:(?=[^ \t\r\n])|(?<=[^ \t])\#|[ \t]++(?![\r\n\#]|\Z))*+
    """
)
_PROPERTIES = re.compile(r"(?:[&!][^ \t\r\n]*(?:[ \t]+|(?=[\r\n]|\Z)))+")
_LITERAL_MARK = re.compile(r"[|>][-+1-9]{0,2}")
_LITERAL_LINE = re.compile(
    r"^( *)((?:-[ \t]+)*+)(?:[^\n]*?:[ \t]++)?(?:[&!][^ \n]*[ \t]++)*[|>]([-+]?)([1-9]?)[-+]?[ \t]*(?:#[^\n]*)?\r?$",
    re.M,
)
_NO_MAP_STARTS_WITH = "?&!{[*|>-"


class _Lines(NamedTuple):
    """A mapping in block style: what is needed to find a key in it."""

    start: int
    end: int
    indent: int
    sign: str


def map_at(text: str, path: Path) -> BlockMap | FlowMap | None:
    """The mapping that is the value at `path`, or None."""
    found = _descend(text, path)
    if not isinstance(found, _Lines):
        return found
    start, end, indent, sign = found
    last = _last(text, start, end, start, indent)
    return BlockMap(start, last, end, indent, sign if sign in "\"'" else "")


def entry_at(text: str, path: Path) -> BlockEntry | FlowPlace | None:
    """The entry at `path`, or None."""
    found = _descend(text, path[:-1])
    if isinstance(found, _Lines):
        return _entry(text, found, path[-1])
    number = found and flow_reader.index_of(text, found, path[-1])
    return None if found is None or number is None else FlowPlace(found, number)


def _descend(text: str, path: Path) -> _Lines | FlowMap | None:
    """Follow the keys of `path` from the document's own mapping.

    Block mappings may contain flow mappings, never the other way round, so the walk changes from lines to braces at most once.
    """
    found = _root(text)
    for key in path:
        if found is None:
            return None
        if isinstance(found, _Lines):
            found = _below(text, found, key)
        else:
            number = flow_reader.index_of(text, found, key)
            found = None if number is None else flow_reader.below(text, found.entries[number])
    return found


def _root(text: str) -> _Lines | FlowMap | None:
    """The document's own mapping, after directives, comments and the start marker."""
    if "\r" in text and text.count("\r") != text.count("\r\n"):
        return None
    prologue = _PROLOGUE.match(text)
    if prologue is None or prologue.end() == len(text):
        return None
    start, first = prologue.span(1)
    if text[first] == "{":
        return flow_reader.read(text, first)
    if text[first] in _NO_MAP_STARTS_WITH:
        return None
    footer = _FOOTER.search(text, first) if "..." in text else None
    return _Lines(start, footer.start() if footer else len(text), first - start, text[first])


def _below(text: str, above: _Lines, key: str) -> _Lines | FlowMap | None:
    """The mapping that is the value of `key`."""
    match = _key(key, above.indent).search(text, above.start, above.end)
    if match is None:
        return None
    colon = match.end()
    at = _past_properties(text, colon)
    header = _TRAILER.match(text, at)
    if header is None:
        return flow_reader.read(text, _past_blanks(text, at))
    start, end = header.end(), _end(text, above, colon)
    first = _CONTENT.search(text, start, end)
    if first is None or first.end() >= end or text[first.end()] in _NO_MAP_STARTS_WITH:
        return None
    indent = len(first[1])
    return _Lines(start, end, indent, text[first.end()]) if indent > above.indent else None


@lru_cache(maxsize=4096)
def _key(key: str, indent: int) -> re.Pattern[str]:
    """Matches a key with this indentation, with or without quotes."""
    name = re.escape(key)
    return re.compile(rf"""^ {{{indent}}}(?:{name}|"{name}"|'{name}')[ \t]*:(?=[ \t\r\n]|\Z)""", re.M)


@lru_cache(maxsize=256)
def _next(indent: int) -> re.Pattern[str]:
    """The next line that is not indented deeper, apart from comments and items of a list that is the value."""
    return re.compile(rf"^ {{0,{indent}}}(?:[^ \t\r\n#-]|-(?![ \t\r\n]))", re.M)


def _end(text: str, above: _Lines, colon: int) -> int:
    """Where the value after this colon ends: at the next line that is not indented deeper.

    Comments do not end it, whatever their indentation. Neither do the dashes of a list that is the value: YAML allows them in
    the column of the key.
    """
    following = _next(above.indent).search(text, colon, above.end)
    return following.start() if following else above.end


def _entry(text: str, above: _Lines, key: str) -> BlockEntry | None:
    """The entry of a block mapping, if its value has a form that lines show."""
    match = _key(key, above.indent).search(text, above.start, above.end)
    if match is None:
        return None
    line, colon = match.span()
    value, value_end, goes_on = _on_the_line(text, colon)
    trailer = _TRAILER.match(text, value_end)
    if trailer is None:
        return None
    tail = _last(text, trailer.end(), _end(text, above, colon), line)
    if not goes_on and tail != trailer.end():
        return None  # a text that continues on the next lines
    return BlockEntry(line, colon, value, value_end, tail, above.indent)


def _past_properties(text: str, colon: int) -> int:
    """The offset after the anchor and the tag that follow a colon; `colon` if there are none."""
    if _TRAILER.match(text, colon):
        return colon
    properties = _PROPERTIES.match(text, _past_blanks(text, colon))
    return colon + len(text[colon : properties.end()].rstrip(" \t")) if properties else colon


def _past_blanks(text: str, at: int) -> int:
    """The offset after blanks and tabs."""
    while text[at] in " \t":
        at += 1
    return at


def _on_the_line(text: str, colon: int) -> tuple[int, int, bool]:
    """Start and end of the value's part after the colon, and whether it can continue on the next lines. Both are `colon`
    if there is no such part, or it is not known here."""
    at = _past_properties(text, colon)
    value = colon if at == colon else _past_blanks(text, colon)
    if _TRAILER.match(text, at):
        return value, at, True
    at = _past_blanks(text, at)
    value = at if value == colon else value
    if text[at] in "{[":
        end = flow_reader.closing(text, at)
        return (value, end, False) if end > 0 else (colon, colon, False)
    is_literal = text[at] in "|>"
    scalar = (_LITERAL_MARK if is_literal else _INLINE).match(text, at)
    return (value, scalar.end(), is_literal) if scalar else (colon, colon, False)


def _last(text: str, start: int, end: int, literals: int, comments_deeper_than: int | None = None) -> int:
    """The end of the last line that is not blank or a comment. Block scalars are searched from `literals` on.

    A `#` inside a block scalar is text, so lines of such a scalar are never skipped as comments. With `comments_deeper_than`,
    a comment that is indented deeper counts as content: it comments on the entry above it.
    """
    if text.find("|", literals, end) >= 0 or text.find(">", literals, end) >= 0:
        start = max(start, _past_literals(text, literals, end))
    while end > start:
        line = max(text.rfind("\n", start, end - 1) + 1, start)
        content = text[line:end].lstrip(" \t\r\n")
        if content and content[0] != "#":
            return end
        if content and comments_deeper_than is not None and end - line - len(content) > comments_deeper_than:
            return end
        end = line
    return start


def _past_literals(text: str, start: int, end: int) -> int:
    """The offset after the last line of the last block scalar, in which `#` does not begin a comment."""
    past = at = start
    while header := _LITERAL_LINE.search(text, at, end):
        # The scalar of an item is indented relative to the dash, that of a key relative to the key.
        is_item = header[2] and header[0].lstrip(" -\t")[0] in "|>"
        outer = len(header[1]) + (header[2].rstrip().rfind("-") if is_item else len(header[2]))
        inner = outer + int(header[4]) if header[4] else _first_indent(text, header.end() + 1, end)
        at = header.end() + 1
        if inner > outer:
            following = re.compile(rf"^ {{0,{inner - 1}}}[^ \r\n]", re.M).search(text, at, end)
            at = following.start() if following else end
            past = _without_blank_lines(text, header.end() + 1, at)
    return past


def _first_indent(text: str, start: int, end: int) -> int:
    """The indentation of the first line with content or a comment."""
    first = _CONTENT_OR_COMMENT.search(text, start, end)
    return len(first[1]) if first else 0


def _without_blank_lines(text: str, start: int, end: int) -> int:
    """The end of the last line with content."""
    kept = text[start:end].rstrip(" \r\n")
    after = text.find("\n", start + len(kept), end)
    return after + 1 if after >= 0 else end
