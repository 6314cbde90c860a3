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


def is_descendant(read: ReadCommit, commit: ObjectId, ancestor: ObjectId) -> bool:
    """No further than needed: what is asked for is mostly a recent parent."""
    return any(id == ancestor for id, _ in walk(read, commit))


def list_commits(read: ReadCommit, head: ObjectId, since: ObjectId | None) -> Iterator[ObjectId]:
    """What `head` reaches and `since` does not; every commit before its parents, else the newest first."""
    read(head)  # which must be here
    hidden = dict(walk(read, since)) if since else {}
    shown = {id: commit for id, commit in walk(read, head) if id not in hidden}
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
