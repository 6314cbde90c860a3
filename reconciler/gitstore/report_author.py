"""Which commit of a report ref its host wrote itself: the head, or one below what candidates put on top of it. Pure reading.

Theory of operation
-------------------
A host replaces its report with each push, so a commit of its own has no parent. A candidate, which is another host that waits for the
pools, commits on top of the report and changes `candidate.json` alone: its commit has a parent, and the tree differs in that file only.

    commit                                                   its writer
    no parent                                                the host that reports
    a parent, and no difference, or candidate.json alone     a candidate; look at the parent
    a parent, and any other difference                       the host that reports

No difference: the report below has the same candidate.json already, and another candidate's was on the ref in between.

So the newest commit of the host can be read from the ref, whatever was remembered of it, also where the host and a candidate wrote between
two looks. The parent is the host's own commit, also where another candidate wrote before: the next one takes its place. So a candidate that
starts again and again makes no chain that every reader would have to walk. Only where it ends in good order it puts one more commit on
top of its own, without the file.

Called by the reconciler for each report ref that moved, and by the poollet for its own ref.

Must never happen: a candidate's push counts as a sign of life of the host below it, or hides one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from reconciler.gitstore.errors import TooLargeError
from reconciler.gitstore.objects.commit import decode_commit
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import DiffLimits, FileChange
from schemas.report.limits import (
    MAX_CANDIDATE_COMMITS,
    MAX_COMMIT_BYTES,
    MAX_ENTRIES,
    MAX_FOLDER_BYTES,
)

CANDIDATE = "candidate.json"
_ROOT = DiffLimits(lambda _: False, MAX_ENTRIES, MAX_FOLDER_BYTES, MAX_COMMIT_BYTES)


class ReportHistory(Protocol):
    """What is needed of a Repo."""

    def read(self, id: ObjectId) -> bytes: ...

    def diff(
        self, old: ObjectId | None, new: ObjectId | None, limits: DiffLimits | None = None
    ) -> Iterator[FileChange]: ...


def own_commit(history: ReportHistory, head: ObjectId) -> ObjectId:
    """The newest commit that no candidate made: at `head`, whose size the caller has looked at, or below it. Compares the entries of the
    roots alone, which tell of every difference further down. Raises TooLargeError where commits of candidates form a long chain."""
    commit = head
    for _ in range(MAX_CANDIDATE_COMMITS + 1):
        parents = decode_commit(history.read(commit)).parents
        if not parents or any(change.path != CANDIDATE for change in history.diff(parents[0], commit, _ROOT)):
            return commit
        commit = parents[0]
    raise TooLargeError(f"it has more than {MAX_CANDIDATE_COMMITS} commits of candidates")
