"""Which source commit is used: the head, unless people must look at something about it first. And the confirmations in new commits.

Theory of operation
-------------------
Asked in this order; the first that applies decides:

    the source branch                                           used                   what ends it
    is gone                                                     last                   people push it again
    has a commit that is not signed as settings require         newest good commit     a signed commit, see signatures/trust.py
    does not descend from `last` (a force push)                 last                   an approval with that digest, or the old head
    has settings with another fleet.id                          last                   the old id
    none of these                                               its head

`last` is the source commit that live was made of; live names it in a trailer of the reconciler's own commit. Without a `last`
there is nothing to compare with, and the head is used.

The commits between `last` and what is used are also read for trailers and files that confirm something (`Confirmation`). An approval of the
force push itself is used up here; all others are for `decide`.

Must never happen: a trailer counts that is in a commit which is not used; the time of a confirmation is before its merge,
because its author chose that time; another fleet's source is applied, because every host would see its objects as orphans.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from reconciler.gitstore import approval, guards
from reconciler.gitstore.approval import DIGITS, HoldKind, approval_digest, approval_trailer
from reconciler.gitstore.live_commit import reconciled_source
from reconciler.gitstore.objects.commit import decode_commit
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import Repo
from reconciler.gitstore.signatures import trust
from reconciler.gitstore.signatures.signers import Signers, SignersError, parse_signers
from reconciler.gitstore.signatures.verifier import CommitVerifier
from reconciler.world.changes import Confirm, Confirmation, SourceHold
from schemas import live_layout, manifest
from schemas.kinds import Key
from schemas.manifest.ignore import is_manifest
from schemas.settings.fleet import ID_CURE, SignatureSettings

MAX_LATER_FILES = 10_000  # changed by commits after an approval; each commit counts as one too
MAX_COMMITS = 10_000  # of live that are looked through for the last one of a reconciler

MakeVerifier = Callable[[Signers], CommitVerifier]


@dataclass(frozen=True, slots=True)
class SourceHead:
    """`use` is None if no source commit can be used."""

    use: ObjectId | None
    held: SourceHold | None = None
    confirmations: tuple[Confirmation, ...] = ()
    notice: str = ""  # followed all the same


class Reconciled(NamedTuple):
    """The source commit that live was made of last, and the commit on live that says so."""

    source: ObjectId | None
    live: ObjectId | None


def find_last_reconciled(repo: Repo, live: ObjectId | None) -> Reconciled:
    """Follows live's first parents to the newest commit that has the form of a reconciler's (`live_commit`) and names a commit that live
    descends from. Whoever commits can write a trailer, so one that names another commit is passed over. Commits above it are not the reconciler's.

    Both are None where none is found: live is new, or was rewritten. That means unknown; it never shows that an object is absent.
    """
    commit, left = live, MAX_COMMITS
    while commit is not None and left:
        found = decode_commit(repo.read(commit))
        named = reconciled_source(found)
        if named and live is not None and repo.is_descendant(live, named):
            return Reconciled(named, commit)
        commit, left = found.first_parent, left - 1
    return Reconciled(None, None)


def select_source_head(
    repo: Repo,
    head: ObjectId | None,
    last: ObjectId | None,
    trusted: tuple[SignatureSettings, MakeVerifier],
    now: datetime,
    fleet: Callable[[], str],
) -> SourceHead:
    """`trusted` holds as of `last`, and so does `fleet`, the id that an approval is for."""
    if head is None:
        return SourceHead(
            last,
            SourceHold(
                "", last, "the source branch does not exist; the last reconciled commit stays in force"
            ),
        )
    ruled = _apply_trust(repo, head, last, trusted, now)
    if ruled.use is None or ruled.use == last:
        return ruled
    confirmations = tuple(_confirmations(repo, ruled.use, last))
    if not guards.of_history(repo, last, ruled.use) or last is None:
        return SourceHead(ruled.use, ruled.held, confirmations, ruled.notice)
    others = tuple(each for each in confirmations if not _approves_history(repo, each, last, fleet()))
    if len(others) < len(confirmations):
        return SourceHead(ruled.use, ruled.held, others, ruled.notice)
    digest = approval_digest(fleet(), HoldKind.SOURCE, (last, ruled.use))
    problem = guards.of_history(repo, last, ruled.use)[0]
    message = f"{problem.message}; the last reconciled commit stays in force"
    for each in confirmations:
        if each.about is Confirm.APPROVAL:
            message += f"; commit {each.commit[:12]} approves {each.value[:DIGITS]}, which is another digest"
    return SourceHead(last, SourceHold(head, last, message, approval_trailer(digest), problem.code))


def _approves_history(repo: Repo, given: Confirmation, last: ObjectId, fleet: str) -> bool:
    """Whether the commit approves the rewritten history that it is on top of: its digest names `last`, and one of its own ancestors as
    the head that was held. So it approves no other rewritten history, although that one has the same trailer.

    After a reset to an earlier commit the head is in the history of `last`: hence the parents of what is new, too."""
    new = tuple(repo.commits(given.commit, last))
    heads = {parent for each in new for parent in decode_commit(repo.read(each)).parents}
    return any(is_approval_of(given, approval_digest(fleet, HoldKind.SOURCE, (last, each))) for each in heads)


def check_fleet_id(found: SourceHead, last: ObjectId | None, before: str, now: str) -> SourceHead:
    """Held when the commit in use calls the fleet by another id: every host would take what it runs for another fleet's."""
    if found.use is None or last is None or found.use == last or not before or now in ("", before):
        return found
    message = f"fleet.id: {before} -> {now}; the last reconciled commit stays in force"
    return SourceHead(last, SourceHold(found.use, last, message, code="GV816", cure=ID_CURE))


def _apply_trust(
    repo: Repo,
    head: ObjectId,
    last: ObjectId | None,
    trusted: tuple[SignatureSettings, MakeVerifier],
    now: datetime,
) -> SourceHead:
    signatures, verifier = trusted
    mode = trust.SignatureMode(signatures.mode)
    if mode is trust.SignatureMode.OFF:
        return SourceHead(head)
    try:
        signers = parse_signers(signatures.signers)
    except SignersError as error:
        return SourceHead(last, SourceHold(head, last, f"the signers cannot be read: {error.cause}"))
    ruling = trust.judge_head(repo, head, last, verifier(signers), mode, now)
    if ruling.is_head_refused:
        return SourceHead(ruling.use, SourceHold(head, ruling.use, ruling.message, is_unsigned=True))
    return SourceHead(head, notice=ruling.message)


def _confirmations(repo: Repo, head: ObjectId, last: ObjectId | None) -> Iterator[Confirmation]:
    """Oldest first. Without a last commit nothing was held that could be confirmed."""
    if last is None:
        return
    known = {each.value: each for each in Confirm}
    new = list(repo.commits(head, last))
    found = [
        (known[key], value, commit, "")
        for commit in reversed(new)
        for key, value in approval.parse_requests(decode_commit(repo.read(commit)).message)
        if key in known
    ]
    found += _statement_files(repo, head, last, new)
    arrivals = _arrivals(repo, head, frozenset(new)) if found else {}
    for about, value, commit, blob in found:
        arrival, time = arrivals[commit]
        later = find_later(repo, head, arrival) if about is Confirm.APPROVAL else frozenset[Key]()
        yield Confirmation(about, value, commit, time, blob, later)


def _statement_files(
    repo: Repo, head: ObjectId, last: ObjectId, new: Sequence[ObjectId]
) -> Iterator[tuple[Confirm, str, ObjectId, ObjectId]]:
    """The files of approvals and of requests that are new or another, with the oldest commit that has them so."""
    for path, _, after in repo.diff(last, head):
        if after is None or (stated := _read_path(path)) is None:
            continue
        for commit in reversed(new):
            file = repo.file(commit, path)
            if file is not None and file.id == after.id:
                yield *stated, commit, after.id
                break


def _read_path(path: str) -> tuple[Confirm, str] | None:
    """What a file states, which is all in its path."""
    if digest := live_layout.approved_digest(path):
        return Confirm.APPROVAL, digest
    request = live_layout.stated_request(path)
    return (Confirm(request[0]), request[1]) if request is not None else None


def _path_of(each: Confirmation) -> str:
    is_approval = each.about is Confirm.APPROVAL
    return (
        live_layout.approval_path(each.value)
        if is_approval
        else live_layout.request_path(each.about, each.value)
    )


def drop_used(repo: Repo, chosen: SourceHead, live: ObjectId | None) -> SourceHead:
    """Without approvals and requests whose file `live` has with the same content: they are used up."""

    def is_used(each: Confirmation) -> bool:
        file = repo.file(live, _path_of(each)) if each.blob and live else None
        return file is not None and file.id == each.blob

    unused = tuple(each for each in chosen.confirmations if not is_used(each))
    return chosen if len(unused) == len(chosen.confirmations) else replace(chosen, confirmations=unused)


def find_later(repo: Repo, head: ObjectId, arrival: ObjectId) -> frozenset[Key] | None:
    """What is in files that commits after `arrival` change, before or after that, on the first-parent line of `head`. None where too
    much changed."""
    found: set[Key] = set()
    commit, left = head, MAX_LATER_FILES
    while commit != arrival:
        parent = decode_commit(repo.read(commit)).first_parent
        assert parent is not None, "the line leads to the commit that brought it"
        for change in repo.diff(parent, commit):
            left -= 1
            if left < 0:
                return None
            for file in (change.before, change.after):
                if file is not None and is_manifest(change.path):
                    found.update(
                        each.key for each in manifest.parse(change.path, repo.read(file.id)).documents
                    )
        commit, left = parent, left - 1
    return frozenset(found)


def _arrivals(
    repo: Repo, head: ObjectId, new: frozenset[ObjectId]
) -> dict[ObjectId, tuple[ObjectId, datetime]]:
    """The commit on the first-parent line that brought each of the new commits into the branch, and the time of that.

    A commit that waited for its review means what it says from its merge on.
    """
    line: list[tuple[ObjectId, datetime]] = []
    commit: ObjectId | None = head
    while commit is not None and commit in new:
        read = decode_commit(repo.read(commit))
        line.append((commit, read.time))
        commit = read.first_parent
    found: dict[ObjectId, tuple[ObjectId, datetime]] = {}
    for merge, time in reversed(line):
        waiting = [merge]
        while waiting:
            each = waiting.pop()
            if each in new and each not in found:
                found[each] = merge, time
                waiting += decode_commit(repo.read(each)).parents
    return found


def is_approval_of(confirmation: Confirmation, digest: str) -> bool:
    """Whether people approve exactly what the digest was made of, and nothing that came since."""
    return confirmation.about is Confirm.APPROVAL and approval.is_approval_of(confirmation.value, digest)
