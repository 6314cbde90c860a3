"""Makes new blobs, trees and commits of a draft. Stores nothing and pushes nothing.

A draft becomes one commit, or two: if it merges a new source commit and also removes files, the first commit merges and keeps these files, and the
second removes them. In a merge that drops a file Git follows the parent that lacks it too, and `git log -- FILE` would not show the end.

The same draft gives the same ids, unless it is signed. So a push that is repeated after a lost answer finds its own commit on the remote.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reconciler.gitstore.objects.commit import (
    REPLACED_TRAILER,
    SOURCE_TRAILER,
    Commit,
    Sign,
    add_trailers,
    encode_commit,
)
from reconciler.gitstore.objects.database import GitObject, ObjectType, hash_object
from reconciler.gitstore.objects.reader import ObjectReader
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.objects.tree_diff import diff_trees
from reconciler.gitstore.objects.tree_edit import EMPTY, edit_tree
from reconciler.gitstore.repo import Draft, Edit, ExistingBlob


@dataclass(frozen=True, slots=True)
class BuiltCommit:
    commit: ObjectId
    objects: tuple[GitObject, ...]


class CommitBuilder:
    """`descends(commit, ancestor)` decides whether the source has moved."""

    def __init__(
        self, reader: ObjectReader, descends: Callable[[ObjectId, ObjectId], bool], sign: Sign | None = None
    ) -> None:
        self._reader = reader
        self._descends = descends
        self._sign = sign

    def build(self, draft: Draft) -> BuiltCommit | None:
        """None when the ref has that tree already."""
        done = edit_tree(self._reader.listing, self._reader.tree(draft.base), draft.edits)
        # What replaces a ref whatever it holds does not read that: it may be anything, and may not even be here.
        is_replaced = draft.even_if_unchanged and not draft.has_parents
        before = EMPTY.id if is_replaced else self._reader.tree(draft.expected)
        if draft.expected and done.tree == before and not draft.even_if_unchanged:
            return None
        # What was just made has not been stored yet.
        fresh = dict(done.objects)

        def listing(id: ObjectId) -> bytes:
            return fresh[id].data if id in fresh else self._reader.listing(id)

        parents = self._parents(draft)
        if len(parents) >= 2 and not draft.merges and (kept := _find_removed(listing, before, done.tree)):
            merged = edit_tree(listing, done.tree, kept)
            fresh |= merged.objects
            first = self._commit(draft, merged.tree, parents)
            fresh[first.id] = first
            parents = (first.id,)
        commit = self._commit(draft, done.tree, parents)
        fresh[commit.id] = commit
        return BuiltCommit(commit.id, tuple(fresh.values()))

    def _parents(self, draft: Draft) -> tuple[ObjectId, ...]:
        if not draft.has_parents:
            return ()
        parent = draft.parent or draft.expected
        first = (parent,) if parent else ()
        replaced = (draft.replaces,) if draft.replaces else ()
        if draft.source is None or (draft.expected and self._descends(draft.expected, draft.source)):
            return (*first, *replaced, *draft.merges)
        return (*first, draft.source, *replaced, *draft.merges)

    def _commit(self, draft: Draft, tree: ObjectId, parents: tuple[ObjectId, ...]) -> GitObject:
        source = [(SOURCE_TRAILER, draft.source)] if draft.source else []
        replaced = [(REPLACED_TRAILER, draft.replaces)] if draft.replaces else []
        message = add_trailers(draft.message, [*source, *replaced, *draft.trailers])
        commit = Commit(tree, parents, draft.author, draft.time, message)
        return hash_object(ObjectType.COMMIT, encode_commit(commit, self._sign))


def _find_removed(listing: Callable[[ObjectId], bytes], before: ObjectId, after: ObjectId) -> dict[str, Edit]:
    """The files that `after` no longer has, as edits that put them back, where nothing else has taken their place."""
    changes = list(diff_trees(listing, before, after))
    gone = [change.before for change in changes if change.before and not change.after]
    if not gone:
        return {}
    taken = {change.path for change in changes if change.after}
    folders = {path[:end] for path in taken for end, letter in enumerate(path) if letter == "/"}
    return {
        file.path: ExistingBlob(file.mode, file.id)
        for file in gone
        if file.path not in folders
        and not any(file.path[:end] in taken for end, letter in enumerate(file.path) if letter == "/")
    }
