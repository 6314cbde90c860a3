"""Makes one step in a text, at the position that a finder returns. All other bytes are copied.

    step                  block style                                  flow style ({...})
    PutEntry              replace the value's part on the key's        replace the value's text
                          line and the lines below it
    AddEntry              insert lines at an InsertionPoint            append after the last entry
    DropEntry             remove the entry's lines                     remove the entry and one comma
    ClearMap              remove the lines, write ` {}` after the key  empty the braces
    PruneMap              remove the lines of key and entry            remove the parent's entry

The new text follows the text around it: indentation and line ending (`style`), the quotes of the neighboring keys and of
the old value, one entry to a line or all on one (`flow_writer.FlowStyle`). A comment on the changed line stays.

Must never happen: a byte outside of the range that the table names changes, but for the line break at the end of the text; lines
with other text on them are removed (a `- ` before the first key, or more than comments beside the only entry of a pruned mapping):
such a step gives None, and the caller tries another candidate.

Limits: trusts its finder and checks nothing. A wrong position gives a wrong text, which `editor` reads back and drops.
"""

from __future__ import annotations

import re
from typing import assert_never

from schemas.edit import flow_reader, flow_writer, render, scalars
from schemas.edit.fields import Path, Value
from schemas.edit.layout import BlockEntry, BlockMap, Finder, FlowMap, FlowPlace, InsertionPoint
from schemas.edit.steps import AddEntry, ClearMap, DropEntry, PruneMap, PutEntry, Step
from schemas.edit.style import YamlStyle, line_end, line_start

_MAX_LINE = 100
_BREAKS = ("\n", "\r")
_COMMENTS = re.compile(r"(?:[ \t]*(?:#[^\r\n]*)?[\r\n])*[ \t]*(?:#[^\r\n]*)?")


def splice(text: str, step: Step, finder: Finder, style: YamlStyle, point: InsertionPoint) -> str | None:
    """The new text, or None if the finder does not find the position."""
    match step:
        case PutEntry(path, value):
            entry = _entry(text, path, finder, point)
            if isinstance(entry, FlowPlace):
                return flow_writer.put(text, entry, value, _detect_flow_style(text, entry.flow, finder, path))
            return None if entry is None else _put(text, entry, value, style)
        case AddEntry(path, value):
            above = finder.map_at(text, path[:-1])
            if isinstance(above, FlowMap):
                return flow_writer.add(
                    text, above, path[-1], value, _detect_flow_style(text, above, finder, path)
                )
            return None if above is None else _add(text, above, path[-1], value, style, point)
        case DropEntry(path):
            entry = _entry(text, path, finder, point)
            if isinstance(entry, FlowPlace):
                return flow_writer.drop(text, entry)
            return None if entry is None else _remove_lines(text, entry, entry.tail)
        case ClearMap(path) | PruneMap(path):
            entry, holder = _entry(text, path, finder, point), _entry(text, path[:-1], finder, point)
            return _remove_only_entry(text, entry, holder, isinstance(step, PruneMap), point)
    assert_never(step)


def _entry(text: str, path: Path, finder: Finder, point: InsertionPoint) -> BlockEntry | FlowPlace | None:
    """The entry at `path`. At other points than LAST, deeper comments after it count as part of it."""
    entry = finder.entry_at(text, path)
    if point is InsertionPoint.LAST or not isinstance(entry, BlockEntry):
        return entry
    deeper = re.compile(rf"(?: {{{entry.indent + 1},}}#[^\r\n]*(?:\r\n|\n|\r|\Z))*").match(text, entry.tail)
    return entry._replace(tail=deeper.end()) if deeper else entry


def _detect_flow_style(text: str, found: FlowMap, finder: Finder, path: Path) -> flow_writer.FlowStyle:
    """The style of a flow mapping; an empty one follows the outermost mapping around it."""
    for depth in range(len(path) - 1):
        outer = finder.map_at(text, path[:depth])
        if isinstance(outer, FlowMap):
            return flow_writer.detect_flow_style(text, found, outer)
    return flow_writer.detect_flow_style(text, found, found)


def _put(text: str, entry: BlockEntry, value: Value, style: YamlStyle) -> str:
    """The text with another value for a block entry. The comment on its line stays."""
    same_form = _in_old_form(text, entry, value)
    inline, lines = (same_form, "") if same_form else render.value(value, entry.indent, style)
    if inline and entry.colon < entry.value:
        inline = text[entry.colon : entry.value] + inline.lstrip(" ")
    comment = text[entry.value_end : line_end(text, entry.value_end)]
    if not comment.endswith(_BREAKS):
        comment += style.eol
    return _keep_last_break(text, text[: entry.colon] + inline + comment + lines + text[entry.tail :])


def _in_old_form(text: str, entry: BlockEntry, value: Value) -> str:
    """The new value in the form of the old one, quotes or braces; empty if the old one has neither, or for a long line.

    A person who wrote `taints: [{...}]` on one line gets one line back, up to 100 characters; beyond those, a list or mapping
    is written in block style as gitvirt writes it everywhere else.
    """
    old = text[entry.value : entry.value_end]
    if isinstance(value, str):
        if old.startswith("'"):
            return scalars.single_quote(value) or scalars.double_quote(value)
        # Quotes that YAML does not require are a person's choice, so they stay. Otherwise the new value decides.
        return scalars.double_quote(value) if old.startswith('"') and scalars.is_plain(old[1:-1]) else ""
    if not value or not isinstance(value, dict | list) or old[:1] not in ("{", "[") or not old[1:-1].strip():
        return ""
    braced = flow_reader.read(text, entry.value)
    hand = flow_writer.detect_flow_style(text, braced, braced) if braced else flow_writer.FlowStyle()
    start = line_start(text, entry.value)
    new = flow_writer.write(value, hand, " " * entry.indent if hand.is_spread else None)
    return new if hand.is_spread or entry.value - start + len(new) <= _MAX_LINE else ""


def _add(text: str, above: BlockMap, key: str, value: Value, style: YamlStyle, point: InsertionPoint) -> str:
    """The text with a new entry in a block mapping."""
    places = {
        InsertionPoint.LAST: above.last,
        InsertionPoint.END: above.end,
        InsertionPoint.START: above.start,
    }
    at = places[point]
    new = " " * above.indent + render.entry(key, value, above.indent, style, quote=above.quote)
    if at and text[at - 1] not in _BREAKS:
        new = style.eol + new
    return _keep_last_break(text, text[:at] + new + text[at:])


def _remove_lines(text: str, entry: BlockEntry, end: int) -> str | None:
    """The text without the lines of the entry up to `end`; None if other text is on its first line."""
    if entry.line < 0:
        return None
    return _keep_last_break(text, text[: entry.line] + text[end:])


def _remove_only_entry(
    text: str,
    entry: BlockEntry | FlowPlace | None,
    above: BlockEntry | FlowPlace | None,
    is_pruned: bool,
    point: InsertionPoint,
) -> str | None:
    """The text without the only entry of the mapping that is the value of `above`.

    Comments between the key and its entry belong to a person. They stay where that is possible; a mapping that has more than
    comments between its lines is not pruned here (None), and another candidate has to do it.
    """
    if isinstance(entry, FlowPlace) and not is_pruned:
        return flow_writer.clear(text, entry)
    if isinstance(entry, FlowPlace) and len(entry.flow.entries) == 1:
        if isinstance(above, FlowPlace):
            return flow_writer.drop(text, above)
        return None if above is None else _remove_lines(text, above, above.tail)
    if not isinstance(entry, BlockEntry) or not isinstance(above, BlockEntry) or entry.line < 0:
        return None
    if not is_pruned:
        new = text[: above.value_end] + " {}" + text[above.value_end : entry.line] + text[entry.tail :]
        return _keep_last_break(text, new)
    comments = text[line_end(text, above.value_end) : entry.line] + text[entry.tail : above.tail]
    if above.line < 0 or not _COMMENTS.fullmatch(comments):
        return None
    staying = comments if point is InsertionPoint.LAST else ""
    return _keep_last_break(text, text[: above.line] + staying + text[above.tail :])


def _keep_last_break(text: str, new: str) -> str:
    """If the old text had no line break at its end, the new one gets none either."""
    if text.endswith(_BREAKS) or not new.endswith(_BREAKS):
        return new
    return new[: -2 if new.endswith("\r\n") else -1]
