"""The difference between two trees. Equal subtrees are skipped by their id, so the cost follows the number of changes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from reconciler.gitstore.errors import MalformedError
from reconciler.gitstore.objects.tree import (
    File,
    FileMode,
    ObjectId,
    Read,
    entries,
    files,
    mode_of,
    order,
    text,
)
from reconciler.gitstore.repo import FileChange

_Entry: TypeAlias = tuple[bytes, bytes, bytes]  # octal mode, name, raw id
_NAME = itemgetter(1)
_FOLDER = b"40000"
_FOLDERS = (_FOLDER, b"040000")  # as older programs wrote it
_PLAIN = b"100644"
_ENTRY = re.compile(rb"[0-7]{5,6} [^\0/]+\0.{20}", re.DOTALL)
_ENTRIES = re.compile(rb"(?:[0-7]{5,6} [^\0/]+\0.{20})*+", re.DOTALL)
_CLOSE = 64  # changes further apart than so many entries are looked for by parsing all


class _Folders(NamedTuple):
    """A folder, or what it was before or became: only trees."""

    path: str
    old: ObjectId | None
    new: ObjectId | None


def diff_trees(
    read: Read, old: ObjectId | None, new: ObjectId | None, enters: Callable[[str], bool] = lambda _: True
) -> Iterator[FileChange]:
    """Every leaf that differs, in tree order. A file that became a folder is gone, and the folder's files are new.

    A folder that `enters` refuses counts as a leaf."""
    waiting: list[FileChange | _Folders] = [_Folders("", old, new)] if old != new else []
    while waiting:
        found = waiting.pop()
        if isinstance(found, FileChange):
            yield found
            continue
        olds, news = _parse_both(read(found.old) if found.old else b"", read(found.new) if found.new else b"")
        prefix = found.path + "/" if found.path else ""
        below: list[FileChange | _Folders] = []
        for before, after in _pairs(olds, news):
            if before is None and after is not None and after[0] == _PLAIN:  # as nearly all of a first look
                path = prefix + text(after[1])
                below.append(FileChange(path, None, File(path, FileMode.FILE, after[2].hex())))
            else:
                _compare(prefix, before, after, below, enters)
        waiting.extend(reversed(below))


def list_missing(read: Read, tree: ObjectId, other: ObjectId) -> Iterator[File]:
    """Every leaf below `tree` at whose path `other` has none. Only names are compared, which costs less than a diff where most contents differ."""
    waiting: list[tuple[str, ObjectId, ObjectId]] = [("", tree, other)] if tree != other else []
    while waiting:
        prefix, here, there = waiting.pop()
        theirs = {name: (octal, id) for octal, name, id in entries(read(there))}
        for octal, name, id in entries(read(here)):
            found_octal, found = theirs.get(name, (b"", b""))
            if octal not in _FOLDERS:
                if found_octal in (b"", *_FOLDERS):
                    yield File(prefix + text(name), mode_of(octal), id.hex())
            elif found_octal not in _FOLDERS:
                yield from files(read, id.hex(), prefix + text(name))
            elif found != id:
                waiting.append((f"{prefix}{text(name)}/", id.hex(), found.hex()))


def _parse_both(old: bytes, new: bytes) -> tuple[list[_Entry], list[_Entry]]:
    """The entries of both, without most of those at the start and the end that are the same."""
    if len(old) != len(new) or old == new:
        return entries(old), entries(new)
    first, last = _first(old, new), _last(old, new)
    aligned = _ENTRIES.match(old, 0, first)
    start = end = aligned.end() if aligned else 0
    for _ in range(_CLOSE):
        if end > last or not (entry := _ENTRY.match(old, end)):
            break
        end = entry.end()
    if end <= last:
        end = len(old)
    try:
        return entries(old[start:end]), entries(new[start:end])
    except MalformedError:  # names of other lengths that add up to the same by chance
        return entries(old), entries(new)


def _first(old: bytes, new: bytes) -> int:
    """The first byte at which two raw trees differ. They have one length and are not equal: the caller has looked. Halving lets C
    compare, and only twice the bytes."""
    low, high = 0, len(old)
    while high - low > 1:
        middle = (low + high) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _last(old: bytes, new: bytes) -> int:
    """The last byte at which they differ, found in the same way."""
    low, high = 0, len(old)
    while high - low > 1:
        middle = (low + high) // 2
        if old[middle:high] == new[middle:high]:
            high = middle
        else:
            low = middle
    return low


def _pairs(olds: list[_Entry], news: list[_Entry]) -> list[tuple[_Entry | None, _Entry | None]]:
    """The entries that are not the same on both sides, by name, in tree order."""
    if not olds:
        return [(None, new) for new in news]
    if not news:
        return [(old, None) for old in olds]
    if list(map(_NAME, olds)) == list(map(_NAME, news)):  # only contents changed, as nearly always
        return [(old, new) for old, new in zip(olds, news, strict=True) if old != new]
    before = {entry[1]: entry for entry in set(olds).difference(news)}
    after = {entry[1]: entry for entry in set(news).difference(olds)}
    pairs = [(before.get(name), after.get(name)) for name in before.keys() | after.keys()]
    return sorted(pairs, key=_order)


def _order(pair: tuple[_Entry | None, _Entry | None]) -> bytes:
    name = next(entry[1] for entry in pair if entry)
    return order(name, any(entry[0] == _FOLDER for entry in pair if entry))


def _compare(
    prefix: str,
    before: _Entry | None,
    after: _Entry | None,
    found: list[FileChange | _Folders],
    enters: Callable[[str], bool],
) -> None:
    path = prefix + text((before or after or (b"", b"", b""))[1])
    was, old = _split_entry(path, before)
    now, new = _split_entry(path, after)
    if was != now:  # two spellings of one mode are the same
        found.append(FileChange(path, was, now))
    if old != new:
        found.append(_Folders(path, old, new) if enters(path) else _as_leaf(path, old, new))


def _as_leaf(path: str, old: ObjectId | None, new: ObjectId | None) -> FileChange:
    before, after = (File(path, FileMode.FOLDER, id) if id else None for id in (old, new))
    return FileChange(path, before, after)


def _split_entry(path: str, entry: _Entry | None) -> tuple[File | None, ObjectId | None]:
    """As a leaf, or as the id of a folder."""
    if entry is None:
        return None, None
    mode = mode_of(entry[0])
    return (None, entry[2].hex()) if mode is FileMode.FOLDER else (File(path, mode, entry[2].hex()), None)
