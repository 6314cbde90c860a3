"""Objects from the files of a commit, and reports from theirs. Unreadable files are left out and counted.

For verbs that print (`get`, `describe`, `top`, `tree`): they show what is there and decide nothing. For decisions this would be wrong,
since a file that does not read leaves its objects out here; `reconciler.world` keeps such objects as frozen.

The first look at a file is for its bytes alone: a file that cannot hold the wanted kind is not parsed. That saves most of the time of
`get machines` on a large fleet.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from reconciler.gitstore.errors import RepoError
from reconciler.gitstore.objects.tree import FileMode, ObjectId
from reconciler.gitstore.repo import Repo, Snapshot
from reconciler.gitstore.report_files import read_top_part
from reconciler.query.unapplied import UnappliedObject, list_refused
from reconciler.world.bulk_load import bulk
from schemas import live_layout, manifest, report
from schemas.kinds import Key, Kind
from schemas.manifest.ignore import MANIFESTS, PATH, Ignore, is_manifest
from schemas.model import Object, decode

_KIND = re.compile(rb"^kind: *([A-Za-z]+)[ \t]*\r?$", re.M)
_NUMBER = re.compile(r"([0-9]+)")
_KINDS = frozenset(kind.value for kind in Kind)


def natural_order(text: str) -> list[tuple[int, str]]:
    """A key for sorting as people count: runner-2 comes before runner-10."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in _NUMBER.split(text)]


@dataclass(frozen=True, slots=True)
class InventoryItem:
    """An object, and the document that it was read from."""

    path: str
    index: int
    object: Object
    body: Mapping[str, Any]
    key: Key = field(init=False)  # kept, since tables ask for it ten times an object

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", self.object.key)

    @property
    def is_retained(self) -> bool:
        """A volume that is no longer declared, with its data."""
        return self.path.startswith(live_layout.RETAINED)


@dataclass(frozen=True, slots=True)
class FleetInventory:
    """`broken` are files with parts that cannot be read. `beside` are retained volumes whose name another volume has now. `unapplied` is what
    people declared in files with errors: of the source that was read, or beside `live` of the source that it was made of."""

    commit: ObjectId | None
    items: Mapping[Key, InventoryItem]
    broken: tuple[str, ...] = ()
    beside: tuple[InventoryItem, ...] = ()
    unapplied: tuple[UnappliedObject, ...] = ()

    def of(self, kind: Kind) -> list[InventoryItem]:
        """In natural order, with retained volumes beside the declared ones of the same name."""
        every = (*self.items.values(), *self.beside)
        found = (item for item in every if item.key.kind is kind)
        return sorted(found, key=lambda item: (item.key.namespace, natural_order(item.key.name)))

    def get(self, kind: Kind, namespace: str, name: str) -> InventoryItem | None:
        """The namespace is passed over for kinds that have none, so that a caller need not know which these are."""
        return self.items.get(Key(kind, namespace if kind.is_namespaced else "", name))


@bulk(is_much=True)
def read_inventory(repo: Repo, commit: ObjectId | None, kind: Kind | None = None) -> FleetInventory:
    """With a kind, files that can hold none of it are passed over: what else is in the inventory is not all there is."""
    items: list[InventoryItem] = []
    refused: list[UnappliedObject] = []
    for file in read_manifests(repo, commit):
        if kind is not None and not may_have(file.data, kind):
            continue
        found, errors = read_file(file)
        refused += errors
        items += found
    broken = dict.fromkeys(each.path for each in refused)
    return replace(join_rows(commit, items, broken), unapplied=tuple(refused))


def join_rows(
    commit: ObjectId | None, found: Iterable[InventoryItem], broken: Iterable[str]
) -> FleetInventory:
    """Of several documents with one identity the first counts, as in validate; those on their way out come last."""
    items: dict[Key, InventoryItem] = {}
    beside = []
    for item in sorted(found, key=_rank):
        if item.key not in items:
            items[item.key] = item
        elif item.is_retained:
            beside.append(item)
    return FleetInventory(commit, items, tuple(sorted(broken, key=_rank_path)), tuple(beside))


def _rank(item: InventoryItem) -> tuple[bool, str, int]:
    return (*_rank_path(item.path), item.index)


def _rank_path(path: str) -> tuple[bool, str]:
    return path.startswith(live_layout.FOLDER), path


def read_file(file: ManifestFile) -> tuple[list[InventoryItem], list[UnappliedObject]]:
    """The objects of a file, and if parts of it cannot be read, all that it declares with the reasons."""
    found = manifest.parse(file.path, file.data)
    items = [
        InventoryItem(file.path, document.index, decode(document.kind, document.body), document.body)
        for document in found.documents
        if not file.is_ignored or has_identity(document.body)
    ]
    return items, [] if file.is_ignored else list(list_refused(file.path, found))


def may_have(data: bytes, kind: Kind) -> bool:
    """Whether a text may declare an object of the kind: not if it names another kind and never this one. With an escape in it, only parsing
    can tell."""
    if kind.value.encode() in data or b"\\" in data:
        return True
    named = _KIND.search(data)
    return named is None or named[1].decode() not in _KINDS


def has_identity(body: Mapping[str, Any]) -> bool:
    """Whether the reconciler gave the object a uid. Then it exists, although its file is ignored by now: its deletion is held."""
    metadata = body.get("metadata")
    return isinstance(metadata, Mapping) and bool(metadata.get("uid"))


class ListedFile(NamedTuple):
    """`is_ignored`: the commit's own .gitvirtignore names it."""

    path: str
    blob: ObjectId
    is_ignored: bool


class ManifestFile(NamedTuple):
    """A listed file with its content."""

    path: str
    blob: ObjectId
    data: bytes
    is_ignored: bool


def list_manifests(
    repo: Repo, commit: ObjectId | None, paths: Iterable[str] | None = None
) -> Iterator[ListedFile]:
    """All of a commit, or those of some paths. Links and submodules have no content that Git stores here, and are passed over."""
    if commit is None:
        return
    ignore = repo.file(commit, PATH)
    is_ignored = Ignore(b"" if ignore is None else repo.read(ignore.id))
    if paths is None:
        files = repo.files(commit)
    else:
        files = (found for path in paths if (found := repo.file(commit, path)) is not None)
    for file in files:
        if file.mode in (FileMode.LINK, FileMode.SUBMODULE) or not file.path.endswith(MANIFESTS):
            continue
        if is_manifest(file.path):
            yield ListedFile(file.path, file.id, is_ignored(file.path, False))


def read_manifests(
    repo: Repo, commit: ObjectId | None, paths: Iterable[str] | None = None
) -> Iterator[ManifestFile]:
    """The same with their content."""
    return (read_listed(repo, each) for each in list_manifests(repo, commit, paths))


def read_listed(repo: Repo, file: ListedFile) -> ManifestFile:
    return ManifestFile(file.path, file.blob, repo.read(file.blob), file.is_ignored)


@dataclass(frozen=True, slots=True)
class ReportedEvents:
    """By the name of the poollet, which is the rest of its ref's name. `unread` says why a report is nothing that can be read."""

    by_poollet: Mapping[str, tuple[report.ReportedEvent, ...]]
    unread: Mapping[str, str]


def read_events(repo: Repo, snapshot: Snapshot) -> ReportedEvents:
    """The events of each host, apart from the others, also of those whose report the reconciler would not accept: whether it is accepted (signature,
    grant, heartbeat) is decided in `reconciler.world.reports`, and not here."""
    found: dict[str, tuple[report.ReportedEvent, ...]] = {}
    unread = {name: each.cause for name, each in snapshot.unfetched.items()}
    for name, commit in snapshot.reports.items():
        try:
            part = read_top_part(repo, commit, "events.json")
        except RepoError as error:
            unread[name] = error.cause
            continue
        if isinstance(part, report.UnreadableFile):
            unread[name] = part.problems[0].message
        found[name] = part.events if isinstance(part, report.objects.EventList) else ()
    return ReportedEvents(found, unread)
