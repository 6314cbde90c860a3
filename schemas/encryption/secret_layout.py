"""Where in the text of one Secret its values and comments are. Positions only: values come from the reader.

Of interest are the mappings `data` and `stringData`, which are all that gitvirt encrypts, and the key `sops`. The text is block style
with one document; what is written otherwise is refused with the cure, because an edit of it could not be read back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from schemas.encryption.sealed_error import report_unsupported
from schemas.reader.events import Node, compose_document, find_comments

SECTIONS = ("data", "stringData")
_COMMENT = re.compile(r"(?:^|(?<=[ \t]))#([^\n]*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Span:
    """A value or a comment: characters of the text. `path` binds it to its place; a comment has that of its section. A block scalar
    ends after its last line break."""

    start: int
    end: int
    path: tuple[str, ...]
    indent: int = 0
    is_comment: bool = False


@dataclass(frozen=True, slots=True)
class SecretLayout:
    """`metadata` is the span of the whole key `sops`, empty at the end of the text where there is none. `comments` are those that stay
    readable, and `section` is where the first of `data` and `stringData` begins."""

    spans: tuple[Span, ...]
    metadata: tuple[int, int]
    comments: tuple[tuple[int, int], ...] = ()
    section: int = 0


def read_layout(text: str) -> SecretLayout:
    """Raises SealedError for a text that is not one document in block style."""
    root = compose_document(text)
    if root is None:
        raise report_unsupported("it has several documents, or YAML that cannot be edited in place")
    if root.entries is None or root.is_flow or root.column:
        raise report_unsupported("write the Secret as one mapping that is not in brackets")
    spans: list[Span] = []
    metadata, first = (len(text), len(text)), len(text)
    for number, (key, value) in enumerate(root.entries):
        if key.text == "sops":
            after = root.entries[number + 1][0].start if number + 1 < len(root.entries) else len(text)
            metadata = (key.start, after)
        elif key.text in SECTIONS:
            first = min(first, key.start)
            spans += _section(text, key, value, value.entries) if value.entries else ()
    hidden = {span.start for span in spans if span.is_comment}
    comments = tuple(span for span in find_comments(text) if span[0] not in hidden)
    return SecretLayout(tuple(sorted(spans, key=lambda one: one.start)), metadata, comments, first)


def _section(text: str, name: Node, section: Node, entries: tuple[tuple[Node, Node], ...]) -> Iterator[Span]:
    """The values of one section, and its comments: all from the line below its key to the last value, and behind that those that are
    indented like its keys."""
    if section.is_flow:
        raise report_unsupported(f"write {name.text} without brackets, one key a line")
    at = text.index("\n", name.end)
    for key, value in entries:
        if not value.is_scalar or not key.is_scalar:
            raise report_unsupported("the value of a key is text", f"{name.text}.{key.text}")
        yield from _comments(text, at, value.start, name.text)
        at = _end(text, value)
        yield Span(value.start, at, (name.text, key.text), key.column)
    line_end = text.find("\n", at)
    for span in _comments(text, at, section.end, name.text):
        if span.start <= line_end or _column(text, span.start) > section.column:
            yield span


def _comments(text: str, start: int, end: int, section: str) -> Iterator[Span]:
    """Comments between two values. Keys have no `#` after a blank, so a mark that follows one begins a comment."""
    for match in _COMMENT.finditer(text, start, end):
        yield Span(match.start(1), match.end(1), (section,), is_comment=True)


def _end(text: str, value: Node) -> int:
    """Where libyaml says; a block scalar after its last line with content."""
    if value.style not in ("|", ">"):
        return value.end
    return value.start + len(text[value.start : value.end].rstrip()) + 1


def _column(text: str, offset: int) -> int:
    return offset - text.rfind("\n", 0, offset) - 1
