"""What of the history of `live` was asked for: which commits it contains, and its recoveries. A cache; all of it can be read again.

A thousand reports name a commit of `live` each, and most name the same few. Each commit is looked for once. As `live` advances, only the
new commits are looked through: what it contained it still contains.

Limits: reads commits only. It does not judge what a missing commit means.
"""

from __future__ import annotations

from collections.abc import Collection

from reconciler.gitstore.live_recovery import Recovery, is_recovery_approved, list_recoveries
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import Repo


class LiveHistory:
    """Of one `live`, up to `head`."""

    def __init__(self) -> None:
        self.head: ObjectId | None = None
        self._contains: dict[ObjectId, bool] = {}
        self._recoveries: list[Recovery] = []
        self._listed: ObjectId | None = None  # the recoveries up to this commit are known
        self._approved: set[ObjectId] = set()

    def advance(self, repo: Repo, head: ObjectId | None) -> None:
        """Another line of history, as after a restore, is begun from nothing."""
        if head == self.head:
            return
        if head is None or self.head is None or not repo.is_descendant(head, self.head):
            self.__init__()  # type: ignore[misc]
        elif not all(self._contains.values()):
            for commit in repo.commits(head, self.head):
                if commit in self._contains:
                    self._contains[commit] = True
        self.head = head

    def contains(self, repo: Repo, commit: ObjectId) -> bool:
        if self.head is None:
            return False
        if commit not in self._contains:
            self._contains[commit] = repo.is_descendant(self.head, commit)
        return self._contains[commit]

    def forget_others(self, commits: Collection[ObjectId]) -> None:
        """Keeps what is named now, so that the cache does not grow with `live`."""
        if len(self._contains) > 2 * len(commits) + 100:
            self._contains = {each: found for each, found in self._contains.items() if each in commits}

    def recovery_of(self, repo: Repo, applied: ObjectId) -> Recovery | None:
        """The newest recovery that names that commit."""
        if self._listed != self.head:
            self._recoveries = [*list_recoveries(repo, self.head, self._listed), *self._recoveries]
            self._listed = self.head
        return next((each for each in self._recoveries if applied in each.applied), None)

    def is_approved(self, repo: Repo, recovery: Recovery, fleet: str) -> bool:
        """Whether a commit that `live` contains approves it. What was approved stays so."""
        if recovery.commit not in self._approved and self.head is not None:
            if not is_recovery_approved(repo, self.head, recovery, fleet):
                return False
            self._approved.add(recovery.commit)
        return True
