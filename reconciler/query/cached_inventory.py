"""An inventory of one kind, by what an earlier verb read and by what changed since: parsing 10,000 machines takes a second, this a tenth.

    the kept commit is           then
    the same                     the kept rows are the answer
    another one, and known here  only files that differ are read; .gitvirtignore among them: all are
    unknown here, or none kept   all files are read

The answer is always that of `read_inventory`. What is kept are decoded objects; the document of one is parsed when it is asked for,
since most columns do not need it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import msgspec

from reconciler.gitstore.errors import RepoError
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import Repo
from reconciler.query.disk_cache import DiskCache
from reconciler.query.documents import FEW, WorkerLostError
from reconciler.query.inventory import (
    FleetInventory,
    InventoryItem,
    ListedFile,
    ManifestFile,
    join_rows,
    list_manifests,
    may_have,
    read_file,
    read_inventory,
    read_listed,
    read_manifests,
)
from reconciler.world.bulk_load import bulk
from reconciler.world.source.parse_cache.encoding import of_text, to_text
from schemas import manifest
from schemas.kinds import Kind
from schemas.manifest.ignore import PATH as IGNORE
from schemas.model import TYPES, Object

SEVERAL = (
    4  # kinds, from which on a file most likely has one of them: parsing it costs less than a look for each
)
BATCH = 1_000  # files, as one process parses them at a time
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
    repo: Repo, commit: ObjectId | None, kinds: Sequence[Kind], cache: DiskCache, processes: int = 1
) -> FleetInventory:
    """As `read_inventory`, of some kinds. Secrets are never kept. A file is read once, however many of the kinds have to look at it.

    With several `processes`, a large fleet is parsed in so many; only for a process without other threads."""
    if commit is None:
        return read_inventory(repo, commit)
    kept = {
        kind: load_value(cache, f"inventory-{kind.value}", _type_of_kept(kind))
        if kind is not Kind.SECRET
        else None
        for kind in kinds
    }
    stale = {kind: _changed_since(repo, commit, kept[kind]) for kind in kinds}
    new = _parse(repo, commit, stale, processes)
    items: list[InventoryItem] = []
    broken: set[str] = set()
    for kind in kinds:
        paths, before = stale[kind], kept[kind]
        rows, unread = new[kind]
        if before is not None and paths is not None:
            rows = [row for row in before[1] if row[0] not in paths] + rows
            unread = [path for path in before[2] if path not in paths] + unread
        if kind is not Kind.SECRET and (paths is None or len(paths) > MANY):
            cache.save(
                f"inventory-{kind.value}", msgspec.msgpack.encode((commit, rows, unread), enc_hook=to_text)
            )
        items += (
            InventoryItem(path, index, found, LazyDocument(repo, blob, path, index))
            for path, blob, index, found in rows
        )
        broken.update(unread)
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
    row: Any = _type_of_row(kind)
    return tuple[str, list[row], list[str]]


def _type_of_parsed(kind: Kind) -> Any:
    row: Any = _type_of_row(kind)
    return tuple[list[row], list[str]]


def _type_of_row(kind: Kind) -> Any:
    object: Any = TYPES[kind]
    return tuple[str, str, int, object]


def _changed_since(repo: Repo, commit: ObjectId, before: Kept | None) -> frozenset[str] | None:
    """The paths that differ from the kept commit. None: all files are to be read."""
    if before is None:
        return None
    if before[0] == commit:
        return frozenset()
    try:
        paths = frozenset(change.path for change in repo.diff(before[0], commit))
    except RepoError:  # that commit is gone
        return None
    return None if IGNORE in paths else paths


Parsed = tuple[list[Row], list[str]]  # rows, and files that cannot be read


def _parse(
    repo: Repo, commit: ObjectId, stale: Mapping[Kind, frozenset[str] | None], processes: int
) -> dict[Kind, Parsed]:
    """What the files have that each kind asks for."""
    found: dict[Kind, Parsed] = {kind: ([], []) for kind in stale}
    whole = [kind for kind, paths in stale.items() if paths is None]
    if whole:
        for part in _parse_all(repo, list(list_manifests(repo, commit)), whole, processes):
            for kind, (rows, unread) in part.items():
                found[kind][0].extend(rows)
                found[kind][1].extend(unread)
    wanted = sorted({path for paths in stale.values() if paths for path in paths})
    for file in read_manifests(repo, commit, wanted) if wanted else ():
        _read_into(found, [kind for kind, paths in stale.items() if paths and file.path in paths], file)
    return found


def _parse_all(
    repo: Repo, files: Sequence[ListedFile], kinds: Sequence[Kind], processes: int
) -> Iterator[dict[Kind, Parsed]]:
    """All files in batches, shared with other processes where there are many. A batch that no worker brings is parsed here: one that was lost,
    when memory ran out, and one with what cannot be packed."""
    batches = [files[start : start + BATCH] for start in range(0, len(files), BATCH)]

    def work(number: int) -> dict[Kind, Parsed]:
        found: dict[Kind, Parsed] = {kind: ([], []) for kind in kinds}
        for file in batches[number]:
            _read_into(found, kinds, read_listed(repo, file))
        return found

    left = set(range(len(batches)))
    if len(files) > FEW and processes > 1:
        from reconciler.query.worker_pool import Task, share_batches

        task = Task[dict[Kind, Parsed] | None](work, partial(_pack, kinds), partial(_unpack, kinds))
        try:
            for number, part in share_batches(len(batches), task, processes):
                if part is not None:
                    left.discard(number)
                    yield part
        except WorkerLostError:
            pass
    for number in sorted(left):
        yield work(number)


def _pack(kinds: Sequence[Kind], found: Mapping[Kind, Parsed] | None) -> list[bytes] | None:
    """In a worker: as the rows are kept on disk."""
    assert found is not None, "a worker parses what it is asked for"
    try:
        return [msgspec.msgpack.encode(found[kind], enc_hook=to_text) for kind in kinds]
    except (OverflowError, UnicodeError):
        return None


def _unpack(kinds: Sequence[Kind], packed: Sequence[bytes] | None) -> dict[Kind, Parsed] | None:
    if packed is None:
        return None
    return {
        kind: msgspec.msgpack.decode(data, type=_type_of_parsed(kind), dec_hook=of_text)
        for kind, data in zip(kinds, packed, strict=True)
    }


def _read_into(found: Mapping[Kind, Parsed], kinds: Sequence[Kind], file: ManifestFile) -> None:
    """Adds the rows of one file, parsed at most once."""
    kinds = [kind for kind in kinds if may_have(file.data, kind)] if len(kinds) < SEVERAL else kinds
    if not kinds:
        return
    items, errors = read_file(file)
    for item in items:
        if item.key.kind in kinds:
            found[item.key.kind][0].append((item.path, file.blob, item.index, item.object))
    for kind in kinds if errors else ():
        if may_have(file.data, kind):
            found[kind][1].append(file.path)
