"""The log of a console as text that is safe on a terminal. Pure, apart from what a part leaves for the next.

    the guest wrote              the terminal gets
    text in UTF-8                the text
    a line break                 a line break, also for CR LF and for CR alone
    colors, cursor, titles       nothing: sequences of ANSI terminals are left out
    any other control byte       an escape that people can read: \\x07
    bytes outside of UTF-8        the replacement character

Whoever controls a guest controls its console. Must never happen: a byte of a log moves the cursor, sets a title, or answers for the reader's keyboard.
"""

from __future__ import annotations

import codecs
import re

ESCAPE = "\x1b"
LONGEST_SEQUENCE = (
    4096  # of one that does not end; then its first character is shown, and what follows is text
)
_SEQUENCE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]+[0-~]|[0-OQ-WYZ\\`-~])"
)
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)?")


class LogText:
    """Takes parts in order. A sequence or a character that one part begins may end in the next."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._kept = ""

    def add(self, data: bytes, *, is_last: bool = False) -> str:
        """The text of this part, as far as it is certain."""
        text = self._kept + self._decoder.decode(data, is_last)
        text, self._kept = (text, "") if is_last else split_unfinished(text)
        text = _SEQUENCE.sub("", text)
        lines = text.replace("\r\n", "\n").replace("\r", "\n")
        return "".join(each if each.isprintable() or each in "\n\t" else escape(each) for each in lines)


def split_unfinished(text: str) -> tuple[str, str]:
    """The text, and what may be the begin of a sequence or of a line break at its end."""
    if text.endswith("\r"):
        return text[:-1], "\r"
    at = text.find(ESCAPE, max(0, len(text) - LONGEST_SEQUENCE))
    while at >= 0:
        if _UNFINISHED.fullmatch(text, at) and not _SEQUENCE.match(text, at):
            return text[:at], text[at:]
        found = _SEQUENCE.match(text, at)
        at = text.find(ESCAPE, found.end() if found else at + 1)
    return text, ""


def escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
