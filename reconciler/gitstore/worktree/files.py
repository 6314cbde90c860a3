"""The files of a folder on disk: their paths and their bytes.

Every entry comes back as a path or as a Problem, never as an exception or a hang; links are not followed. It does not parse
files and does not use Git.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from schemas.manifest import too_large
from schemas.problem import Problem, Severity

IsIgnored: TypeAlias = Callable[[str, bool], bool]  # path from the root, is it a folder

# Without O_NONBLOCK a named pipe without a writer hangs whoever opens it.
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class FileListing:
    """Paths from the root, `/` between the parts, in order; bytes that are not UTF-8 are surrogates."""

    files: tuple[str, ...]
    problems: tuple[Problem, ...]


def list_files(root: Path, is_ignored: IsIgnored) -> FileListing:
    """Every regular file below `root` that is not ignored. Links are named, never followed."""
    files: list[str] = []
    problems: list[Problem] = []
    # A stack and not recursion: how deep a folder goes is up to whoever made it.
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(f"{root}/{folder}") as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError as error:
            problems.append(unreadable(folder or ".", error))
            continue
        if folder and any(entry.name == ".git" for entry in entries):
            problems.append(submodule(folder))
            continue
        folders = []
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            if entry.name == ".git" or is_ignored(path, is_folder):
                continue
            if not entry.name.isprintable():
                problems.append(unprintable_name(path))
            if is_folder:
                folders.append(path)
            elif entry.is_file(follow_symlinks=False):
                files.append(path)
            elif problem := link_or_special(root, path):
                problems.append(problem)
        waiting.extend(reversed(folders))
    return FileListing(tuple(files), tuple(problems))


def read_file(root: Path, path: str) -> bytes | Problem:
    """The bytes of a regular file. Its size is looked at first: what is far too large is never loaded."""
    try:
        # Not `root / path`: for small files pathlib takes longer than the kernel.
        descriptor = os.open(f"{root}/{path}", _READ_FLAGS)
        try:
            return _content(path, descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if path_problem := link_or_special(root, path):
            return path_problem
        return unreadable(path, error)


def link_or_special(root: Path, path: str) -> Problem | None:
    """What is wrong with a path that is not a regular file."""
    try:
        mode = (root / path).lstat().st_mode
    except OSError:
        return None
    if stat.S_ISLNK(mode):
        return link(root, path)
    return None if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else special(path, mode)


def _content(path: str, descriptor: int) -> bytes | Problem:
    """The bytes of an open file, or why they are not read. Looks again at what was opened: the path may be another file by now. A file that
    becomes shorter meanwhile ends early."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        return special(path, status.st_mode)
    if problem := too_large(path, status.st_size):
        return problem
    data = os.read(descriptor, status.st_size)
    while 0 < len(data) < status.st_size and (more := os.read(descriptor, status.st_size - len(data))):
        data += more
    return data


def link(root: Path, path: str) -> Problem:
    """A link is never followed: Git stores where it points, and the reconciler reads what Git stores."""
    try:
        points = (root / path).readlink()
        found = (root / path).resolve(strict=True)
    except OSError as error:
        return _link_problem(path, f"is a broken symbolic link ({reason(error)})", Severity.WARNING)
    except RuntimeError:
        return _link_problem(path, "is a symbolic link to itself", Severity.WARNING)
    if not found.is_relative_to(root.resolve()):
        return _link_problem(path, f"is a symbolic link out of this repo, to {points}", Severity.WARNING)
    return _link_problem(path, f"is a symbolic link to {points}", Severity.NOTICE)


def _link_problem(path: str, what: str, severity: Severity) -> Problem:
    hint = "gitvirt reads the target itself, if it is in this repo"
    if severity is Severity.WARNING:
        hint = "put the manifests themselves here: Git stores only the link"
    message = f"{what}; links are not followed"
    return Problem(file=path, code="GV181", severity=severity, message=message, hint=hint)


def stored_link(path: str, points: bytes) -> Problem:
    """The problem of a link as a revision has it: by the target's text, since nothing on the disk may be asked. `points` is that text."""
    target = os.path.normpath(os.path.join(os.path.dirname(path), os.fsdecode(points)))  # noqa: PTH118, PTH120
    if os.path.isabs(target) or target.startswith(".."):  # noqa: PTH117
        what = f"is a symbolic link out of this repo, to {os.fsdecode(points)}"
        return _link_problem(path, what, Severity.WARNING)
    return _link_problem(path, f"is a symbolic link to {os.fsdecode(points)}", Severity.NOTICE)


def submodule(path: str) -> Problem:
    message = "is a separate repo (a submodule or a nested clone); gitvirt does not read it"
    hint = "put its manifests into this repo, or name the folder in .gitvirtignore"
    return Problem(file=path, code="GV182", severity=Severity.WARNING, message=message, hint=hint)


def special(path: str, mode: int) -> Problem:
    what = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}.get(stat.S_IFMT(mode), "a device")
    message = f"is {what}, not a file; gitvirt does not read it"
    hint = "Git does not store it either"
    return Problem(file=path, code="GV183", severity=Severity.NOTICE, message=message, hint=hint)


def unprintable_name(path: str) -> Problem:
    message = "the name contains unprintable characters, or is not UTF-8"
    hint = "rename it: other tools cannot handle it"
    return Problem(file=path, code="GV184", severity=Severity.WARNING, message=message, hint=hint)


def missing_file(path: str) -> Problem:
    message = "vanished while it was being read"
    hint = "try again when no other program changes the files"
    return Problem(file=path, code="GV185", severity=Severity.WARNING, message=message, hint=hint)


def unreadable(path: str, error: OSError) -> Problem:
    """The problem of a path in a checkout that the system refuses: GV180, or GV185 where it is gone meanwhile."""
    if isinstance(error, FileNotFoundError):
        return missing_file(path)
    message = f"cannot be read: {reason(error)}"
    hint = "fix the permissions or the disk; an object in an unreadable file does not count as removed"
    return Problem(file=path, code="GV180", message=message, hint=hint)


def reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
