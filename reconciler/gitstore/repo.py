"""The interface of the Git store: a snapshot to read, the difference between two, and one way to write.

Owns the `Repo` protocol and its values. It must not know how they come about: store.py does, over a mirror or in memory.

The order of calls: `snapshot`, any number of reads of what it names, then at most one `write` of drafts that were made from it. A draft carries the
head that it was made for (`expected`), so a caller cannot overwrite what it has not read: if the ref moved, the write is a PushConflict and the
caller starts again with a snapshot. That is the whole concurrency control of gitvirt; gitvirt needs neither a lock nor a leader.

Errors of the remote are values of the outcome. Only a defect of the copy (`DamageError`) and a defect of the caller raise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, Protocol, TypeAlias

from reconciler.gitstore.objects.tree import File, FileMode, ObjectId
from reconciler.gitstore.remote.transport import PushConflict, PushRefused, RemoteUnavailable


@dataclass(frozen=True, slots=True)
class Refs:
    """Which refs a party reads, by their full names. `reports` that ends in `/` means every ref below; several are named
    one by one. `inputs` ends in `/`: the lines of what commits on the target were made from (`reconciler.audit`)."""

    source: str | None = "refs/heads/main"
    target: str | None = "refs/heads/live"
    reports: str | tuple[str, ...] | None = "refs/poollets/"
    inputs: str | None = None


class Unfetched(NamedTuple):
    """A ref of reports or inputs that the remote has and that could not be fetched. It never passes for one that does not exist."""

    id: ObjectId  # as the remote lists it
    cause: str


@dataclass(frozen=True, slots=True)
class DiffLimits:
    """Bounds for trees that anybody may have written: what is beyond them raises TooLargeError and is not read.

    A folder that `enters` refuses counts as one entry that differs, and is not looked into. A commit must be a commit, not a tag.
    """

    enters: Callable[[str], bool]
    entries: int  # of all folders that are read, on each side
    folder_bytes: int  # of those
    commit_bytes: int = 64 << 10


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Where the refs stood when the remote was asked. None is a ref that the remote, which answered, does not have."""

    source: ObjectId | None
    target: ObjectId | None
    reports: Mapping[str, ObjectId] = field(default_factory=dict)  # poollet name -> commit
    default_branch: str | None = None  # what the remote's HEAD points to, when it says so
    unfetched: Mapping[str, Unfetched] = field(default_factory=dict)  # by poollet name; not among `reports`
    inputs: Mapping[str, ObjectId] = field(default_factory=dict)  # name of the line -> commit
    unfetched_inputs: Mapping[str, Unfetched] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return self.source is None and self.target is None and not self.reports and not self.unfetched


class FileChange(NamedTuple):
    """One path that differs. `before` is None for a new file, `after` for one that is gone."""

    path: str
    before: File | None
    after: File | None


@dataclass(frozen=True, slots=True)
class Identity:
    """The author of a commit. Author and committer are one, since nothing commits for another one here."""

    name: str
    email: str


class ExistingBlob(NamedTuple):
    """A blob that the repo already has, used with this mode and without reading it."""

    mode: FileMode
    id: ObjectId


Edit: TypeAlias = bytes | ExistingBlob | None
"""New content (the file keeps its mode), an existing blob, or None to remove the file. Removing a missing file changes nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One commit to be: `edits` on the tree of `base`, put on `ref` if that still is at `expected`.

    With `parents`, the first is `expected`, and `source` is the second unless it is in the history already. A commit that
    removes files never has the source as parent, or `git log -- FILE` would lose its end: such a draft becomes two commits.
    Without `parents` it replaces what was there, as a report does. `parent` replaces `expected` as the first of them: the commit then
    takes the place of what others put on top of that one. `replaces` is that foreign head: the last parent, named by a trailer, so that the
    push is not forced. `merges` are further parents: what they reach stays reachable. `names` are trailers, each with the ref whose draft of
    the same write is the commit that it names.
    """

    ref: str
    expected: ObjectId | None
    base: ObjectId | None  # a commit; None is the empty tree
    edits: Mapping[str, Edit]
    message: str
    author: Identity
    time: datetime  # aware
    source: ObjectId | None = None
    trailers: Sequence[tuple[str, str]] = ()
    has_parents: bool = True
    parent: ObjectId | None = None
    replaces: ObjectId | None = None
    even_if_unchanged: bool = False  # a heartbeat is a commit of the same tree
    merges: Sequence[ObjectId] = ()
    names: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Pushed:
    """Every draft that changed anything is on the remote: ref -> its commit."""

    commits: Mapping[str, ObjectId]


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Every draft would have made the tree that is there: nothing was written anywhere."""


Outcome: TypeAlias = Pushed | Unchanged | PushConflict | PushRefused | RemoteUnavailable


class Repo(Protocol):
    """Reads raise `DamageError` when an object that must be there is not; the next snapshot heals what it can."""

    def snapshot(self) -> Snapshot | RemoteUnavailable:
        """All refs, taken together; whatever they reach can be read afterwards without the remote."""

    def read(self, id: ObjectId) -> bytes:
        """The data of a blob, or the bytes of a commit (commit.decode knows them)."""

    def files(self, commit: ObjectId) -> Iterator[File]:
        """Every file of a commit, in tree order."""

    def file(self, commit: ObjectId, path: str) -> File | None:
        """The file at a path, at the cost of the folders above it. None when there is none, or a folder is there."""

    def missing_files(self, commit: ObjectId, other: ObjectId) -> Iterator[File]:
        """Every file of a commit at whose path another one has none, in no order."""

    def size(self, id: ObjectId) -> int:
        """The bytes of an object, by its header: it is not read."""

    def diff(
        self, old: ObjectId | None, new: ObjectId | None, limits: DiffLimits | None = None
    ) -> Iterator[FileChange]:
        """What changed between two commits, at the cost of what changed. None is the empty tree."""

    def commits(self, head: ObjectId, since: ObjectId | None) -> Iterator[ObjectId]:
        """What is in the history of `head` and not in that of `since`, newest first."""

    def changes(
        self, head: ObjectId, path: str | None = None, *, removals: bool = False
    ) -> Iterator[tuple[ObjectId, FileChange]]:
        """What each commit changed against its first parent, newest first and back to the first commit: of one path, or only
        what was removed. It costs some microseconds a commit, and ends early when its reader does."""

    def is_descendant(self, commit: ObjectId, ancestor: ObjectId) -> bool:
        """Whether `ancestor` is `commit` or in its history; False too when either is not known here."""

    def write(self, drafts: Sequence[Draft]) -> Outcome:
        """Commit and push all drafts in one step, or none. One whose named draft changes nothing has no such trailer. When another writer moved a ref, the outcome is `PushConflict`: take a snapshot and draft again."""

    def build(self, draft: Draft) -> Sequence[bytes]:
        """The commits that a draft becomes, the last one last, or none where it changes nothing. They are stored nowhere."""

    def remove(self, refs: Mapping[str, ObjectId]) -> Outcome:
        """Remove these refs from the remote where they still are at these commits."""

    def housekeep(self) -> RemoteUnavailable | None:
        """Free disk space. May run in another thread at any time; an error does no harm."""

    def close(self) -> None: ...
