"""The whole way from a source to Problems: list, read, check each, check all together, say where.

The order matters. Settings come first, since they say which paths are manifests; then paths that are ignored; then each document by itself;
then all of them together (references, uniqueness, quotas) and, if there is an earlier revision, what may not change between the two. Even
when a person names one file, the whole repo is read: a reference can only be judged with all objects known. Only the problems are
then narrowed to the named paths.

Nothing here knows the rules; `schemas.validate` has them, and the reconciler asks the same ones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from reconciler.gitstore.worktree.files import FileListing
from reconciler.query.documents import LoadedFiles, Progress, load
from reconciler.query.ignored_paths import read_ignored_paths
from reconciler.query.policy import check_link, compare_link, compare_settings, read_policy
from reconciler.query.scope import Scope
from reconciler.query.source import ManifestSource, RevisionSource, is_on_disk
from schemas.encryption.age_armor import Identities
from schemas.encryption.open_secret import open_secret
from schemas.encryption.sealed_error import SealedError, SealedReason
from schemas.problem import Problem
from schemas.reader import Unreadable, read
from schemas.validate import EarlierRevision, Tree, ValidationPolicy, check_tree, emptied, files
from schemas.validate.finding import Finding
from schemas.validate.finding import to_problems as placed
from schemas.validate.path_collisions import collisions
from schemas.validate.tree import AnyDeclaration


@dataclass(frozen=True, slots=True)
class ComparedRevision:
    """The revision to compare with, under the name that a person gave it."""

    name: str
    source: RevisionSource


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """What is to be checked. `stream` is the path of what was laid over the source and replaces no file of it. `now` judges certificates;
    without it their dates are not judged. `may_fork`: several processes read a large repo; not within a process that serves gRPC."""

    scope: Scope
    source: ManifestSource
    branch: str = ""
    earlier: ComparedRevision | None = None
    stream: str = ""
    now: datetime | None = None
    may_fork: bool = True
    identities: Identities | None = None  # to verify encrypted Secrets


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What `gitvirt validate` prints. `foreign` counts documents of other tools, which are neither checked nor wrong."""

    problems: tuple[Problem, ...]  # files as the caller names them
    files: tuple[str, ...]
    objects: int
    foreign: int


def check(request: CheckRequest, progress: Progress) -> CheckResult:
    """Never raises for the content of files: whatever is wrong with them is a problem in the result."""
    source, scope = request.source, request.scope
    policy, wrong_settings = read_policy(source, request.branch)
    policy = replace(policy, is_checkout=is_on_disk(source))
    if request.identities is not None:
        policy = replace(policy, find_tampering=partial(find_tampering, source, request.identities))
    if request.earlier:
        wrong_settings += compare_settings(source, request.earlier.source, request.earlier.name)
        wrong_settings += compare_link(source, request.earlier.source)
    is_ignored, wrong_patterns = read_ignored_paths(source)
    listing = source.listing(is_ignored)
    manifests = [path for path in listing.files if path == request.stream or files.is_declaring(path, policy)]
    then = list_blob_ids(request.earlier, policy)
    loaded = load(source, manifests, policy, then, progress, may_fork=request.may_fork)
    tree = build_tree(loaded, request)
    wrong_settings += check_link(source, {entry.key.namespace for entry in tree.entries}, request.now)
    past = load_past(request, loaded, then, progress) if request.earlier else None
    findings = [
        *loaded.findings,
        *files.findings(listing.files, policy),
        *find_unread(scope, listing, manifests),
        *check_tree(tree, policy, past),
        *(find_emptied(request, tree, past, listing) if past is not None else ()),
    ]
    alike = collisions(listing.files)
    problems = (*wrong_settings, *wrong_patterns, *alike, *listing.problems, *loaded.problems)
    found = [
        *(each for each in problems if scope.concerns(each.file)),
        *placed((each for each in findings if concerns(scope, each)), text_reader(source)),
    ]
    lost = {each.path for each in findings if each.code == "GV416"}  # which says more than the other codes
    found = [each for each in found if each.file not in lost or each.code not in ("GV115", "GV361")]
    return CheckResult(
        tuple(dataclasses.replace(each, file=scope.display_path(each.file)) for each in found),
        tuple(scope.display_path(path) for path in manifests if scope.concerns(path)),
        sum(scope.concerns(entry.path) for entry in tree.entries) if scope.named else len(tree.entries),
        loaded.foreign,
    )


def find_tampering(source: ManifestSource, identities: Identities, entry: AnyDeclaration) -> str:
    """Why a Secret that one of the keys is for does not open. Empty where it does, and where no key is for it. Other faults have codes of
    their own."""
    data = source.read(entry.path)
    documents = () if isinstance(data, Problem) else read(data.decode("utf-8", "replace"))
    if isinstance(documents, Unreadable) or entry.document >= len(documents):
        return ""
    bodies = [body if isinstance(body, dict) else {} for body in documents]
    try:
        open_secret(bodies, entry.document, identities)  # type: ignore[arg-type]
    except SealedError as error:
        return str(error) if error.reason is SealedReason.TAMPERED else ""
    return ""


def build_tree(loaded: LoadedFiles, request: CheckRequest) -> Tree:
    """All objects as the rules see them. Refused and unreadable objects are in it by name, so that no reference to one counts as missing."""
    entries = loaded.entries
    if request.stream:  # what a stream declares takes the place of what the repo says about the same object
        given = {entry.key for entry in entries if entry.path == request.stream}
        entries = [entry for entry in entries if entry.path == request.stream or entry.key not in given]
    return Tree(tuple(entries), frozenset(loaded.refused), tuple(loaded.unreadable))


def list_blob_ids(earlier: ComparedRevision | None, policy: ValidationPolicy) -> dict[str, str]:
    """The manifests of the earlier revision, by path, with the ids of their blobs."""
    if earlier is None:
        return {}
    is_ignored, _ = read_ignored_paths(earlier.source)
    listing = earlier.source.listing(is_ignored)
    return {path: earlier.source.files[path].id for path in listing.files if files.is_declaring(path, policy)}


def load_past(
    request: CheckRequest, loaded: LoadedFiles, then: dict[str, str], progress: Progress
) -> EarlierRevision:
    """Reads only files that differ between the revisions. Problems of the earlier revision are not reported."""
    earlier = request.earlier
    assert earlier is not None, "there is a past only of an earlier revision"
    same = frozenset(loaded.same)
    differing = [path for path in then if path not in same]
    old = load(earlier.source, differing, ValidationPolicy(), {}, progress, may_fork=request.may_fork)
    return EarlierRevision(earlier.name, tuple(old.entries), same, tuple(old.unreadable), knows_status=False)


def find_emptied(
    request: CheckRequest, tree: Tree, past: EarlierRevision, listing: FileListing
) -> Iterator[Finding]:
    """Files that declared objects at the earlier revision and declare nothing now. One that is ignored now is still there: the listing
    lacks it, and the source has it. Where else files were moved to folders that are ignored or hidden is not looked for."""
    earlier, source = request.earlier, request.source
    assert earlier is not None, "there is a past only of an earlier revision"
    listed = set(listing.files)
    hidden = {
        old.path
        for old in past.entries
        if old.path not in listed and not isinstance(source.read(old.path), Problem)
    }

    def text_of(path: str) -> str:
        data = source.read(path)
        return "" if isinstance(data, Problem) else data.decode("utf-8", "replace")

    def is_new(path: str) -> bool:
        return path not in earlier.source.files

    def is_same(path: str) -> bool:
        return not is_new(path) and source.read(path) == earlier.source.read(path)

    yield from emptied.findings(tree, past, listed | hidden, is_new, is_same, text_of)


def find_unread(scope: Scope, listing: FileListing, manifests: list[str]) -> Iterator[Finding]:
    """Files that the caller named and whose names are not those of manifests. Without a finding, a person would take a file that was
    never read for one without problems."""
    others = set(listing.files) - set(manifests) if scope.named else set()
    for path in others.intersection(scope.named):
        if not files.has_manifest_name(path):
            yield files.misnamed_file(path)


def concerns(scope: Scope, finding: Finding) -> bool:
    """Also a finding in another file, when a named one is part of it: two files that declare one object."""
    return scope.concerns(finding.path) or any(scope.concerns(path) for path in finding.also)


def text_reader(source: ManifestSource) -> Callable[[str], str | None]:
    """Texts for the line numbers of findings. A finding in a file that cannot be read again has no line."""

    def text(path: str) -> str | None:
        data = source.read(path)
        return None if isinstance(data, Problem) else data.decode("utf-8", "replace")

    return text
