"""Freezes files of the source that change what may not change, and releases them again, at the cost of what changed. Which
files those are immutability.py says.

Theory of operation
-------------------
`State.held` has each frozen file as it reads; `State.source` has in its place one that declares nothing. So everything else sees a
malformed file, and needs no rule of its own.

    a file is judged when                                    because
    it differs from the source that was reconciled last      it may change an immutable field
    it is held, and an object in it, a class that it names,  the reason may be gone: the user was deleted, the class put back
    or a user of them changed
    live says that it is frozen, or it has a class:          live does not record what a file held; a class has no status
    at the first update, and where that object changed       to record it in. Another reconciler may have frozen it meanwhile
    it declares a new volume, and one of that name is        the same: a volume that is new has no document on live
    retained; at the first update, and where it changed

    verdict        before      then
    violations     not held    into `held`; its objects become FROZEN
    violations     held        only the problems may be others
    none           held        out of `held`; its objects are DECLARED again
    none           not held    nothing

Must never happen: a file is judged by a class as a frozen file has it, and not as live does; a frozen file is released because a
new process forgot it.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from reconciler.gitstore.repo import Repo
from reconciler.world.objects.object_state import ObjectState
from reconciler.world.objects.relations import uses
from reconciler.world.source.contents import Contents
from reconciler.world.source.immutability import CLASSES, ImmutabilityInputs, frozen, marked_path, violations
from reconciler.world.state import State
from schemas.kinds import Key
from schemas.validate.finding import to_problems
from schemas.validate.references import references
from schemas.validate.tree import Declaration

Changed = Mapping[Key, tuple[ObjectState | None, ObjectState | None]]


class FreezeChange(NamedTuple):
    """Files that are newly frozen, frozen for another reason, or released; and the keys that this concerns."""

    paths: frozenset[str] = frozenset()
    keys: frozenset[Key] = frozenset()


def files_to_judge(state: State, news: Collection[str], changed: Changed) -> set[str]:
    """The files to be judged: those that are not as they were accepted, and those that are held while their users change."""
    found = set(news)
    known = state.objects.values() if state.is_fresh else (after for _, after in changed.values())
    retained = {each.key for each in state.retained_volumes.values()}
    found |= {path for each in known if each is not None and (path := marked_path(each, retained))}
    if state.held and is_concerned(state.held, changed):
        found |= state.held.keys()
    return found


def is_concerned(held: Mapping[str, Contents], changed: Changed) -> bool:
    """Whether a change can alter the verdict about any frozen file. Too often yes costs time; a no too much keeps a file frozen."""
    watched = {key for contents in held.values() for key in named_in(contents)}
    return any(
        key in watched or any(known is not None and not watched.isdisjoint(uses(known)) for known in pair)
        for key, pair in changed.items()
    )


def named_in(contents: Contents) -> Iterator[Key]:
    """The objects that a file declares, and the classes that these name: what its verdict depends on."""
    for doc in contents.docs:
        yield doc.key
        if doc.object is not None:
            for each in references(Declaration(doc.place.path, doc.place.index, doc.key, doc.object)):
                if each.kind in CLASSES:
                    yield Key(each.kind, each.namespace, each.name)


def freeze_files(state: State, repo: Repo, paths: Collection[str]) -> FreezeChange:
    """Judges these files and no others. The caller resolves the returned keys again: their objects are not what they were."""
    whole = ChainMap(state.held, state.source.contents)
    ground = ImmutabilityInputs(
        state.objects, state.retained_volumes, state.relations, state.live, whole, repo.read
    )

    def text_of(path: str) -> str:
        return repo.read(state.source.files[path].id).decode("utf-8", "replace")

    turned: set[str] = set()
    keys: set[Key] = set()
    for path in sorted(paths):
        read = whole.get(path)
        if read is None:
            continue
        found = tuple(to_problems(violations(path, ground, paths), text_of))
        desired = frozen(read, found) if found else read
        if desired == state.source.contents[path]:
            continue
        if found:
            state.held[path] = read
        else:
            del state.held[path]
        turned.add(path)
        keys.update(state.live.keys_at(path), state.source.put(path, state.source.files[path], desired))
    if turned:
        state.problems = None
    return FreezeChange(frozenset(turned), frozenset(keys))
