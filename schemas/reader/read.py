"""Text into documents: the one function through which all YAML and JSON comes in.

Theory of operation. There are two readers, and an arbiter that checks them.

The fast reader gives the text to the Rust parser at once. It is right only for texts that mean the same to every parser,
so a scan over the bytes (`_PLAIN`) lets through only harmless characters. All other texts go to the careful reader, which
runs the same parser, but examines the text before and the values after:

    text contains                      checked before parsing         corrected after parsing
    forbidden characters, %YAML 2      refused                        -
    deep indentation                   depth.why_too_deep             depth measured exactly
    aliases (* and &)                  aliases.check_aliases          merges resolved
    numbers on which parsers differ    masked as text (numerals)      unmasked
    << merges, !! tags, many brackets  -                              merges resolved, sets as mappings, depth measured

If the parser refuses a text, `strict_json` is tried for JSON that YAML does not allow, and otherwise the refusal is
translated and located. libyaml's events serve aliases and positions alone; values come from the one parser. The arbiter is
the test suite: ruamel.yaml and the official YAML 1.2 tests decide what a text means, and both readers must agree with them
(tests/schemas/reader).

Must never happen: an exception, a crash of the process (the parser recurses on the C stack), time or memory out of
proportion to the text, or a value that YAML 1.2's core schema does not give. A text that cannot be read safely is
refused with a reason; it is never read in part.

Knows nothing of manifests: `schemas.manifest` says what a document is.
"""

from __future__ import annotations

import dataclasses
import re

from schemas.reader import aliases, depth, error_positions, numerals, parser, parser_errors, strict_json
from schemas.reader.events import Position
from schemas.reader.normalization import Flaw, normalize
from schemas.reader.value import BYTE_ORDER_MARK, MAX_DEPTH, MAX_DIGITS, Unreadable, Value, position_at

# Bytes that mean the same to every parser. Left out: control characters, in ASCII and in UTF-8 (0xC2, 0xEF);
# `_` (numbers), `<` (merges), `*` and `&` (aliases), `!` (tags), `[` and `{` (depth without indentation), `%` (directives).
_PLAIN = bytes({*range(32, 127), *b"\n\r\t", *range(128, 256)} - {*b"_<*!%[{", 0xC2, 0xEF})

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff]")
_CONFLICT = re.compile(r"^<{7} .*$(?=[\s\S]*^>{7} )", re.MULTILINE)
_FOREIGN_VERSION = re.compile(r"^%YAML[ \t](?![ \t]*1\.)", re.MULTILINE)


def read(text: str) -> tuple[Value, ...] | Unreadable:
    """One value for each YAML document of the text, or why it cannot be read. Ignores a leading byte order mark."""
    found = _read(text.removeprefix(BYTE_ORDER_MARK))
    return found.printable() if isinstance(found, Unreadable) else found


def _read(text: str) -> tuple[Value, ...] | Unreadable:
    """The fast reader, or the careful one if the text needs it."""
    try:
        octets = text.encode()
    except UnicodeEncodeError as error:
        return _forbidden_character(text, error.start)
    rest = octets.translate(None, _PLAIN)
    if rest and len(rest) <= MAX_DEPTH // 2:
        rest = rest.strip(b"[{")  # so few brackets cannot exceed the depth limit
    if rest or depth.may_be_too_deep(text) or numerals.may_need_mask(text, octets):
        return _read_carefully(text, rest)
    values = parser.parse(text)
    return _explain_refusal(text, values) if isinstance(values, parser.ParserRefusal) else tuple(values)


def _read_carefully(text: str, rest: bytes) -> tuple[Value, ...] | Unreadable:
    """The careful reader; the table above says which check comes when."""
    is_steep = depth.may_be_too_deep(text)
    has_aliases = b"*" in rest and aliases.has_aliases(text)
    fault = _why_unsafe(text, rest, is_steep)
    if fault is not None:
        return fault
    verdict = aliases.check_aliases(text) if has_aliases else None
    if isinstance(verdict, Unreadable):
        return verdict
    has_ambiguous_numbers = b"_" in rest and numerals.has_underscores(text)
    needs_mask = has_ambiguous_numbers or numerals.may_need_mask(text, text.encode())
    masked = numerals.mask_numbers(text) if needs_mask else None
    if needs_mask and masked is None:
        return Unreadable(
            "GV105", "every private range of characters is in use", "remove characters above U+F0000"
        )
    values = parser.parse(text if masked is None else masked.text)
    if isinstance(values, parser.ParserRefusal):
        if masked is not None:
            values = dataclasses.replace(values, words=masked.unmask(values.words))
        return _explain_refusal(text, values)
    if verdict is not None:
        return verdict.finding
    is_flowing = rest.count(b"[") + rest.count(b"{") > MAX_DEPTH // 2
    if masked or is_steep or is_flowing or has_aliases or b"!" in rest or "<<" in text:
        return _normalize(text, values, masked)
    return tuple(values)


def _why_unsafe(text: str, rest: bytes, is_steep: bool) -> Unreadable | None:
    """Why the text must not reach the parser, or None."""
    if rest.translate(None, b"_<*!%[{"):
        match = _FORBIDDEN.search(text)
        if match is not None:
            return _forbidden_character(text, match.start())
    if b"%" in rest:
        match = _FOREIGN_VERSION.search(text)
        if match is not None:
            line, column = position_at(text, match.start())
            return Unreadable("GV101", "this is not YAML 1.2", "remove the %YAML line", line, column)
    if numerals.has_too_many_wide_numbers(text):
        return Unreadable("GV110", "thousands of numbers that exceed 64 bits", "quote them")
    return depth.why_too_deep(text) if is_steep else None


def _normalize(
    text: str, values: list[Value], masked: numerals.MaskedText | None
) -> tuple[Value, ...] | Unreadable:
    flaw = normalize(values, masked)
    return tuple(values) if flaw is None else _explain_flaw(text, flaw)


def _explain_flaw(text: str, flaw: Flaw) -> Unreadable:
    """The finding for values that are refused after parsing."""
    match flaw:
        case Flaw.TOO_DEEP:
            found = Unreadable("GV103", f"nested deeper than {MAX_DEPTH} levels", "nest less")
            return _at(found, error_positions.find_too_deep(text))
        case Flaw.NOT_MERGEABLE:
            found = Unreadable("GV109", "the value of << is not a mapping", "use the anchor of a mapping")
            return _at(found, error_positions.find_merge(text))
        case Flaw.LONG_NUMBER:
            found = Unreadable(
                "GV110", f"a number of more than {MAX_DIGITS} digits", "quote it if it is text"
            )
            return _at(found, position_at(text, numerals.find_long_number(text)))


def _explain_refusal(text: str, refusal: parser.ParserRefusal) -> tuple[Value, ...] | Unreadable:
    """The finding for a text that the parser refused, or its value if it is JSON."""
    value = strict_json.parse(text)
    if value is not None and not numerals.find_long_number(text):
        return _normalize(text, [value], None)
    conflict = _CONFLICT.search(text)
    if conflict is not None:
        found = Unreadable("GV101", "the file contains a merge conflict", "resolve it and commit again")
        return _at(found, position_at(text, conflict.start()))
    found = parser_errors.explain_refusal(refusal)
    if found.line:
        last, width = position_at(text, len(text))
        return found if found.line <= last else _at(found, (last, width))
    if found.code == "GV102":
        return _at(found, error_positions.find_duplicate_key(text, refusal.words.partition(": ")[2]))
    if found.code == "GV111":
        return _at(found, error_positions.find_tag(text, found.message))
    return found


def _forbidden_character(text: str, offset: int) -> Unreadable:
    """GV105, with the position of the character."""
    character = text[offset]
    line, column = position_at(text, offset)
    if character == BYTE_ORDER_MARK:
        message = "a byte order mark inside the text"
        hint = "remove it; joining files leaves one at the start of each"
    else:
        message = f"the character U+{ord(character):04X} is not allowed in YAML"
        hint = "remove it, or escape it in double quotes"
    return Unreadable("GV105", message, hint, line, column)


def _at(found: Unreadable, where: Position | None) -> Unreadable:
    return found if where is None else dataclasses.replace(found, line=where[0], column=where[1])
