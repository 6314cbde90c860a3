"""Git objects by themselves: their types and names, and the place that keeps them.

Owns the `Objects` protocol: what the store needs of a mirror on disk or of its twin in memory. It must not know remotes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple, Protocol

from reconciler.gitstore.objects.tree import ObjectId


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
        ...

    def get(self, id: ObjectId) -> tuple[ObjectType, bytes]: ...

    def add(self, objects: Sequence[GitObject]) -> None:
        """Keep these, all or none, safe from housekeeping until `point` or `forget`."""
        ...

    def forget(self) -> None:
        """What was added and not pointed at is garbage now."""
        ...

    def refs(self) -> Mapping[str, ObjectId]:
        """As the last fetch, or `point`, left them."""
        ...

    def point(self, refs: Mapping[str, ObjectId]) -> None:
        """Move refs here, to what has just been pushed."""
        ...

    def commits(self, head: ObjectId, since: ObjectId | None) -> Iterator[ObjectId]: ...

    def is_descendant(self, commit: ObjectId, ancestor: ObjectId) -> bool: ...

    def heal(self, is_thorough: bool) -> bool:
        """After trouble: remove what a crash left behind, and start anew if damaged. Whether anything was changed."""
        ...

    def consolidate(self, pins: Sequence[ObjectId]) -> None:
        """Tidy up while others read, fetch and push; what `pins` and the refs reach stays."""
        ...

    def settle(self, refs: Collection[str]) -> None:
        """What is left to tidy while nobody fetches or pushes; quick. Refs that are not among these are of no use."""
        ...

    def close(self) -> None: ...
