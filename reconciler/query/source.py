"""Where manifests are read from: a folder on disk, a Git revision, or a stream laid over one of them.

All of them give the same two things: a listing of paths and the bytes of one. What cannot be read comes back as a Problem, never as an exception, so
that one unreadable file does not end a check. Links and submodules are reported and never followed: Git stores no content behind them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from reconciler.gitstore.worktree import files as disk_files
from reconciler.gitstore.worktree.files import FileListing, IsIgnored
from schemas.problem import Problem

if TYPE_CHECKING:  # they bring the Git library, which a folder does without
    from reconciler.gitstore.objects.tree import File, ObjectId
    from reconciler.gitstore.repo import Repo
    from reconciler.gitstore.worktree.revision import Revision


class ManifestSource(Protocol):
    """Files by their paths from the root of a repo, `/` between the parts. Forked workers read it too."""

    def listing(self, is_ignored: IsIgnored) -> FileListing:
        """All files, by their paths from the root."""

    def read(self, path: str) -> bytes | Problem: ...


@dataclass(frozen=True, slots=True)
class FolderSource:
    """The files on disk, as they are now, also those that Git does not track."""

    root: Path

    def listing(self, is_ignored: IsIgnored) -> FileListing:
        return disk_files.list_files(self.root, is_ignored)

    def read(self, path: str) -> bytes | Problem:
        return disk_files.read_file(self.root, path)


@dataclass(frozen=True, slots=True)
class FilesSource(FolderSource):
    """Files outside of any repo: they alone, not what lies around them."""

    paths: tuple[str, ...]

    def listing(self, is_ignored: IsIgnored) -> FileListing:
        return FileListing(tuple(path for path in self.paths if not is_ignored(path, False)), ())


@dataclass(frozen=True, slots=True)
class OverlaySource:
    """A source with one file put in place of its own, or added: how `validate -` checks a stream together with the repo it belongs to."""

    below: ManifestSource
    path: str
    data: bytes

    def listing(self, is_ignored: IsIgnored) -> FileListing:
        found = self.below.listing(is_ignored)
        is_there = self.path in found.files
        return found if is_there else FileListing((self.path, *found.files), found.problems)

    def read(self, path: str) -> bytes | Problem:
        return self.data if path == self.path else self.below.read(path)


def is_on_disk(source: ManifestSource) -> bool:
    """Whether files of a checkout are read, also below a stream."""
    return isinstance(source.below if isinstance(source, OverlaySource) else source, FolderSource)


@dataclass(frozen=True, slots=True)
class CommitFiles:
    """A commit of the fleet's repo, read as a revision of a checkout is."""

    repo: Repo
    commit: ObjectId

    def files(self, _folder: str = "") -> Iterator[File]:
        """All of them: a fleet's repo is one, from its root."""
        return self.repo.files(self.commit)

    def read(self, file: File) -> bytes:
        return self.repo.read(file.id)


@dataclass(frozen=True)
class RevisionSource:
    """A folder of a revision, or a whole commit of the fleet's repo."""

    revision: Revision | CommitFiles
    folder: str = ""  # "" or "path/to/folder/"

    @cached_property
    def files(self) -> dict[str, File]:
        return {file.path.removeprefix(self.folder): file for file in self.revision.files(self.folder)}

    def listing(self, is_ignored: IsIgnored) -> FileListing:
        from reconciler.gitstore.objects.tree import FileMode

        paths: list[str] = []
        problems: list[Problem] = []
        for path, file in self.files.items():
            if is_ignored(path, False):
                continue
            if not path.isprintable():
                problems.append(disk_files.unprintable_name(path))
            match file.mode:
                case FileMode.LINK:
                    problems.append(disk_files.stored_link(path, self.revision.read(file)))
                case FileMode.SUBMODULE:
                    problems.append(disk_files.submodule(path))
                case _:
                    paths.append(path)
        return FileListing(tuple(paths), tuple(problems))

    def read(self, path: str) -> bytes | Problem:
        file = self.files.get(path)
        return disk_files.missing_file(path) if file is None else self.revision.read(file)
