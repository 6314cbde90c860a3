"""Conditions under which a remote cannot be reconciled, or a person must look at the source head first. Pure but for reading.

Returns Problems; the caller decides what to hold back because of them.

Three guards, and what each prevents:

    of_refs      an empty or wrong source branch, read as "all objects are deleted"
    of_history   a rewritten source, whose missing objects no person meant to delete
    Collisions   two paths that are one file on macOS or Windows: a checkout there would lose one, and a commit delete it

They only look. That a fleet is blocked, or that a deletion awaits approval, is decided in `reconciler.world` and `reconciler.decide`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TypeAlias

from reconciler.gitstore.objects.commit import decode_commit
from reconciler.gitstore.objects.tree import FileMode, ObjectId, Read, entries, mode_of, text
from reconciler.gitstore.objects.tree_edit import EMPTY
from reconciler.gitstore.repo import Refs, Repo, Snapshot
from schemas.problem import Problem
from schemas.validate.path_collisions import collision, fold

_Groups: TypeAlias = tuple[tuple[str, ...], ...]
_Folders: TypeAlias = tuple[tuple[str, ObjectId], ...]


def of_refs(refs: Refs, snapshot: Snapshot) -> tuple[Problem, ...]:
    """Whether there is anything to reconcile at all."""
    if refs.source is None or snapshot.source is not None:
        return ()
    if snapshot.is_empty:
        hint = "commit the files of your checkout and push them; `gitvirt init` writes the first ones"
        return (Problem(file="", code="GV810", message="the repo has no commits yet", hint=hint),)
    default = snapshot.default_branch
    hint = f"the repo's default branch is {default}: set branches.source to it"
    if not default:
        hint = "push the branch"
    if default == refs.source:
        hint = "nothing has been pushed to it yet"
    cause = f"the source branch {refs.source} does not exist"
    return (Problem(file="", code="GV811", message=cause, hint=hint),)


def of_history(repo: Repo, last: ObjectId | None, head: ObjectId | None) -> tuple[Problem, ...]:
    """Whether `head` goes on from the source commit that was reconciled last. If not, history was rewritten."""
    if last is None or head is None or repo.is_descendant(head, last):
        return ()
    cause = f"the source head {head[:12]} does not descend from {last[:12]}, the last reconciled commit"
    hint = "if the force push is intended, approve it with the trailer that `gitvirt plan` prints; else push the old head again"
    return (Problem(file="", code="GV812", message=cause, hint=hint),)


class Collisions:
    """Paths that are one where case, or the form of an accent, does not count.

    Remembers folders by their ids and the commit that was asked about last, so that asking again costs what changed.
    """

    def __init__(self) -> None:
        self._known: dict[ObjectId, tuple[_Groups, _Folders]] = {}
        self._last: tuple[ObjectId | None, tuple[Problem, ...]] = (None, ())

    def problems(self, read: Read, commit: ObjectId | None) -> tuple[Problem, ...]:
        if commit is None:
            return ()
        if commit != self._last[0]:
            groups = sorted(self._groups(read, decode_commit(read(commit)).tree))
            self._last = (commit, tuple(collision(group) for group in groups))
        return self._last[1]

    def _groups(self, read: Read, tree: ObjectId) -> Iterator[tuple[str, ...]]:
        seen: dict[ObjectId, tuple[_Groups, _Folders]] = {}
        waiting = [("", tree)]
        while waiting:
            prefix, id = waiting.pop()
            seen[id] = groups, folders = (
                seen.get(id) or self._known.get(id) or _folder(b"" if id == EMPTY.id else read(id))
            )
            yield from (tuple(prefix + name for name in group) for group in groups)
            waiting.extend((f"{prefix}{name}/", below) for name, below in folders)
        self._known = seen


def _folder(tree: bytes) -> tuple[_Groups, _Folders]:
    """The names in one folder that are alike, and the folders in it."""
    folded: defaultdict[str, list[str]] = defaultdict(list)
    folders = []
    for mode, raw_name, id in entries(tree):
        name = text(raw_name)
        folded[fold(name)].append(name)
        if mode_of(mode) is FileMode.FOLDER:
            folders.append((name, id.hex()))
    return tuple(tuple(names) for names in folded.values() if len(names) > 1), tuple(folders)
