"""Flow mappings ({...}), including JSON: the offsets of their entries. Reads one level at a time, without recursion.

JSON goes first to the decoder in C, which finds the end of each value. Everything else is read by a small tokenizer that
knows quotes, comments, brackets and plain words. It stops at the first character that it does not know, and the caller
then uses a parser.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from schemas.edit.layout import FlowEntry, FlowMap

_SAFE = r"[^ \t\r\n,\[\]{}]"
_WORD_GOES_ON = rf"(?:[^ \t\r\n,\[\]{{}}:\#]|:(?={_SAFE})|(?<![ \t\r\n])\#)"
_SHARED = rf"""
    (?P<blank>   [ \t\r\n]++ )
  | (?P<comment> (?<=[ \t\r\n]) \#[^\r\n]*+ )
  | (?P<mark>    [{{}}\[\],] | :(?!{_SAFE}) )
"""
_TOKEN = re.compile(
    rf"""(?xs) {_SHARED}
  | (?P<quoted>   "(?:[^"\\]|\\.)*+" | '(?:[^']|'')*+' )
  | (?P<property> [&!] {_WORD_GOES_ON}*+ )
  | (?P<word>     (?: [^ \t\r\n,\[\]{{}}:\#"'|>%@`?-] | [:?-](?={_SAFE}) ) {_WORD_GOES_ON}*+ )
    """
)
_AFTER_A_WORD = re.compile(rf"(?x) {_SHARED} | (?P<word> {_WORD_GOES_ON}++ )")

_JSON_KEY = re.compile(r'[ \t\r\n]*("[^"\\\r\n]*+")[ \t\r\n]*(:)[ \t\r\n]*')
_JSON_MARK = re.compile(r"[ \t\r\n]*([,}])")
_decode_json = json.JSONDecoder().raw_decode

_LARGEST = 1 << 20
"""Larger texts are not scanned: a scanner in Python takes seconds for them."""

_PROPERTIES = re.compile(r"(?:[&!][^ \t\r\n,\[\]{}]*[ \t\r\n]+)*")

Token = tuple[str, int, int, int]


def read(text: str, start: int) -> FlowMap | None:
    """The mapping whose opening brace is at `start`; None if it does not end or contains syntax not known here."""
    if not text.startswith("{", start):
        return None
    return _read_json(text, start) or _read_yaml(text, start)


def _read_json(text: str, start: int) -> FlowMap | None:
    """The same for JSON, where the decoder in C finds the ends of values."""
    entries: list[FlowEntry] = []
    at, is_last = start + 1, False
    while not is_last:
        key = _JSON_KEY.match(text, at)
        if key is None:
            return None
        try:
            value_end = _decode_json(text, key.end())[1]
        except (ValueError, RecursionError):
            return None
        mark = _JSON_MARK.match(text, value_end)
        if mark is None:
            return None
        at, is_last = mark.end(), mark[1] == "}"
        entries.append(
            FlowEntry(*key.span(1), key.end(2), key.end(), value_end, -1 if is_last else mark.start(1))
        )
    return FlowMap(start, at, tuple(entries))


def _read_yaml(text: str, start: int) -> FlowMap | None:
    """Any flow mapping, by its tokens.

    Only tokens of depth 1 matter: commas and colons deeper inside belong to values. An entry without a colon, or without a
    value, is kept with -1 in these places. Two commas in a row are not YAML, and give None.
    """
    entries: list[FlowEntry] = []
    key = key_end = colon = value = value_end = -1
    for kind, at, end, depth in _tokens(text, start):
        if depth == 0 or (depth == 1 and kind == ","):
            if key >= 0:
                entries.append(FlowEntry(key, key_end, colon, value, value_end, at if depth else -1))
            elif depth:
                return None
            if depth == 0:
                return FlowMap(start, end, tuple(entries))
            key = key_end = colon = value = value_end = -1
        elif depth == 1 and kind == ":" and colon < 0:
            colon = end
        elif at == start:
            continue
        elif colon < 0:
            key, key_end = (at if key < 0 else key), end
        else:
            value, value_end = (at if value < 0 else value), end
    return None


def below(text: str, entry: FlowEntry) -> FlowMap | None:
    """The mapping that is the entry's value, after its anchor and tag."""
    properties = _PROPERTIES.match(text, max(entry.value, 0))
    return read(text, properties.end()) if properties else None


def closing(text: str, start: int) -> int:
    """The offset after the mark that closes the brace or bracket at `start`, or -1."""
    for _kind, _at, end, depth in _tokens(text, start):
        if depth == 0:
            return end
    return -1


def _tokens(text: str, start: int) -> Iterator[Token]:
    """Kinds: the mark itself, or quoted, property, word. The depth is that after the token. Ends with the last closing
    mark, or early at text that is not a token."""
    at, last, depth = start, "", 0
    while len(text) <= _LARGEST:
        if last in ("quoted", "}", "]") and text.startswith(":", at):
            kind, end = ":", at + 1  # after quotes a colon needs no space
        else:
            match = (_AFTER_A_WORD if last == "word" else _TOKEN).match(text, at)
            if match is None:
                return
            kind, end = str(match.lastgroup), match.end()
            if kind == "mark":
                kind = text[at]
        if kind not in ("blank", "comment"):
            if kind in ("word", "quoted", "property") and last == "quoted":
                return
            depth += (kind in "{[") - (kind in "}]")
            yield kind, at, end, depth
            if depth == 0:
                return
            last = kind
        at = end


def index_of(text: str, flow: FlowMap, key: str) -> int | None:
    """The number of the entry with this key, which may be quoted; None if the mapping has no such entry."""
    spellings = (key, f'"{key}"', f"'{key}'")
    for index, entry in enumerate(flow.entries):
        if text[entry.key : entry.key_end] in spellings:
            return index
    return None
