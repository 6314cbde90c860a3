"""All storage pools of this host: which class uses which pool, how much each may promise, and which are not open.

    state      entered by                         left by
    unopened   start                              open succeeds and its records are in the catalog (mark_open) -> open
    unopened   open fails with Unavailable        tried again every 10 s, and when libvirt is back
    open       mark_open                          the end of the process; a pool whose disk disappears stays open, and each change
                                                  to it raises Unavailable
    refused    open fails with another error      StartupError: the operator must fix the settings or the pool

A pool that does not answer when the runtime starts holds up nothing but itself. What lies in it is unknown, not absent. Must never
happen: an object is reported as missing while a pool is unopened; an image is removed while a pool cannot be read.

The order of a pool's start matters: its records are in the catalog before it is marked open, so that no list is complete too early.
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
    """`files` gives the files that domains refer to."""

    def __init__(
        self,
        settings: StorageSettings,
        backends: Sequence[StorageBackend],
        markers: PoolMarkers,
        files: Callable[[], Set[str]],
    ) -> None:
        self._files = files
        self._markers = markers
        self._settings = settings
        self._by_name = {backend.name: backend for backend in backends}
        self._unopened = dict.fromkeys(self._by_name, "not read yet")  # the reason, by name

    def __iter__(self) -> Iterator[StorageBackend]:
        return iter(self._by_name.values())

    def for_class(self, class_name: str) -> StorageBackend:
        """The pool for new volumes of the class. Raises Unavailable while it is not open."""
        backend = self._by_name[pool_of(self._settings, class_name).name]
        self._require_open(backend.name)
        return backend

    def reachable_for_class(self, class_name: str) -> StorageBackend | None:
        """None while the pool of the class is not open."""
        backend = self._by_name[pool_of(self._settings, class_name).name]
        return None if backend.name in self._unopened else backend

    def measure(self) -> None:
        """Measures all open pools. A pool that does not answer keeps its last figures."""
        for backend in self:
            if backend.name not in self._unopened:
                with contextlib.suppress(IRIError):
                    backend.measure()

    def by_name(self, name: str) -> StorageBackend:
        """Open or not."""
        return self._by_name[name]

    def open(self, name: str) -> StoredRecords:
        """Reads the pool. Raises Unavailable when it cannot be reached now, StartupError when the operator must fix something."""
        try:
            found = self._by_name[name].open()
        except Unavailable as error:
            log.warning("cannot reach storage pool pool=%s error=%s", name, error)
            self._unopened[name] = str(error)
            raise
        except StartupError:
            raise
        except (FailedPrecondition, InvalidArgument) as error:
            cure = f"check `virsh pool-info {name}` and `storage.pools` in the settings"
            raise StartupError(f"storage pool {name}: {error}", cure) from error
        return found

    def mark_open(self, name: str) -> None:
        """The records of this pool are in the catalog now."""
        self._unopened.pop(name, None)

    def unopened_names(self) -> tuple[str, ...]:
        """A copy, because pools are opened meanwhile."""
        return tuple(self._unopened)

    def require_all_open(self) -> None:
        """Raises Unavailable while a pool has not been read."""
        for name in self._unopened:
            self._require_open(name)

    def _require_open(self, name: str) -> None:
        """Raises Unavailable with the reason for which the pool could not be read last."""
        if (reason := self._unopened.get(name)) is not None:
            raise Unavailable(f"storage pool {name} cannot be reached: {reason}")

    def close(self) -> None:
        """Every pool, opened or not."""
        for backend in self:
            backend.close()

    def folders(self) -> tuple[Path, ...]:
        """The folders of pools that hold files."""
        return tuple(backend.folder for backend in self if isinstance(backend, FileBackend))

    def wipes(self, class_name: str) -> bool:
        """Whether new volumes of the class are overwritten before they are deleted."""
        return pool_of(self._settings, class_name).wipe

    def limit_bytes(self, backend: StorageBackend) -> int:
        """The most that the sizes of the pool's volumes may add up to."""
        pool = next(pool for pool in self._settings.pools if pool.name == backend.name)
        return max(0, int((backend.space().capacity - pool.reserved_bytes) * pool.overcommit))

    def image_files_in_use(self) -> frozenset[str] | None:
        """Names of files that disks have as backing files or that domains boot from. None while a pool cannot be read, whether it
        is in the settings or not."""
        if self._unopened:
            return None
        try:
            other_bases = self._markers.bases_in_unlisted_pools(self._by_name.keys())
            booted = {Path(path).name for path in self._files()}
            return frozenset(other_bases | booted).union(*(backend.backing_files() for backend in self))
        except Unavailable as error:
            log.warning("keeping all images error=%s", error)
            return None
