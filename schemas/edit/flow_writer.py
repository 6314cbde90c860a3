"""Changes to maps between braces, in the hand they are written in: compact or spread over lines, JSON or not."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from schemas.edit import scalars
from schemas.edit.fields import Value
from schemas.edit.layout import FlowEntry, FlowMap, FlowPlace
from schemas.edit.scalars import UnwritableError
from schemas.edit.style import line_ending

_DEEPEST = 64
_BLANK = " \t"
_BREAKS = "\r\n"
_COMMENT = re.compile(r"[ \t]+#[^\r\n]*")
_TEXT = r""" "(?:[^"\\]|\\.)*+" | (?<=[\s\[{,:])'(?:[^']|'')*+' """
_ONE_LINE_MAP = re.compile(
    rf"""(?xs) (?<=\s)\#[^\r\n]*+ | {_TEXT} | (?P<map> [:\[,][ \t]*+ \{{ (?!\s*\}}) (?: {_TEXT} | [^{{}}\[\]\r\n\#"] )++ \}} )"""
)
"""Texts and comments are passed over: what is in them is no style."""


class FlowStyle(NamedTuple):
    quote: str = ""
    """Around keys. Double: JSON, where texts are quoted too."""
    colon: str = ": "
    gap: str = " "
    """After a comma that ends no line."""
    edge: str = ""
    """Inside braces on one line."""
    eol: str = "\n"
    step: str = "  "
    is_spread: bool = False
    """One entry a line."""
    is_nested_on_one_line: bool = False


def flow_style(text: str, flow: FlowMap, outermost: FlowMap) -> FlowStyle:
    """How the map is written; what an empty one does not show, the outermost one around it does."""
    shown = flow if flow.entries else outermost
    if not shown.entries:
        is_spread = any(sign in text[shown.start : shown.end] for sign in _BREAKS)
        return FlowStyle(eol=line_ending(text), is_spread=is_spread)
    first = shown.entries[0]
    quote = text[first.key] if text[first.key] in "\"'" else ""
    colon = text[first.key_end : first.value] if first.value >= 0 else ": "
    if colon.strip(_BLANK) != ":" or (colon == ":" and quote != '"'):
        colon = ": "
    gap = " " if colon[-1] in _BLANK else ""
    if len(shown.entries) > 1 and not text[first.comma + 1 : shown.entries[1].key].strip(_BLANK):
        gap = text[first.comma + 1 : shown.entries[1].key]
    edge = text[shown.start + 1 : first.key]
    is_spread = any(sign in edge for sign in _BREAKS)
    return FlowStyle(
        quote,
        colon,
        gap,
        "" if edge.strip(_BLANK) else edge,
        line_ending(text),
        _step(text, shown),
        is_spread,
        is_spread and _has_one_line_map(text, outermost),
    )


def _has_one_line_map(text: str, shown: FlowMap) -> bool:
    found = _ONE_LINE_MAP.finditer(text, shown.start + 1, shown.end)
    return any(match["map"] for match in found)


def _step(text: str, flow: FlowMap) -> str:
    outer, inner = _indent(text, flow.start), _indent(text, flow.entries[0].key)
    return inner[len(outer) :] if inner.startswith(outer) and inner != outer else "  "


def _indent(text: str, at: int) -> str:
    start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    end = start
    while text[end] in _BLANK:
        end += 1
    return text[start:end]


def write(value: Value, hand: FlowStyle, pad: str | None = None, depth: int = 0) -> str:
    """The value as text; `pad`: what the line it starts on is indented by, None: all on one line."""
    if depth > _DEEPEST:
        raise UnwritableError(f"a value of more than {_DEEPEST} levels")
    if isinstance(value, str):
        return scalars.quoted(value) if hand.quote == '"' else scalars.flow(value)
    if isinstance(value, dict | list):
        inner = (
            None if pad is None or (hand.is_nested_on_one_line and _is_shallow(value)) else pad + hand.step
        )
        if isinstance(value, dict):
            parts = [_pair(key, item, hand, inner, depth + 1) for key, item in value.items()]
            return _enclosed("{}", parts, hand, pad, inner)
        return _enclosed("[]", [write(item, hand, inner, depth + 1) for item in value], hand, pad, inner)
    if value is not None and not isinstance(value, int | float):
        raise UnwritableError(f"a {type(value).__name__}")
    if isinstance(value, float) and hand.quote == '"' and not math.isfinite(value):
        raise UnwritableError("a number that JSON does not have")
    return scalars.atom(value)


def _pair(key: str, value: Value, hand: FlowStyle, pad: str | None, depth: int = 0) -> str:
    return f"{scalars.key(key, hand.quote)}{hand.colon}{write(value, hand, pad, depth)}"


def _enclosed(marks: str, parts: list[str], hand: FlowStyle, pad: str | None, inner: str | None) -> str:
    if not parts:
        return marks
    if inner is None:
        return f"{marks[0]}{hand.edge}{(',' + hand.gap).join(parts)}{hand.edge}{marks[1]}"
    line = hand.eol + inner
    return f"{marks[0]}{line}{(',' + line).join(parts)}{hand.eol}{pad}{marks[1]}"


def _is_shallow(value: dict[str, Value] | list[Value]) -> bool:
    inner = value.values() if isinstance(value, dict) else value
    return not any(isinstance(item, dict | list) and item for item in inner)


def put(text: str, place: FlowPlace, value: Value, hand: FlowStyle) -> str:
    entry = place.flow.entries[place.number]
    new = write(value, hand, _indent(text, entry.key) if hand.is_spread else None)
    if entry.value >= 0:
        return text[: entry.value] + new + text[entry.value_end :]
    if entry.colon >= 0:
        return f"{text[: entry.colon]} {new}{text[entry.colon :].lstrip(_BLANK)}"
    return f"{text[: entry.key_end]}{hand.colon}{new}{text[entry.key_end :]}"


def add(text: str, flow: FlowMap, key: str, value: Value, hand: FlowStyle) -> str:
    if not flow.entries:
        return _first(text, flow, key, value, hand)
    last = flow.entries[-1]
    end = _end(last)
    if not hand.is_spread:
        at = max(end, last.comma + 1)
        comma, last_comma = ("", ",") if last.comma >= 0 else (",", "")
        return f"{text[:at]}{comma}{hand.gap}{_pair(key, value, hand, None)}{last_comma}{text[at:]}"
    pad = _indent(text, flow.entries[0].key)
    line = f"{hand.eol}{pad}{_pair(key, value, hand, pad)}"
    if last.comma >= 0:
        at = _past_comment(text, last.comma + 1)
        return f"{text[:at]}{line},{text[at:]}"
    at = _past_comment(text, end)
    return f"{text[:end]},{text[end:at]}{line}{text[at:]}"


def _first(text: str, flow: FlowMap, key: str, value: Value, hand: FlowStyle) -> str:
    inside = text[flow.start + 1 : flow.end - 1]
    rest = inside if inside.strip(" \t\r\n") else ""
    if not hand.is_spread:
        return f"{text[: flow.start + 1]}{hand.edge}{_pair(key, value, hand, None)}{rest or hand.edge}{text[flow.end - 1 :]}"
    outer = _indent(text, flow.start)
    pad = outer + hand.step
    pair = _pair(key, value, hand, pad)
    return f"{text[: flow.start + 1]}{hand.eol}{pad}{pair}{rest or hand.eol + outer}{text[flow.end - 1 :]}"


def drop(text: str, place: FlowPlace) -> str | None:
    entries, index = place.flow.entries, place.number
    entry = entries[index]
    if len(entries) == 1:
        return None
    start, end = entry.key, max(_end(entry), entry.comma + 1)
    line = start - len(_indent(text, start))
    after = _past_comment(text, end)
    if line > 0 and text[line - 1] in _BREAKS and (after == len(text) or text[after] in _BREAKS):
        # It has its lines to itself: they go, and the break before them.
        start, end = line - (2 if text.startswith("\r\n", line - 2) else 1), after
    elif index + 1 < len(entries) and not text[end : entries[index + 1].key].strip(_BLANK):
        end = entries[index + 1].key
    elif index + 1 == len(entries) and not text[entries[index - 1].comma + 1 : start].strip(" \t\r\n"):
        start = entries[index - 1].comma + 1
    text = text[:start] + text[end:]
    before = entries[index - 1]
    if index + 1 < len(entries) or entry.comma >= 0:
        return text
    return text[: before.comma] + text[before.comma + 1 :]


def clear(text: str, place: FlowPlace) -> str | None:
    """Without the only entry."""
    start, end, entries = place.flow
    if len(entries) != 1:
        return None
    entry = entries[0]
    before, after = text[start + 1 : entry.key], text[max(_end(entry), entry.comma + 1) : end - 1]
    if not (before + after).strip(" \t\r\n"):
        before = after = ""
    return text[: start + 1] + before + after + text[end - 1 :]


def _end(entry: FlowEntry) -> int:
    return max(entry.key_end, entry.colon, entry.value_end)


def _past_comment(text: str, at: int) -> int:
    """After the comment on the rest of the line, where there is one; after blanks that end the line; else `at`."""
    comment = _COMMENT.match(text, at)
    if comment:
        return comment.end()
    end = at
    while end < len(text) and text[end] in _BLANK:
        end += 1
    return end if end == len(text) or text[end] in _BREAKS else at
