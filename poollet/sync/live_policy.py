"""May a head of `live` be applied? It is signed where that is required, and contains the last applied commit.

Theory of operation. A host obeys one line of history: each commit that it applies contains the one that it
applied before.

    head of `live`                         verdict          `use`               may_apply
    -------------------------------------  ---------------  ------------------  ---------
    missing                                LiveMissing      none                no
    lacks the last applied commit          LiveRewritten    that commit         no
    ... and has a recovery commit that     as for a first start, from here on
        names it, and an approval of that
    not signed as `signatures` requires    LiveUntrusted    last good commit    yes, if there is one
    not of a reconciler by its form        LiveForeign      last good commit    yes, if there is one
    any other                              applied          the head            yes

The form is that of `reconciler.gitstore.live_commit`, asked of each commit on the first-parent line since the
last applied one. The reconciler's next commit has the last good one as its first parent, so the hold ends by
itself.

Why an untrusted head leaves the last good commit applied, and a rewritten one does not: the untrusted head
still contains the good commit, and no trusted commit has taken its orders back. A rewritten branch may
grant the pools to another host, and the commit that this host applied is not on it.

At the very first start no commit was applied, so any signed head is. A recovery commit is how the reconciler
takes over what hosts report into a `live` that was lost or rewound (gitstore/live_recovery.py). Without it
the branch may order elsewhere what runs here, so an approval alone applies nothing.

Limits: it reads commits and signatures, never the files of a tree.

Must never happen: a host goes back to an older `live`, or to another one, without an approval.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from reconciler.gitstore.approval import approval_trailer, approve_command
from reconciler.gitstore.live_commit import reconciled_source, why_foreign
from reconciler.gitstore.live_recovery import find_recovery, is_recovery_approved, recovery_digest
from reconciler.gitstore.objects.commit import decode_commit
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import Repo
from reconciler.gitstore.signatures.trust import SignatureMode, first_parent_line, judge_head
from reconciler.gitstore.signatures.verifier import Verifier


class LiveRejection(StrEnum):
    """Why a head is not applied; also the reason of a condition."""

    MISSING = "LiveMissing"
    REWRITTEN = "LiveRewritten"
    UNTRUSTED = "LiveUntrusted"
    FOREIGN = "LiveForeign"


@dataclass(frozen=True, slots=True)
class LiveVerdict:
    """`use` is the commit to read. With `hold` the head is not applied, and `use` is the last good commit. `message` says what is
    wrong, also where the head is applied all the same."""

    use: ObjectId | None
    hold: LiveRejection | None = None
    message: str = ""

    @property
    def may_apply(self) -> bool:
        """Whether the orders at `use` may be carried out. Asked when a pass reads `live`, and again right
        before each call."""
        return self.use is not None and self.hold in (
            None,
            LiveRejection.UNTRUSTED,
            LiveRejection.FOREIGN,
        )


@dataclass(frozen=True, slots=True)
class Trust:
    """Which signatures are required, and who checks them. From the host's own settings."""

    mode: SignatureMode
    verifier: Verifier


def follow(
    repo: Repo,
    head: ObjectId | None,
    good: ObjectId | None,
    trust: Trust,
    at: datetime,
    fleet: str,
) -> LiveVerdict:
    """`good` is the commit that was applied last, by this process or by its last report; None at the very first start. `fleet` is
    the id of the fleet that an approval is for."""
    if head is None:
        cause = "the target branch does not exist" if good is None else "the target branch is gone"
        return LiveVerdict(
            None, LiveRejection.MISSING, f"{cause}; nothing is changed until the reconciler writes it"
        )
    if good is not None and head != good and not repo.is_descendant(head, good):
        recovery = find_recovery(repo, head, good)
        if recovery is None or not is_recovery_approved(repo, head, recovery, fleet):
            subject = good if recovery is None else recovery.commit
            return LiveVerdict(
                good,
                LiveRejection.REWRITTEN,
                _rewritten(good, recovery_digest(fleet, subject), is_recovered=recovery is not None),
            )
        good = None  # approved; its signatures are checked as at a first start
    foreign, below = find_foreign(repo, head, good)
    if foreign is not None:
        use = judge_head(repo, below, good, trust.verifier, trust.mode, at).use if below else None
        return LiveVerdict(use, LiveRejection.FOREIGN, _foreign(repo, foreign, use))
    ruling = judge_head(repo, head, good, trust.verifier, trust.mode, at)
    hold = LiveRejection.UNTRUSTED if ruling.is_head_refused else None
    return LiveVerdict(ruling.use, hold, ruling.message)


def find_foreign(
    repo: Repo, head: ObjectId, good: ObjectId | None
) -> tuple[ObjectId | None, ObjectId | None]:
    """The oldest commit since `good` that no reconciler wrote, and the commit below it. At a first start only the head is asked."""
    below = good
    for commit in reversed(first_parent_line(repo, head, good)):
        if reconciled_source(decode_commit(repo.read(commit))) is None:
            return commit, below
        below = commit
    return None, below


def _rewritten(good: ObjectId, digest: str, *, is_recovered: bool) -> str:
    """For people: what happened, and the trailer that approves it if it was meant so."""
    cause = f"the live branch was rewritten: it does not contain {good[:12]}, the last commit applied here"
    if not is_recovered:
        cause += ", and the reconciler has not yet taken over what hosts report"
    return (
        f"{cause}. Nothing is changed here until a source commit with the trailer `{approval_trailer(digest)}`, or that of "
        f"`{approve_command(digest)}`, has reached live; `gitvirt plan` lists the machines that differ"
    )


def _foreign(repo: Repo, commit: ObjectId, use: ObjectId | None) -> str:
    """For people: which commit is held, why, and who ends it."""
    kept = f"keeping {use[:12]}" if use else "nothing is applied"
    why = why_foreign(decode_commit(repo.read(commit)))
    return (
        f"not used, {kept}: commit {commit[:12]} on live is not a reconciler's: {why}; the reconciler's next commit takes its place. "
        f"Find out who wrote it, and run `gitvirt forge check`: only the reconciler may write live"
    )
