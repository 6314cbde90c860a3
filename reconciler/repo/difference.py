"""What differs between two trees. Equal subtrees are skipped by their id, so the cost is that of what changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from reconciler.repo.protocol import Change
from reconciler.repo.tree import File, Mode, ObjectId, Read, entries, mode_of, order, text

_Entry: TypeAlias = tuple[Mode, str]


class _Pair(NamedTuple):
    """One name on both sides, before it is known whether anything below it differs."""

    path: str
    before: _Entry | None
    after: _Entry | None


def difference(read: Read, old: ObjectId | None, new: ObjectId | None) -> Iterator[Change]:
    """Every leaf that differs, in tree order. A file that became a folder is gone, and the folder's files are new."""
    if old == new:
        return
    root = _Pair("", (Mode.FOLDER, old) if old else None, (Mode.FOLDER, new) if new else None)
    waiting = [root]
    while waiting:
        path, before, after = waiting.pop()
        change = Change(path, _leaf(path, before), _leaf(path, after))
        if change.before != change.after:
            yield change
        old, new = _folder(before), _folder(after)
        if old != new:
            waiting.extend(reversed(_pairs(read, path + "/" if path else "", old, new)))


def _leaf(path: str, entry: _Entry | None) -> File | None:
    return File(path, *entry) if entry and entry[0] is not Mode.FOLDER else None


def _folder(entry: _Entry | None) -> ObjectId | None:
    return entry[1] if entry and entry[0] is Mode.FOLDER else None


def _pairs(read: Read, prefix: str, old: ObjectId | None, new: ObjectId | None) -> list[_Pair]:
    """The entries that are not the same on both sides."""
    olds = entries(read(old)) if old else []
    news = entries(read(new)) if new else []
    before = {name: (mode_of(mode), id.hex()) for mode, name, id in set(olds).difference(news)}
    after = {name: (mode_of(mode), id.hex()) for mode, name, id in set(news).difference(olds)}
    found = []
    for name in before.keys() | after.keys():
        pair = _Pair(prefix + text(name), before.get(name), after.get(name))
        found.append((order(name, bool(_folder(pair.before) or _folder(pair.after))), pair))
    return [pair for _, pair in sorted(found)]
