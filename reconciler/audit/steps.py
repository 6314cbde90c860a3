"""The steps of `live`: one tick's commits each, and each commit of others that came into its history.

Theory of operation
-------------------
Steps are on the first-parent line. Beside it are commits of others: the reconciler passes over them, and its next commit has them as
a parent that is not the first (`live_commit`). Each is a step of its own, right before the one that brought it into the history.

Must never happen: a commit that others wrote is in the history of `live`, in that of no source, and in no step.

Limits: what is in the history of the source that the newest step names belongs to the source, whoever merged it into `live`.
"""

from __future__ import annotations

from dataclasses import dataclass

from reconciler.gitstore.live_commit import reconciled_source
from reconciler.gitstore.objects.commit import INPUTS_TRAILER, Commit, decode_commit, parse_trailers
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import Repo


@dataclass(frozen=True, slots=True)
class Step:
    """One tick's commits on the line, the oldest first: mostly one. Or a commit beside the line, `put_back_by` a reconciler's if any."""

    commits: tuple[tuple[ObjectId, Commit], ...]
    is_beside: bool = False
    put_back_by: ObjectId | None = None

    @property
    def newest(self) -> Commit:
        return self.commits[-1][1]

    @property
    def parent(self) -> ObjectId | None:
        return self.commits[0][1].first_parent

    def trailers(self, name: str) -> list[str]:
        return [value for key, value in parse_trailers(self.newest.message) if key == name]


def list_steps(repo: Repo, head: ObjectId, since: ObjectId | None = None) -> list[Step]:
    """Of the first-parent line from `since`, which is left out, to `head`; the oldest first. It ends where the history of the source begins."""
    steps: list[Step] = []
    commit: ObjectId | None = head
    while commit is not None and commit != since:
        found = decode_commit(repo.read(commit))
        if steps and _is_one_step(found, steps[-1].commits[0][1], commit):
            steps[-1] = Step(((commit, found), *steps[-1].commits))
        else:
            steps.append(Step(((commit, found),)))
        commit = None if _is_root(repo, found) else found.first_parent
    source = reconciled_source(steps[0].newest) if steps else None
    return [each for step in steps[::-1] for each in (*_list_beside(repo, step, source), step)]


def _list_beside(repo: Repo, step: Step, newest_source: ObjectId | None) -> list[Step]:
    """What the step brought into the history and is not the source's, the oldest first."""
    found: dict[ObjectId, Step] = {}
    for id, commit in step.commits:
        source = reconciled_source(commit)
        sources = [each for each in (source, newest_source) if each is not None]
        for side in commit.parents[1:]:
            # An empty walk for the source itself, which is the side of most steps.
            for each in repo.commits(side, commit.first_parent) if side != source else ():
                if not any(repo.is_descendant(one, each) for one in sources):
                    read = decode_commit(repo.read(each))
                    found.setdefault(each, Step(((each, read),), True, id if source is not None else None))
    return list(found.values())[::-1]


def _is_root(repo: Repo, commit: Commit) -> bool:
    """Whether live began with it: then its first parent, if it has one, is the source's."""
    parent, source = commit.first_parent, reconciled_source(commit)
    if parent is None or source is None:
        return parent is None
    is_ours = reconciled_source(decode_commit(repo.read(parent))) is not None
    return not is_ours and repo.is_descendant(source, parent)


def _is_one_step(before: Commit, after: Commit, commit: ObjectId) -> bool:
    is_named = any(name == INPUTS_TRAILER for name, _ in parse_trailers(after.message))
    return is_named and after.parents == (commit,) and before.message == after.message
