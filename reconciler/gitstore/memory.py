"""A Git remote and its clients in memory: for simulations, for `plan`, for tests. The same objects with the same ids.

Ships with the package and passes the contract suites of the real ones. It must not know disks or processes.

Objects are encoded and hashed as Git does it, so a plan that was made in memory names the ids that the real commit will have, apart from its time
and author. `move` is the compare-and-swap of a server with a lock of this process: pushes of several threads are as atomic as real ones.

The twin can fail where the real one can: `fault` before a call (nothing happened), or after it (it happened, and the answer was lost).
The second is the case that a client must survive: its next push of the same commits finds its own result.

A push whose `fault` before the call has an unknown outcome is late: the server has it and carries it out at any later time, when
`MemoryRemote.land` is called, in whatever order. Compare-and-swap is judged then, as on a server that was busy.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from reconciler.gitstore.errors import DamageError
from reconciler.gitstore.objects.ancestry import Ancestry
from reconciler.gitstore.objects.commit import Commit, decode_commit
from reconciler.gitstore.objects.database import GitObject, ObjectType
from reconciler.gitstore.objects.first_parents import walk_changes
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.objects.tree_edit import EMPTY
from reconciler.gitstore.remote.transport import (
    PushConflict,
    PushRefused,
    RefSet,
    RefsFetched,
    RefsListed,
    RefsPushed,
    RefUpdate,
    RemoteUnavailable,
)
from reconciler.gitstore.repo import FileChange

Call: TypeAlias = Literal["list_refs", "fetch", "push"]
Fault: TypeAlias = Callable[[Call, Literal["before", "after"]], RemoteUnavailable | None]
Hook: TypeAlias = Callable[[Sequence[RefUpdate]], str]  # the server's words when it refuses, else nothing
Fallback: TypeAlias = Callable[[ObjectId], tuple[ObjectType, bytes] | None]


def no_fault(_call: Call, _when: Literal["before", "after"]) -> RemoteUnavailable | None:
    return None


def no_hook(_updates: Sequence[RefUpdate]) -> str:
    return ""


class MemoryRemote:
    """What a Git server keeps. Its clients share the objects, so a fetch copies only refs.

    `hook` refuses pushes as a server's does. `fallback` reads what is not in memory, as from a checkout that is planned on.
    """

    def __init__(
        self, default_branch: str = "refs/heads/main", hook: Hook = no_hook, fallback: Fallback | None = None
    ) -> None:
        self.default_branch = default_branch
        self.hook = hook
        self.refs: dict[str, ObjectId] = {}
        self.objects: dict[ObjectId, tuple[ObjectType, bytes]] = {}
        self.commits: dict[ObjectId, Commit] = {}  # of these, as they were read before
        self.late: list[tuple[RefUpdate, ...]] = []  # pushes that the server has not carried out yet
        self._fallback = fallback
        self._moving = threading.Lock()

    def get(self, id: ObjectId) -> tuple[ObjectType, bytes]:
        found = self.objects.get(id) or (self._fallback(id) if self._fallback else None)
        if found is None:
            raise DamageError(f"object {id} is missing")
        return found

    def move(self, updates: Sequence[RefUpdate]) -> RefsPushed | PushConflict | PushRefused:
        """All or none, by compare-and-swap."""
        if words := self.hook(updates):
            return PushRefused(tuple(update.ref for update in updates), words)
        with self._moving:
            if any(self.refs.get(update.ref) != update.old for update in updates):
                return PushConflict({update.ref: self.refs.get(update.ref) for update in updates})
            for update in updates:
                if update.new is None:
                    self.refs.pop(update.ref, None)
                else:
                    self.refs[update.ref] = update.new
        return RefsPushed({update.ref: update.new for update in updates})

    def land(self, number: int = 0) -> RefsPushed | PushConflict | PushRefused:
        """Carries out a late push, long after its client gave up."""
        return self.move(self.late.pop(number))


class MemoryObjects:
    """One client's own copy: its refs are those of its last fetch."""

    def __init__(self, remote: MemoryRemote) -> None:
        self.remote = remote
        self.fetched: dict[str, ObjectId] = {}
        self._ancestry = Ancestry(self._commit)

    @property
    def folder(self) -> None:
        """Nothing of it outlives the process."""
        return None

    def get(self, id: ObjectId) -> tuple[ObjectType, bytes]:
        return self.remote.get(id)

    def header(self, id: ObjectId) -> tuple[ObjectType, int]:
        type, data = self.remote.get(id)
        return type, len(data)

    def add(self, objects: Sequence[GitObject]) -> None:
        self.remote.objects.update((object.id, (object.type, object.data)) for object in objects)

    def forget(self) -> None:
        """Memory keeps garbage: other clients may have made the same object."""

    def refs(self) -> Mapping[str, ObjectId]:
        return dict(self.fetched)

    def point(self, refs: Mapping[str, ObjectId]) -> None:
        self.fetched.update(refs)

    def commits(self, head: ObjectId, since: ObjectId | None) -> Iterator[ObjectId]:
        return self._ancestry.list_commits(head, since)

    def changes(
        self, head: ObjectId, path: str | None, *, removals: bool
    ) -> Iterator[tuple[ObjectId, FileChange]]:
        def may_show(change: FileChange) -> bool:
            return path in (None, change.path) and not (removals and change.after)

        return walk_changes(self._commit, self._tree, head, may_show)

    def is_descendant(self, commit: ObjectId, ancestor: ObjectId) -> bool:
        return self._ancestry.is_descendant(commit, ancestor)

    def heal(self, is_thorough: bool) -> bool:
        del is_thorough  # what memory lacks, it never had
        return False

    def repack(self, pins: Sequence[ObjectId]) -> None:
        """Nothing to tidy: it all goes with the process."""

    def finish_repack(self, refs: Collection[str]) -> None:
        self.fetched = {ref: id for ref, id in self.fetched.items() if ref in refs}

    def close(self) -> None:
        self.fetched.clear()

    def _tree(self, id: ObjectId) -> bytes:
        return b"" if id == EMPTY.id else self.remote.get(id)[1]

    def _commit(self, id: ObjectId) -> Commit:
        data = self.remote.get(id)[1]  # which fails where it is not here any more
        found = self.remote.commits.get(id)
        if found is None:
            found = self.remote.commits[id] = decode_commit(data)
        return found


class MemoryTransport:
    """Between one client and the remote. `fault` may answer, or raise, before or after the effect of each call."""

    def __init__(self, local: MemoryObjects, fault: Fault = no_fault) -> None:
        self.local = local
        self.fault = fault

    def list_refs(self, needed: Sequence[str], seconds: float) -> RefsListed | RemoteUnavailable:
        del seconds  # memory answers at once
        if failure := self.fault("list_refs", "before"):
            return failure
        remote, names = self.local.remote, RefSet(needed)
        listed = RefsListed(
            {ref: id for ref, id in sorted(remote.refs.items()) if ref in names}, remote.default_branch
        )
        return self.fault("list_refs", "after") or listed

    def fetch(self, needed: Sequence[str], seconds: float) -> RefsFetched | RemoteUnavailable:
        del seconds
        if failure := self.fault("fetch", "before"):
            return failure
        there, names = self.local.remote.refs, RefSet(needed)
        others = {ref: id for ref, id in self.local.fetched.items() if ref not in names}
        self.local.fetched = others | {ref: id for ref, id in there.items() if ref in names}
        missing = tuple(ref for ref in needed if not ref.endswith("/*") and ref not in there)
        return self.fault("fetch", "after") or RefsFetched(missing)

    def push(
        self, updates: Sequence[RefUpdate], seconds: float
    ) -> RefsPushed | PushConflict | PushRefused | RemoteUnavailable:
        del seconds
        if failure := self.fault("push", "before"):
            if failure.is_unknown:
                self.local.remote.late.append(tuple(updates))
            return failure
        done = self.local.remote.move(updates)
        return self.fault("push", "after") or done
