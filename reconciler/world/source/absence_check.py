"""Whether an object that the source no longer declares is cleanly gone, or may only not be understood."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from reconciler.gitstore.objects.tree import FileMode
from reconciler.world.objects.object_state import Known
from reconciler.world.record import condition
from reconciler.world.record.condition import ACCEPTED, DELETION_HELD, FROZEN, IN_DOUBT
from reconciler.world.source.contents import Doc
from reconciler.world.source.rules import Rules
from reconciler.world.source.tree_index import Branch
from schemas import live_layout
from schemas.validate.files import has_manifest_name

POINTERS = (FileMode.LINK, FileMode.SUBMODULE)


def doubt(known: Known, source: Branch, rules: Rules, news: Collection[str]) -> str:
    """Why it may still be declared; nothing when its absence is certain. Such doubt holds its deletion and nothing else.

    `news` are the paths that differ from the source reconciled last. A file that could not be read then already, and is the
    same now, has not taken in what has left another file since.
    """
    path = known.live.path if known.live else ""
    if path in source.files and not path.startswith(live_layout.FOLDER):
        if rules.ignored(path):
            return f"{path} is still there, and .gitvirtignore leaves it out"
        if path not in source.contents:
            return f"{path} is still there, and is not read as a manifest"
        if source.contents[path].is_strange:
            return f"{path} is still there, and has nothing of ours in it: remove the file if that is meant"
    for folder in above(path):
        file = source.files.get(folder)
        if file is not None and file.mode in POINTERS:
            return f"{folder} is a link or a submodule now, and may lead to it"
    if strange := source.strangers.get(known.key.name):
        return f"{min(strange)} has a document of that name whose kind is not known"
    is_old = was_in_doubt(known)
    opaque = sorted(each for each in source.opaque if has_manifest_name(each) and (is_old or each in news))
    if not opaque:
        return ""
    more = f" (and {len(opaque) - 1} more)" if len(opaque) > 1 else ""
    return f"{opaque[0]}{more} cannot be read, and may declare it: mend it, or remove it if that is meant"


def was_in_doubt(known: Known) -> bool:
    """As live says; of what has no conditions nothing says otherwise."""
    status = known.record.status
    if status is None:
        return True
    held, accepted = condition(status.conditions, DELETION_HELD), condition(status.conditions, ACCEPTED)
    return (held is not None and held.reason == IN_DOUBT) or (
        accepted is not None and accepted.reason == FROZEN
    )


def hides(path: str, source: Branch, live: Branch) -> bool:
    """Whether what the source has at a path leaves doubt about documents of live: then live keeps its text, or the place
    where they stood, and the doubt with it, would be forgotten with this tick."""
    file, there = source.files.get(path), source.contents.get(path)
    if file is None or path.startswith(live_layout.FOLDER) or (there is not None and not there.is_strange):
        return False
    docs = below(path, live) if file.mode in POINTERS else at(path, live)
    return any(not source.has(doc.key) and not (doc.record and doc.record.is_deleting) for doc in docs)


def at(path: str, live: Branch) -> Iterator[Doc]:
    found = live.contents.get(path)
    yield from found.docs if found is not None else ()


def below(folder: str, live: Branch) -> Iterator[Doc]:
    """Looks through all files: a folder that becomes a link is rare."""
    for path, contents in live.contents.items():
        if path.startswith(f"{folder}/"):
            yield from contents.docs


def above(path: str) -> Iterator[str]:
    """The folders that it is in."""
    return (path[:end] for end, letter in enumerate(path) if letter == "/")
