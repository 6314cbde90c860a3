"""Objects that people declared and that the reconciler has not applied, each with the errors that prevent it.

    a file of the source                          its objects
    can be read                                   none: they are on `live`, or the next commit of the reconciler brings them
    has errors, and `live` has the object         none: the object is there as it was, and its condition says why
    has errors, and `live` lacks the object       each is unapplied, also one without an error of its own: a file is applied as a whole
    cannot be read so far as to know its objects  one without a key stands for all of them

For verbs that print. A file is only read where `live` lacks its path or has it frozen, so a fleet without errors pays for two listings.

Limits: errors between objects (a class that does not exist) are not looked for. Such an object is on `live`, blocked, with the error as its condition.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator
from dataclasses import dataclass

from reconciler.gitstore.objects.tree import FileMode
from reconciler.gitstore.repo import Repo, Snapshot
from schemas import manifest
from schemas.kinds import Key, Kind
from schemas.manifest import Manifest
from schemas.manifest.ignore import MANIFESTS, PATH, Ignore, is_manifest
from schemas.problem import Problem, Severity


@dataclass(frozen=True, slots=True)
class UnappliedObject:
    """`key` is None for a file that cannot be read so far as to know what it declares. `problems` are errors; those of the object itself come first."""

    key: Key | None
    path: str
    problems: tuple[Problem, ...]


def list_refused(path: str, found: Manifest) -> Iterator[UnappliedObject]:
    """What a file with errors declares; nothing of a file without."""
    errors = tuple(each for each in found.problems if each.severity is Severity.ERROR)
    if not errors:
        return
    keys = dict.fromkeys((*found.invalid, *(each.key for each in found.documents)))
    for key in keys:
        own = tuple(each for each in errors if each.object == str(key))
        yield UnappliedObject(key, path, own + tuple(each for each in errors if each not in own))
    unnamed = tuple(each for each in errors if not each.object)
    if unnamed:
        yield UnappliedObject(None, path, unnamed)


def list_unapplied(
    repo: Repo, snapshot: Snapshot, known: Container[Key], frozen: Collection[str], kinds: Container[Kind]
) -> Iterator[UnappliedObject]:
    """Those of these kinds that are not among the `known` objects of `live`. `frozen` are paths of `live` with a newer text that was refused."""
    source, target = snapshot.source, snapshot.target
    if source is None or target is None:
        return
    stale = (repo.file(source, path) for path in frozen)
    found = {file.path: file for file in (*repo.missing_files(source, target), *filter(None, stale))}
    files = [found[path] for path in sorted(found)]
    ignore = repo.file(source, PATH) if files else None
    is_ignored = Ignore(b"" if ignore is None else repo.read(ignore.id))
    for file in files:
        is_link = file.mode in (FileMode.LINK, FileMode.SUBMODULE)
        if is_link or not file.path.endswith(MANIFESTS) or not is_manifest(file.path):
            continue
        if is_ignored(file.path, False):
            continue
        for each in list_refused(file.path, manifest.parse(file.path, repo.read(file.id))):
            if each.key is None or (each.key.kind in kinds and each.key not in known):
                yield each
