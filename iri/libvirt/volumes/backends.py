"""All shelves of this host: which class lies on which, what each may promise, and which cannot be reached.

A pool that does not answer when the runtime starts holds up nothing but itself. What lies in it is unknown, not absent:
until it has been read, nobody is told that something is not there.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence, Set
from pathlib import Path

from iri.errors import FailedPrecondition, InvalidArgument, IRIError, StartupError, Unavailable
from iri.libvirt.volumes.backend import StorageBackend
from iri.libvirt.volumes.file_backend import FileBackend
from iri.libvirt.volumes.pool_marker import PoolMarkers
from iri.libvirt.volumes.record_files import StoredRecords
from iri.libvirt.volumes.settings import StorageSettings, pool_of

log = logging.getLogger(__name__)


class Backends:
    """`files` says which files domains refer to."""

    def __init__(
        self,
        settings: StorageSettings,
        shelves: Sequence[StorageBackend],
        marks: PoolMarkers,
        files: Callable[[], Set[str]],
    ) -> None:
        self._files = files
        self._marks = marks
        self._settings = settings
        self._by_name = {shelf.name: shelf for shelf in shelves}
        self._shut: dict[str, str] = {name: "not read yet" for name in self._by_name}  # why, by name

    def __iter__(self) -> Iterator[StorageBackend]:
        return iter(self._by_name.values())

    def of(self, class_name: str) -> StorageBackend:
        shelf = self._by_name[pool_of(self._settings, class_name).name]
        self._refuse_shut(shelf.name)
        return shelf

    def reached(self, class_name: str) -> StorageBackend | None:
        shelf = self._by_name[pool_of(self._settings, class_name).name]
        return None if shelf.name in self._shut else shelf

    def measure(self) -> None:
        """One that does not answer keeps what it said last."""
        for shelf in self:
            if shelf.name not in self._shut:
                with contextlib.suppress(IRIError):
                    shelf.measure()

    def named(self, name: str) -> StorageBackend:
        return self._by_name[name]

    def open(self, name: str) -> StoredRecords:
        """What lies there. Unavailable when it cannot be reached now; other errors are the operator's to mend."""
        try:
            found = self._by_name[name].open()
        except Unavailable as error:
            log.warning("storage pool is not reached pool=%s error=%s", name, error)
            self._shut[name] = str(error)
            raise
        except StartupError:
            raise
        except (FailedPrecondition, InvalidArgument) as error:
            cure = f"look at `virsh pool-info {name}` and at `storage.pools` in the settings"
            raise StartupError(f"storage pool {name}: {error}", cure) from error
        return found

    def opened(self, name: str) -> None:
        """What lies there is known now."""
        self._shut.pop(name, None)

    def shut(self) -> tuple[str, ...]:
        return tuple(self._shut)

    def refuse_unknown(self) -> None:
        """Unavailable as long as there is a pool of which nobody knows what lies in it."""
        for name in self._shut:
            self._refuse_shut(name)

    def _refuse_shut(self, name: str) -> None:
        if (reason := self._shut.get(name)) is not None:
            raise Unavailable(f"storage pool {name} cannot be reached: {reason}")

    def close(self) -> None:
        for shelf in self:
            shelf.close()

    def folders(self) -> tuple[Path, ...]:
        """Where volumes lie as files."""
        return tuple(shelf.folder for shelf in self if isinstance(shelf, FileBackend))

    def wipes(self, class_name: str) -> bool:
        return pool_of(self._settings, class_name).wipe

    def limit_bytes(self, shelf: StorageBackend) -> int:
        """What sizes may add up to."""
        pool = next(pool for pool in self._settings.pools if pool.name == shelf.name)
        return max(0, int((shelf.room().capacity - pool.reserved_bytes) * pool.overcommit))

    def bases(self) -> frozenset[str] | None:
        """Names of the files that disks rest on or domains boot from. None while there is a pool of which nobody knows, in the
        settings or not."""
        if self._shut:
            return None
        try:
            elsewhere = self._marks.bases_elsewhere(self._by_name.keys())
            booted = {Path(path).name for path in self._files()}
            return frozenset(elsewhere | booted).union(*(shelf.rests_on() for shelf in self))
        except Unavailable as error:
            log.warning("no image is removed error=%s", error)
            return None
