"""Whether a commit descends from another, in a mirror: asked many times in each tick, of the newest commits.

Theory of operation
-------------------
The Git library reads the whole history for such an answer: `live` is made of merges, and no older commit of `live` is below the source commit that is
looked for. A tick would cost what the fleet has lived through. So:

    1. the NEAR newest commits are walked: mostly the ancestor is the last source, or the commit before
    2. else all ancestors of that commit are collected, once, and kept; of a later commit only those that are new are read
    3. a commit that a set has, and that is not its head, leaves all sets as they are: a host that lags behind `live` is at such a commit. What the set
       lacks is not below it, nor what has a higher place there. Only what has a place between the two is walked

A set is of one head. It is extended where the walk from another commit meets that head: then all that is in the set is below that commit too. Commits
never change, so nothing of it becomes wrong. Dates decide only what is walked first, never the answer.

The place of a commit in its set is a number, never below that of an ancestor: what a set begins with is numbered in topological order, and what extends
it later has one number, which is higher than all before.

Must never happen: a set alone says yes for a commit that is older than its head; a missing commit gives an answer other than no.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Container, Mapping
from dataclasses import dataclass

import pygit2
from pygit2.enums import SortMode

NEAR = 32
# New commits that are read at most to find the head of a set: that many more than a set of its own would cost.
MOST_NEW = 1_000
LINES = 3  # live, its inputs and the source are asked about


@dataclass(slots=True)
class AncestorSet:
    """`head`, and all that it descends from: the place of each by its raw id."""

    head: bytes
    places: dict[bytes, int]


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
            known = self._find(commit)
            if known.head == commit.raw:
                return ancestor.raw in known.places
        return self._is_below(commit, ancestor, known.places)

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

    def _is_below(self, commit: pygit2.Oid, ancestor: pygit2.Oid, places: Mapping[bytes, int]) -> bool:
        """Whether a commit that is older than the head of the set descends from the other."""
        lowest = places.get(ancestor.raw)
        if lowest is None:
            return False
        seen, waiting = {commit}, [commit]
        while waiting:
            id = waiting.pop()
            if id == ancestor:
                return True
            if places[id.raw] >= lowest:
                new = set(self._commit(id).parent_ids) - seen
                seen |= new
                waiting += new
        return False

    def _find(self, commit: pygit2.Oid) -> AncestorSet:
        """A set that has the commit. The set of `live` stays that of its head, whatever older commits are asked about."""
        of_head = (each for each in self._sets if each.head == commit.raw)
        older = (each for each in self._sets if commit.raw in each.places)
        if (found := next(of_head, None) or next(older, None)) is not None:
            return self._use(found)
        for known in self._sets:
            new = self._walk_new(commit, known.places)
            if new is not None and known.head in new:
                # Another thread may read the places: none of those is lost or changed meanwhile.
                known.places.update(dict.fromkeys(new - known.places.keys(), len(known.places)))
                known.head = commit.raw
                return self._use(known)
        walk = self._store.walk(commit, SortMode.TOPOLOGICAL | SortMode.TIME | SortMode.REVERSE)
        places = {found.id.raw: place for place, found in enumerate(walk)}
        del self._sets[LINES - 1 :]
        return self._use(AncestorSet(commit.raw, places))

    def _use(self, one: AncestorSet) -> AncestorSet:
        self._sets = [one, *(each for each in self._sets if each is not one)]
        return one

    def _walk_new(self, commit: pygit2.Oid, known: Container[bytes]) -> set[bytes] | None:
        """What `commit` reaches without going on below what is known; of that the first ones. None if that is too much."""
        found, waiting = {commit.raw}, [commit]
        while waiting:
            if len(found) > MOST_NEW:
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
