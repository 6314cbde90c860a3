"""An inventory of one kind, by what an earlier verb read and by what changed since: parsing 10,000 machines takes a second, this a tenth.

    the kept commit is           then
    the same                     the kept rows are the answer
    another one, and known here  only files that differ are read; .gitvirtignore among them: all are
    unknown here, or none kept   all files are read

The answer is always that of `read_inventory`. What is kept are decoded objects; the document of one is parsed when it is asked for,
since most columns do not need it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from reconciler.gitstore.errors import RepoError
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import Repo
from reconciler.query.disk_cache import DiskCache
from reconciler.query.inventory import (
    FleetInventory,
    InventoryItem,
    ManifestFile,
    join_rows,
    may_have,
    read_file,
    read_inventory,
    read_manifests,
)
from reconciler.world.bulk_load import bulk
from reconciler.world.source.parse_cache.encoding import of_text, to_text
from schemas import manifest
from schemas.kinds import Kind
from schemas.manifest.ignore import PATH as IGNORE
from schemas.model import TYPES, Object

MANY = 200  # changed files, from which on the rows are written again


class LazyDocument(Mapping[str, Any]):
    """The document of an object, read and parsed when it is needed. The repo must still be open then."""

    def __init__(self, repo: Repo, blob: ObjectId, path: str, index: int) -> None:
        self._repo, self._blob, self._path, self._index = repo, blob, path, index

    @cached_property
    def _body(self) -> Mapping[str, Any]:
        found = manifest.parse(self._path, self._repo.read(self._blob)).documents
        return next(each.body for each in found if each.index == self._index)

    def __getitem__(self, name: str) -> Any:
        return self._body[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._body)

    def __len__(self) -> int:
        return len(self._body)


Row = tuple[str, ObjectId, int, Object]  # path, blob, index of the document, the object
Kept = tuple[ObjectId, list[Row], list[str]]  # commit, rows, files that cannot be read


@bulk(is_much=True)
def read_cached_inventory(
    repo: Repo, commit: ObjectId | None, kind: Kind, cache: DiskCache
) -> FleetInventory:
    """As `read_inventory` of one kind. Secrets are never kept."""
    if commit is None or kind is Kind.SECRET:
        return read_inventory(repo, commit, kind)
    name = f"inventory-{kind.value}"
    before = load_value(cache, name, _type_of_kept(kind))
    rows, broken, changed = _read_rows(repo, commit, kind, before)
    if before is None or changed > MANY:
        cache.save(name, msgspec.msgpack.encode((commit, rows, broken), enc_hook=to_text))
    items = (
        InventoryItem(path, index, found, LazyDocument(repo, blob, path, index))
        for path, blob, index, found in rows
    )
    return join_rows(commit, items, broken)


def load_value(cache: DiskCache, name: str, type: Any) -> Any:
    """What is kept under that name, if it is of that type."""
    if (data := cache.load(name)) is None:
        return None
    try:
        return msgspec.msgpack.decode(data, type=type, dec_hook=of_text)
    except msgspec.MsgspecError:
        return None


def _type_of_kept(kind: Kind) -> Any:
    object: Any = TYPES[kind]
    row: Any = tuple[str, str, int, object]
    return tuple[str, list[row], list[str]]


def _read_rows(
    repo: Repo, commit: ObjectId, kind: Kind, before: Kept | None
) -> tuple[list[Row], list[str], int]:
    """All rows, files that cannot be read, and how many files were looked at."""
    if before is not None:
        if before[0] == commit:
            return before[1], before[2], 0
        try:
            paths = {change.path for change in repo.diff(before[0], commit)}
        except RepoError:
            paths = {IGNORE}  # that commit is gone
        if IGNORE not in paths:
            rows = [row for row in before[1] if row[0] not in paths]
            broken = [path for path in before[2] if path not in paths]
            new, new_broken = _parse(read_manifests(repo, commit, sorted(paths)), kind)
            return rows + new, broken + new_broken, len(paths)
    new, new_broken = _parse(read_manifests(repo, commit), kind)
    return new, new_broken, MANY + 1


def _parse(files: Iterable[ManifestFile], kind: Kind) -> tuple[list[Row], list[str]]:
    rows: list[Row] = []
    broken: list[str] = []
    for file in files:
        if not may_have(file.data, kind):
            continue
        found, is_broken = read_file(file)
        broken += [file.path] * is_broken
        rows += [(item.path, file.blob, item.index, item.object) for item in found if item.key.kind is kind]
    return rows, broken


def list_cached(
    repo: Repo, commit: ObjectId | None, cache: DiskCache, kinds: Sequence[Kind]
) -> FleetInventory:
    """Several kinds at once."""
    parts = [read_cached_inventory(repo, commit, kind, cache) for kind in kinds]
    return FleetInventory(
        commit,
        {key: item for part in parts for key, item in part.items.items()},
        tuple(sorted({path for part in parts for path in part.broken})),
        tuple(item for part in parts for item in part.beside),
    )
