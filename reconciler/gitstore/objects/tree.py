"""Git trees as raw bytes: their entries, and all files below one.

Knows the format and nothing else: `read` brings an object's bytes, from a repo on disk or from memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import IntEnum
from itertools import chain
from typing import NamedTuple, TypeAlias

from reconciler.gitstore.errors import MalformedError

ObjectId: TypeAlias = (
    str  # 40 hexadecimal digits, as people see them; raw bytes stay inside this module's trees
)
Read: TypeAlias = Callable[[ObjectId], bytes]

ID_BYTES = 20
# One pass in C. What does not match leaves a gap, which `entries` finds by adding up the lengths.
_ENTRY = re.compile(rb"([0-7]{5,6}) ([^\0/]+)\0(.{20})", re.DOTALL)

_ID = re.compile("[0-9a-f]{40}")


def is_id(text: str) -> bool:
    """Whether it has the form of an object's id."""
    return _ID.fullmatch(text) is not None


class FileMode(IntEnum):
    FOLDER = 0o040000
    FILE = 0o100644
    EXECUTABLE = 0o100755
    LINK = 0o120000
    SUBMODULE = 0o160000


# Git before 1.0 wrote 100664.
_MODES = {b"%o" % mode: mode for mode in FileMode} | {b"100664": FileMode.FILE, b"040000": FileMode.FOLDER}


class File(NamedTuple):
    """A leaf of a tree: a file, a symbolic link (its data is where it points), or a submodule (it has no data here)."""

    path: str  # bytes that are not UTF-8 are surrogates, as os.fsdecode makes them
    mode: FileMode
    id: ObjectId


def entries(tree: bytes) -> list[tuple[bytes, bytes, bytes]]:
    """(mode, name, raw id) of each entry, in the order of the tree."""
    found: list[tuple[bytes, bytes, bytes]] = _ENTRY.findall(tree)
    if sum(map(len, chain.from_iterable(found))) + 2 * len(found) != len(tree):
        raise MalformedError("a tree object is malformed", "run `git fsck` to find it")
    return found


def text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


def raw(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def mode_of(octal: bytes) -> FileMode:
    try:
        return _MODES[octal]
    except KeyError:
        raise MalformedError(
            f"a tree entry has the unknown mode {octal.decode()}", "run `git fsck` to find it"
        ) from None


def is_name(name: bytes) -> bool:
    """Whether Git would check out an entry of this name."""
    return name not in (b"", b".", b"..") and name.lower() != b".git" and b"\0" not in name


def order(name: bytes, is_folder: bool) -> bytes:
    """What Git sorts the entries of a tree by: a folder as if its name ended in a slash."""
    return name + b"/" if is_folder else name


def find(read: Read, root: ObjectId, path: str) -> tuple[FileMode, ObjectId] | None:
    """The leaf or folder at a path below the tree `root`, at the cost of the folders above it."""
    mode, id = FileMode.FOLDER, root
    for part in filter(None, path.split("/")):
        name = raw(part)
        below = entries(read(id)) if mode is FileMode.FOLDER else []
        found = next(((octal, child) for octal, each, child in below if each == name), None)
        if found is None:
            return None
        mode, id = mode_of(found[0]), found[1].hex()
    return mode, id


def files(read: Read, tree: ObjectId, folder: str = "") -> Iterator[File]:
    """Every leaf below `tree`, in tree order, in which packs hold the data too. `folder` goes before each path."""
    # A stack and not recursion: how deep a tree is, is up to whoever pushed it.
    waiting: list[tuple[bytes, str, ObjectId]] = [(b"40000", folder.rstrip("/"), tree)]
    while waiting:
        octal, path, name = waiting.pop()
        mode = mode_of(octal)
        if mode is not FileMode.FOLDER:
            yield File(path, mode, name)
            continue
        prefix = path + "/" if path else ""
        waiting.extend(
            (octal, prefix + text(leaf), id.hex()) for octal, leaf, id in reversed(entries(read(name)))
        )
