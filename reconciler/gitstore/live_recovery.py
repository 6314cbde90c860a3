"""The recovery of a lost or rewound `live`: which commit of `live` it is, what it takes over, and who approved it.

Theory of operation
-------------------
A `live` that lacks a commit which was applied was lost, or rewound (a restored backup, a force push). The reconciler then writes
`live` again from what hosts report. The first commit after that, the *recovery commit*, names in trailers each commit that was applied
and that `live` lacks:

    Recovered-Live: <commit that a host applied last, or that the reconciler wrote last>

A host applies a `live` that lacks its last applied commit under two conditions:

    a recovery commit on the first-parent line names that commit    else nothing there takes account of what runs on this host
    a commit of a person approves it                                the digest names the recovery commit; or approvals name each
                                                                    applied commit that the recovery commit names

Everything on `live` before the recovery commit may be about machines that run elsewhere by now. So no approval alone is enough.

One digest is enough for all hosts: that of the recovery commit. It has an id of its own, so no revert and no restore can use its approval
again. Before there is one, the digest of an applied commit approves the recovery from it. That approval stays on the source, and a second
restore of the same backup merges it again. Hosts have applied later commits by then, which no person approved: so all that the recovery
names must be approved, and the one host that is still where it was releases no other host.

Limits: of trees it reads the files that approve, and nothing else. The reconciler and the hosts ask the same functions, so they print the same digest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from reconciler.gitstore.approval import TRAILER, HoldKind, approval_digest, is_approval_of, parse_requests
from reconciler.gitstore.live_commit import reconciled_source
from reconciler.gitstore.objects.commit import decode_commit, parse_trailers
from reconciler.gitstore.objects.tree import File, ObjectId
from schemas import live_layout

RECOVERED_TRAILER = "Recovered-Live"
MAX_COMMITS = 10_000  # of live that are looked through for a recovery commit


class ReadsLine(Protocol):
    """What is needed of a Repo."""

    def read(self, id: ObjectId) -> bytes: ...

    def file(self, commit: ObjectId, path: str) -> File | None: ...

    def commits(self, head: ObjectId, since: ObjectId | None) -> Iterator[ObjectId]: ...

    def is_descendant(self, commit: ObjectId, ancestor: ObjectId) -> bool: ...


@dataclass(frozen=True, slots=True)
class Recovery:
    """`commit` is the recovery commit. `before` is the one on `live` that it was made on, None where `live` was gone. `applied` are
    the commits that it names."""

    commit: ObjectId
    before: ObjectId | None
    applied: frozenset[ObjectId]


def find_recovery(history: ReadsLine, head: ObjectId, applied: ObjectId) -> Recovery | None:
    """The newest recovery that names `applied`, on the first-parent line of `head`. None while `live` is only what was restored."""
    if history.is_descendant(applied, head):
        return None  # an older commit of the same line
    return next((each for each in list_recoveries(history, head) if applied in each.applied), None)


def list_recoveries(
    history: ReadsLine, head: ObjectId | None, until: ObjectId | None = None
) -> Iterator[Recovery]:
    """Newest first, down to the commit `until`. A recovery that became two commits, because it also removes files, is one."""
    commit, left, above = head, MAX_COMMITS, None
    while commit is not None and commit != until and left:
        found = decode_commit(history.read(commit))
        trailers = parse_trailers(found.message) if reconciled_source(found) is not None else ()
        named = frozenset(value for key, value in trailers if key == RECOVERED_TRAILER)
        if above is not None and above.applied != named:
            yield above
            above = None
        if named:
            newest = above.commit if above is not None else commit
            above = Recovery(newest, found.first_parent, named)
        commit, left = found.first_parent, left - 1
    if above is not None:
        yield above


def recovery_digest(fleet: str, subject: ObjectId) -> str:
    """Of a recovery commit; before there is one, of an applied commit that `live` lacks."""
    return approval_digest(fleet, HoldKind.LIVE, (subject,))


def recovery_digests(fleet: str, recovery: Recovery) -> frozenset[str]:
    """Of all that an approval of it may name."""
    return frozenset(recovery_digest(fleet, each) for each in (recovery.commit, *recovery.applied))


def is_recovery_approved(history: ReadsLine, head: ObjectId, recovery: Recovery, fleet: str) -> bool:
    """Whether a commit that came to `live` with the recovery, or later, approves it.

    An approval of an applied commit may be older than the recovery: it came with the source commit that the recovery merges.
    """
    given = {*list_approvals(history, history.commits(head, recovery.commit))}
    if recovery.before is not None:
        given.update(list_approvals(history, history.commits(recovery.commit, recovery.before)))
    given.update(
        digest
        for digest in recovery_digests(fleet, recovery)
        if has_file(history, head, recovery.before, digest)
    )
    return approve_recovery(given, recovery, fleet)


def approve_recovery(given: Collection[str], recovery: Recovery, fleet: str) -> bool:
    """Whether these approvals, as people gave them, approve it: its commit, or each applied commit that it names."""

    def is_approved(subject: ObjectId) -> bool:
        return any(is_approval_of(value, recovery_digest(fleet, subject)) for value in given)

    return is_approved(recovery.commit) or all(is_approved(each) for each in recovery.applied)


def list_approvals(history: ReadsLine, commits: Iterable[ObjectId]) -> Iterator[str]:
    """The values of all trailers that approve something."""
    for commit in commits:
        found = parse_requests(decode_commit(history.read(commit)).message)
        yield from (value for name, value in found if name == TRAILER)


def has_file(history: ReadsLine, head: ObjectId, before: ObjectId | None, digest: str) -> bool:
    """Whether `live` has the file that approves it, and had another one or none before the recovery."""
    path = live_layout.approval_path(digest)
    file = history.file(head, path)
    return file is not None and (before is None or file != history.file(before, path))
