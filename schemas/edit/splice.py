"""One step done on a text, where a finder says. Every byte that the step does not name is copied."""

from __future__ import annotations

import re
from typing import assert_never

from schemas.edit import flow_reader, flow_writer, render, scalars
from schemas.edit.fields import Path, Value
from schemas.edit.layout import BlockEntry, BlockMap, Finder, FlowMap, FlowPlace, InsertionPoint
from schemas.edit.steps import AddEntry, ClearMap, DropEntry, PruneMap, PutEntry, Step
from schemas.edit.style import TextStyle, line_end, line_start

_LONGEST_LINE = 100
_BREAKS = ("\n", "\r")
_COMMENTS = re.compile(r"(?:[ \t]*(?:#[^\r\n]*)?[\r\n])*[ \t]*(?:#[^\r\n]*)?")


def splice(text: str, step: Step, finder: Finder, style: TextStyle, brink: InsertionPoint) -> str | None:
    """None: the finder does not see where."""
    match step:
        case PutEntry(path, value):
            entry = _entry(text, path, finder, brink)
            if isinstance(entry, FlowPlace):
                return flow_writer.put(text, entry, value, _hand(text, entry.flow, finder, path))
            return None if entry is None else _put(text, entry, value, style)
        case AddEntry(path, value):
            above = finder.map_at(text, path[:-1])
            if isinstance(above, FlowMap):
                return flow_writer.add(text, above, path[-1], value, _hand(text, above, finder, path))
            return None if above is None else _add(text, above, path[-1], value, style, brink)
        case DropEntry(path):
            entry = _entry(text, path, finder, brink)
            if isinstance(entry, FlowPlace):
                return flow_writer.drop(text, entry)
            return None if entry is None else _without(text, entry, entry.tail)
        case ClearMap(path) | PruneMap(path):
            entry, holder = _entry(text, path, finder, brink), _entry(text, path[:-1], finder, brink)
            return _emptied(text, entry, holder, isinstance(step, PruneMap), brink)
    assert_never(step)


def _entry(text: str, path: Path, finder: Finder, brink: InsertionPoint) -> BlockEntry | FlowPlace | None:
    entry = finder.entry_at(text, path)
    if brink is InsertionPoint.LAST or not isinstance(entry, BlockEntry):
        return entry
    deeper = re.compile(rf"(?: {{{entry.indent + 1},}}#[^\r\n]*(?:\r\n|\n|\r|\Z))*").match(text, entry.tail)
    return entry._replace(tail=deeper.end()) if deeper else entry


def _hand(text: str, found: FlowMap, finder: Finder, path: Path) -> flow_writer.FlowStyle:
    for depth in range(len(path) - 1):
        outer = finder.map_at(text, path[:depth])
        if isinstance(outer, FlowMap):
            return flow_writer.flow_style(text, found, outer)
    return flow_writer.flow_style(text, found, found)


def _put(text: str, entry: BlockEntry, value: Value, style: TextStyle) -> str:
    kept = _in_its_form(text, entry, value)
    inline, lines = (kept, "") if kept else render.value(value, entry.indent, style)
    if inline and entry.colon < entry.value:
        inline = text[entry.colon : entry.value] + inline.lstrip(" ")
    comment = text[entry.value_end : line_end(text, entry.value_end)]
    if not comment.endswith(_BREAKS):
        comment += style.eol
    return _ended_like(text, text[: entry.colon] + inline + comment + lines + text[entry.tail :])


def _in_its_form(text: str, entry: BlockEntry, value: Value) -> str:
    """The new value in the form the old one has, quotes or braces; nothing where it has none, or the line gets long."""
    old = text[entry.value : entry.value_end]
    if isinstance(value, str):
        if old.startswith("'"):
            return scalars.single_quoted(value) or scalars.quoted(value)
        # Quoted although it need not be: somebody's choice. Else the next value decides anew.
        return scalars.quoted(value) if old.startswith('"') and scalars.is_plain(old[1:-1]) else ""
    if not value or not isinstance(value, dict | list) or old[:1] not in ("{", "[") or not old[1:-1].strip():
        return ""
    braced = flow_reader.read(text, entry.value)
    hand = flow_writer.flow_style(text, braced, braced) if braced else flow_writer.FlowStyle()
    start = line_start(text, entry.value)
    new = flow_writer.write(value, hand, " " * entry.indent if hand.is_spread else None)
    return new if hand.is_spread or entry.value - start + len(new) <= _LONGEST_LINE else ""


def _add(text: str, above: BlockMap, key: str, value: Value, style: TextStyle, brink: InsertionPoint) -> str:
    at = (
        above.last
        if brink is InsertionPoint.LAST
        else above.end
        if brink is InsertionPoint.END
        else above.start
    )
    new = " " * above.indent + render.entry(key, value, above.indent, style, quote=above.quote)
    if at and text[at - 1] not in _BREAKS:
        new = style.eol + new
    return _ended_like(text, text[:at] + new + text[at:])


def _without(text: str, entry: BlockEntry, end: int) -> str | None:
    """The lines up to `end` gone; where they were the last and did not end, the break before them too."""
    if entry.line < 0:
        return None
    return _ended_like(text, text[: entry.line] + text[end:])


def _emptied(
    text: str,
    entry: BlockEntry | FlowPlace | None,
    above: BlockEntry | FlowPlace | None,
    is_pruned: bool,
    brink: InsertionPoint,
) -> str | None:
    """Without the only entry of the map that is the value of `above`."""
    if isinstance(entry, FlowPlace) and not is_pruned:
        return flow_writer.clear(text, entry)
    if isinstance(entry, FlowPlace) and len(entry.flow.entries) == 1:
        if isinstance(above, FlowPlace):
            return flow_writer.drop(text, above)
        return None if above is None else _without(text, above, above.tail)
    if not isinstance(entry, BlockEntry) or not isinstance(above, BlockEntry) or entry.line < 0:
        return None
    if not is_pruned:
        new = text[: above.value_end] + " {}" + text[above.value_end : entry.line] + text[entry.tail :]
        return _ended_like(text, new)
    comments = text[line_end(text, above.value_end) : entry.line] + text[entry.tail : above.tail]
    if above.line < 0 or not _COMMENTS.fullmatch(comments):
        return None
    kept = comments if brink is InsertionPoint.LAST else ""
    return _ended_like(text, text[: above.line] + kept + text[above.tail :])


def _ended_like(text: str, new: str) -> str:
    """A text that did not end its last line still does not."""
    if text.endswith(_BREAKS) or not new.endswith(_BREAKS):
        return new
    return new[: -2 if new.endswith("\r\n") else -1]
