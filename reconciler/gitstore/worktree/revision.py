"""One revision of a person's checkout, for verbs that work offline. Never asks the remote.

The reconciler's own copy of a remote is the mirror, not this.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pygit2

from reconciler.gitstore.errors import (
    DamageError,
    FormatError,
    NotARepoError,
    OwnershipError,
    RepoError,
    UnknownRevisionError,
)
from reconciler.gitstore.objects import tree
from reconciler.gitstore.objects.database import ObjectType
from reconciler.gitstore.objects.tree import File, FileMode, ObjectId
from reconciler.gitstore.worktree.checkout import shared_folder


@dataclass(frozen=True, slots=True)
class Checkout:
    """The Git repo around a directory."""

    git_directory: Path
    root: Path | None  # where its files are checked out; None in a bare repo


@dataclass(frozen=True, slots=True)
class Revision:
    """A commit and what it holds. Blobs are read one by one, so that the caller pays only for those it wants."""

    commit: ObjectId
    tree: ObjectId
    _store: pygit2.Repository

    def files(self, folder: str = "") -> Iterator[File]:
        """Every file at or below `folder`, in tree order, with its path from the root of the repo."""
        found = tree.find(self._read, self.tree, folder)
        if found is not None and found[0] is FileMode.FOLDER:
            yield from tree.files(self._read, found[1], folder.strip("/"))

    def read(self, file: File) -> bytes:
        """A submodule has no data in this repo."""
        return b"" if file.mode is FileMode.SUBMODULE else self._read(file.id)

    def _read(self, id: ObjectId) -> bytes:
        try:
            return self._store.odb.read(pygit2.Oid(hex=id))[1]
        except (KeyError, pygit2.GitError) as error:
            raise DamageError(
                f"object {id} is missing or damaged",
                "in a partial clone run `git fetch --refetch`; otherwise run `git fsck`",
            ) from error


def find_checkout(directory: Path) -> Checkout | None:
    """The repo that holds `directory`, as `git` would find it, or None."""
    found = pygit2.discover_repository(str(directory))
    if found is None:
        return None
    store = _open(Path(found))
    return Checkout(Path(found), Path(store.workdir) if store.workdir else None)


def init_repo(directory: Path, branch: str) -> None:
    """A new, empty repo with a work tree, on `branch`."""
    pygit2.init_repository(str(directory), initial_head=branch)


def open_revision(directory: Path, rev: str) -> Revision:
    """What `rev` names in the repo around `directory`: a branch, a tag, a commit id, HEAD~2 and so on."""
    store = _open_around(directory)
    try:
        commit = store.revparse_single(rev).peel(pygit2.Commit)
    except (KeyError, ValueError, pygit2.GitError) as error:
        raise UnknownRevisionError(f"{rev!r} names no commit in {directory}", _cure(store)) from error
    return Revision(str(commit.id), str(commit.tree_id), store)


def list_refs(directory: Path) -> dict[str, ObjectId]:
    """Every ref of the repo around `directory`, by its full name, and HEAD; those that name no commit are left out."""
    store = _open_around(directory)
    refs: dict[str, ObjectId] = {}
    for name in ["HEAD", *store.listall_references()]:
        try:
            refs[name] = str(store.lookup_reference(name).peel(pygit2.Commit).id)
        except (KeyError, ValueError, pygit2.GitError):
            continue
    return refs


def object_lookup(directory: Path) -> Callable[[ObjectId], tuple[ObjectType, bytes] | None]:
    """Reads objects of the repo around `directory` by id: what a remote in memory falls back on, to plan on a checkout."""
    store = _open_around(directory)

    def get(id: ObjectId) -> tuple[ObjectType, bytes] | None:
        try:
            type, data = store.odb.read(pygit2.Oid(hex=id))
        except (KeyError, ValueError, pygit2.GitError):
            return None
        return ObjectType(int(type)), data

    return get


def _open_around(directory: Path) -> pygit2.Repository:
    found = pygit2.discover_repository(str(directory))
    if found is None:
        cure = "run `git init` there, or name a directory inside one"
        raise NotARepoError(f"{directory} is not in a Git repo", cure)
    return _open(Path(found))


def _open(git_directory: Path) -> pygit2.Repository:
    try:
        return pygit2.Repository(str(git_directory))
    except pygit2.GitError as error:
        raise _why_closed(git_directory, os.geteuid(), str(error)) from error


def _why_closed(git_directory: Path, user: int, words: str) -> RepoError:
    """Decided by looking at the repo; the library's words are only passed on."""
    extensions = _extensions(git_directory)
    if (hash_name := extensions.get("objectformat", "sha1")) != "sha1":
        return FormatError(
            f"{git_directory} stores objects as {hash_name}", "only SHA-1 repos are supported for now"
        )
    if (refs := extensions.get("refstorage", "files")) != "files":
        return FormatError(
            f"{git_directory} stores refs as {refs}", "run `git refs migrate --ref-format=files`"
        )
    # The library looks at the files as well as at the repo: either one of another user is enough.
    if any(place.stat().st_uid != user for place in (git_directory, git_directory.parent)):
        return OwnershipError(
            f"{git_directory} belongs to another user",
            f"if you trust it: git config --global --add safe.directory {git_directory}",
        )
    return NotARepoError(f"{git_directory} cannot be opened: {words}", "run `git fsck`")


def _extensions(git_directory: Path) -> dict[str, str]:
    """Read by hand, because the library opens no repo whose extensions it does not know."""
    config = shared_folder(git_directory) / "config"  # a linked worktree keeps its settings in the main one
    lines = config.read_text("utf-8", "replace").splitlines() if config.is_file() else []
    section, found = "", {}
    for line in lines:
        if header := re.fullmatch(r"\s*\[\s*([\w.-]+).*\]\s*", line):
            section = header[1].lower()
        elif section == "extensions" and "=" in line:
            name, _, value = line.partition("=")
            found[name.strip().lower()] = value.strip().strip('"').lower()
    return found


def _cure(store: pygit2.Repository) -> str:
    """What a person can do when a revision that they named is not in their clone."""
    if store.head_is_unborn and not any(store.raw_listall_references()):
        return "the repo has no commits yet"
    if store.is_shallow:
        return "this clone is shallow; try `git fetch --unshallow`"
    return "see `git branch -a` and `git tag`; `git fetch` gets new ones"


def library_versions() -> dict[str, str | None]:
    return {"pygit2": importlib.metadata.version("pygit2"), "libgit2": pygit2.LIBGIT2_VERSION}
