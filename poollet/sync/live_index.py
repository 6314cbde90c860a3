"""An index of the target branch, kept up to date at the cost of what changed: decoded objects by key, by pool and by uid.

Theory of operation. `advance` compares two commits, decodes the files that differ, and only then changes
the index. So an error while reading leaves it at the old commit, and the next call tries again. A file
that is malformed keeps its last good objects and is named in `unreadable_files`: its objects are neither
removed nor changed by what it says now.

    _files                what each path contains, in the order of its documents
    _places, _objects     documents by key; the one that references lead to
    _pools, _assigned     documents with an assignment, by pool and by uid, also where two have one key
    _ending               pools in .gitvirt/deleting/: their grants hold until what they have is gone
    _volume_users         of _objects: handles of volumes, and the machines that name them

Limits: it decides nothing. Which commit to apply is live_policy.py's, and what the objects order is worked
out by pure code that reads a view of this. One thread at a time advances it.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypeVar

from poollet.sync.live_view import (
    LiveDocument,
    LiveView,
    OrphanOrder,
    Pools,
    assigned_pool,
    grants_of,
    is_current,
)
from poollet.sync.sealed_secret import read_objects
from poollet.sync.volume_users import VolumeUsers
from reconciler.gitstore.objects.tree import FileMode, ObjectId
from reconciler.gitstore.repo import FileChange
from schemas import live_layout
from schemas.kinds import Key, Kind
from schemas.manifest import Manifest, parse
from schemas.manifest.ignore import IGNORE_NOTHING, Ignore, is_manifest
from schemas.manifest.ignore import PATH as IGNORE
from schemas.model import MachinePool, Object, VolumePool
from schemas.problem import Problem
from schemas.reader import Unreadable, read
from schemas.settings import fleet
from schemas.settings.fleet import FleetSettings

AnyObject = TypeVar("AnyObject", bound=Object)


class LiveTree(Protocol):
    """What is needed of a Repo."""

    def read(self, id: ObjectId) -> bytes: ...

    def diff(self, old: ObjectId | None, new: ObjectId | None) -> Iterator[FileChange]: ...


class LivePlace(NamedTuple):
    """The place of a document; the order of places decides between two of one key."""

    path: str
    number: int

    @property
    def is_leaving(self) -> bool:
        return self.path.startswith(live_layout.DELETING)


@dataclass
class LiveIndex:
    """Of `unreadable_files` the last good state is kept. `settings` are those of gitvirt.yaml."""

    commit: ObjectId | None = None
    settings: FleetSettings | None = None
    unreadable_files: dict[str, tuple[Problem, ...]] = field(default_factory=dict)
    _ignore: Ignore = IGNORE_NOTHING
    _files: dict[str, tuple[Object, ...]] = field(default_factory=dict)
    _places: dict[Key, dict[LivePlace, Object]] = field(default_factory=dict)
    _kinds: dict[Kind, dict[Key, Object]] = field(default_factory=dict)
    _objects: dict[Key, Object] = field(default_factory=dict)
    _pools: dict[tuple[Kind, str], dict[LivePlace, Object]] = field(default_factory=dict)
    _assigned: dict[str, dict[LivePlace, Object]] = field(default_factory=dict)  # by uid
    _ending: dict[Key, dict[LivePlace, Object]] = field(default_factory=dict)
    _orphans: dict[str, OrphanOrder] = field(default_factory=dict)
    _volume_users: VolumeUsers = field(default_factory=VolumeUsers)

    def get(self, key: Key) -> Object | None:
        return self._objects.get(key)

    def objects(self) -> Iterator[Object]:
        """Every object, those in `.gitvirt/deleting/` and `.gitvirt/retained/` included."""
        for found in self._files.values():
            yield from found

    def all(self, type: type[AnyObject]) -> Iterator[AnyObject]:
        """All of a kind that names refer to."""
        for found in self._kinds.get(type.KIND, {}).values():
            assert isinstance(found, type)
            yield found

    def view(self, pools: Pools, uids: Iterable[str] = ()) -> LiveView | None:
        """`live` for the poollet that serves these pools and whose host has objects of these uids; good until the next step."""
        if self.commit is None:
            return None
        mine = {place: found for pool in pools for place, found in self._pools.get(pool, {}).items()}
        mine |= {place: found for uid in uids for place, found in self._assigned.get(uid, {}).items()}
        ending = {key: places[min(places)] for key, places in self._ending.items() if places}
        granting: ChainMap[Key, Object] = ChainMap(ending, self._objects)
        return LiveView(
            commit=self.commit,
            objects=MappingProxyType(self._objects),
            mine=tuple(LiveDocument(place.path, found) for place, found in mine.items()),
            grants=grants_of(granting, pools),
            orphan_orders=tuple(self._orphans.values()),
            unread=tuple(
                path for path in self.unreadable_files if is_manifest(path) and not self._ignore(path)
            ),
            volume_users=self._volume_users,
        )

    def advance(self, tree: LiveTree, commit: ObjectId | None) -> bool:
        """Advance to that commit, wholly or not at all; whether anything differs. Raises what the repo raises."""
        if commit == self.commit:
            return False
        files: dict[str, tuple[Object, ...] | Manifest] = {}
        others: dict[str, bytes] = {}
        orphans: dict[str, OrphanOrder | None] = {}
        for path, _, after in tree.diff(self.commit, commit):
            file = after if after is not None and after.mode in (FileMode.FILE, FileMode.EXECUTABLE) else None
            if path in (fleet.PATH, IGNORE):
                others[path] = tree.read(file.id) if file is not None else b""
            elif path.startswith(live_layout.ORPHANS):
                orphans[path] = _orphan_order(path, tree.read(file.id)) if file is not None else None
            elif is_manifest(path) and not path.startswith(live_layout.STATEMENTS):
                files[path] = _objects(path, tree.read(file.id)) if file is not None else ()
        # Nothing can fail from here on, so the index is never half advanced.
        if IGNORE in others:
            self._apply_ignore(Ignore(others[IGNORE]))
        if fleet.PATH in others:
            self._set(others[fleet.PATH])
        for path, found in files.items():
            if isinstance(found, Manifest):
                self.unreadable_files[path] = found.problems
            else:
                self.unreadable_files.pop(path, None)
                self._put(path, found)
        for path, order in orphans.items():
            self._orphans.pop(path, None)
            if order is not None:
                self._orphans[path] = order
        self.commit = commit
        return bool(files or others or orphans)

    def _set(self, data: bytes) -> None:
        """Settings that cannot be read leave the last good ones in effect."""
        settings = fleet.parse(data)
        if isinstance(settings, FleetSettings):
            self.settings = settings
            self.unreadable_files.pop(fleet.PATH, None)
        else:
            self.unreadable_files[fleet.PATH] = settings

    def _apply_ignore(self, ignore: Ignore) -> None:
        """The ignore file decides about every document, so all indexes are built again. It changes seldom."""
        files, self._files = self._files, {}
        for index in (self._places, self._kinds, self._objects, self._pools, self._assigned, self._ending):
            index.clear()
        self._volume_users = VolumeUsers()
        self._ignore = ignore
        for path, objects in files.items():
            self._put(path, objects)

    def _put(self, path: str, objects: tuple[Object, ...]) -> None:
        """The documents of a path take the place of those that it had."""
        for index, old in enumerate(self._files.pop(path, ())):
            self._remove(LivePlace(path, index), old)
        if objects:
            self._files[path] = objects
        for index, new in enumerate(objects):
            # An ignored document orders nothing, unless the reconciler gave it a uid before it was ignored.
            if new.metadata.uid or not self._ignore(path):
                self._add(LivePlace(path, index), new)

    def _add(self, place: LivePlace, found: Object) -> None:
        if is_current(place.path, found):
            self._places.setdefault(found.key, {})[place] = found
            self._choose(found.key)
        if place.is_leaving and isinstance(found, MachinePool | VolumePool):
            self._ending.setdefault(found.key, {})[place] = found
        if pool := assigned_pool(found):
            self._pools.setdefault(pool, {})[place] = found
            self._assigned.setdefault(found.metadata.uid, {})[place] = found

    def _remove(self, place: LivePlace, found: Object) -> None:
        if self._places.get(found.key, {}).pop(place, None) is not None:
            self._choose(found.key)
        self._ending.get(found.key, {}).pop(place, None)
        if pool := assigned_pool(found):
            self._pools.get(pool, {}).pop(place, None)
            of_uid = self._assigned.get(found.metadata.uid, {})
            of_uid.pop(place, None)
            if not of_uid:
                self._assigned.pop(found.metadata.uid, None)

    def _choose(self, key: Key) -> None:
        """Of two documents of one key, the one that is declared; of these the one with a uid; else the first by its place."""
        kind = self._kinds.setdefault(key.kind, {})
        places = self._places.get(key)
        before = self._objects.get(key)
        if places:
            chosen = min(places, key=lambda place: (place.is_leaving, not places[place].metadata.uid, place))
            kind[key] = self._objects[key] = places[chosen]
        else:
            self._places.pop(key, None)
            self._objects.pop(key, None)
            kind.pop(key, None)
        self._volume_users.replace(before, self._objects.get(key))


def _orphan_order(path: str, data: bytes) -> OrphanOrder | None:
    """None where the file holds anything but the pool."""
    values = read(data.decode("utf-8", "replace"))
    if isinstance(values, Unreadable) or len(values) != 1 or not isinstance(values[0], dict):
        return None
    pool = values[0].get("pool")
    uid = path.removeprefix(live_layout.ORPHANS).rpartition(".")[0]
    return OrphanOrder(uid, pool) if isinstance(pool, str) and uid else None


def _objects(path: str, data: bytes) -> tuple[Object, ...] | Manifest:
    """The objects of a file, or the manifest that says why it cannot be read."""
    found = parse(path, data)
    if found.is_malformed:
        return found
    return read_objects(found, data)
