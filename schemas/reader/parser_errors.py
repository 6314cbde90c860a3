"""The parser's errors in words that name the cure. An error that is not in the table keeps the parser's words."""

from __future__ import annotations

from typing import NamedTuple

from schemas.reader.parser import UNUSABLE_KEY, ParserRefusal
from schemas.reader.value import Unreadable


class _Rewording(NamedTuple):
    """Words of the parser, and our message and hint for them."""

    part: str  # of the parser's words
    message: str
    hint: str


_TEMPLATE_HINT = "if this file is a template, name it in .gitvirtignore"

_REWORDINGS = (
    _Rewording("tab", "a tab where YAML wants spaces", "indent with spaces"),
    _Rewording(
        "mapping values are not allowed",
        "a second ': ' on the line, or the line is indented too far",
        "quote a value that contains ': ', and indent keys of one mapping equally",
    ),
    _Rewording("unclosed bracket", "a bracket or brace is opened and never closed", "close it"),
    _Rewording("misplaced bracket", "a bracket or brace is closed that is not open", "remove it, or quote the value"),
    _Rewording("unclosed quote", "a quote is opened and never closed", "close it, and write ' within '...' twice"),
    _Rewording(
        "unknown escape character",
        "a backslash in double quotes starts no escape that YAML knows",
        "write \\\\ for a backslash, or use single quotes",
    ),
    _Rewording("surrogate", "half of a surrogate pair", "write the character itself, or \\U and eight hex digits"),
    _Rewording("unknown anchor", "no anchor precedes this alias", "quote a value that starts with *"),
    _Rewording("expected '-' indicator", "this line is not an entry of the list around it", "start it with '- ', or indent it less"),
    _Rewording("did not find expected key", "this line does not belong to the mapping above it", "indent it as the lines it belongs to"),
    _Rewording("expected <document start>", "something follows the end of the document", "indent it as the lines it belongs to, or put --- before it"),
    _Rewording("invalid trailing content", "something follows the closing quote", "quote the whole value"),
    _Rewording("invalid indentation in multiline quoted", "a quote is not closed, or the quoted value goes on in a line that is not indented", "close the quote, or indent the line"),
    _Rewording("block scalar", "text follows | or > on the same line", "begin the text on the next line"),
    _Rewording("':' must be followed", "a colon with a tab behind it", "put a space after the colon"),
)  # fmt: skip


def explain_refusal(refusal: ParserRefusal) -> Unreadable:
    """The finding for a refusal. Refusals that have their own code come first."""
    words, line, column = refusal.words, refusal.line, refusal.column
    if "recursion limit" in words:
        return Unreadable("GV103", "nested too deep", "nest less", line, column)
    if words.startswith("duplicate mapping key"):
        key = words.partition(": ")[2]
        return Unreadable(
            "GV102", f"the key {key} is twice in one mapping", "remove one of them", line, column
        )
    if words == UNUSABLE_KEY:
        message = "a key is a mapping that contains a collection"
        return Unreadable("GV101", message, f"quote text with braces; {_TEMPLATE_HINT}")
    if words.startswith("alias "):
        return Unreadable("GV104", "aliases expand to too many values", "write the values out", line, column)
    if words.startswith("Invalid value"):
        message = words.removeprefix("Invalid value ").removesuffix(" tag")
        message = message.replace(" for ", " does not fit the tag ")
        return Unreadable("GV111", message, "remove the tag, or correct the value", line, column)
    if words.startswith("Invalid tag"):
        return Unreadable(
            "GV111", f"YAML has no tag {words.partition(': ')[2]}", "remove the tag", line, column
        )
    if words.startswith("unexpected character"):
        return _explain_character(words, line, column)
    for rewording in _REWORDINGS:
        if rewording.part in words:
            return Unreadable("GV101", rewording.message, rewording.hint, line, column)
    return Unreadable("GV101", words, _TEMPLATE_HINT, line, column)


def _explain_character(words: str, line: int, column: int) -> Unreadable:
    """A character that cannot start a value. `%` is typical for templates."""
    character = words.removeprefix("unexpected character: ")[1:-1]
    hint = _TEMPLATE_HINT if character == "%" else "quote the value"
    return Unreadable("GV101", f"no value can start with {character}", hint, line, column)
