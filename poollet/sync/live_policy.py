"""Which commit of the target branch may be acted on: it is well signed where that is asked, and follows from the last one.

Owns the way back for people: a rewritten `live` is applied once a commit in it approves it. It must not read what
the files say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from reconciler.gitstore.approval import TRAILER, HoldKind, approval_digest, approval_trailer, is_approval_of
from reconciler.gitstore.objects.commit import decode_commit, parse_trailers
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.signatures.trust import SignatureMode, judge_head
from reconciler.gitstore.signatures.verifier import Verifier


class History(Protocol):
    """What is needed of a Repo."""

    def read(self, id: ObjectId) -> bytes: ...

    def commits(self, head: ObjectId, since: ObjectId | None) -> Iterator[ObjectId]: ...

    def is_descendant(self, commit: ObjectId, ancestor: ObjectId) -> bool: ...


class LiveRejection(StrEnum):
    """Why a head is not acted on; also the reason of a condition."""

    MISSING = "LiveMissing"
    REWRITTEN = "LiveRewritten"
    UNTRUSTED = "LiveUntrusted"


@dataclass(frozen=True, slots=True)
class LiveVerdict:
    """`use` is the commit to read. With `hold`, what it says is looked at and not acted on, unless it was acted on before:
    then nothing newer counts. `message` says what is the matter, also where nothing is held."""

    use: ObjectId | None
    hold: LiveRejection | None = None
    message: str = ""

    @property
    def may_apply(self) -> bool:
        return self.use is not None and self.hold in (None, LiveRejection.UNTRUSTED)


@dataclass(frozen=True, slots=True)
class Trust:
    mode: SignatureMode
    verifier: Verifier


def follow(
    history: History,
    head: ObjectId | None,
    good: ObjectId | None,
    trust: Trust,
    at: datetime,
    fleet: str,
) -> LiveVerdict:
    """`good` is what was acted on last, by this process or as its last report says; None at the very first start. `fleet` is
    the id of the fleet that an approval is for."""
    if head is None:
        cause = "the target branch does not exist" if good is None else "the target branch is gone"
        return LiveVerdict(
            None, LiveRejection.MISSING, f"{cause}; nothing is changed until the reconciler writes it"
        )
    if good is not None and head != good and not history.is_descendant(head, good):
        digest = approval_digest(fleet, HoldKind.LIVE, (good, first_commit(history, head)))
        if not has_approval(history, head, good, digest):
            return LiveVerdict(good, LiveRejection.REWRITTEN, _rewritten(good, digest))
        good = None  # people vouch for what came instead; its signatures are looked at a first start
    cached_verdict = judge_head(history, head, good, trust.verifier, trust.mode, at)
    hold = LiveRejection.UNTRUSTED if cached_verdict.is_head_refused else None
    return LiveVerdict(cached_verdict.use, hold, cached_verdict.message)


def first_commit(history: History, head: ObjectId) -> ObjectId:
    """Where the first-parent line began: what tells one `live` from another that was begun later."""
    commit = head
    while parents := decode_commit(history.read(commit)).parents:
        commit = parents[0]
    return commit


def has_approval(history: History, head: ObjectId, old: ObjectId, digest: str) -> bool:
    """Whether a commit that the old `live` does not contain approves the new one."""
    return any(
        name == TRAILER and is_approval_of(value, digest)
        for commit in history.commits(head, old)
        for name, value in parse_trailers(decode_commit(history.read(commit)).message)
    )


def _rewritten(good: ObjectId, digest: str) -> str:
    return (
        f"the live branch was rewritten: it does not contain {good[:12]}, the last commit applied here. Nothing is changed "
        f"here until a source commit with the trailer `{approval_trailer(digest)}` has reached live"
    )
