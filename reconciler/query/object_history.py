"""The commits that changed one object, along the target branch and, where it took the source over, along that.

# Theory of operation

On the target branch each commit has the one before as first parent; a second parent is the source head that it merged. A life of an object
is walked back along its file, from the head or from the commit that removed it:

| the commit before the object came to the file | then |
|---|---|
| had the object, by its uid, in another file | the walk goes on along that file |
| did not have it | this life began here; an earlier one of the name ends at the last removal before |

A machine that is kept for an undo moves: to `.gitvirt/deleting/` while its file declares others or another one of its name, and back when it is
declared again. It is one life.

Removals are searched in two passes. Nearly every one removes a file, and Git lists these without reading files. Only when none of them had the
object, each changed file is read: the object was a document among others.

The line of a commit's body that names the object is shown to people and read by no program: no state is taken from it. A commit without
such a line shows its subject.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from reconciler.gitstore.objects.commit import Commit, decode_commit
from reconciler.gitstore.objects.tree import File, FileMode, ObjectId
from reconciler.gitstore.repo import Identity, Repo
from reconciler.write.object_names import full_name, noun
from schemas.kinds import Key, Kind
from schemas.manifest import Document, parse
from schemas.manifest.ignore import is_manifest

CLOCK_SKEW = timedelta(hours=1)  # between reconcilers; it bounds how far the next commit is looked for


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A commit that changed the file. `what` is the line of its body that is about the object, else its subject. `uid` is empty
    where the file says none: in the source, before the first tick, and where the object is not in the file any more."""

    commit: ObjectId
    time: datetime
    author: Identity
    subject: str
    what: str
    is_of_people: bool
    uid: str
    is_removal: bool


@dataclass(frozen=True, slots=True)
class Removal:
    """The commit that removed an object from the target branch, and the file that had it."""

    commit: ObjectId
    path: str
    key: Key


Matches = Callable[[Document], bool]


def list_history(repo: Repo, head: ObjectId, path: str, key: Key) -> Iterator[HistoryEntry]:
    """Newest first, through all lives of the name."""
    found: Removal | None = Removal(head, path, key)
    while found is not None:
        before = yield from list_life(repo, found.commit, found.path, key)
        found = find_deletion(repo, before, key)


def list_life(
    repo: Repo, head: ObjectId, path: str, key: Key
) -> Generator[HistoryEntry, None, ObjectId | None]:
    """Newest first, until the object was made. Returns the commit before, where there is one."""
    start: ObjectId | None = head
    while start is not None:
        made: HistoryEntry | None = None
        for id, change in repo.changes(start, path):
            commit = decode_commit(repo.read(id))
            entry = history_entry(repo, id, commit, key, change.after, is_of_people=False)
            if entry.is_removal and made is not None:
                break  # the file was there before, without the object
            yield entry
            if len(commit.parents) > 1:
                yield from list_source_commits(repo, commit.parents[1], commit.first_parent, path, key)
            made = None if entry.is_removal else entry
            if change.before is None:
                made = entry
                break
        else:
            return None
        commit = decode_commit(repo.read(made.commit))
        earlier = find_origin(repo, start, made, key)
        start = commit.first_parent
        if earlier is None:
            return start
        path = earlier
        if len(commit.parents) > 1:
            yield from list_source_commits(repo, commit.parents[1], start, path, key)
    return None


def find_origin(repo: Repo, head: ObjectId, made: HistoryEntry, key: Key) -> str | None:
    """The file that had the object before the commit that brought it to another one. A draft that merges the source and removes a file is two
    commits (`gitstore.objects.commit_builder`): then the file is still there in the first, and the next one removes it."""
    before = decode_commit(repo.read(made.commit)).first_parent
    if (path := find_in_commit(repo, made.commit, before, key, made.uid)) is not None or before is None:
        return path
    for id, change in repo.changes(head, removals=True):
        commit = decode_commit(repo.read(id))
        if commit.first_parent == made.commit:
            found = has_object(repo, change.before, key, made.uid)
            if found and has_object(repo, repo.file(before, change.path), key, made.uid):
                return change.path
        elif commit.time < made.time - CLOCK_SKEW:
            break
    return None


def list_life_of(repo: Repo, head: ObjectId, path: str, key: Key, uid: str) -> Iterator[HistoryEntry]:
    """Of one life alone, from the commit that ended it: the file may have had another object of the name before."""
    for number, entry in enumerate(list_life(repo, head, path, key)):
        if number and entry.uid not in ("", uid):
            return
        yield entry


def split_lives(entries: Iterable[HistoryEntry]) -> list[list[HistoryEntry]]:
    """Of one name, newest first. A life ends where the file lacks the object on the target branch, or has it with another uid."""
    lives: list[list[HistoryEntry]] = [[]]
    was_there, uid = False, ""
    for entry in entries:
        ends_earlier = entry.is_removal and was_there and not entry.is_of_people
        if ends_earlier or (entry.uid and uid and entry.uid != uid):
            lives.append([])
            was_there, uid = False, ""
        lives[-1].append(entry)
        was_there |= not entry.is_removal
        uid = entry.uid or uid
    return lives


def find_deletion(repo: Repo, head: ObjectId | None, key: Key) -> Removal | None:
    """The last commit that removed an object of that name, which is not on `head`."""
    return find_removal(repo, head, key.name, lambda document: document.key == key)


def find_deleted_uid(repo: Repo, head: ObjectId | None, uid: str) -> Removal | None:
    """The commit that removed the object with this uid, which is not on `head`."""
    return find_removal(repo, head, uid, lambda document: read_uid(document) == uid)


def find_removal(repo: Repo, head: ObjectId | None, text: str, matches: Matches) -> Removal | None:
    """The two passes. `text` is in the file of each object that matches."""

    def find(file: File | None) -> Document | None:
        return next(filter(matches, read_documents(repo, file, text)), None)

    for removals in (True, False) if head is not None else ():
        for id, change in repo.changes(head or "", removals=removals):
            found = find(change.before)
            if found is None or find(change.after):
                continue
            parent = decode_commit(repo.read(id)).first_parent
            if not any(find(each.after) for each in repo.diff(parent, id)):
                return Removal(id, change.path, found.key)
            if removals:
                break  # it only moved: what removed it later was the change of a file
    return None


def find_in_commit(repo: Repo, commit: ObjectId, before: ObjectId | None, key: Key, uid: str) -> str | None:
    """The file that had the object before this commit, if the commit changed it."""
    changes = repo.diff(before, commit) if before is not None else ()
    return next((each.path for each in changes if has_object(repo, each.before, key, uid)), None)


def has_object(repo: Repo, file: File | None, key: Key, uid: str) -> bool:
    """Whether a file has the object of that key. One with another uid is another object of that name."""
    found = (each for each in read_documents(repo, file, key.name) if each.key == key)
    return any(not uid or read_uid(each) in ("", uid) for each in found)


def read_documents(repo: Repo, file: File | None, text: str) -> tuple[Document, ...]:
    """Of a manifest that has this text."""
    if file is None or file.mode in (FileMode.LINK, FileMode.SUBMODULE) or not is_manifest(file.path):
        return ()
    data = repo.read(file.id)
    return tuple(parse(file.path, data).documents) if text.encode() in data else ()


def read_uid(document: Document) -> str:
    metadata = document.body.get("metadata")
    return str(metadata.get("uid") or "") if isinstance(metadata, dict) else ""


def list_source_commits(
    repo: Repo, head: ObjectId, since: ObjectId | None, path: str, key: Key
) -> Iterator[HistoryEntry]:
    """The commits that a merge brought and that changed the file against each of their parents. A merge of people that only takes over
    one side's file is left out: the commit on that side is in the list."""
    for id in repo.commits(head, since):
        commit = decode_commit(repo.read(id))
        now = repo.file(id, path)
        if all(now != repo.file(parent, path) for parent in commit.parents) and (commit.parents or now):
            yield history_entry(repo, id, commit, key, now, is_of_people=True)


def history_entry(
    repo: Repo, id: ObjectId, commit: Commit, key: Key, file: File | None, *, is_of_people: bool
) -> HistoryEntry:
    subject, _, body = commit.message.partition("\n")
    line = None if is_of_people else find_line(body, key)
    what = subject.strip() if line is None else line
    found = next((each for each in read_documents(repo, file, key.name) if each.key == key), None)
    uid = "" if found is None else read_uid(found)
    is_removal = found is None and (file is None or not is_malformed(repo, file))
    return HistoryEntry(id, commit.time, commit.author, subject.strip(), what, is_of_people, uid, is_removal)


def find_line(body: str, key: Key) -> str | None:
    """The line that is about the object, else the first one that names it: that of a machine names its pool, too. The name must be a whole
    word: `default/web` is not in a line about `default/web-1`, and a volume of that name is called `volume default/web`."""
    named = re.compile(rf"(?<![\w./-]){re.escape(f'{key.namespace}/{key.name}'.lstrip('/'))}(?![\w/-])")
    lines = [line.removeprefix("- ").strip() for line in body.splitlines() if line.startswith("- ")]
    naming = [line for line in lines if named.search(line)]
    nouns = tuple(noun(kind) for kind in Kind if full_name(key._replace(kind=kind)) != full_name(key))
    full = re.compile(rf"(?:^|(?<= )){re.escape(full_name(key))}(?![\w/-])")
    for line in naming:
        head, _, _ = line.partition(": ")
        before = head[: found.start()] if (found := full.search(head)) is not None else None
        if before is not None and not before.rstrip().endswith((*nouns, "onto", "from")):
            return line
    return next(iter(naming), None)


def is_malformed(repo: Repo, file: File) -> bool:
    """Then it may still have the object."""
    found = parse(file.path, repo.read(file.id))
    return bool(found.is_malformed or found.invalid)
