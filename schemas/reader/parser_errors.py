"""What the parser says, in words that name the cure. What is not in the table passes as it is."""

from __future__ import annotations

from typing import NamedTuple

from schemas.reader.parser import UNUSABLE_KEY, ParserRefusal
from schemas.reader.value import Unreadable


class _Saying(NamedTuple):
    found: str  # part of the parser's words
    message: str
    hint: str


_TEMPLATE_HINT = "if this file is a template, name it in .gitvirtignore"

_SAYINGS = (
    _Saying("tab", "a tab where YAML wants spaces", "indent with spaces"),
    _Saying(
        "mapping values are not allowed",
        "a second ': ' on the line, or the line is indented too far",
        "quote a value that contains ': ', and indent keys of one mapping equally",
    ),
    _Saying("unclosed bracket", "a bracket or brace is opened and never closed", "close it"),
    _Saying("misplaced bracket", "a bracket or brace is closed that is not open", "remove it, or quote the value"),
    _Saying("unclosed quote", "a quote is opened and never closed", "close it, and write ' within '...' twice"),
    _Saying(
        "unknown escape character",
        "a backslash in double quotes starts no escape that YAML knows",
        "write \\\\ for a backslash, or use single quotes",
    ),
    _Saying("surrogate", "half of a surrogate pair", "write the character itself, or \\U and eight hex digits"),
    _Saying("unknown anchor", "an alias whose anchor does not stand above it", "in YAML a value that starts with * is quoted"),
    _Saying("expected '-' indicator", "this line is no entry of the list it stands in", "start it with '- ', or indent it less"),
    _Saying("did not find expected key", "this line does not belong to the mapping above it", "indent it as the lines it belongs to"),
    _Saying("expected <document start>", "something follows the end of the document", "indent it as the lines it belongs to, or put --- before it"),
    _Saying("invalid trailing content", "something follows the closing quote", "quote the whole value"),
    _Saying("invalid indentation in multiline quoted", "a quoted value goes on in a line that is not indented", "indent it"),
    _Saying("block scalar", "a block of text (| or >) starts with something else than a line break", "begin the text on the next line"),
    _Saying("':' must be followed", "a colon with a tab behind it", "put a space after the colon"),
)  # fmt: skip


def explain_refusal(refusal: ParserRefusal) -> Unreadable:
    """The finding for a refusal; those with a code of their own first."""
    words, line, column = refusal.words, refusal.line, refusal.column
    if "recursion limit" in words:
        return Unreadable("GV103", "nested deeper than any manifest", "nest less", line, column)
    if words.startswith("duplicate mapping key"):
        key = words.partition(": ")[2]
        return Unreadable(
            "GV102", f"the key {key} stands twice in one mapping", "remove one of them", line, column
        )
    if words == UNUSABLE_KEY:
        message = "a mapping with a collection in it is used as a key"
        return Unreadable("GV101", message, f"quote text with braces; {_TEMPLATE_HINT}")
    if words.startswith("alias "):
        return Unreadable("GV104", "aliases expand too far", "write the values out", line, column)
    if words.startswith("Invalid value"):
        said = (
            words.removeprefix("Invalid value ")
            .replace(" for ", " does not go with the tag ")
            .removesuffix(" tag")
        )
        return Unreadable("GV111", said, "remove the tag, or correct the value", line, column)
    if words.startswith("Invalid tag"):
        return Unreadable(
            "GV111", f"YAML has no tag {words.partition(': ')[2]}", "remove the tag", line, column
        )
    if words.startswith("unexpected character"):
        return _unexpected(words, line, column)
    for saying in _SAYINGS:
        if saying.found in words:
            return Unreadable("GV101", saying.message, saying.hint, line, column)
    return Unreadable("GV101", words, _TEMPLATE_HINT, line, column)


def _unexpected(words: str, line: int, column: int) -> Unreadable:
    character = words.removeprefix("unexpected character: ")[1:-1]
    hint = _TEMPLATE_HINT if character == "%" else "quote the value"
    return Unreadable("GV101", f"no value can start with {character}", hint, line, column)
