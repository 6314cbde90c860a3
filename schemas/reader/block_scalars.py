"""Block scalars without indentation, as only a whole document can be one: the parser takes a `---` below for a line of it.

To YAML, a marker in column 0 is never text. An end marker, which the parser does see, is put in front of such a `---`.
It changes nothing else: where a header of a block scalar stands, a document is open.
"""

from __future__ import annotations

import re

_END = "...\n"
_BREAK = re.compile(r"\r\n|\r|\n")
_HEADER = re.compile(
    r"(?:^|(?<=\r))(?:---[ \t]+|[ \t]*)(?:[&!][^ \t\r\n]*[ \t]+)*[|>][-+0-9]*(?:[ \t]+#[^\r\n]*|[ \t]*)(?=[\r\n])",
    re.M,
)
_MARKER = re.compile(r"(?:^|(?<=\r))(---|\.\.\.)(?=[ \t\r\n]|\Z)", re.M)


def end_documents(text: str) -> str:
    """The text with each such document ended; most have none, and stay as they are."""
    if "\n---" not in text and "\r---" not in text:
        return text
    parts: list[str] = []
    done = 0
    header = _HEADER.search(text)
    while header and (marker := _MARKER.search(text, header.end())):
        if marker[1] == "---":
            parts += (text[done : marker.start()], _END)
            done = marker.start()
        header = _HEADER.search(text, marker.start() if marker[1] == "---" else marker.end())
    return "".join((*parts, text[done:])) if parts else text


def original_line(text: str, new: str, line: int) -> int:
    """Which line of `text` became the given one of `new`, its ended form."""
    if new is text:
        return line
    olds, added = iter(_BREAK.split(text)), 0
    old = next(olds, None)
    for number, found in enumerate(_BREAK.split(new), 1):
        if number >= line:
            break
        if found == old:
            old = next(olds, None)
        else:
            added += 1
    return line - added
