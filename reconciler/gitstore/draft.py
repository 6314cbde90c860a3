"""What a draft becomes: new blobs, trees and commits. Nothing is stored here and nothing is pushed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reconciler.gitstore.commit import SOURCE, Commit, Sign, encoded, with_trailers
from reconciler.gitstore.difference import difference
from reconciler.gitstore.graft import graft
from reconciler.gitstore.objects import Object, Type, named
from reconciler.gitstore.protocol import Blob, Draft, Edit
from reconciler.gitstore.reader import Reader
from reconciler.gitstore.tree import ObjectId


@dataclass(frozen=True, slots=True)
class Built:
    commit: ObjectId
    objects: tuple[Object, ...]


class Builder:
    """`descends(commit, ancestor)` decides whether the source has moved."""

    def __init__(
        self, reader: Reader, descends: Callable[[ObjectId, ObjectId], bool], sign: Sign | None = None
    ) -> None:
        self._reader = reader
        self._descends = descends
        self._sign = sign

    def built(self, draft: Draft) -> Built | None:
        """None when the ref has that tree already."""
        done = graft(self._reader.listing, self._reader.tree(draft.base), draft.edits)
        before = self._reader.tree(draft.expected)
        if draft.expected and done.tree == before and not draft.even_if_unchanged:
            return None
        # What was just made has not been stored yet.
        fresh = dict(done.objects)

        def listing(id: ObjectId) -> bytes:
            return fresh[id].data if id in fresh else self._reader.listing(id)

        parents = self._parents(draft)
        if len(parents) == 2 and (kept := _kept(listing, before, done.tree)):
            merged = graft(listing, done.tree, kept)
            fresh |= merged.objects
            first = self._commit(draft, merged.tree, parents)
            fresh[first.id] = first
            parents = (first.id,)
        commit = self._commit(draft, done.tree, parents)
        fresh[commit.id] = commit
        return Built(commit.id, tuple(fresh.values()))

    def _parents(self, draft: Draft) -> tuple[ObjectId, ...]:
        if not draft.has_parents:
            return ()
        first = (draft.expected,) if draft.expected else ()
        if draft.source is None or (draft.expected and self._descends(draft.expected, draft.source)):
            return first
        return (*first, draft.source)

    def _commit(self, draft: Draft, tree: ObjectId, parents: tuple[ObjectId, ...]) -> Object:
        source = [(SOURCE, draft.source)] if draft.source else []
        message = with_trailers(draft.message, [*source, *draft.trailers])
        commit = Commit(tree, parents, draft.author, draft.time, message)
        return named(Type.COMMIT, encoded(commit, self._sign))


def _kept(listing: Callable[[ObjectId], bytes], before: ObjectId, after: ObjectId) -> dict[str, Edit]:
    """The files that `after` no longer has, as edits that put them back, where nothing else has taken their place."""
    changes = list(difference(listing, before, after))
    gone = [change.before for change in changes if change.before and not change.after]
    if not gone:
        return {}
    taken = {change.path for change in changes if change.after}
    folders = {path[:end] for path in taken for end, letter in enumerate(path) if letter == "/"}
    return {
        file.path: Blob(file.mode, file.id)
        for file in gone
        if file.path not in folders
        and not any(file.path[:end] in taken for end, letter in enumerate(file.path) if letter == "/")
    }
