"""Whether a commit descends from another, in a mirror: asked many times in each tick, of the newest commits.

Theory of operation
-------------------
The Git library reads the whole history for such an answer: `live` is made of merges, and no older commit of `live` is below the source commit that is
looked for. A tick would cost what the fleet has lived through. So:

    1. the NEAR newest commits are walked: mostly the ancestor is the last source, or the commit before
    2. else all ancestors of that commit are collected, once, and kept; of a later commit only those that are new are read

A set is of one head. It is extended where the walk from another commit meets that head: then all that is in the set is below that commit too. Commits
never change, so nothing of it becomes wrong. Dates decide only what is walked first, never the answer.

Must never happen: a set answers for a commit that is older than its head; a missing commit gives an answer other than no.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Container
from dataclasses import dataclass

import pygit2

NEAR = 32
# New commits that are read at most to find the head of a set: that many more than a set of its own would cost.
MOST_NEW = 1_000
LINES = 3  # live, its inputs and the source are asked about


@dataclass(slots=True)
class AncestorSet:
    """`head`, and all that it descends from, as raw ids."""

    head: bytes
    ids: set[bytes]


class AncestorSets:
    """Of one store; whoever opens another one makes new sets. Raises KeyError or pygit2.GitError for a commit that is not here."""

    def __init__(self, store: pygit2.Repository, near: int = NEAR) -> None:
        self._store = store
        self._near = near
        self._sets: list[AncestorSet] = []  # the one that was asked last comes first
        self._lock = threading.Lock()

    def is_descendant(self, commit: pygit2.Oid, ancestor: pygit2.Oid) -> bool:
        """Whether `ancestor` is `commit` or below it."""
        if self._is_near(commit, ancestor):
            return True
        with self._lock:
            return ancestor.raw in self._ancestors(commit)

    def _is_near(self, commit: pygit2.Oid, ancestor: pygit2.Oid) -> bool:
        seen, waiting = {commit}, [(0, commit.raw, commit)]
        for _ in range(self._near):
            if not waiting:
                break
            found = self._commit(heapq.heappop(waiting)[2])
            if found.id == ancestor:
                return True
            for parent in set(found.parent_ids) - seen:
                seen.add(parent)
                heapq.heappush(waiting, (-found.commit_time, parent.raw, parent))
        return False

    def _ancestors(self, commit: pygit2.Oid) -> set[bytes]:
        for known in self._sets:
            if known.head == commit.raw:
                return self._use(known)
            new = self._walk(commit, known.ids, MOST_NEW)
            if new is not None and known.head in new:
                known.ids |= new
                known.head = commit.raw
                return self._use(known)
        ids = self._walk(commit, frozenset())
        assert ids is not None, "this walk has no end before the history's"
        del self._sets[LINES - 1 :]
        return self._use(AncestorSet(commit.raw, ids))

    def _use(self, one: AncestorSet) -> set[bytes]:
        self._sets = [one, *(each for each in self._sets if each is not one)]
        return one.ids

    def _walk(
        self, commit: pygit2.Oid, known: Container[bytes], most: int | None = None
    ) -> set[bytes] | None:
        """What `commit` reaches without going on below what is known; of that the first ones. None if there are more than `most`."""
        found, waiting = {commit.raw}, [commit]
        while waiting:
            if most is not None and len(found) > most:
                return None
            id = waiting.pop()
            if id.raw in known:
                continue
            new = [parent for parent in self._commit(id).parent_ids if parent.raw not in found]
            found.update(parent.raw for parent in new)
            waiting += new
        return found

    def _commit(self, id: pygit2.Oid) -> pygit2.Commit:
        found: object = self._store[id]
        if not isinstance(found, pygit2.Commit):
            raise KeyError(f"{id} is not a commit")
        return found
