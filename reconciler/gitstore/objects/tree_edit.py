"""Applies edits to a tree: reads only the folders on their paths, and makes new objects only of what changes.

# Theory of operation

The edits are grouped by folder. Every folder between the root and an edit is read, parents first. Then:

1. All removals, so that a file can make room for a folder of the same name and the other way round.
2. From the deepest folder to the root: write the new entries, encode the folder, and put its id into its parent. A folder that has
   become empty disappears, because Git has no empty folders. A folder that did not change keeps its id and makes no object.

| edit | the entry before | the entry after |
|---|---|---|
| bytes | none | a plain file |
| bytes | file, executable | the same mode, new content |
| bytes | symbolic link, submodule | a plain file: content must not become a link's destination |
| ExistingBlob | anything but a folder | its mode and id, without reading it |
| None | a leaf | removed |
| None | none, or a folder | no edit |

# Must never happen

- A path that Git would not check out (`..`, `.git`, a NUL) gets into a tree: PathError.
- One name is both a file and a folder: PathError.
- An entry that no edit names changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from reconciler.gitstore.objects.database import GitObject, ObjectType, hash_object
from reconciler.gitstore.objects.tree import FileMode, ObjectId, Read, entries, is_name, order, raw, text
from reconciler.gitstore.repo import Edit, ExistingBlob

EMPTY = hash_object(ObjectType.TREE, b"")
_FOLDER = b"40000"
_CONTENT = {b"100644", b"100664", b"100755"}
_ByFolder: TypeAlias = dict[bytes, dict[bytes, Edit]]


class PathError(ValueError):
    """A path that Git would not check out, or that needs a file and a folder in the same place."""


@dataclass(slots=True)
class EditedTree:
    """`objects` are those that the store may not have yet."""

    tree: ObjectId = EMPTY.id
    objects: dict[ObjectId, GitObject] = field(default_factory=dict)

    def keep(self, type: ObjectType, data: bytes) -> bytes:
        made = hash_object(type, data)
        self.objects[made.id] = made
        return bytes.fromhex(made.id)


class _Folder:
    """A folder on the path of an edit, and its entries: name -> (octal mode, raw id)."""

    __slots__ = ("before", "entries", "is_sorted", "path")

    def __init__(self, path: bytes, tree: bytes) -> None:
        self.path = path
        self.before = tree
        self.entries = {name: (mode, id) for mode, name, id in entries(tree)}
        self.is_sorted = True

    def has_leaf(self, name: bytes) -> bool:
        return name in self.entries and self.entries[name][0] != _FOLDER

    def put(self, name: bytes, mode: bytes, id: bytes) -> None:
        if name not in self.entries or self.entries[name][0] != mode:
            self.is_sorted = False
        if (mode == _FOLDER) == self.has_leaf(name) and name in self.entries:
            raise PathError(f"{text(self.path + b'/' + name)!r} would be both a file and a folder")
        self.entries[name] = (mode, id)

    def encode(self) -> bytes:
        found = self.entries.items()
        if not self.is_sorted:
            found = dict(sorted(found, key=lambda item: order(item[0], item[1][0] == _FOLDER))).items()
        return b"".join([b"%b %b\0%b" % (mode, name, id) for name, (mode, id) in found])


def edit_tree(read: Read, tree: ObjectId | None, edits: Mapping[str, Edit]) -> EditedTree:
    """The tree with the edits on it. Folders that have become empty are gone, as Git has none."""
    done = EditedTree()
    needed = _by_folder(edits)
    folders = _open_folders(read, tree or EMPTY.id, needed)
    # All removals come first: a file may make room for a folder, and the other way round.
    for path, leaves in needed.items():
        for name, edit in leaves.items():
            if edit is None and folders[path].has_leaf(name):
                del folders[path].entries[name]
    for path, folder in reversed(folders.items()):  # the deepest first: a folder needs the ids of those in it
        for name, edit in needed.get(path, {}).items():
            if edit is not None:
                _write(folder, name, edit, done)
        data = folder.encode()
        id = (
            bytes.fromhex(hash_object(ObjectType.TREE, data).id)
            if data == folder.before
            else done.keep(ObjectType.TREE, data)
        )
        parent, _, name = path.rpartition(b"/")
        if not path:
            done.tree = id.hex()
        elif data:
            folders[parent].put(name, _FOLDER, id)
        elif name in folders[parent].entries and not folders[parent].has_leaf(name):
            del folders[parent].entries[name]
    return done


def _write(folder: _Folder, name: bytes, edit: bytes | ExistingBlob, done: EditedTree) -> None:
    if isinstance(edit, ExistingBlob):
        if edit.mode is FileMode.FOLDER:
            raise PathError(f"{text(name)!r}: a folder cannot be written as a file")
        folder.put(name, b"%o" % edit.mode, bytes.fromhex(edit.id))
        return
    mode, before = folder.entries.get(name, (b"100644", b""))
    # Content in place of a link is a file: it must not become where the link points.
    mode = mode if mode in _CONTENT or mode == _FOLDER else b"100644"
    made = hash_object(ObjectType.BLOB, edit)
    if bytes.fromhex(made.id) != before:
        done.objects[made.id] = made
    folder.put(name, b"100644" if mode == _FOLDER else mode, bytes.fromhex(made.id))


def _by_folder(edits: Mapping[str, Edit]) -> _ByFolder:
    found: _ByFolder = {}
    for path, edit in edits.items():
        folder, slash, name = raw(path).rpartition(b"/")
        if folder not in found or (slash and not folder):
            if slash and not all(map(is_name, folder.split(b"/"))):
                raise PathError(f"{path!r} is not a path that Git checks out")
            found[folder] = {}
        if not is_name(name):
            raise PathError(f"{path!r} is not a path that Git checks out")
        found[folder][name] = edit
    return found


def _open_folders(read: Read, tree: ObjectId, needed: _ByFolder) -> dict[bytes, _Folder]:
    """Every folder on the way to an edit, parents before what is in them."""
    paths = {b""}
    for folder in needed:
        while folder not in paths:
            paths.add(folder)
            folder = folder.rpartition(b"/")[0]
    folders = {b"": _Folder(b"", read(tree))}
    for path in sorted(paths - {b""}):
        parent, _, name = path.rpartition(b"/")
        mode, id = folders[parent].entries.get(name, (b"", b""))
        folders[path] = _Folder(path, read(id.hex()) if mode == _FOLDER else b"")
    return folders
