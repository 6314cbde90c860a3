"""Objects from the files of a commit, and reports from theirs. Unreadable files are left out and counted.

For verbs that print (`get`, `describe`, `top`, `tree`): they show what is there and decide nothing. For decisions this would be wrong,
since a file that does not read leaves its objects out here; `reconciler.world` keeps such objects as frozen.

The first look at a file is for its bytes alone: a file that cannot hold the wanted kind is not parsed. That saves most of the time of
`get machines` on a large fleet.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from reconciler.gitstore.errors import RepoError
from reconciler.gitstore.objects.tree import FileMode, ObjectId
from reconciler.gitstore.repo import Repo, Snapshot
from reconciler.gitstore.report_files import read_parts
from reconciler.world.bulk_load import bulk
from schemas import live_layout, manifest, report
from schemas.kinds import Key, Kind
from schemas.manifest.ignore import MANIFESTS, PATH, Ignore, is_manifest
from schemas.model import Object, decode
from schemas.report.tree import assemble

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

    @property
    def key(self) -> Key:
        return self.object.key

    @property
    def is_retained(self) -> bool:
        """A volume that is no longer declared, with its data."""
        return self.path.startswith(live_layout.RETAINED)


@dataclass(frozen=True, slots=True)
class FleetInventory:
    """`broken` are files with parts that cannot be read. `beside` are retained volumes whose name another volume has now."""

    commit: ObjectId | None
    items: Mapping[Key, InventoryItem]
    broken: tuple[str, ...] = ()
    beside: tuple[InventoryItem, ...] = ()

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
    """Of several documents with one identity the first counts, as in validate; those on their way out come last.

    With a kind, files that can hold none of it are passed over: what else is in the inventory is not all there is.
    """
    items: dict[Key, InventoryItem] = {}
    broken, beside = [], []
    for path, data, is_ignored in sorted(
        read_manifests(repo, commit), key=lambda file: (file[0].startswith(live_layout.FOLDER), file[0])
    ):
        if kind is not None and _is_of_others(data, kind):
            continue
        found = manifest.parse(path, data)
        if (found.is_malformed or found.invalid) and not is_ignored:
            broken.append(path)
        for document in found.documents:
            if is_ignored and not has_identity(document.body):
                continue
            item = InventoryItem(path, document.index, decode(document.kind, document.body), document.body)
            if item.is_retained and item.key in items:
                beside.append(item)
            items.setdefault(item.key, item)
    return FleetInventory(commit, items, tuple(broken), tuple(beside))


def _is_of_others(data: bytes, kind: Kind) -> bool:
    """Whether a text names another kind and never this one; with an escape in it, only parsing can tell."""
    if kind.value.encode() in data or b"\\" in data:
        return False
    named = _KIND.search(data)
    return named is not None and named[1].decode() in _KINDS


def has_identity(body: Mapping[str, Any]) -> bool:
    """Whether the reconciler gave the object a uid. Then it exists, although its file is ignored by now: its deletion is held."""
    metadata = body.get("metadata")
    return isinstance(metadata, Mapping) and bool(metadata.get("uid"))


def read_manifests(repo: Repo, commit: ObjectId | None) -> Iterator[tuple[str, bytes, bool]]:
    """Path, text, and whether the commit's own .gitvirtignore names it. Links and submodules have no content that Git stores here, and
    are passed over."""
    if commit is None:
        return
    ignore = repo.file(commit, PATH)
    is_ignored = Ignore(b"" if ignore is None else repo.read(ignore.id))
    for file in repo.files(commit):
        if file.mode in (FileMode.LINK, FileMode.SUBMODULE) or not file.path.endswith(MANIFESTS):
            continue
        if is_manifest(file.path):
            yield file.path, repo.read(file.id), is_ignored(file.path, False)


@dataclass(frozen=True, slots=True)
class ReadReports:
    """By the name of the poollet, which is the rest of its ref's name. `unread` says why a report is nothing that can be read."""

    by_poollet: Mapping[str, report.Report]
    unread: Mapping[str, str]


def read_reports(repo: Repo, snapshot: Snapshot) -> ReadReports:
    """Each apart from the others, also those that the reconciler would not accept."""
    found: dict[str, report.Report] = {}
    unread = {name: each.cause for name, each in snapshot.unfetched.items()}
    for name, commit in snapshot.reports.items():
        try:
            found[name] = read_report(repo, commit)
        except RepoError as error:
            unread[name] = error.cause
    return ReadReports(found, unread)


def read_report(repo: Repo, commit: ObjectId) -> report.Report:
    """As the host wrote it. Whether it is accepted (signature, grant, heartbeat) is decided in `reconciler.world.reports`, and not here."""
    return assemble(read_parts(repo, commit))
