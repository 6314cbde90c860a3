"""Each commit that a reconciler of a life writes is computed again at once, by an auditor without clocks, keys and memory of any of them.

Backups rewind `live` and the lines of inputs, and late pushes land out of order: so each commit is judged for itself, as the end of its own line.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from reconciler.audit.steps import Step, list_steps
from reconciler.audit.verify import Auditor, Result
from reconciler.gitstore.objects.commit import INPUTS_TRAILER, decode_commit
from reconciler.gitstore.repo import Repo


@dataclass
class CommitAudit:
    """`count` commits were explained."""

    repo: Repo
    count: int = 0
    auditor: Auditor = field(init=False)

    def __post_init__(self) -> None:
        self.auditor = Auditor(self.repo, ())

    def check(self, commit: str) -> None:
        (step,) = self._step(commit)
        self.auditor.lines = step.trailers(INPUTS_TRAILER)
        (found,) = self.auditor.audit([step])
        assert found.result is Result.EXPLAINED, replace(found, differences=found.differences[:3])
        self.count += 1

    def _step(self, commit: str) -> list[Step]:
        """With the merge below it, where a draft became two commits."""
        parent = decode_commit(self.repo.read(commit)).first_parent
        below = decode_commit(self.repo.read(parent)).first_parent if parent is not None else None
        return list_steps(self.repo, commit, below)[-1:]
