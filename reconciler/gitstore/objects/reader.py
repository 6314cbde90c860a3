"""Reads commits and trees through a cache: the new root of one tick is the old root of the next.

Trees are cached because a difference reads the same ones in tick after tick; blobs are not, since each is read once when it is new. The cache is
bounded by bytes and drops what was used longest ago. An object never changes under its id, so a cached one is never out of date.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator

from reconciler.gitstore.errors import DamageError, MalformedError, NotACommitError, TooLargeError
from reconciler.gitstore.objects import tree, tree_diff
from reconciler.gitstore.objects.commit import decode_commit
from reconciler.gitstore.objects.database import ObjectDatabase, ObjectType
from reconciler.gitstore.objects.meter import Meter
from reconciler.gitstore.objects.tree import File, FileMode, ObjectId
from reconciler.gitstore.objects.tree_edit import EMPTY
from reconciler.gitstore.repo import DiffLimits, FileChange

_BUDGET_BYTES = 32 << 20  # the trees of about 500,000 files
ONE_COMMIT = "a ref must name a commit"


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
        raise NotACommitError(f"{commit} is a {type.name.lower()} and not a commit", ONE_COMMIT)

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
            raise MalformedError(f"object {id} is a {type.name.lower()} and not a tree", "run `git fsck`")
        self._remember(id, data)
        return data

    def files(self, commit: ObjectId) -> Iterator[File]:
        return tree.files(self.listing, self.tree(commit))

    def file(self, commit: ObjectId, path: str) -> File | None:
        found = tree.find(self.listing, self.tree(commit), path)
        return None if found is None or found[0] is FileMode.FOLDER else File(path, *found)

    def missing_files(self, commit: ObjectId, other: ObjectId) -> Iterator[File]:
        return tree_diff.list_missing(self.listing, self.tree(commit), self.tree(other))

    def size(self, id: ObjectId) -> int:
        return self._header(id)[1]

    def diff(
        self, old: ObjectId | None, new: ObjectId | None, limits: DiffLimits | None = None
    ) -> Iterator[FileChange]:
        if limits is None:
            return tree_diff.diff_trees(self.listing, self.tree(old), self.tree(new))
        meter = Meter(self._header, self.listing, limits)
        before, after = self._tree_within(old, limits), self._tree_within(new, limits)
        return tree_diff.diff_trees(meter.listing, before, after, limits.enters)

    def _tree_within(self, commit: ObjectId | None, limits: DiffLimits) -> ObjectId:
        """The root tree of a commit that anybody may have written."""
        if commit is not None:
            type, size = self._header(commit)
            if type is not ObjectType.COMMIT:
                raise NotACommitError(f"{commit} is a {type.name.lower()} and not a commit", ONE_COMMIT)
            if size > limits.commit_bytes:
                raise TooLargeError(
                    f"commit {commit} has {size:,} bytes, more than {limits.commit_bytes:,}", ONE_COMMIT
                )
        return self.tree(commit)

    def _get(self, id: ObjectId) -> tuple[ObjectType, bytes]:
        try:
            return self._objects.get(id)
        except DamageError:
            self.missing.add(id)
            raise

    def _header(self, id: ObjectId) -> tuple[ObjectType, int]:
        if id == EMPTY.id:
            return ObjectType.TREE, 0
        try:
            return self._objects.header(id)
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
