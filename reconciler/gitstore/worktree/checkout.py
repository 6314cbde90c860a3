"""What a person's checkout says of itself: its remote, when it last fetched, and who commits. Asks no remote.

Here the person's own Git configuration counts, unlike in a mirror: a verb that runs in a checkout acts for that person. All answers are hints for messages
and defaults; an answer that cannot be found is None or empty, and never an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pygit2

from reconciler.gitstore.repo import Identity

_USUAL = "origin"


def find_remote_url(directory: Path) -> str | None:
    """Of `origin`, or of the only remote there is; None if there are several others."""
    found = _remote(directory)
    return None if found is None else found[1]


def update_command(directory: Path, branch: str) -> str:
    """The command that updates a branch of this checkout from its remote, whatever its branches follow; empty without
    a remote."""
    found = _remote(directory)
    if found is None:
        return ""
    repo = pygit2.Repository(pygit2.discover_repository(str(directory)))
    if repo.head_is_detached or repo.head_is_unborn or repo.head.shorthand != branch:
        return f"git fetch {found[0]} {branch}"
    try:
        follows_it = repo.branches.local[branch].upstream_name == f"refs/remotes/{found[0]}/{branch}"
    except KeyError:
        follows_it = False
    return "git pull" if follows_it else f"git pull {found[0]} {branch}"


def _remote(directory: Path) -> tuple[str, str] | None:
    """Name and address of the checkout's remote: `origin`, else the only one there is. None outside of a repo, and where several
    have other names."""
    found = pygit2.discover_repository(str(directory))
    if found is None:
        return None
    urls = {str(remote.name): str(remote.url) for remote in pygit2.Repository(found).remotes}
    name = _USUAL if _USUAL in urls else next(iter(urls)) if len(urls) == 1 else None
    return None if name is None else (name, urls[name])


def read_identity(directory: Path | None, environment: Mapping[str, str]) -> Identity | None:
    """Who commits: as the environment says, else the checkout's or the person's configuration. None if neither has a name and an email."""
    name = environment.get("GIT_AUTHOR_NAME") or environment.get("GIT_COMMITTER_NAME")
    email = environment.get("GIT_AUTHOR_EMAIL") or environment.get("GIT_COMMITTER_EMAIL")
    name, email = name or _read_config(directory, "user.name"), email or _read_config(directory, "user.email")
    return Identity(name, email) if name and email else None


def _read_config(directory: Path | None, key: str) -> str:
    """One value of Git's configuration as the checkout has it, or of the account outside of one. Empty for a value that is missing, and for
    a configuration that cannot be read."""
    found = None if directory is None else pygit2.discover_repository(str(directory))
    try:
        config = pygit2.Repository(found).config if found else pygit2.Config.get_global_config()
        return str(config[key])
    except (KeyError, OSError, pygit2.GitError):
        return ""


def git_folder(repo: Path) -> Path:
    """Where a repo keeps its refs: itself when bare, `.git` below a checkout, the shared folder of a linked worktree."""
    folder = repo / ".git" if (repo / ".git").exists() else repo
    if folder.is_file():
        named = folder.read_text("utf-8").removeprefix("gitdir:").strip()
        folder = (repo / named).resolve()
    return shared_folder(folder)


def shared_folder(git_directory: Path) -> Path:
    """Where linked worktrees keep refs and settings together; `git_directory` itself when it is not one of these."""
    shared = git_directory / "commondir"
    return (
        (git_directory / shared.read_text("utf-8").strip()).resolve() if shared.is_file() else git_directory
    )


def last_fetch_time(git_directory: Path, branch: str) -> datetime | None:
    """When this checkout last fetched `branch` of origin, by the times of the files that git writes then; None if unknown."""
    found = max(_times(git_directory, branch), default=None)
    return None if found is None else datetime.fromtimestamp(found, UTC)


def _times(git_directory: Path, branch: str) -> Iterator[float]:
    """When the branch may have come from the remote, by the traces that a fetch and a clone leave in the folder of Git."""
    for folder in {git_directory, shared_folder(git_directory)}:
        heads = folder / "FETCH_HEAD"
        if heads.is_file() and f"branch '{branch}' of ".encode() in heads.read_bytes():
            yield heads.stat().st_mtime
        for name in (branch, "HEAD"):  # HEAD was written by the clone
            log = folder / "logs" / "refs" / "remotes" / "origin" / name
            if log.is_file():
                yield log.stat().st_mtime
