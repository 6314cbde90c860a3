"""Bringing a branch up to a commit: which files changed, and what they hold now. Only these are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from reconciler.repo.protocol import Change, Repo
from reconciler.repo.tree import File, Mode
from reconciler.world.branch import Branch
from reconciler.world.contents import Contents, Wants, live_contents, source_contents, unreadable
from reconciler.world.rules import Rules
from reconciler.world.settle import RETAINED
from schemas.ignore import OWN_FOLDER, is_manifest
from schemas.kinds import Key
from schemas.problem import Problem
from schemas.validate.files import is_read

ORPHANS = f"{OWN_FOLDER}orphans/"


@dataclass(slots=True)
class Taken:
    """What taking in changes came to. `flipped` are paths whose files can be understood now and could not before, or the reverse,
    or cannot for another reason."""

    keys: set[Key] = field(default_factory=set)
    flipped: set[str] = field(default_factory=set)
    blobs_read: int = 0

    def add(self, more: Taken) -> None:
        self.keys |= more.keys
        self.flipped ^= more.flipped
        self.blobs_read += more.blobs_read


def take_source(repo: Repo, branch: Branch, changes: Iterable[Change], rules: Rules) -> Taken:
    policy = rules.policy

    def contents(file: File) -> Contents | None:
        if not is_read(file.path, policy) or rules.ignored(file.path):
            return None
        return _odd(file) or source_contents(file.path, repo.read(file.id), policy)

    return _take(branch, changes, contents)


def take_live(repo: Repo, branch: Branch, changes: Iterable[Change], wants: Wants) -> Taken:
    def contents(file: File) -> Contents | None:
        if not is_manifest(file.path) or file.path.startswith(ORPHANS):
            return None
        return _odd(file) or live_contents(file.path, repo.read(file.id), wants)

    return _take(branch, changes, contents)


def _take(branch: Branch, changes: Iterable[Change], contents: Callable[[File], Contents | None]) -> Taken:
    taken = Taken()
    for path, _, after in changes:
        was_odd = branch.odd.get(path)
        found = contents(after) if after is not None else None
        taken.keys.update(branch.put(path, after, found))
        taken.blobs_read += found is not None
        if why_malformed(was_odd) != why_malformed(found):
            taken.flipped.add(path)
    return taken


def why_malformed(contents: Contents | None) -> tuple[Problem, ...] | None:
    """None for what can be understood."""
    return contents.problems if contents is not None and contents.is_malformed else None


def _odd(file: File) -> Contents | None:
    if file.mode not in (Mode.LINK, Mode.SUBMODULE):
        return None
    what = "a symbolic link" if file.mode is Mode.LINK else "a submodule"
    message = f"this is {what}, which declares nothing"
    hint = "put the file itself here, or name the path in .gitvirtignore"
    return unreadable(Problem(file=file.path, code="GV107", message=message, hint=hint))


def wanted_objects(source: Branch) -> Wants:
    """On live objects are needed only where the source does not say what they are."""
    return lambda key, path: path.startswith(OWN_FOLDER) or not source.has(key)


def is_retained(path: str) -> bool:
    return path.startswith(RETAINED)
