"""Changes to flow mappings ({...}) in the style of the existing text: compact or spread over lines, JSON or YAML.

JSON needs care that YAML does not: keys and texts take double quotes, a trailing comma is not allowed, and there is
neither infinity nor a comment. Whether a mapping is JSON is decided by its first key alone: in double quotes or not.
Nothing here knows whether the whole document is JSON, because YAML may contain such a mapping anywhere.
"""

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
"""Skips texts and comments, whose content says nothing about the style."""


class FlowStyle(NamedTuple):
    """How a flow mapping is written. The defaults are gitvirt's own style."""

    quote: str = ""
    """Around keys. Double quotes mean JSON, where all texts are quoted."""
    colon: str = ": "
    gap: str = " "
    """After a comma inside a line."""
    edge: str = ""
    """Inside the braces of a mapping on one line."""
    eol: str = "\n"
    step: str = "  "
    is_spread: bool = False
    """Each entry is on its own line."""
    is_nested_on_one_line: bool = False


def detect_flow_style(text: str, flow: FlowMap, outermost: FlowMap) -> FlowStyle:
    """How a person wrote the mapping: its quotes, gaps, breaks and indentation, so that an inserted field looks the same. Changes
    no text. For an empty mapping, the style of the outermost mapping around it, which may be the same one.

    Both were located in exactly this text, because they hold offsets into it.
    """
    example = flow if flow.entries else outermost
    if not example.entries:
        is_spread = any(sign in text[example.start : example.end] for sign in _BREAKS)
        return FlowStyle(eol=line_ending(text), is_spread=is_spread)
    first = example.entries[0]
    quote = text[first.key] if text[first.key] in "\"'" else ""
    colon = text[first.key_end : first.value] if first.value >= 0 else ": "
    if colon.strip(_BLANK) != ":" or (colon == ":" and quote != '"'):
        colon = ": "
    gap = " " if colon[-1] in _BLANK else ""
    if len(example.entries) > 1 and not text[first.comma + 1 : example.entries[1].key].strip(_BLANK):
        gap = text[first.comma + 1 : example.entries[1].key]
    edge = text[example.start + 1 : first.key]
    is_spread = any(sign in edge for sign in _BREAKS)
    return FlowStyle(
        quote,
        colon,
        gap,
        "" if edge.strip(_BLANK) else edge,
        line_ending(text),
        _step(text, example),
        is_spread,
        is_spread and _has_one_line_map(text, outermost),
    )


def _has_one_line_map(text: str, shown: FlowMap) -> bool:
    """Whether a spread mapping contains another one on a single line, which new values then follow."""
    found = _ONE_LINE_MAP.finditer(text, shown.start + 1, shown.end)
    return any(match["map"] for match in found)


def _step(text: str, flow: FlowMap) -> str:
    """How much deeper the entries are indented than the line with the brace."""
    outer, inner = _indent(text, flow.start), _indent(text, flow.entries[0].key)
    return inner[len(outer) :] if inner.startswith(outer) and inner != outer else "  "


def _indent(text: str, at: int) -> str:
    """The indentation of the line that contains `at`."""
    start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    end = start
    while text[end] in _BLANK:
        end += 1
    return text[start:end]


def write(value: Value, style: FlowStyle, pad: str | None = None, depth: int = 0) -> str:
    """The value as text. `pad` is the indentation of the line on which it starts; None puts everything on one line."""
    if depth > _DEEPEST:
        raise UnwritableError(f"a value of more than {_DEEPEST} levels")
    if isinstance(value, str):
        return scalars.double_quote(value) if style.quote == '"' else scalars.flow(value)
    if isinstance(value, dict | list):
        inner = (
            None if pad is None or (style.is_nested_on_one_line and _is_shallow(value)) else pad + style.step
        )
        if isinstance(value, dict):
            parts = [_pair(key, item, style, inner, depth + 1) for key, item in value.items()]
            return _enclose("{}", parts, style, pad, inner)
        return _enclose("[]", [write(item, style, inner, depth + 1) for item in value], style, pad, inner)
    if value is not None and not isinstance(value, int | float):
        raise UnwritableError(f"a {type(value).__name__}")
    if isinstance(value, float) and style.quote == '"' and not math.isfinite(value):
        raise UnwritableError("a number that JSON cannot express")
    return scalars.atom(value)


def _pair(key: str, value: Value, style: FlowStyle, pad: str | None, depth: int = 0) -> str:
    """`key: value` in this style."""
    return f"{scalars.key(key, style.quote)}{style.colon}{write(value, style, pad, depth)}"


def _enclose(marks: str, parts: list[str], style: FlowStyle, pad: str | None, inner: str | None) -> str:
    """The parts between braces or brackets, on one line or each on its own."""
    if not parts:
        return marks
    if inner is None:
        return f"{marks[0]}{style.edge}{(',' + style.gap).join(parts)}{style.edge}{marks[1]}"
    line = style.eol + inner
    return f"{marks[0]}{line}{(',' + line).join(parts)}{style.eol}{pad}{marks[1]}"


def _is_shallow(value: dict[str, Value] | list[Value]) -> bool:
    """Whether a value contains no other collection with content, so that it fits on one line."""
    inner = value.values() if isinstance(value, dict) else value
    return not any(isinstance(item, dict | list) and item for item in inner)


def put(text: str, place: FlowPlace, value: Value, style: FlowStyle) -> str:
    """The text with another value for an existing entry."""
    entry = place.flow.entries[place.number]
    new = write(value, style, _indent(text, entry.key) if style.is_spread else None)
    if entry.value >= 0:
        return text[: entry.value] + new + text[entry.value_end :]
    if entry.colon >= 0:
        return f"{text[: entry.colon]} {new}{text[entry.colon :].lstrip(_BLANK)}"
    return f"{text[: entry.key_end]}{style.colon}{new}{text[entry.key_end :]}"


def add(text: str, flow: FlowMap, key: str, value: Value, style: FlowStyle) -> str:
    """The text with a new last entry. A trailing comma stays trailing."""
    if not flow.entries:
        return _add_first(text, flow, key, value, style)
    last = flow.entries[-1]
    end = _end(last)
    if not style.is_spread:
        at = max(end, last.comma + 1)
        comma, last_comma = ("", ",") if last.comma >= 0 else (",", "")
        return f"{text[:at]}{comma}{style.gap}{_pair(key, value, style, None)}{last_comma}{text[at:]}"
    pad = _indent(text, flow.entries[0].key)
    line = f"{style.eol}{pad}{_pair(key, value, style, pad)}"
    if last.comma >= 0:
        at = _past_comment(text, last.comma + 1)
        return f"{text[:at]}{line},{text[at:]}"
    at = _past_comment(text, end)
    return f"{text[:end]},{text[end:at]}{line}{text[at:]}"


def _add_first(text: str, flow: FlowMap, key: str, value: Value, style: FlowStyle) -> str:
    """The text with an entry in an empty mapping, before a comment that it may contain."""
    inside = text[flow.start + 1 : flow.end - 1]
    rest = inside if inside.strip(" \t\r\n") else ""
    if not style.is_spread:
        return f"{text[: flow.start + 1]}{style.edge}{_pair(key, value, style, None)}{rest or style.edge}{text[flow.end - 1 :]}"
    outer = _indent(text, flow.start)
    pad = outer + style.step
    pair = _pair(key, value, style, pad)
    return f"{text[: flow.start + 1]}{style.eol}{pad}{pair}{rest or style.eol + outer}{text[flow.end - 1 :]}"


def drop(text: str, place: FlowPlace) -> str | None:
    """The text without one of several entries; None if it is the only one, which `clear` removes.

    An entry with lines of its own goes with its line break and the comment behind it. On a shared line, the blanks to one side
    go with it, so that no gap remains. The last entry takes the comma before it along if it had none itself.
    """
    entries, index = place.flow.entries, place.number
    entry = entries[index]
    if len(entries) == 1:
        return None
    start, end = entry.key, max(_end(entry), entry.comma + 1)
    line = start - len(_indent(text, start))
    after = _past_comment(text, end)
    if line > 0 and text[line - 1] in _BREAKS and (after == len(text) or text[after] in _BREAKS):
        # The entry has its own lines: remove them, and the line break before them.
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
    """The text without the mapping's only entry."""
    start, end, entries = place.flow
    if len(entries) != 1:
        return None
    entry = entries[0]
    before, after = text[start + 1 : entry.key], text[max(_end(entry), entry.comma + 1) : end - 1]
    if not (before + after).strip(" \t\r\n"):
        before = after = ""
    return text[: start + 1] + before + after + text[end - 1 :]


def _end(entry: FlowEntry) -> int:
    """The offset after the entry, without its comma."""
    return max(entry.key_end, entry.colon, entry.value_end)


def _past_comment(text: str, at: int) -> int:
    """The offset after the comment on the rest of the line, or after trailing blanks; otherwise `at`."""
    comment = _COMMENT.match(text, at)
    if comment:
        return comment.end()
    end = at
    while end < len(text) and text[end] in _BLANK:
        end += 1
    return end if end == len(text) or text[end] in _BREAKS else at
