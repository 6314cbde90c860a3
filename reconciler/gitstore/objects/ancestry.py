"""Ancestors of commits, by reading commits one by one: for the twin in memory. A mirror has `AncestorSets`, and asks the Git library for lists.

A commit's *generation* is one more than the largest of its parents; so nothing below a generation reaches a commit of that or a higher one.
With it a question costs what lies between two commits, and dates, which people and clocks get wrong, decide nothing.

Limits: where the history is cut short, generations are not known, and all of it is walked.
"""

from __future__ import annotations

import contextlib
import heapq
from collections.abc import Callable, Iterator
from typing import TypeAlias

from reconciler.gitstore.errors import DamageError
from reconciler.gitstore.objects.commit import Commit
from reconciler.gitstore.objects.tree import ObjectId

ReadCommit: TypeAlias = Callable[[ObjectId], Commit]


class Ancestry:
    """Of the commits that `read` knows. Generations are kept: a commit never changes."""

    def __init__(self, read: ReadCommit) -> None:
        self._read = read
        self._generations: dict[ObjectId, int] = {}

    def generation(self, commit: ObjectId) -> int | None:
        """None where a commit below is not here: it may come later, so nothing is kept of those above it."""
        known, waiting = self._generations, [commit]
        while waiting:
            id = waiting[-1]
            if id in known:
                waiting.pop()
                continue
            try:
                parents = self._read(id).parents
            except DamageError:
                return None
            if unknown := [parent for parent in parents if parent not in known]:
                waiting += unknown
                continue
            known[id] = 1 + max((known[parent] for parent in parents), default=0)
            waiting.pop()
        return known[commit]

    def is_descendant(self, commit: ObjectId, ancestor: ObjectId) -> bool:
        """Whether `ancestor` is `commit` or below it. Generations are used where they are known, and not made: mostly it is a recent parent."""
        least = self._generations.get(ancestor)
        if least is None or commit not in self._generations:
            return any(id == ancestor for id, _ in walk(self._read, commit))
        seen, waiting = {commit}, [commit]
        while waiting:
            id = waiting.pop()
            if id == ancestor:
                return True
            below = {parent for parent in self._read(id).parents if self._generations[parent] >= least}
            waiting += below - seen
            seen |= below
        return False

    def list_commits(self, head: ObjectId, since: ObjectId | None) -> Iterator[ObjectId]:
        """What `head` reaches and `since` does not; every commit before its parents, else the newest first."""
        self._read(head)  # which must be here
        shown = self._find_between(head, since)
        children = dict.fromkeys(shown, 0)
        for commit in shown.values():
            for parent in filter(shown.__contains__, commit.parents):
                children[parent] += 1
        ready = [(-shown[id].time.timestamp(), id) for id, count in children.items() if not count]
        heapq.heapify(ready)
        while ready:
            _, id = heapq.heappop(ready)
            yield id
            for parent in filter(shown.__contains__, shown[id].parents):
                children[parent] -= 1
                if not children[parent]:
                    heapq.heappush(ready, (-shown[parent].time.timestamp(), parent))

    def _find_between(self, head: ObjectId, since: ObjectId | None) -> dict[ObjectId, Commit]:
        """The highest generation first: whatever reaches a commit was looked at before it. It ends when all that waits is hidden."""
        first, last = (self.generation(head), self.generation(since)) if since else (None, None)
        if since is None or first is None or last is None:
            hidden_below = {id for id, _ in walk(self._read, since)} if since else set()
            return {id: commit for id, commit in walk(self._read, head) if id not in hidden_below}
        shown: dict[ObjectId, Commit] = {}
        hidden = {since}
        waiting = [(-last, since), (-first, head)]
        heapq.heapify(waiting)
        known, open_ones = {since, head}, {head} - hidden
        while open_ones:
            _, id = heapq.heappop(waiting)
            found = self._read(id)
            if id in hidden:
                hidden.update(found.parents)
                open_ones.difference_update(found.parents)
            else:
                shown[id] = found
                open_ones.discard(id)
                open_ones.update(set(found.parents) - hidden)
            for parent in set(found.parents) - known:
                heapq.heappush(waiting, (-self._generations[parent], parent))
            known.update(found.parents)
        return shown


def walk(read: ReadCommit, head: ObjectId) -> Iterator[tuple[ObjectId, Commit]]:
    """All that `head` reaches, the newest first. A commit that is not here ends its line: the history may be cut short."""
    seen: set[ObjectId] = set()
    waiting = [(0.0, head)]
    while waiting:
        _, id = heapq.heappop(waiting)
        if id in seen:
            continue
        seen.add(id)
        with contextlib.suppress(DamageError):
            found = read(id)
            yield id, found
            for parent in found.parents:
                heapq.heappush(waiting, (-found.time.timestamp(), parent))
