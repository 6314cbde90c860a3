"""Which paths of a source are passed over: what .gitvirtignore names, and folders of other tools.

A .gitvirtignore that cannot be read ignores nothing: to read too many files gives problems that a person sees, and to read too few would
hide objects.
"""

from __future__ import annotations

from reconciler.gitstore.worktree.files import IsIgnored
from reconciler.query.source import ManifestSource
from schemas import live_layout
from schemas.manifest.ignore import PATH, Ignore
from schemas.problem import Problem


def read_ignored_paths(source: ManifestSource) -> tuple[IsIgnored, tuple[Problem, ...]]:
    """A test for paths, and what is wrong with .gitvirtignore. That the file is missing is not a problem."""
    data = source.read(PATH)
    if isinstance(data, Problem):
        is_absent = data.code == "GV185"
        return is_in_dot_folder, () if is_absent else (data,)
    ignore = Ignore(data)

    def is_ignored(path: str, is_folder: bool) -> bool:
        return is_in_dot_folder(path, is_folder) or ignore(path, is_folder)

    return is_ignored, ignore.problems


def is_in_dot_folder(path: str, is_folder: bool) -> bool:
    """Whether the path is a folder that begins with a dot, or below one: it belongs to another tool (`.git`, `.venv`), and a walk may
    pass over it whole. gitvirt's own `.gitvirt/` is the exception. Looks at the name only, never at the disk.

    `path` is relative to the root of the repo, `/` between the parts and none at the end, as FileListing has it. A file that begins with a
    dot in another folder is not in one; that it declares nothing is the rule of `schemas.manifest.ignore.is_manifest`.
    """
    if path.startswith(live_layout.FOLDER) or (is_folder and f"{path}/" == live_layout.FOLDER):
        return False
    folder = f"{path}/" if is_folder else path.rpartition("/")[0] + "/"
    return folder.startswith(".") or "/." in folder
