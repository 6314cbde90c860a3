"""Git objects, their types and ids, and the database that stores them.

Owns the `Objects` protocol: what the store needs of a mirror on disk or of its twin in memory. It must not know remotes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple, Protocol

from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import FileChange


class ObjectType(IntEnum):
    """Numbered as in packs."""

    COMMIT = 1
    TREE = 2
    BLOB = 3
    TAG = 4


class GitObject(NamedTuple):
    id: ObjectId
    type: ObjectType
    data: bytes


_HEADS = {type: type.name.lower().encode() + b" %d\0" for type in ObjectType}


def hash_object(type: ObjectType, data: bytes) -> GitObject:
    """The object with the name that Git gives it."""
    digest = hashlib.sha1(_HEADS[type] % len(data), usedforsecurity=False)
    digest.update(data)
    return GitObject(digest.hexdigest(), type, data)


class ObjectDatabase(Protocol):
    """`get` raises DamageError for what is missing. The others raise OSError when the disk says no."""

    @property
    def folder(self) -> Path | None:
        """Where what is made of them may lie; None where nothing outlives the process."""

    def get(self, id: ObjectId) -> tuple[ObjectType, bytes]: ...

    def header(self, id: ObjectId) -> tuple[ObjectType, int]:
        """Type and size of an object, which is not read for it. Raises DamageError for what is missing."""

    def add(self, objects: Sequence[GitObject]) -> None:
        """Store these, all or none, and protect them from housekeeping until `point` or `forget`."""

    def forget(self) -> None:
        """Objects that were added and have no ref are garbage from now on."""

    def refs(self) -> Mapping[str, ObjectId]:
        """As the last fetch, or `point`, left them."""

    def point(self, refs: Mapping[str, ObjectId]) -> None:
        """Move refs here to the commits that were just pushed."""

    def commits(self, head: ObjectId, since: ObjectId | None) -> Iterator[ObjectId]: ...

    def changes(
        self, head: ObjectId, path: str | None, *, removals: bool
    ) -> Iterator[tuple[ObjectId, FileChange]]: ...

    def is_descendant(self, commit: ObjectId, ancestor: ObjectId) -> bool: ...

    def heal(self, is_thorough: bool) -> bool:
        """After an error: remove what a crash left behind, and build it again if damaged. Whether anything was changed."""

    def repack(self, pins: Sequence[ObjectId]) -> None:
        """Combine packs and drop garbage while others read, fetch and push. Keeps all that `pins` and the refs reach."""

    def finish_repack(self, refs: Collection[str]) -> None:
        """The rest of `repack`, which needs that no fetch or push runs; quick. Removes all refs but these."""

    def close(self) -> None: ...
