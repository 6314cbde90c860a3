"""Paths that people name, as scopes: which repo to check, and which part of it to report on.

A repo here is the nearest folder above with a gitvirt.yaml, else the Git checkout around it, else the folder itself. One checkout may hold several (an
`examples/` folder), and paths of one call may belong to different ones; each is checked by itself. A file outside of any repo is checked alone.

Limits: looks at names and kinds of files only, and loads no Git library, because `gitvirt validate` in a pre-commit hook must start fast.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SETTINGS = "gitvirt.yaml"


class NoSuchPathError(Exception):
    """A person named a path that does not exist. Checking nothing must never look like success."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class NotAFileError(NoSuchPathError):
    """A pipe or a device. Standard input is named `-`; to open a pipe here could wait for ever."""


@dataclass(frozen=True, slots=True)
class Scope:
    """One repo, or a folder that is taken for one."""

    root: Path
    prefix: str  # of paths from the root, as seen from the caller's folder: "" or "examples/repo/"
    named: tuple[str, ...] = ()  # files, and folders with a slash at the end; nothing: all of it
    is_lone: bool = False  # files outside of any repo: only they are read

    def display_path(self, path: str) -> str:
        """A path as the caller would name it."""
        return path if path.startswith("<") else self.prefix + path

    def concerns(self, path: str) -> bool:
        """Whether the named paths include this file."""
        return not self.named or any(
            path == named or (named.endswith("/") and path.startswith(named)) for named in self.named
        )


def find_scopes(paths: Sequence[str], here: Path) -> list[Scope]:
    """One for each repo that is meant, in order. Without paths: the repo around `here`."""
    if not paths:
        root = find_root(here) or here
        return [Scope(root, path_prefix(root, here))]
    found: dict[Path, list[str]] = {}
    lone: dict[Path, bool] = {}
    for path in paths:
        full = Path(os.path.abspath(here / path))  # noqa: PTH100 - resolve() would follow links
        if not os.path.lexists(full):
            raise NoSuchPathError(path)
        if full.exists() and not (full.is_file() or full.is_dir()):
            raise NotAFileError(path)
        root, named = split_path(full)
        found.setdefault(root, []).append(named)
        lone[root] = lone.get(root, True) and bool(named) and find_root(root) is None
    return [
        Scope(root, path_prefix(root, here), () if "" in named else tuple(named), lone[root])
        for root, named in found.items()
    ]


def split_path(full: Path) -> tuple[Path, str]:
    """The root of the repo that a path belongs to, and the path in it; "" means the whole."""
    # A link within a repo is what it is: a link. One that leads to a repo is a way to name that.
    if full.is_dir() and not (full.is_symlink() and find_root(full.parent)):
        root = None if (full / SETTINGS).exists() else find_settings_folder(full)
        return (full, "") if root is None else (root, full.relative_to(root).as_posix() + "/")
    root = find_root(full.parent) or full.parent
    return root, full.relative_to(root).as_posix()


def find_root(folder: Path) -> Path | None:
    """The repo that a folder is in: the nearest one with settings, else the Git checkout."""
    return find_settings_folder(folder) or find_git_top(folder)


def find_settings_folder(folder: Path) -> Path | None:
    """The nearest folder above that has settings, but none beyond the Git checkout."""
    for above in (folder, *folder.parents):
        if (above / SETTINGS).exists():
            return above
        if (above / ".git").exists():
            return None
    return None


def find_git_top(folder: Path) -> Path | None:
    """The nearest folder above with a `.git`, which is a file in a linked worktree and in a submodule."""
    return next((above for above in (folder, *folder.parents) if (above / ".git").exists()), None)


def path_prefix(root: Path, here: Path) -> str:
    """Relative below and above `here`; elsewhere a row of dots would say less than the whole path."""
    is_near = root.is_relative_to(here) or here.is_relative_to(root)
    relative = os.path.relpath(root, here) if is_near else str(root)
    return "" if relative == "." else f"{relative}/"


def checked_out_branch(root: Path) -> str:
    """The branch that is checked out around `root`, or nothing. A look at one file: no Git library is needed."""
    top = find_git_top(root)
    if top is None:
        return ""
    try:
        directory = top / ".git"
        if directory.is_file():  # a linked worktree says where its own is
            directory = top / directory.read_text().removeprefix("gitdir:").strip()
        head = (directory / "HEAD").read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else ""


def short_branch(name: str) -> str:
    """The branch that a revision's name means, here or on a remote; of other names something that is not a branch. It is compared with
    the names in the settings, so a wrong guess only misses a rule for that branch."""
    if name.startswith("refs/remotes/"):
        return name.split("/", 3)[-1]
    return name.removeprefix("refs/heads/").removeprefix("origin/")
