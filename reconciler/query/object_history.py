"""The commits that changed one file, along the target branch and, where it took the source over, along that.

On the target branch each commit has the one before as first parent; a second parent is the source head that it merged. A
person's commits are looked for only there where the file differs, so a long quiet history costs a few tree reads a commit.

The line of a commit's body that names the object is shown to people and read by no program: no state is taken from it. A commit without
such a line shows its subject.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from reconciler.gitstore.objects.commit import Commit, decode_commit
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import Identity, Repo
from schemas.kinds import Key
from schemas.manifest import parse
from schemas.manifest.ignore import is_manifest


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A commit that changed the file. `what` is the line of its body that is about the object, else its subject."""

    commit: ObjectId
    time: datetime
    author: Identity
    subject: str
    what: str
    is_of_people: bool


def list_history(repo: Repo, head: ObjectId, path: str, key: Key) -> Iterator[HistoryEntry]:
    """Newest first, until the file was made."""
    here: ObjectId | None = head
    while here is not None:
        commit = decode_commit(repo.read(here))
        before = commit.first_parent
        now = repo.file(here, path)
        then = None if before is None else repo.file(before, path)
        if now != then:
            yield history_entry(here, commit, key, is_of_people=False)
            if len(commit.parents) > 1:
                yield from list_source_commits(repo, commit.parents[1], before, path, key)
            elif before is None:
                return
            if then is None and now is not None:
                return
        here = before


def find_deletion(repo: Repo, head: ObjectId | None, key: Key) -> tuple[ObjectId, str] | None:
    """The last commit that removed a document of an object which is not on `head`, and the file that had it.

    It costs a difference of trees for each commit back to there, and for a name that never existed back to the first one.
    """
    here = head
    while here is not None:
        before = decode_commit(repo.read(here)).first_parent
        for change in repo.diff(before, here) if before is not None else ():
            if change.before is not None and is_manifest(change.path):
                data = repo.read(change.before.id)
                if key.name.encode() in data and any(
                    each.key == key for each in parse(change.path, data).documents
                ):
                    return here, change.path
        here = before
    return None


def list_source_commits(
    repo: Repo, head: ObjectId, since: ObjectId | None, path: str, key: Key
) -> Iterator[HistoryEntry]:
    """The commits that a merge brought and that changed the file against each of their parents. A merge of people that only takes over
    one side's file is left out: the commit on that side is in the list."""
    for id in repo.commits(head, since):
        commit = decode_commit(repo.read(id))
        now = repo.file(id, path)
        if all(now != repo.file(parent, path) for parent in commit.parents) and (commit.parents or now):
            yield history_entry(id, commit, key, is_of_people=True)


def history_entry(id: ObjectId, commit: Commit, key: Key, *, is_of_people: bool) -> HistoryEntry:
    """The name must be a whole word of the line: `default/web` is not in a line about `default/web-1`."""
    subject, _, body = commit.message.partition("\n")
    named = re.compile(rf"(?<![\w./-]){re.escape(f'{key.namespace}/{key.name}'.lstrip('/'))}(?![\w/-])")
    line = next((line for line in body.splitlines() if line.startswith("- ") and named.search(line)), None)
    what = subject.strip() if line is None or is_of_people else line.removeprefix("- ").strip()
    return HistoryEntry(id, commit.time, commit.author, subject.strip(), what, is_of_people)
