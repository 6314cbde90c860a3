"""Ancestors of commits, by reading commits one by one: for the twin in memory. A mirror asks the Git library, which is faster."""

from __future__ import annotations

import contextlib
import heapq
from collections.abc import Callable, Iterator
from typing import TypeAlias

from reconciler.gitstore.errors import DamageError
from reconciler.gitstore.objects.commit import Commit
from reconciler.gitstore.objects.tree import ObjectId

ReadCommit: TypeAlias = Callable[[ObjectId], Commit]


def find_reachable(read: ReadCommit, head: ObjectId) -> dict[ObjectId, Commit]:
    """A commit that is not here ends its line: the history may be cut short."""
    found: dict[ObjectId, Commit] = {}
    seen: set[ObjectId] = set()
    waiting = [head]
    while waiting:
        id = waiting.pop()
        if id in seen:
            continue
        seen.add(id)
        with contextlib.suppress(DamageError):
            found[id] = read(id)
            waiting.extend(found[id].parents)
    return found


def is_descendant(read: ReadCommit, commit: ObjectId, ancestor: ObjectId) -> bool:
    """Newest first and no further than needed: what is asked for is mostly a recent parent."""
    seen: set[ObjectId] = set()
    waiting = [(0.0, commit)]
    while waiting:
        _, id = heapq.heappop(waiting)
        if id in seen:
            continue
        seen.add(id)
        with contextlib.suppress(DamageError):
            found = read(id)
            if id == ancestor:
                return True
            for parent in found.parents:
                heapq.heappush(waiting, (-found.time.timestamp(), parent))
    return False


def list_commits(read: ReadCommit, head: ObjectId, since: ObjectId | None) -> Iterator[ObjectId]:
    """What `head` reaches and `since` does not; every commit before its parents, else the newest first."""
    read(head)  # which must be here
    hidden = find_reachable(read, since) if since else {}
    shown = {id: commit for id, commit in find_reachable(read, head).items() if id not in hidden}
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
