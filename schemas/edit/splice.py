"""One step done on a text, where a finder says. Every byte that the step does not name is copied."""

from __future__ import annotations

from typing import assert_never

from schemas.edit import braces, flow, render, scalars
from schemas.edit.fields import Value
from schemas.edit.layout import BlockEntry, BlockMap, Brink, Finder, FlowMap, FlowPlace
from schemas.edit.steps import Add, Drop, Put, Step
from schemas.edit.style import Style, line_end, line_start

_LONGEST_LINE = 100
_BREAKS = ("\n", "\r")


def splice(text: str, step: Step, finder: Finder, style: Style, brink: Brink) -> str | None:
    """None: the finder does not see where."""
    match step:
        case Put(path, value):
            entry = finder.entry_at(text, path)
            if isinstance(entry, FlowPlace):
                return braces.put(text, entry, value, _hand(text, entry.flow, finder))
            return None if entry is None else _put(text, entry, value, style)
        case Add(path, value):
            above = finder.map_at(text, path[:-1])
            if isinstance(above, FlowMap):
                return braces.add(text, above, path[-1], value, _hand(text, above, finder))
            return None if above is None else _add(text, above, path[-1], value, style, brink)
        case Drop(path):
            entry = finder.entry_at(text, path)
            if isinstance(entry, FlowPlace):
                return braces.drop(text, entry)
            return None if entry is None else _drop(text, entry)
    assert_never(step)


def _hand(text: str, found: FlowMap, finder: Finder) -> braces.Hand:
    whole = None if found.entries else finder.map_at(text, ())
    return braces.hand(text, found, whole if isinstance(whole, FlowMap) else None)


def _put(text: str, entry: BlockEntry, value: Value, style: Style) -> str:
    kept = _in_its_form(text, entry, value)
    inline, lines = (kept, "") if kept else render.value(value, entry.indent, style)
    if inline and entry.colon < entry.value:
        inline = text[entry.colon : entry.value] + inline.lstrip(" ")
    comment = text[entry.value_end : line_end(text, entry.value_end)]
    if not comment.endswith(_BREAKS):
        comment += style.eol
    new = comment + lines
    if entry.tail == len(text) and not text.endswith(_BREAKS):
        new = new.removesuffix(style.eol)
    return text[: entry.colon] + inline + new + text[entry.tail :]


def _in_its_form(text: str, entry: BlockEntry, value: Value) -> str:
    """The new value in the form the old one has, quotes or braces; nothing where it has none, or the line gets long."""
    old = text[entry.value : entry.value_end]
    if isinstance(value, str):
        if old.startswith("'"):
            return scalars.single_quoted(value) or scalars.quoted(value)
        return scalars.quoted(value) if old.startswith('"') else ""
    if not value or not isinstance(value, dict | list) or old[:1] not in ("{", "[") or not old[1:-1].strip():
        return ""
    braced = flow.read(text, entry.value)
    hand = braces.hand(text, braced) if braced else braces.Hand()
    start = line_start(text, entry.value)
    new = braces.write(value, hand, " " * entry.indent if hand.is_spread else None)
    return new if hand.is_spread or entry.value - start + len(new) <= _LONGEST_LINE else ""


def _add(text: str, above: BlockMap, key: str, value: Value, style: Style, brink: Brink) -> str:
    at = {Brink.LAST: above.last, Brink.END: above.end, Brink.START: above.start}[brink]
    new = " " * above.indent + render.entry(key, value, above.indent, style, quote=above.quote)
    if at and text[at - 1] not in _BREAKS:
        new = style.eol + new.removesuffix(style.eol)
    return text[:at] + new + text[at:]


def _drop(text: str, entry: BlockEntry) -> str | None:
    start = entry.line
    if start < 0:
        return None
    if entry.tail == len(text) and not text.endswith(_BREAKS) and start:
        start -= 2 if text.startswith("\r\n", start - 2) else 1
    return text[:start] + text[entry.tail :]
