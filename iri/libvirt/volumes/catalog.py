"""All volumes and snapshots of all pools as this process knows them: the record, the listed object, the last failure.

Frozen objects in a map under one lock, which is never held during I/O. Knows no libvirt. An entry is replaced only after its record
is stored, so a list never shows what a crash could take back. An object that has not changed stays the identical object, so that
callers can compare by identity.

    the record says                  the last attempt    listed as
    volume, ready                    any                 AVAILABLE with access data; a failure in its detail
    volume, not ready                succeeded, none     PENDING
    volume, not ready                failed              ERROR with the reason; it is tried again all the same
    snapshot, not ready              failed              FAILED
    snapshot, retired                any                 not at all; its data stays for the volumes on it
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from iri.errors import NotFound
from iri.libvirt.volumes.backend import StorageBackend
from iri.libvirt.volumes.record import Record, SnapshotRecord, VolumeRecord
from iri.volume import (
    RuntimeSnapshot,
    RuntimeVolume,
    RuntimeVolumeStatus,
    SnapshotState,
    VolumeDetail,
    VolumeState,
)

Stored = TypeVar("Stored", RuntimeVolume, RuntimeSnapshot, RuntimeVolume | RuntimeSnapshot)
NO_FAILURE = VolumeDetail()


class CatalogEntry(msgspec.Struct, frozen=True):
    """`failure`: why the last attempt of the reconciler failed; `NO_FAILURE` when it succeeded."""

    record: Record
    backend: StorageBackend
    listed: RuntimeVolume | RuntimeSnapshot
    failure: VolumeDetail = NO_FAILURE
    failures: int = 0

    @property
    def is_unlisted(self) -> bool:
        """Deleted, but its data is still needed: not listed any more."""
        return isinstance(self.record, SnapshotRecord) and self.record.is_retired


def make_entry(
    record: Record, backend: StorageBackend, failure: VolumeDetail = NO_FAILURE, failures: int = 0
) -> CatalogEntry:
    """The listed object is derived here, once for each record, and kept as long as it is equal."""
    return CatalogEntry(record, backend, _listed_object(record, backend, failure), failure, failures)


def _listed_object(
    record: Record, backend: StorageBackend, failure: VolumeDetail
) -> RuntimeVolume | RuntimeSnapshot:
    """Access data only for volumes that are ready; without data there is nothing to reach."""
    match record:
        case VolumeRecord(volume=volume) if record.is_ready:
            return replace(
                volume, status=replace(volume.status, access=backend.access(record)), detail=failure
            )
        case VolumeRecord(volume=volume):
            state = VolumeState.PENDING if failure == NO_FAILURE else VolumeState.ERROR
            return replace(volume, status=RuntimeVolumeStatus(state=state), detail=failure)
        case SnapshotRecord(snapshot=snapshot) if failure != NO_FAILURE and not record.is_ready:
            return replace(snapshot, status=replace(snapshot.status, state=SnapshotState.FAILED))
        case SnapshotRecord(snapshot=snapshot):
            return snapshot


class Catalog:
    """Thread-safe. Writers go through RecordWriter."""

    def __init__(self) -> None:
        self._all: dict[str, CatalogEntry] = {}  # by id
        self._lock = threading.Lock()

    def get(self, id: str) -> CatalogEntry | None:
        """Without the lock: an entry is frozen, and replaced as a whole."""
        return self._all.get(id)

    def require(self, kind: type[RuntimeVolume] | type[RuntimeSnapshot], id: str) -> CatalogEntry:
        """Raises NotFound, also for a snapshot that is deleted and kept only as a backing file."""
        entry = self._all.get(id)
        if entry is None or not isinstance(entry.listed, kind) or entry.is_unlisted:
            raise NotFound(f"{'volume' if kind is RuntimeVolume else 'snapshot'} {id} does not exist")
        return entry

    def put(self, entry: CatalogEntry) -> bool:
        """Returns False when the listed object has not changed."""
        with self._lock:
            before = self._all.get(entry.record.id)
            if before is not None and before.listed == entry.listed:
                entry = msgspec.structs.replace(entry, listed=before.listed)
            self._all[entry.record.id] = entry
            if before is None:
                return True
            return before.listed is not entry.listed or before.is_unlisted is not entry.is_unlisted

    def drop(self, id: str) -> None:
        """No error when it is gone."""
        with self._lock:
            self._all.pop(id, None)

    def all(self) -> tuple[CatalogEntry, ...]:
        """A copy, with those that are not listed."""
        with self._lock:
            return tuple(self._all.values())

    def objects(self, kind: type[Stored]) -> Mapping[str, Stored]:
        """Of that kind, without what is not listed."""
        return {
            entry.record.id: entry.listed
            for entry in self.all()
            if isinstance(entry.listed, kind) and not entry.is_unlisted
        }

    def has_dependents(self, snapshot_id: str) -> bool:
        """Whether data of another object has this snapshot as its backing file."""
        return any(entry.record.base == snapshot_id for entry in self.all())

    def is_awaited_source(self, id: str) -> bool:
        """Whether an object that is still to be created starts as a copy of this one."""
        return any(pending_source(entry.record) == id for entry in self.all())

    def charged_bytes(self, backend: StorageBackend) -> int:
        """The sum of the sizes of the pool's volumes: thin or not, each may be filled one day."""
        return sum(
            entry.record.charged_bytes
            for entry in self.all()
            if entry.backend is backend and isinstance(entry.record, VolumeRecord)
        )


def pending_source(record: Record) -> str:
    """The object that it is still to be copied from; empty once it is created, or when it is to be deleted."""
    match record:
        case VolumeRecord(volume=volume) if not record.is_ready and not volume.deleted_at:
            source = record.source.snapshot_data_source
            return source.snapshot_id if source else ""
        case SnapshotRecord(snapshot=snapshot) if not record.is_ready and not snapshot.deleted_at:
            return snapshot.spec.volume_id
        case _:
            return ""
