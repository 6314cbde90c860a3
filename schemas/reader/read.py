"""Text into documents: the one function through which all YAML and JSON comes in.

Plain values or one reason why not; never an exception, a crash, a hang, or memory out of proportion. YAML 1.2 by its
core schema. Most texts go straight through the parser; a few scans, cheap against parsing, find those that hold
anything on which parsers differ or break, and they go the careful way.

Knows nothing of manifests: `schemas.manifest` says what a document is.
"""

from __future__ import annotations

import dataclasses
import re

from schemas.reader import aliases, depth, error_positions, numerals, parser, parser_errors, strict_json
from schemas.reader.events import Position
from schemas.reader.normalization import Flaw, normalize
from schemas.reader.value import BYTE_ORDER_MARK, MAX_DEPTH, MAX_DIGITS, Unreadable, Value, position_at

# Bytes that mean the same to every parser. Left out: control characters, and the first bytes of those beyond ASCII;
# `_` (numbers), `<` (merges), `*` and `&` (aliases), `!` (tags), `[` and `{` (depth without indentation), `%` (directives).
_PLAIN = bytes({*range(32, 127), *b"\n\r\t", *range(128, 256)} - {*b"_<*!%[{", 0xC2, 0xEF})

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff]")
_CONFLICT = re.compile(r"^<{7} .*$(?=[\s\S]*^>{7} )", re.MULTILINE)
_FOREIGN_VERSION = re.compile(r"^%YAML[ \t](?![ \t]*1\.)", re.MULTILINE)


def read(text: str) -> tuple[Value, ...] | Unreadable:
    """One value for each YAML document of the text, or why it has none. A byte order mark in front is no part of it."""
    found = _read(text.removeprefix(BYTE_ORDER_MARK))
    return found.shown() if isinstance(found, Unreadable) else found


def _read(text: str) -> tuple[Value, ...] | Unreadable:
    try:
        octets = text.encode()
    except UnicodeEncodeError as error:
        return _forbidden(text, error.start)
    odd = octets.translate(None, _PLAIN)
    if odd and len(odd) <= MAX_DEPTH // 2:
        odd = odd.strip(b"[{")  # so few brackets cannot nest too deep
    if odd or depth.may_be_too_deep(text) or numerals.may_need_mask(text, octets):
        return _read_carefully(text, odd)
    values = parser.parse(text)
    return _refused(text, values) if isinstance(values, parser.ParserRefusal) else tuple(values)


def _read_carefully(text: str, odd: bytes) -> tuple[Value, ...] | Unreadable:
    is_steep = depth.may_be_too_deep(text)
    has_aliases = b"*" in odd and aliases.has_aliases(text)
    fault = _unfit(text, odd, is_steep)
    if fault is not None:
        return fault
    verdict = aliases.check_aliases(text) if has_aliases else None
    if isinstance(verdict, Unreadable):
        return verdict
    has_doubtful_numbers = b"_" in odd and numerals.has_underscores(text)
    veil = (
        numerals.mask_numbers(text)
        if has_doubtful_numbers or numerals.may_need_mask(text, text.encode())
        else None
    )
    values = parser.parse(text if veil is None else veil.text)
    if isinstance(values, parser.ParserRefusal):
        if veil is not None:
            values = dataclasses.replace(values, words=veil.lift(values.words))
        return _refused(text, values)
    if verdict is not None:
        return verdict.finding
    is_flowing = odd.count(b"[") + odd.count(b"{") > MAX_DEPTH // 2
    if veil or is_steep or is_flowing or has_aliases or b"!" in odd or "<<" in text:
        return _settled(text, values, veil)
    return tuple(values)


def _unfit(text: str, odd: bytes, is_steep: bool) -> Unreadable | None:
    """What keeps a text from being given to the parser."""
    if odd.translate(None, b"_<*!%[{"):
        match = _FORBIDDEN.search(text)
        if match is not None:
            return _forbidden(text, match.start())
    if b"%" in odd:
        match = _FOREIGN_VERSION.search(text)
        if match is not None:
            line, column = position_at(text, match.start())
            return Unreadable("GV101", "this is not YAML 1.2", "remove the %YAML line", line, column)
    if numerals.has_too_many_wide_numbers(text):
        return Unreadable("GV110", "thousands of numbers with more digits than 64 bits hold", "quote them")
    return depth.why_too_deep(text) if is_steep else None


def _settled(
    text: str, values: list[Value], veil: numerals.MaskedText | None
) -> tuple[Value, ...] | Unreadable:
    flaw = normalize(values, veil)
    return tuple(values) if flaw is None else _flawed(text, flaw)


def _flawed(text: str, flaw: Flaw) -> Unreadable:
    match flaw:
        case Flaw.TOO_DEEP:
            found = Unreadable("GV103", f"nested deeper than {MAX_DEPTH} levels", "nest less")
            return _placed(found, error_positions.find_too_deep(text))
        case Flaw.NOT_MERGEABLE:
            found = Unreadable("GV109", "<< merges mappings, and its value is none", "refer to a mapping")
            return _placed(found, error_positions.find_merge(text))
        case Flaw.LONG_NUMBER:
            found = Unreadable(
                "GV110", f"a number of more than {MAX_DIGITS} digits", "quote it if it is text"
            )
            return _placed(found, position_at(text, numerals.find_long_number(text)))


def _refused(text: str, refusal: parser.ParserRefusal) -> tuple[Value, ...] | Unreadable:
    value = strict_json.parse(text)
    if value is not None and not numerals.find_long_number(text):
        return _settled(text, [value], None)
    conflict = _CONFLICT.search(text)
    if conflict is not None:
        found = Unreadable("GV101", "a merge conflict was left in the file", "resolve it and commit anew")
        return _placed(found, position_at(text, conflict.start()))
    found = parser_errors.explain_refusal(refusal)
    if found.line:
        last, width = position_at(text, len(text))
        return found if found.line <= last else _placed(found, (last, width))
    if found.code == "GV102":
        return _placed(found, error_positions.find_duplicate_key(text, refusal.words.partition(": ")[2]))
    if found.code == "GV111":
        return _placed(found, error_positions.find_tag(text, found.message))
    return found


def _forbidden(text: str, offset: int) -> Unreadable:
    character = text[offset]
    line, column = position_at(text, offset)
    if character == BYTE_ORDER_MARK:
        message, hint = (
            "a byte order mark within the text",
            "remove it; files that were joined each brought one",
        )
    else:
        message, hint = (
            f"the character U+{ord(character):04X} is not allowed in YAML",
            "remove it, or escape it in double quotes",
        )
    return Unreadable("GV105", message, hint, line, column)


def _placed(found: Unreadable, where: Position | None) -> Unreadable:
    return found if where is None else dataclasses.replace(found, line=where[0], column=where[1])
