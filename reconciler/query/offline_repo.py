"""A checkout as a Repo in memory: the files on disk, or a revision, as the source; the target branch and the reports as last
fetched. Nothing is written to the checkout, and no network is used.

This is how `gitvirt plan` shows what a change would do before it is merged: the same reconciler code runs on a Repo in memory. The order of steps
in `open_offline_repo` is a contract:

    1. effective settings: they name the branches            4. the source is put upon what was reconciled last, as a
    2. the refs of the checkout                                 merge would, if it is a branch that began earlier
    3. the files on disk laid over the source                5. the Repo is opened

Objects of the checkout are read where they are (`fallback`), so nothing is copied. What makes the plan less than certain (a fetch that is old, a
branch that is not here) is a note, and every note is printed: a plan must not look better than what it is made of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from reconciler.gitstore.effective_settings import DIGITS, EffectiveSettings, read_effective_settings
from reconciler.gitstore.errors import DamageError, UnknownRevisionError
from reconciler.gitstore.memory import MemoryObjects, MemoryRemote, MemoryTransport
from reconciler.gitstore.objects.commit import SOURCE_TRAILER, decode_commit, parse_trailers
from reconciler.gitstore.objects.database import ObjectType, hash_object
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import Draft, Edit, ExistingBlob, Identity, Refs
from reconciler.gitstore.store import Store
from reconciler.gitstore.worktree import revision
from reconciler.gitstore.worktree.checkout import find_remote_url, last_fetch_time
from reconciler.query.ignored_paths import read_ignored_paths
from reconciler.query.source import FolderSource
from schemas.manifest.ignore import PATH as IGNORE
from schemas.manifest.ignore import Ignore, is_manifest
from schemas.problem import Problem
from schemas.settings import fleet
from schemas.settings.duration import format_duration

FRESH_SECONDS = 60  # so young a fetch needs no word
_AUTHOR = Identity("gitvirt plan", "")


@dataclass(frozen=True, slots=True)
class OfflineRequest:
    """`root` is a folder that is a repo. `source` and `target` are revisions; without them the files on disk are the source,
    and the target branch, here or as it was fetched from origin, the target."""

    root: Path
    source: str = ""
    target: str = ""


@dataclass(frozen=True, slots=True)
class OfflineRepo:
    """`notes` are what a reader of a plan made from it must know. With `is_unfetched` the remote may have a target branch that
    is not here, and what is on it, hosts too, is not known."""

    repo: Store
    refs: Refs
    notes: tuple[str, ...]
    is_unfetched: bool = False


def open_offline_repo(
    request: OfflineRequest, settings: fleet.FleetSettings | None, now: datetime
) -> OfflineRepo:
    """`settings` are those on disk. If these cannot be used, the settings of the commit below apply. Raises
    RepoError for a revision that is not there."""
    earlier = EffectiveSettings() if settings else find_committed_settings(request)
    settings = settings or earlier.settings
    branches = settings.branches if settings else fleet.BranchSettings()
    reports = settings.reports.ref if settings else fleet.ReportSettings().ref
    refs = Refs(f"refs/heads/{branches.source}", f"refs/heads/{branches.target}", reports)
    desk = _Desk(request, refs, now)
    if earlier.settings is not None and not (request.source and earlier.is_of_head):
        commit = (earlier.commit or "")[:DIGITS]
        desk.notes.append(f"{fleet.PATH} has problems; using its last usable version (commit {commit})")
    if desk.is_whole:
        desk.fetch(branches.target, reports)
    elif request.source or request.target:
        cause = f"{request.root} is not the top of a Git checkout, so it has no revisions"
        raise UnknownRevisionError(cause, "leave out --source and --target")
    else:
        desk.notes.append("this folder is not a repo: everything counts as new")
    if not request.source:
        desk.lay_over()
    desk.put_upon()
    return OfflineRepo(desk.open(), refs, tuple(desk.notes), desk.is_unfetched)


def find_committed_settings(request: OfflineRequest) -> EffectiveSettings:
    """The settings at the requested revision, or at HEAD. A folder inside another repo has none.

    A shallow clone may lack the commit with the last usable settings. That is an error here, since defaults could name a wrong branch."""
    around = revision.find_checkout(request.root)
    if around is None or around.root not in (None, request.root.resolve()):
        return EffectiveSettings()
    if request.source:
        head: ObjectId | None = revision.open_revision(request.root, request.source).commit
    else:
        head = revision.list_refs(request.root).get("HEAD")
    objects = MemoryObjects(MemoryRemote(fallback=revision.object_lookup(request.root)))
    try:
        return read_effective_settings(Store(objects, MemoryTransport(objects), Refs()), head)
    except DamageError:
        cause = f"{fleet.PATH} has problems, and some earlier commits are missing here"
        raise UnknownRevisionError(cause, "run `git fetch --unshallow`, or fix the file") from None


class _Desk:
    """The Repo while it is put together. Each step adds commits to a remote in memory; none changes the checkout."""

    def __init__(self, request: OfflineRequest, refs: Refs, now: datetime) -> None:
        around = revision.find_checkout(request.root)
        self.is_whole = around is not None and around.root in (None, request.root.resolve())
        self.git_directory = around.git_directory if around else None
        self.request, self.refs, self.now = request, refs, now
        self.source, self.target = refs.source or "", refs.target or ""
        self.remote = MemoryRemote(
            self.source, fallback=revision.object_lookup(request.root) if around else None
        )
        self.notes: list[str] = []
        self.is_unfetched = False

    @property
    def head(self) -> ObjectId | None:
        return self.remote.refs.get(self.source)

    def fetch(self, target: str, reports: str) -> None:
        """Refs of the checkout, as if they had just been fetched. The target is that of origin if there is one, since a local branch of
        that name may be anything."""
        root, refs = self.request.root, revision.list_refs(self.request.root)
        if self.request.source:
            refs["HEAD"] = revision.open_revision(root, self.request.source).commit
        if self.request.target:
            found: ObjectId | None = revision.open_revision(root, self.request.target).commit
        else:
            found = refs.get(f"refs/remotes/origin/{target}") or refs.get(f"refs/heads/{target}")
            if f"refs/remotes/origin/{target}" in refs:
                self.notes += self._note_age(target)
        if found is None:
            self.is_unfetched = find_remote_url(root) is not None
            cure = "; `git fetch` gets it if the remote has one" if self.is_unfetched else ""
            self.notes.append(f"there is no branch {target} here: everything counts as new{cure}")
        known = {self.source: refs.get("HEAD"), self.target: found}
        known |= {name: id for name, id in refs.items() if name.startswith(reports)}
        self.remote.refs.update({name: id for name, id in known.items() if id is not None})

    def _note_age(self, target: str) -> Iterator[str]:
        """How old what was fetched is; nothing of what was fetched just now."""
        moment = last_fetch_time(self.git_directory, target) if self.git_directory else None
        seconds = int((self.now - moment).total_seconds()) if moment is not None else None
        if seconds is None or seconds >= FRESH_SECONDS:
            when = "an unknown time ago" if seconds is None else f"{format_duration(seconds)} ago"
            yield f"{target} is as of its last fetch, {when}; run `git fetch` to update it"

    def lay_over(self) -> None:
        """The files on disk in place of those of HEAD, as far as gitvirt reads them. A file that cannot be read stays as HEAD has it: left out, it
        would look like a deletion of all its objects."""
        folder = FolderSource(self.request.root)
        is_ignored, _ = read_ignored_paths(folder)
        listing = folder.listing(is_ignored)
        paths = {path for path in listing.files if _is_read(path)}
        repo = self.open()
        before = {file.path: file for file in repo.files(self.head)} if self.head else {}
        # A file that is only ignored is still there: left out, it would look removed.
        hidden = {path for path in before if is_ignored(path, False) and (self.request.root / path).is_file()}
        gone = {path for path in before.keys() - paths - hidden if _is_read(path)}
        edits: dict[str, Edit] = dict.fromkeys(gone)
        paths |= {path for path in self._unread_files(listing.files) if path not in before} if gone else set()
        for path in sorted(paths):
            data = folder.read(path)
            if isinstance(data, Problem):
                continue
            if path not in before or before[path].id != hash_object(ObjectType.BLOB, data).id:
                edits[path] = data
        if edits or not self.head:
            repo.write([self._draft("the files on disk", self.head, edits)])

    def _unread_files(self, listed: Iterable[str]) -> Iterator[str]:
        """Files that gitvirt does not read, without those that Git ignores: where a manifest is gone, one of these may be what became of it."""
        git_ignored = FolderSource(self.request.root).read(".gitignore")
        is_ignored = Ignore(b"" if isinstance(git_ignored, Problem) else git_ignored)
        yield from (path for path in listed if not _is_read(path) and not is_ignored(path))

    def put_upon(self) -> None:
        """A source without the commit that was reconciled last is a pull request: its changes are applied on that commit, as by a merge."""
        live = self.remote.refs.get(self.target)
        repo = self.open()
        message = decode_commit(repo.read(live)).message if live else ""
        last = next(
            (value for key, value in reversed(parse_trailers(message)) if key == SOURCE_TRAILER), None
        )
        if last is None or self.head is None or repo.is_descendant(self.head, last):
            return
        common = next((id for id in repo.commits(self.head, None) if repo.is_descendant(last, id)), None)
        if common is None:
            return  # another history altogether, which the plan will say
        edits: dict[str, Edit] = {
            change.path: ExistingBlob(change.after.mode, change.after.id) if change.after else None
            for change in repo.diff(common, self.head)
        }
        for path in sorted(edits.keys() & {change.path for change in repo.diff(common, last)}):
            self.notes.append(f"{path} was changed on both sides: the plan uses the version here")
        repo.write([self._draft("as if it were merged", last, edits, second=last)])

    def open(self) -> Store:
        """A Repo of what is there so far, with its first snapshot taken, so that it can be read and written at once."""
        objects = MemoryObjects(self.remote)
        repo = Store(objects, MemoryTransport(objects), self.refs)
        repo.snapshot()
        return repo

    def _draft(
        self, message: str, base: ObjectId | None, edits: dict[str, Edit], second: ObjectId | None = None
    ) -> Draft:
        """A commit on the source in memory. Its author shows that no person made it."""
        return Draft(
            ref=self.source,
            expected=self.head,
            base=base,
            edits=edits,
            message=message,
            author=_AUTHOR,
            time=self.now,
            source=second,
        )


def _is_read(path: str) -> bool:
    return is_manifest(path) or path in (fleet.PATH, IGNORE)
