"""The whole way from a source to Problems: list, read, check each, check all together, say where."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from reconciler.gitstore.worktree.files import FileListing
from reconciler.query.checkout.ignored import ignored
from reconciler.query.checkout.loading import Loaded, Progress, load
from reconciler.query.checkout.scope import Scope
from reconciler.query.checkout.settings import policy_at, since
from reconciler.query.checkout.source import Commit, Source
from schemas.problem import Problem
from schemas.validate import EarlierRevision, Tree, ValidationPolicy, check_tree, files
from schemas.validate.finding import Finding
from schemas.validate.finding import to_problems as placed
from schemas.validate.path_collisions import collisions


@dataclass(frozen=True, slots=True)
class Earlier:
    """The revision to compare with, under the name that somebody gave it."""

    name: str
    source: Commit


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be checked. `stream` is the path of what was laid over the source and replaces no file of it."""

    scope: Scope
    source: Source
    branch: str = ""
    earlier: Earlier | None = None
    stream: str = ""


@dataclass(frozen=True, slots=True)
class Checked:
    problems: tuple[Problem, ...]  # files as the caller names them
    files: tuple[str, ...]
    objects: int
    foreign: int


def check(request: Request, progress: Progress) -> Checked:
    source, scope = request.source, request.scope
    policy, wrong_settings = policy_at(source, request.branch)
    if request.earlier:
        wrong_settings += since(source, request.earlier.source, request.earlier.name)
    is_ignored, wrong_patterns = ignored(source)
    listing = source.listing(is_ignored)
    manifests = [path for path in listing.files if path == request.stream or files.is_declaring(path, policy)]
    then = ids_of(request.earlier, policy)
    loaded = load(source, manifests, policy, then, progress)
    tree = tree_of(loaded, request)
    past = past_of(request.earlier, loaded, then, progress) if request.earlier else None
    findings = [
        *loaded.findings,
        *files.findings(listing.files, policy),
        *unread(scope, listing, manifests),
        *check_tree(tree, policy, past),
    ]
    alike = collisions(listing.files)
    problems = (*wrong_settings, *wrong_patterns, *alike, *listing.problems, *loaded.problems)
    found = [
        *(each for each in problems if scope.concerns(each.file)),
        *placed((each for each in findings if concerns(scope, each)), text_of(source)),
    ]
    return Checked(
        tuple(dataclasses.replace(each, file=scope.shown(each.file)) for each in found),
        tuple(scope.shown(path) for path in manifests if scope.concerns(path)),
        sum(scope.concerns(entry.path) for entry in tree.entries) if scope.named else len(tree.entries),
        loaded.foreign,
    )


def tree_of(loaded: Loaded, request: Request) -> Tree:
    entries = loaded.entries
    if request.stream:  # what a stream declares takes the place of what the repo says about the same object
        given = {entry.key for entry in entries if entry.path == request.stream}
        entries = [entry for entry in entries if entry.path == request.stream or entry.key not in given]
    return Tree(tuple(entries), frozenset(loaded.refused), tuple(loaded.unreadable))


def ids_of(earlier: Earlier | None, policy: ValidationPolicy) -> dict[str, str]:
    """The manifests of then, by path, with the ids of their blobs."""
    if earlier is None:
        return {}
    is_ignored, _ = ignored(earlier.source)
    listing = earlier.source.listing(is_ignored)
    return {path: earlier.source.files[path].id for path in listing.files if files.is_declaring(path, policy)}


def past_of(earlier: Earlier, loaded: Loaded, then: dict[str, str], progress: Progress) -> EarlierRevision:
    """Only what differs is read; what was wrong with it then is not told."""
    differing = [path for path in then if path not in loaded.same]
    old = load(earlier.source, differing, ValidationPolicy(), {}, progress)
    return EarlierRevision(earlier.name, tuple(old.entries), frozenset(loaded.same), tuple(old.unreadable))


def unread(scope: Scope, listing: FileListing, manifests: list[str]) -> Iterator[Finding]:
    """Files that somebody named and that are no manifests by their names."""
    others = set(listing.files) - set(manifests) if scope.named else set()
    for path in others.intersection(scope.named):
        if not files.has_manifest_name(path):
            yield files.misnamed_file(path)


def concerns(scope: Scope, finding: Finding) -> bool:
    return scope.concerns(finding.path) or any(scope.concerns(path) for path in finding.also)


def text_of(source: Source) -> Callable[[str], str | None]:
    def text(path: str) -> str | None:
        data = source.read(path)
        return None if isinstance(data, Problem) else data.decode("utf-8", "replace")

    return text
