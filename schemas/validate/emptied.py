"""Files that declared objects at an earlier revision, are still there, and declare nothing now.

The reconciler does not take such a file for a removal: it holds the deletion of everything that the file declared. A generator
that failed, or a disk that was full, leaves such files. So a pull request must show it, before the merge.

    the file now                                                    is named
    has no object of ours, or is not read any more                  itself
    is gone, and another may be what became of it (renamed_files)   the other one

Objects that another file declares now have moved, and are not reported.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator

from schemas.kinds import Key
from schemas.validate.finding import Finding, shorten_list
from schemas.validate.inputs import EarlierRevision
from schemas.validate.renamed_files import find_renamed, has_suffix
from schemas.validate.tree import Tree

HINT = "put the documents back, or remove this file to confirm that the objects are to be deleted"


def findings(
    tree: Tree,
    past: EarlierRevision,
    paths: Collection[str],
    is_new: Callable[[str], bool],
    is_same: Callable[[str], bool],
    text_of: Callable[[str], str],
) -> Iterator[Finding]:
    """GV416. `paths` are all files of the tree, also those that are not read; `is_new` says of one whether the earlier revision lacks
    it, `is_same` whether that has it with the same content. An object that an invalid or unreadable document may declare is left out: another problem reports that document."""
    gone = {
        old.key: old.path
        for old in past.by_key.values()
        if tree.find(old.key.kind, old.key.namespace, old.key.name) is None
        and old.key not in tree.invalid
        and old.path not in tree.unreadable
    }
    if not gone:
        return
    declaring = {entry.path for entry in tree.entries}
    silent = {path for path in paths if path not in declaring and path not in tree.unreadable}
    there = set(paths)
    free = {key: path for key, path in gone.items() if path not in there}
    found = {key: path for key, path in gone.items() if path in silent}
    changed = (path for path in silent if has_suffix(path) and not is_same(path)) if free else ()
    found |= find_renamed(free, changed, {path for path in silent if is_new(path)}, text_of)
    by_place: dict[tuple[str, str], list[Key]] = defaultdict(list)
    for key, place in sorted(found.items()):
        by_place[place, gone[key]].append(key)
    for (place, path), keys in sorted(by_place.items()):
        names = shorten_list([str(key) for key in keys])
        message = f"this file declares nothing, and declared {names} at {past.revision}"
        if place != path:
            message = f"this file declares nothing, and may be what became of {path}, which declared {names} at {past.revision}"
        yield Finding(place, None, "", "", "GV416", message, HINT, also=() if place == path else (path,))
