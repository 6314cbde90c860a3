"""Every volume and snapshot of all shelves as this process knows them: what is told of each, and what they add up to.

Frozen objects in plain maps under one lock, which is never held during I/O. Knows no libvirt.
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

Stored = TypeVar("Stored", RuntimeVolume, RuntimeSnapshot)
WELL = VolumeDetail()


class CatalogEntry(msgspec.Struct, frozen=True):
    """`failure` is why the last try to make it so failed; empty while all is well."""

    record: Record
    shelf: StorageBackend
    told: RuntimeVolume | RuntimeSnapshot
    failure: VolumeDetail = WELL
    failures: int = 0

    @property
    def is_gone(self) -> bool:
        """From the lists."""
        return isinstance(self.record, SnapshotRecord) and self.record.is_retired


def kept(
    record: Record, shelf: StorageBackend, failure: VolumeDetail = WELL, failures: int = 0
) -> CatalogEntry:
    return CatalogEntry(record, shelf, _told(record, shelf, failure), failure, failures)


def _told(record: Record, shelf: StorageBackend, failure: VolumeDetail) -> RuntimeVolume | RuntimeSnapshot:
    match record:
        case VolumeRecord(volume=volume) if record.is_ready:
            return replace(volume, status=replace(volume.status, access=shelf.access(record)), detail=failure)
        case VolumeRecord(volume=volume):
            state = VolumeState.PENDING if failure == WELL else VolumeState.ERROR
            return replace(volume, status=RuntimeVolumeStatus(state=state), detail=failure)
        case SnapshotRecord(snapshot=snapshot) if failure != WELL and not record.is_ready:
            return replace(snapshot, status=replace(snapshot.status, state=SnapshotState.FAILED))
        case SnapshotRecord(snapshot=snapshot):
            return snapshot


class Catalog:
    def __init__(self) -> None:
        self._all: dict[str, CatalogEntry] = {}  # by id
        self._lock = threading.Lock()

    def get(self, id: str) -> CatalogEntry | None:
        return self._all.get(id)

    def found(self, kind: type[RuntimeVolume] | type[RuntimeSnapshot], id: str) -> CatalogEntry:
        there = self._all.get(id)
        if there is None or not isinstance(there.told, kind) or there.is_gone:
            raise NotFound(f"there is no {'volume' if kind is RuntimeVolume else 'snapshot'} {id}")
        return there

    def put(self, there: CatalogEntry) -> bool:
        """False when nothing of what is told has changed."""
        with self._lock:
            before = self._all.get(there.record.id)
            if before is not None and before.told == there.told:
                there = msgspec.structs.replace(there, told=before.told)
            self._all[there.record.id] = there
            return before is None or before.told is not there.told or before.is_gone is not there.is_gone

    def drop(self, id: str) -> None:
        with self._lock:
            self._all.pop(id, None)

    def all(self) -> tuple[CatalogEntry, ...]:
        with self._lock:
            return tuple(self._all.values())

    def objects(self, kind: type[Stored]) -> Mapping[str, Stored]:
        return {
            there.record.id: there.told
            for there in self.all()
            if isinstance(there.told, kind) and not there.is_gone
        }

    def rest_on(self, snapshot_id: str) -> bool:
        """Whether anything does."""
        return any(there.record.base == snapshot_id for there in self.all())

    def is_awaited(self, id: str) -> bool:
        """Whether something that is yet to be made starts as it is."""
        return any(origin(there.record) == id for there in self.all())

    def charged_bytes(self, shelf: StorageBackend) -> int:
        """What the sizes of the shelf's volumes add up to: thin or not, each may be filled one day."""
        return sum(
            there.record.charged_bytes
            for there in self.all()
            if there.shelf is shelf and isinstance(there.record, VolumeRecord)
        )


def origin(record: Record) -> str:
    """What it will start as; empty once it is there, or is not to be any more."""
    match record:
        case VolumeRecord(volume=volume) if not record.is_ready and not volume.deleted_at:
            source = record.source.snapshot_data_source
            return source.snapshot_id if source else ""
        case SnapshotRecord(snapshot=snapshot) if not record.is_ready and not snapshot.deleted_at:
            return snapshot.spec.volume_id
        case _:
            return ""
