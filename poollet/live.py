"""What stands on the target branch, kept up to date at the cost of what changed: decoded objects by key and by pool.

Owns no decision: which commit to follow is follow.py's, and what the objects order is worked out by pure code that reads
this. One thread advances it; nobody else may change it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeVar

from reconciler.repo.protocol import Change
from reconciler.repo.tree import Mode, ObjectId
from schemas import fleet
from schemas.fleet import Settings
from schemas.ignore import NOTHING, Ignore, is_manifest
from schemas.ignore import PATH as IGNORE
from schemas.kinds import Key, Kind
from schemas.manifest import Manifest, parse
from schemas.model import Machine, Object, Volume, VolumeSnapshot, decode
from schemas.problem import Problem

DELETING = ".gitvirt/deleting/"
ASIDE = (
    DELETING,
    ".gitvirt/retained/",
)  # where an object stands whose path or name is somebody else's by now

AnyObject = TypeVar("AnyObject", bound=Object)


class Tree(Protocol):
    """What is needed of a Repo."""

    def read(self, id: ObjectId) -> bytes: ...

    def difference(self, old: ObjectId | None, new: ObjectId | None) -> Iterator[Change]: ...


class Place(NamedTuple):
    """Where a document stands; the order of places decides between two of one key."""

    path: str
    number: int


@dataclass
class Live:
    """`frozen`: files that do not read, of which the last good state is kept. `settings` are those of gitvirt.yaml."""

    commit: ObjectId | None = None
    settings: Settings | None = None
    frozen: dict[str, tuple[Problem, ...]] = field(default_factory=dict)
    _ignore: Ignore = NOTHING
    _files: dict[str, tuple[Object, ...]] = field(default_factory=dict)
    _places: dict[Key, dict[Place, Object]] = field(default_factory=dict)
    _kinds: dict[Kind, dict[Key, Object]] = field(default_factory=dict)
    _pools: dict[tuple[Kind, str], dict[Place, Object]] = field(default_factory=dict)
    _snapshots: dict[tuple[str, str], dict[Place, VolumeSnapshot]] = field(default_factory=dict)

    def get(self, key: Key) -> Object | None:
        return self._kinds.get(key.kind, {}).get(key)

    def of(self, kind: Kind) -> Iterable[Object]:
        """All of a kind, but those that wait aside for their end."""
        return self._kinds.get(kind, {}).values()

    def all(self, type: type[AnyObject]) -> Iterator[AnyObject]:
        for found in self.of(type.KIND):
            assert isinstance(found, type)
            yield found

    def assigned(self, kind: Kind, pool: str) -> Iterable[Object]:
        """Whatever is assigned to a pool, those included that wait aside for their end: one key may come with two uids."""
        return self._pools.get((kind, pool), {}).values()

    def snapshots(self, namespace: str, volume: str) -> Iterable[VolumeSnapshot]:
        return self._snapshots.get((namespace, volume), {}).values()

    def advance(self, tree: Tree, commit: ObjectId | None) -> bool:
        """Up to that commit, all of it or nothing; whether anything differs. Raises what the repo raises."""
        if commit == self.commit:
            return False
        files: dict[str, tuple[Object, ...] | Manifest] = {}
        others: dict[str, bytes] = {}
        for path, _, after in tree.difference(self.commit, commit):
            is_file = after is not None and after.mode in (Mode.FILE, Mode.EXECUTABLE)
            if path in (fleet.PATH, IGNORE):
                others[path] = tree.read(after.id) if after is not None and is_file else b""
            elif is_manifest(path):
                files[path] = _objects(path, tree.read(after.id)) if after is not None and is_file else ()
        # Nothing can fail from here on, so nobody ever sees half a step.
        if IGNORE in others:
            self._ignore_anew(Ignore(others[IGNORE]))
        if fleet.PATH in others:
            self._set(others[fleet.PATH])
        for path, found in files.items():
            if isinstance(found, Manifest):
                self.frozen[path] = found.problems
            else:
                self.frozen.pop(path, None)
                self._put(path, found)
        self.commit = commit
        return bool(files or others)

    def _set(self, data: bytes) -> None:
        settings = fleet.parse(data)
        if isinstance(settings, Settings):
            self.settings = settings
            self.frozen.pop(fleet.PATH, None)
        else:
            self.frozen[fleet.PATH] = settings

    def _ignore_anew(self, ignore: Ignore) -> None:
        files, self._files = self._files, {}
        for index in (self._places, self._kinds, self._pools, self._snapshots):
            index.clear()
        self._ignore = ignore
        for path, objects in files.items():
            self._put(path, objects)

    def _put(self, path: str, objects: tuple[Object, ...]) -> None:
        for index, old in enumerate(self._files.pop(path, ())):
            self._remove(Place(path, index), old)
        if objects:
            self._files[path] = objects
        for index, new in enumerate(objects):
            # What is ignored is nobody's; what the reconciler took up before it was ignored stays an order.
            if new.metadata.uid or not self._ignore(path):
                self._add(Place(path, index), new)

    def _add(self, place: Place, found: Object) -> None:
        if not place.path.startswith(ASIDE):
            self._places.setdefault(found.key, {})[place] = found
            self._settle(found.key)
        if isinstance(found, Machine | Volume) and found.status.assignment is not None:
            self._pools.setdefault((found.KIND, found.status.assignment.pool), {})[place] = found
        if isinstance(found, VolumeSnapshot):
            volume = (found.namespace, found.spec.volume_ref.name)
            self._snapshots.setdefault(volume, {})[place] = found

    def _remove(self, place: Place, found: Object) -> None:
        if self._places.get(found.key, {}).pop(place, None) is not None:
            self._settle(found.key)
        if isinstance(found, Machine | Volume) and found.status.assignment is not None:
            _drop(self._pools, (found.KIND, found.status.assignment.pool), place)
        if isinstance(found, VolumeSnapshot):
            _drop(self._snapshots, (found.namespace, found.spec.volume_ref.name), place)

    def _settle(self, key: Key) -> None:
        """Of two documents of one key, the one that the reconciler took up; else the first by its place."""
        places = self._places.get(key)
        if places:
            _, chosen = min(places.items(), key=lambda item: (not item[1].metadata.uid, item[0]))
            self._kinds.setdefault(key.kind, {})[key] = chosen
        else:
            self._places.pop(key, None)
            self._kinds.get(key.kind, {}).pop(key, None)


Outer = TypeVar("Outer")
Inner = TypeVar("Inner")


def _drop(index: dict[Outer, dict[Place, Inner]], name: Outer, place: Place) -> None:
    places = index.get(name, {})
    places.pop(place, None)
    if not places:
        index.pop(name, None)


def _objects(path: str, data: bytes) -> tuple[Object, ...] | Manifest:
    """The objects of a file, or the manifest that says why it cannot be read."""
    found = parse(path, data)
    if found.is_malformed:
        return found
    return tuple(decode(document.kind, document.body) for document in found.documents)
