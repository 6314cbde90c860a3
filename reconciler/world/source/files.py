"""Updates a branch to a commit: which files changed, and their new content. Only these files are read.

For each changed path: not a manifest (ignored, another ending, a file of the reconciler) -> no contents; a link or a submodule
-> a problem, and no documents; in the parse cache and fit for today's question -> those; otherwise the blob is parsed.

Both branches go through `_update`, with other rules about what is read and how: `update_source` and `update_live` say them. A cache
entry of live fits only if it has just the objects that are needed now, since that depends on what the source declares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from reconciler.gitstore.objects.tree import File, FileMode
from reconciler.gitstore.repo import FileChange, Repo
from reconciler.world.source.contents import Contents, Wants, live_contents, source_contents, unreadable
from reconciler.world.source.parse_cache.cache import AT_ONCE, Name, ParseCache, name_of, way
from reconciler.world.source.rules import Rules
from reconciler.world.source.tree_index import TreeIndex
from schemas import live_layout
from schemas.kinds import Key
from schemas.manifest.ignore import is_manifest
from schemas.problem import Problem
from schemas.validate.files import is_declaring

NOT_MANIFESTS = (live_layout.ORPHANS, *live_layout.STATEMENTS)  # what people write there declares nothing


@dataclass(slots=True)
class BranchUpdate:
    """The result of reading changed files. `flipped` are paths whose files can be understood now and could not before, or the reverse,
    or cannot for another reason."""

    keys: set[Key] = field(default_factory=set)
    flipped: set[str] = field(default_factory=set)
    blobs_read: int = 0


@dataclass(frozen=True, slots=True)
class _Reading:
    """How the files of a branch are read, when what they hold is not known. `how` is all that this depends on beside the text;
    `fits` says whether what is known is what `parsed` would say today."""

    repo: Repo
    readings: ParseCache
    how: bytes
    is_manifest: Callable[[str], bool]
    parsed: Callable[[str, bytes], Contents]
    fits: Callable[[str, Contents], bool]

    def cached_objects(self, changes: Iterable[FileChange]) -> Mapping[Name, object]:
        return self.readings.look_up(name_of(after, self.how) for _, _, after in changes if after is not None)

    def forget(self, changes: Iterable[FileChange]) -> None:
        for _, before, _ in changes:
            if before is not None:
                self.readings.drop(name_of(before, self.how))

    def contents(self, file: File, known: Mapping[Name, object], update: BranchUpdate) -> Contents | None:
        if not self.is_manifest(file.path):
            return None
        if problem_files := _problem_of(file):
            return problem_files
        name = name_of(file, self.how)
        if name in known:
            found = self.readings.contents(file.path, name, known[name])
            if found is not None and self.fits(file.path, found):
                return found
        update.blobs_read += 1
        found = self.parsed(file.path, self.repo.read(file.id))
        if found.is_plain:
            self.readings.keep(name, found)
        return found


def update_source(
    repo: Repo, readings: ParseCache, branch: TreeIndex, changes: Sequence[FileChange], rules: Rules
) -> BranchUpdate:
    """Files of the source, by the fleet's policy and without those that .gitvirtignore names."""
    policy = rules.policy
    reading = _Reading(
        repo,
        readings,
        way("source", policy),
        is_manifest=lambda path: is_declaring(path, policy) and not rules.ignored(path),
        parsed=lambda path, data: source_contents(path, data, policy),
        fits=lambda *_: True,
    )
    return _update(branch, changes, reading)


def update_live(
    repo: Repo, readings: ParseCache, branch: TreeIndex, changes: Sequence[FileChange], wants: Wants
) -> BranchUpdate:
    """Files of live, whatever is ignored now: a record counts until it is removed. Consents about orphans are for poollets."""
    reading = _Reading(
        repo,
        readings,
        way("live"),
        is_manifest=lambda path: is_manifest(path) and not path.startswith(NOT_MANIFESTS),
        parsed=lambda path, data: live_contents(path, data, wants),
        fits=lambda path, found: all((doc.object is not None) is wants(doc.key, path) for doc in found.docs),
    )
    return _update(branch, changes, reading)


def _update(branch: TreeIndex, changes: Sequence[FileChange], reading: _Reading) -> BranchUpdate:
    update = BranchUpdate()
    reading.forget(changes)
    for start in range(0, len(changes), AT_ONCE):
        some = changes[start : start + AT_ONCE]
        known = reading.cached_objects(some)
        for path, _, after in some:
            was_problem = branch.problem_files.get(path)
            found = reading.contents(after, known, update) if after is not None else None
            update.keys.update(branch.put(path, after, found))
            if why_malformed(was_problem) != why_malformed(found):
                update.flipped.add(path)
    return update


def why_malformed(contents: Contents | None) -> tuple[Problem, ...] | None:
    """Why the contents are malformed; None if they are not."""
    return contents.problems if contents is not None and contents.is_malformed else None


def _problem_of(file: File) -> Contents | None:
    if file.mode not in (FileMode.LINK, FileMode.SUBMODULE):
        return None
    what = "a symbolic link" if file.mode is FileMode.LINK else "a submodule"
    message = f"this is {what}, which declares nothing"
    hint = "put the file itself here, or name the path in .gitvirtignore"
    return unreadable(Problem(file=file.path, code="GV107", message=message, hint=hint))


def needed_objects(source: TreeIndex) -> Wants:
    """Which documents of live must be decoded: those in the reconciler's own folder, and those with keys that the source does not have.
    So the source must be read first.
    """
    return lambda key, path: path.startswith(live_layout.FOLDER) or not source.has(key)


def is_retained(path: str) -> bool:
    return path.startswith(live_layout.RETAINED)
