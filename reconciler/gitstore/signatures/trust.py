"""How far a ref may be followed: which of its new commits must be signed, and which commit is used when one is not.

# Theory of operation

Judged is the first-parent line from the head down to the last commit that was used (`good`). Commits that a merge brings in
are not judged: the signer of the merge approves them. An unsigned commit never becomes good because a signed one was built on it
in the same line, since its author may not have noticed. docs/adr has the reasons.

| mode | every commit of the line is well signed | one is not |
|---|---|---|
| off | head (not judged) | head (not judged) |
| warn | head | head, with a warning |
| enforce | head | the newest good commit below the oldest bad one |

Without a `good` commit only the head is judged, and it approves all of its history. Once a bad commit is in the line, the way out is a signed
merge whose first parent is the last good commit.

# Must never happen

- A commit that cannot be judged (unreadable, a missing program, a timeout) counts as good.
- In `enforce`, a commit above an unsigned one is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from reconciler.gitstore.errors import RepoError
from reconciler.gitstore.objects.commit import decode_commit
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.signatures.verifier import (
    BadSignature,
    CommitVerifier,
    GoodSignature,
    SignatureFault,
)


class SignatureMode(StrEnum):
    OFF = "off"
    WARN = "warn"
    ENFORCE = "enforce"


class ReadsHistory(Protocol):
    """What is needed of a Repo."""

    def read(self, id: ObjectId) -> bytes: ...

    def commits(self, head: ObjectId, since: ObjectId | None) -> Iterator[ObjectId]: ...


@dataclass(frozen=True, slots=True)
class UntrustedCommit:
    """One commit that is not well signed, and why."""

    commit: ObjectId
    fault: SignatureFault
    words: str

    def __str__(self) -> str:
        return f"commit {self.commit[:12]}: {self.words}"


@dataclass(frozen=True, slots=True)
class TrustVerdict:
    """`use` is the commit to go by; None is none at all. `untrusted` has the oldest first."""

    head: ObjectId
    use: ObjectId | None
    untrusted: tuple[UntrustedCommit, ...] = ()

    @property
    def is_head_refused(self) -> bool:
        return self.use != self.head

    @property
    def message(self) -> str:
        """For a condition: what is held, where, why, and what cures it. Nothing when all is well."""
        if not self.untrusted:
            return ""
        first, more = self.untrusted[0], len(self.untrusted) - 1
        also = f" (and {more} more)" if more else ""
        if not self.is_head_refused:
            return f"used although {first}{also}"
        where = f"not used, keeping {self.use[:12]}" if self.use else "not used"
        cure = "a signer can approve it with a signed merge onto the last good commit: see docs/git.md"
        return f"{where}: {first}{also}; {cure}"


def judge_head(
    history: ReadsHistory,
    head: ObjectId,
    good: ObjectId | None,
    verifier: CommitVerifier,
    mode: SignatureMode,
    at: datetime,
) -> TrustVerdict:
    """`good` is the last commit that was followed, or None: then only the head is judged, and it approves all of its history."""
    if mode is SignatureMode.OFF:
        return TrustVerdict(head, head)
    trusted, untrusted = good, []
    for commit in reversed(first_parent_line(history, head, good)):
        verdict = _verdict(history, commit, verifier, at)
        if isinstance(verdict, BadSignature):
            untrusted.append(UntrustedCommit(commit, verdict.fault, verdict.words))
        elif not untrusted:
            trusted = commit
    if mode is SignatureMode.WARN or not untrusted:
        return TrustVerdict(head, head, tuple(untrusted))
    return TrustVerdict(head, trusted, tuple(untrusted))


def first_parent_line(history: ReadsHistory, head: ObjectId, good: ObjectId | None) -> list[ObjectId]:
    """First parents from the head on, as far as they are news; the newest first."""
    if good is None:
        return [head]
    news = set(history.commits(head, good))
    line: list[ObjectId] = []
    commit: ObjectId | None = head
    while commit in news:
        line.append(commit)
        commit = decode_commit(history.read(commit)).first_parent
    return line


def _verdict(
    history: ReadsHistory, commit: ObjectId, verifier: CommitVerifier, at: datetime
) -> GoodSignature | BadSignature:
    try:
        return verifier.verify(history.read(commit), at)
    except RepoError as error:
        return BadSignature(SignatureFault.UNREADABLE, error.cause)
