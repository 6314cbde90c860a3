"""Which volume a handle belongs to, and which machines name a volume, as `live` says. Kept by the index of `live`.

A host knows the disks of its machines by their handles. So this says which volume a disk is that its machine no longer names, and whether
another machine waits for it.

Limits: it knows documents, not what any host has. A machine that is to be deleted, or is kept for an undo, waits for nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import TypeVar

from schemas.kinds import Key
from schemas.model import Machine, Object, Volume

Place = TypeVar("Place", bound=Hashable)


class VolumeUsers:
    """Of the documents that names refer to."""

    def __init__(self, objects: Iterable[Object] = ()) -> None:
        self._users: dict[Key, set[Key]] = {}  # machines, by volume
        self._volumes: dict[tuple[str, str], set[Key]] = {}  # by namespace and handle
        self._with_handle: set[Key] = set()
        for each in objects:
            self.replace(None, each)

    def replace(self, before: Object | None, after: Object | None) -> None:
        """One document takes the place of the other."""
        if before is not None:
            _remove(self._users, list_needed(before), before.key)
            _remove(self._volumes, list_handles(before), before.key)
            self._with_handle.discard(before.key)
        if after is not None:
            _add(self._users, list_needed(after), after.key)
            _add(self._volumes, list_handles(after), after.key)
            self._with_handle.update(after.key for _ in list_handles(after))

    def is_needed(self, volume: Key, but: Key) -> bool:
        """Whether another machine than that one names the volume."""
        return bool(self._users.get(volume, set()) - {but})

    def find(self, namespace: str, handle: str) -> frozenset[Key]:
        """The volumes of a namespace with this handle: one, unless their hosts are wrong about it."""
        return frozenset(self._volumes.get((namespace, handle), ()))

    def identify(self, named: Key | None, namespace: str, handle: str) -> Key | None:
        """The volume behind a disk with this handle: the one that its entry names, unless `live` says that another volume has the handle,
        or that the named one has another. None where no volume is known to have it."""
        found = self.find(namespace, handle)
        if not handle or named in found:
            return named
        if found:
            return min(found)
        return None if named in self._with_handle else named


def list_needed(found: Object) -> Iterator[Key]:
    """The volumes that a machine names or generates, while it is to have them."""
    if isinstance(found, Machine) and not found.metadata.is_deleting and found.status.undo is None:
        yield from (key for disk in found.spec.volumes if (key := found.volume_key(disk)) is not None)


def list_handles(found: Object) -> Iterator[tuple[str, str]]:
    """Namespace and handle of a volume whose host has reported one."""
    if isinstance(found, Volume) and found.status.access is not None and found.status.access.handle:
        yield found.namespace, found.status.access.handle


def _add(index: dict[Place, set[Key]], places: Iterable[Place], key: Key) -> None:
    for place in places:
        index.setdefault(place, set()).add(key)


def _remove(index: dict[Place, set[Key]], places: Iterable[Place], key: Key) -> None:
    for place in places:
        rest = index.get(place, set())
        rest.discard(key)
        if not rest:
            index.pop(place, None)
