"""Paths that people name, as paths inside a Git revision and not on disk.

The twin of `scope`, which asks the disk: the same rules, answered by the files of the revision. A path may exist in the one and not in the other, so the
two must not be mixed. Nothing here reads a file's content.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path, PurePosixPath

from reconciler.gitstore.worktree.revision import Checkout, Revision
from reconciler.query.scope import SETTINGS, NoSuchPathError, Scope, path_prefix
from reconciler.query.source import RevisionSource


def find_revision_scopes(
    paths: Sequence[str], here: Path, checkout: Checkout, revision: Revision
) -> list[tuple[Scope, RevisionSource]]:
    """One for each repo that is meant: its files at that revision."""
    files = {file.path for file in revision.files()}
    found: dict[str, list[str]] = {}
    if not paths:
        found[find_root(path_inside(here, checkout), files) or ""] = [""]
    for path in paths:
        folder, named = split_path(path_inside(Path(os.path.abspath(here / path)), checkout), files)  # noqa: PTH100
        if folder is None:
            raise NoSuchPathError(path)
        found.setdefault(folder, []).append(named)
    top = checkout.root or here
    return [
        (
            Scope(top / folder, path_prefix(top / folder, here), () if "" in named else tuple(named)),
            RevisionSource(revision, f"{folder}/" if folder else ""),
        )
        for folder, named in found.items()
    ]


def path_inside(path: Path, checkout: Checkout) -> str:
    # By text alone and without following links: the revision decides what the path is, and not the disk.
    """The path from the top of the repo; of a bare repo only the whole can be meant."""
    relative = "." if checkout.root is None else os.path.relpath(path, checkout.root)
    return "" if relative == "." else relative


def split_path(path: str, files: Collection[str]) -> tuple[str | None, str]:
    """The folder that is the root of the repo, and the path in it; "" means the whole."""
    root = find_root(path, files)
    if path in files:
        return root or "", path.removeprefix(f"{root}/") if root else path
    if path and not any(other.startswith(f"{path}/") for other in files):
        return None, ""
    if root is None or root == path:
        return path, ""
    return root, (path.removeprefix(f"{root}/") if root else path) + "/"


def find_root(path: str, files: Collection[str]) -> str | None:
    """The nearest folder that has settings, at or above `path`. Only names are compared, so settings that are broken count too:
    validate must find that repo to say what is wrong with it."""
    folder = PurePosixPath(path)
    for above in (folder, *folder.parents):
        if str(above / SETTINGS) in files:
            return "" if str(above) == "." else str(above)
    return None
