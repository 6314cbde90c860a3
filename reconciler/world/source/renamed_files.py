"""Files of the source that may be what became of files that declared objects, by the rules of `schemas.validate.renamed_files`.

Theory of operation
-------------------
A new file is one that `live` does not have, a changed one has another content there. `live` gets no copy of either for as long as it is a
reason for doubt. So the doubt lasts until people remove the file or declare the objects again, whatever else they commit, and a process
that starts sees it too:

    absent object of a file that is gone   the other file                                   effect
    any                                    new or changed, with the old path as prefix      in doubt; the other file is not synced
    left in this commit, or was in doubt   new, by another rule                             in doubt; the other file is not synced
    left earlier, and was not in doubt     new, by another rule                             none: the file came with another removal
    any                                    as on `live`                                     none: it is older than the removal

Must never happen: a file that is a reason for doubt is forgotten when the next commit is reconciled.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field

from reconciler.world.objects.object_state import ObjectState
from reconciler.world.source.absence_check import POINTERS, was_unverified
from reconciler.world.source.tree_index import TreeIndex
from schemas import live_layout
from schemas.kinds import Key
from schemas.manifest import MAX_BYTES
from schemas.validate import renamed_files


@dataclass(frozen=True, slots=True)
class Renamed:
    """`by_key` has the file that an absent object may be in; `new` are those of these files that `live` does not get."""

    by_key: dict[Key, str] = field(default_factory=dict)
    new: frozenset[str] = frozenset()


NOT_RENAMED = Renamed()


def find_renamed(
    absent: Iterable[ObjectState],
    source: TreeIndex,
    live: TreeIndex,
    paths: Collection[str],
    news: Collection[str],
    read: Callable[[str], bytes],
) -> Renamed:
    """`paths` are those where new and changed files may be, `news` those that differ from the source that was reconciled last."""
    gone = {
        each.key: (each, each.live.path)
        for each in absent
        if each.live is not None
        and each.live.path not in source.files
        and not each.live.path.startswith(live_layout.FOLDER)
    }
    if not gone:
        return NOT_RENAMED

    def text_of(path: str) -> str:
        return read(source.files[path].id)[:MAX_BYTES].decode("utf-8", "replace")

    found = renamed_files.find_renamed(
        {key: path for key, (_, path) in gone.items()},
        (path for path in paths if _is_changed(path, source, live) and declares_nothing(path, source)),
        frozenset(_new_files(source, live, paths)),
        text_of,
    )
    by_key, new = {}, set()
    for key, other in found.items():
        known, path = gone[key]
        if renamed_files.is_suffixed(path, other) or other in news or was_unverified(known):
            by_key[key] = other
            new.add(other)
    return Renamed(by_key, frozenset(new))


def _new_files(source: TreeIndex, live: TreeIndex, paths: Collection[str]) -> Iterator[str]:
    for path in paths:
        file = source.files.get(path)
        is_new = path not in live.files and not path.startswith(live_layout.FOLDER)
        if file is not None and is_new and file.mode not in POINTERS and declares_nothing(path, source):
            yield path


def _is_changed(path: str, source: TreeIndex, live: TreeIndex) -> bool:
    file = source.files.get(path)
    return file is not None and file != live.files.get(path)


def declares_nothing(path: str, source: TreeIndex) -> bool:
    contents = source.contents.get(path)
    return contents is None or contents.declares_nothing
