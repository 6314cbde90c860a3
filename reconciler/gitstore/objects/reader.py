"""Reads commits and trees through a cache: the new root of one tick is the old root of the next.

Trees are cached because a difference reads the same ones in tick after tick; blobs are not, since each is read once when it is new. The cache is
bounded by bytes and drops what was used longest ago. An object never changes under its id, so a cached one is never out of date.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator

from reconciler.gitstore.errors import DamageError, NotACommitError
from reconciler.gitstore.objects import tree, tree_diff
from reconciler.gitstore.objects.commit import decode_commit
from reconciler.gitstore.objects.database import ObjectDatabase, ObjectType
from reconciler.gitstore.objects.tree import File, FileMode, ObjectId
from reconciler.gitstore.objects.tree_edit import EMPTY
from reconciler.gitstore.repo import FileChange

_BUDGET_BYTES = 32 << 20  # the trees of about 500,000 files


class ObjectReader:
    """Any thread may read. `missing` collects the objects that should be there and could not be read."""

    def __init__(self, objects: ObjectDatabase) -> None:
        self.missing: set[ObjectId] = set()
        self._objects = objects
        self._left = _BUDGET_BYTES
        self._trees: OrderedDict[ObjectId, bytes] = OrderedDict()
        self._trees_lock = threading.Lock()

    def read(self, id: ObjectId) -> bytes:
        if id == EMPTY.id:  # known without being stored, as in Git itself
            return b""
        return self._get(id)[1]

    def tree(self, commit: ObjectId | None) -> ObjectId:
        """The root tree of a commit, through tags. None is the empty tree."""
        if commit is None:
            return EMPTY.id
        type, data = self._get(commit)
        if type is ObjectType.COMMIT:
            return decode_commit(data).tree
        if type is ObjectType.TAG:
            return self.tree(data[len(b"object ") : len(b"object ") + 40].decode("ascii", "replace"))
        raise NotACommitError(
            f"{commit} is a {type.name.lower()} and not a commit", "a ref must name a commit"
        )

    def listing(self, id: ObjectId) -> bytes:
        """The raw bytes of a tree."""
        if id == EMPTY.id:
            return b""
        with self._trees_lock:
            if (known := self._trees.get(id)) is not None:
                self._trees.move_to_end(id)
                return known
        type, data = self._get(id)
        if type is not ObjectType.TREE:
            self.missing.add(id)
            raise DamageError(f"object {id} is not a tree", "run `git fsck`")
        self._remember(id, data)
        return data

    def files(self, commit: ObjectId) -> Iterator[File]:
        return tree.files(self.listing, self.tree(commit))

    def file(self, commit: ObjectId, path: str) -> File | None:
        found = tree.find(self.listing, self.tree(commit), path)
        return None if found is None or found[0] is FileMode.FOLDER else File(path, *found)

    def diff(self, old: ObjectId | None, new: ObjectId | None) -> Iterator[FileChange]:
        return tree_diff.diff_trees(self.listing, self.tree(old), self.tree(new))

    def _get(self, id: ObjectId) -> tuple[ObjectType, bytes]:
        try:
            return self._objects.get(id)
        except DamageError:
            self.missing.add(id)
            raise

    def _remember(self, id: ObjectId, data: bytes) -> None:
        with self._trees_lock:
            if id not in self._trees:
                self._trees[id] = data
                self._left -= len(data)
            while self._left < 0:
                self._left += len(self._trees.popitem(last=False)[1])
