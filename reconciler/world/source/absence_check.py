"""Whether an object that the source no longer declares was removed, or may be in a file that cannot be read.

Theory of operation
-------------------
An object is absent when its document is in no file that was read. That alone does not prove that people removed it. Its
deletion is held while any of these applies, in this order:

    its file is still there, but ignored, not read as a manifest, or has no object of ours in it: a generator that fails often
    leaves a file that is empty
    its file is gone, and another that declares nothing may be what became of it (renamed_files.py)
    a folder above its file is a link or a submodule now
    a document of its name has a kind that is not known (a typing error in `kind`)
    a file cannot be read at all, and could hold any document

The last one counts only files that changed since the source was reconciled last, unless the object was unverified before: a file
that was broken already, and is the same, cannot have taken in what another file lost since. A malformed file of which the
identities can be read is not looked for here: its objects are FROZEN, and not absent (objects/resolve.py).

Must never happen: a mistake of people in a file, whatever it is, deletes what the file declared. To confirm a removal they
delete the file or the document.

Limits: pure, but for looking through the whole of `live` when a folder becomes a link. Orders nothing: decide/deletion.py does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from reconciler.gitstore.objects.tree import FileMode
from reconciler.world.objects.object_state import ObjectState
from reconciler.world.record import ACCEPTED, DELETION_HELD, FROZEN, UNVERIFIED
from reconciler.world.source.contents import Doc
from reconciler.world.source.rules import Rules
from reconciler.world.source.tree_index import TreeIndex
from schemas import live_layout
from schemas.validate.files import has_manifest_name

MOST_NAMES = 3  # in a message
POINTERS = (FileMode.LINK, FileMode.SUBMODULE)


def why_unverified(
    known: ObjectState,
    source: TreeIndex,
    live: TreeIndex,
    rules: Rules,
    news: Collection[str],
    renamed: str = "",
) -> str:
    """Why the object may still be declared; empty if its absence is certain. An unverified absence delays the deletion and nothing else.

    `renamed` is a file that may be what became of the one that declared it.

    `news` are the paths that differ from the source reconciled last. A file that could not be read then already, and is the
    same now, has not taken in what has left another file since.
    """
    path = known.live.path if known.live else ""
    if path in source.files and not path.startswith(live_layout.FOLDER):
        if rules.ignored(path):
            return f"{path} still exists, but .gitvirtignore leaves it out"
        if path not in source.contents:
            return f"{path} still exists, but is not read as a manifest"
        if source.contents[path].declares_nothing:
            cure = "put its documents back, or delete the file to confirm the removal"
            return f"{path} still exists, but declares nothing; {cure}"
    if renamed:
        cure = f"put {path} back, or delete {renamed} too to confirm the removal"
        return f"{path} is gone, but {renamed} may be what became of it; {cure}"
    for folder in above(path):
        file = source.files.get(folder)
        if file is not None and file.mode in POINTERS:
            return f"{folder} is a link or a submodule now, and may lead to its file"
    if foreign := source.foreign_names.get(known.key.name):
        return f"{min(foreign)} has a document of that name whose kind is not known"
    return why_unreadable(source, live, news, is_old=was_unverified(known))


def why_unreadable(source: TreeIndex, live: TreeIndex, news: Collection[str], *, is_old: bool) -> str:
    """The first of the files that cannot be read and may declare an object; empty if there is none. `is_old`: the object was unverified
    before."""
    unreadable = sorted(
        each for each in source.unreadable if has_manifest_name(each) and (is_old or each in news)
    )
    if not unreadable:
        return ""
    more = f" (and {len(unreadable) - 1} more)" if len(unreadable) > 1 else ""
    there = live.contents.get(unreadable[0])
    # Of the file when it could be read; what it declares since, nothing can tell.
    docs = there.docs if there is not None else ()
    names = ", ".join(str(doc.key) for doc in docs[:MOST_NAMES])
    rest = f" and {len(docs) - MOST_NAMES:,} more" if len(docs) > MOST_NAMES else ""
    return (
        f"{unreadable[0]}{more} cannot be read and may declare it; fix the file, or delete it to confirm the removal. "
        f"To delete the file removes all that it declares{f' (on `live`: {names}{rest})' if names else ''}"
    )


def was_unverified(known: ObjectState) -> bool:
    """Whether the absence was unverified, or the file frozen, when live was written. An object without a status counts as
    unverified: nothing can tell.
    """
    record = known.record
    held, accepted = record.condition(DELETION_HELD), record.condition(ACCEPTED)
    is_held, is_frozen = held and held.reason == UNVERIFIED, accepted and accepted.reason == FROZEN
    return record.status is None or bool(is_held or is_frozen)


def masks_live_objects(path: str, source: TreeIndex, live: TreeIndex) -> bool:
    """Whether the source has something at a path that makes documents of live unverified. Then live keeps its text: otherwise
    this tick would lose the place of the documents, and with it the reason why they are unverified."""
    file, there = source.files.get(path), source.contents.get(path)
    if (
        file is None
        or path.startswith(live_layout.FOLDER)
        or (there is not None and not there.declares_nothing)
    ):
        return False
    docs = below(path, live) if file.mode in POINTERS else at(path, live)
    return any(not source.has(doc.key) and not (doc.record and doc.record.is_deleting) for doc in docs)


def at(path: str, live: TreeIndex) -> Iterator[Doc]:
    """The documents that live has in the file."""
    found = live.contents.get(path)
    yield from found.docs if found is not None else ()


def below(folder: str, live: TreeIndex) -> Iterator[Doc]:
    """The documents that live has in files below the folder. Looks through all files: a folder that becomes a link is rare."""
    for path, contents in live.contents.items():
        if path.startswith(f"{folder}/"):
            yield from contents.docs


def above(path: str) -> Iterator[str]:
    """The folders that contain the path."""
    return (path[:end] for end, letter in enumerate(path) if letter == "/")
