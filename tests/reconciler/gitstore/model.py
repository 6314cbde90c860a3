"""The simplest thing that could be a tree: path -> (mode, content). What real code is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from hypothesis import strategies as st

from reconciler.gitstore.objects.database import GitObject, ObjectType, hash_object
from reconciler.gitstore.objects.tree import FileMode, ObjectId
from reconciler.gitstore.objects.tree_edit import edit_tree
from reconciler.gitstore.repo import Edit, ExistingBlob

Model: TypeAlias = dict[str, tuple[FileMode, bytes]]

# Few names, so that edits meet; with those that sort differently as a file and as a folder, and one that is not UTF-8.
NAMES = st.sampled_from(["a", "a.b", "a-b", "a0", "b", "B", "ü", b"\xe9".decode("utf-8", "surrogateescape")])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
CONTENTS = st.binary(max_size=4)
LEAVES = st.tuples(st.sampled_from([FileMode.FILE, FileMode.EXECUTABLE, FileMode.LINK]), CONTENTS)


def fits(path: str, others: Mapping[str, object]) -> bool:
    """Whether no other path needs a folder where this is a file, or the other way round."""
    return not any(
        other != path and (other.startswith(path + "/") or path.startswith(other + "/")) for other in others
    )


@st.composite
def models(draw: st.DrawFn) -> Model:
    found: Model = {}
    for path, leaf in draw(st.lists(st.tuples(PATHS, LEAVES), max_size=12)):
        if fits(path, found):
            found[path] = leaf
    return found


class Shelf:
    """Objects in a dictionary."""

    def __init__(self) -> None:
        self.objects: dict[ObjectId, GitObject] = {}
        self.reads: list[ObjectId] = []

    def read(self, id: ObjectId) -> bytes:
        if id == "4b825dc642cb6eb9a060e54bf8d69288fbee4904":
            return b""
        self.reads.append(id)
        return self.objects[id].data

    def edit_tree(self, tree: ObjectId | None, edits: Mapping[str, Edit]) -> ObjectId:
        done = edit_tree(self.read, tree, edits)
        self.objects |= done.objects
        return done.tree

    def store_model(self, model: Model) -> ObjectId:
        edits: dict[str, Edit] = {}
        for path, (mode, content) in model.items():
            blob = hash_object(ObjectType.BLOB, content)
            self.objects[blob.id] = blob
            edits[path] = ExistingBlob(mode, blob.id)
        return self.edit_tree(None, edits)
