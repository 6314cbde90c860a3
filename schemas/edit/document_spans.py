"""The documents of a file: start and end of each, by its markers alone. Must find as many documents as the reader.

A marker in column 0 always ends a document, in every YAML construct, so no parsing is needed. Documents are counted as the
reader counts them, because the index in a decision is the reader's: one document more or less here, and an edit would be
made in a neighbor. Nothing but the read-back would notice, and only if the neighbor has another body.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from schemas.edit.style import line_end

_MARKER = re.compile(r"(?:^|(?<=[\r\ufeff]))(---|\.\.\.)(?=[ \t\r\n]|\Z)", re.M)
_CONTENT = re.compile(r"(?:^|(?<=[\r\ufeff]))(?!%)[ \t]*+(?![#\r\n]|\Z)", re.M)


class DocumentSpan(NamedTuple):
    """Offsets of one document in the text of its file; `end` is after its last character."""

    start: int
    end: int


def document_spans(text: str) -> list[DocumentSpan]:
    """The spans of all documents. Comments after an end marker belong to none of them."""
    begin = 1 if text.startswith("\ufeff") else 0  # a byte order mark belongs to no document
    if "---" not in text and "..." not in text:
        return [DocumentSpan(begin, len(text))] if _CONTENT.search(text, begin) else []
    found: list[DocumentSpan] = []
    start, is_open = begin, False
    for marker in _MARKER.finditer(text, begin):
        at = marker.start()
        has_content = is_open or _has_content(text, start, at)
        if marker[1] == "---":
            if has_content:
                found.append(DocumentSpan(start, at))
                start = at
            is_open = True
            continue
        end = line_end(text, at)
        if has_content:
            found.append(DocumentSpan(start, end))
        start, is_open = end, False
    if is_open or _has_content(text, start, len(text)):
        found.append(DocumentSpan(start, len(text)))
    return found


def _has_content(text: str, start: int, end: int) -> bool:
    """Whether there is more than blanks, comments and directives."""
    content = _CONTENT.search(text, start, end)
    return content is not None and content.end() < end
