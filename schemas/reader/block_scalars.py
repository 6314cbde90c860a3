"""Block scalars without indentation, which only a whole document can be: the parser reads a following `---` as their text.

In YAML a marker in column 0 is never text. So `end_documents` inserts an end marker (`...`), which the parser recognizes,
before such a `---`. That changes nothing else, because a document is open wherever the header of a block scalar is.
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
    """The text with an end marker after each such document. Most texts have none and are returned unchanged."""
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
    """The line of `text` that the given line of `new`, which has more end markers, corresponds to."""
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
