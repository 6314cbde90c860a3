"""The draft of the one commit that a plan becomes.

Called once in a tick, after the plan and before the push. It reads blobs of the snapshot, and a commit that others put on live, so a draft that loses its push is
thrown away and made again from the next snapshot. `expected` of the draft is the head of live in the snapshot: the store pushes only if
live is still there (compare-and-swap), so that no commit of another reconciler or of a person is overwritten unread.

Cost follows change: the files that are looked at are those that differ between two snapshots, and those of objects that the plan changes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from reconciler.gitstore.objects.commit import decode_commit
from reconciler.gitstore.objects.database import ObjectType, hash_object
from reconciler.gitstore.objects.tree import File
from reconciler.gitstore.repo import Draft, Edit, ExistingBlob, Identity
from reconciler.plan.destruction import add_destruction
from reconciler.plan.significance import is_progress
from reconciler.plan.types import Change, Plan
from reconciler.world.view import View
from reconciler.write.document_paths import DocumentPaths
from reconciler.write.file_texts import FileTexts, Read, Unwritable
from reconciler.write.message import CommitContents, ForeignCommit, message
from schemas import live_layout
from schemas.kinds import Key
from schemas.problem import Problem


@dataclass(frozen=True, slots=True)
class Signing:
    """What every commit says of its making."""

    author: Identity
    time: datetime
    source: str  # the name of the branch that people write
    target: str  # the full name of the ref
    trailers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """`draft` is None when the target branch is as it should be."""

    draft: Draft | None
    problems: tuple[Problem, ...]


def draft(plan: Plan, view: View, paths: Iterable[str], read: Read, signing: Signing) -> Written:
    """`paths` are files that may have to be written although no object changes: those that differ from before in the source
    or on the target branch. When the source has moved, the target branch records that whatever comes of it.

    The draft is made on the last commit of a reconciler, which is its first parent: what others changed since is in its history, and in
    none of its files."""
    changes = {change.key: change for change in plan.changes}
    concerned = {path for path in paths if not live_layout.is_reconcilers(path) or path in view.live.files}
    edits, problems, stuck = _edits(changes, view, concerned, read)
    done = tuple(change for key, change in changes.items() if key not in stuck)
    foreign = view.live_commit if view.own_live != view.live_commit else None
    is_recovery = view.is_live_lost  # its commit is what hosts and people refer to
    if not edits and not view.is_news and foreign is None and not is_recovery:
        return Written(None, problems)
    taken = sorted(path for path in edits if path in concerned and not live_layout.is_reconcilers(path))
    return Written(
        Draft(
            ref=signing.target,
            expected=view.live_commit,
            base=view.own_live,
            edits=edits,
            message=add_destruction(
                message(_contents(done, taken, view, read, signing)), plan.source_changes
            ),
            author=signing.author,
            time=signing.time,
            source=view.source_commit,
            trailers=signing.trailers,
            parent=view.own_live if foreign else None,
            replaces=foreign,
            even_if_unchanged=view.is_news or foreign is not None or is_recovery,
        ),
        problems,
    )


def _contents(
    done: tuple[Change, ...], taken: list[str], view: View, read: Read, signing: Signing
) -> CommitContents:
    """What the message is about, with what only the view knows: which changes are progress, and what orders destroy."""
    return CommitContents(
        done,
        taken,
        signing.source,
        frozenset(change.key for change in done if is_progress(change, view)),
        {change.key: change.losses for change in done if change.losses},
        _foreign(view, read),
    )


def _foreign(view: View, read: Read) -> ForeignCommit | None:
    """The newest commit on live that no reconciler wrote."""
    if view.live_commit is None or view.own_live == view.live_commit:
        return None
    author = decode_commit(read(view.live_commit)).author.name
    return ForeignCommit(view.live_commit, author, view.foreign_edits)


def draft_void(view: View, signing: Signing) -> Draft:
    """A commit that changes nothing and moves the head of live, so that a push without an answer can no longer land."""
    return Draft(
        ref=signing.target,
        expected=view.live_commit,
        base=view.own_live,
        edits={},
        message="void a push that had no answer",
        author=signing.author,
        time=signing.time,
        source=view.source_commit,
        trailers=signing.trailers,
        even_if_unchanged=True,
    )


def _edits(
    changes: Mapping[Key, Change], view: View, concerned: Collection[str], read: Read
) -> tuple[dict[str, Edit], tuple[Problem, ...], frozenset[Key]]:
    """Until nothing new is stuck: an object that cannot move to its new file must stay in its old one.

    Each pass adds to `stuck` or ends, so it ends; most ticks need one. Objects that are stuck are also left out of the message."""
    stuck: frozenset[Key] = frozenset()
    problems: dict[str, Problem] = {}
    while True:
        document_paths = DocumentPaths(view, changes, concerned, stuck)
        texts = FileTexts(view, document_paths, read)
        edits: dict[str, Edit] = {}
        found: set[Key] = set()
        for path, keys in _arriving(changes, view, concerned, document_paths).items():
            desired = texts.desired_text(path, keys)
            if isinstance(desired, Unwritable):
                problems[path] = desired.problem
                found.update(desired.keys)
            elif _differs(desired, view.live.files.get(path)):
                edits[path] = desired
        if found <= stuck:
            return edits, tuple(problems[path] for path in sorted(problems)), stuck
        stuck |= found


def _arriving(
    changes: Collection[Key], view: View, concerned: Collection[str], document_paths: DocumentPaths
) -> dict[str, set[Key]]:
    """The files that may have to be written, and the objects whose document may be new in each."""
    found: dict[str, set[Key]] = {path: set() for path in concerned}
    for key in (*(key for path in concerned for key in _keys_at(view, path)), *changes):
        for place in document_paths.paths(key):
            found.setdefault(place, set()).add(key)
    for kept in view.retained_volumes.values():
        if kept.live is not None and document_paths.retained_record(kept) != kept.record:
            found.setdefault(kept.live.path, set())
    return found


def _keys_at(view: View, path: str) -> Iterable[Key]:
    yield from (key for _, key in view.source.documents(path))
    yield from (key for _, key in view.live.documents(path))


def _differs(desired: Edit, file: File | None) -> bool:
    """By the id of the blob, so that the old content is not read again."""
    if desired is None or file is None:
        return desired is not None or file is not None
    if isinstance(desired, ExistingBlob):
        return desired != (file.mode, file.id)
    return hash_object(ObjectType.BLOB, desired).id != file.id
