"""The next step of a volume or snapshot towards what is wanted of it. Safe to repeat, and to break off anywhere."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Set

from msgspec.structs import replace

from iri.backoff import ExponentialDelay
from iri.errors import ImageNotResolvable, InvalidArgument, IRIError, ResourceExhausted
from iri.libvirt.images.images import Images
from iri.libvirt.volumes import record as records
from iri.libvirt.volumes.catalog import CatalogEntry, origin
from iri.libvirt.volumes.record import Record, SnapshotRecord, VolumeRecord
from iri.libvirt.volumes.record_writer import RecordWriter
from iri.volume import SnapshotState, VolumeDetail

log = logging.getLogger(__name__)
RETRIES = ExponentialDelay(1.0, 300.0)
HELD_SECONDS = 5.0


class VolumeReconciler:
    """`bases` names the files that disks rest on, None while nobody knows them all. `want` has somebody take the next step of an object."""

    def __init__(
        self,
        keeping: RecordWriter,
        images: Images,
        bases: Callable[[], Set[str] | None],
        want: Callable[[str], None],
    ) -> None:
        self._keeping = keeping
        self._want = want
        self._images = images
        self._bases = bases

    def is_done(self, there: CatalogEntry) -> bool:
        match there.record:
            case VolumeRecord(volume=volume) as record:
                return record.is_ready and not volume.deleted_at and record.has_bytes >= record.wanted_bytes
            case SnapshotRecord(snapshot=snapshot) as record:
                return record.is_ready and not snapshot.deleted_at

    def step(self, key: Hashable) -> float | None:
        """Seconds until the next, None when there is nothing to do."""
        there = self._keeping.catalogue.get(str(key))
        if there is None:
            return None
        try:
            match there.record:
                case VolumeRecord() as record:
                    return self._volume(there, record)
                case SnapshotRecord() as record:
                    return self._snapshot(there, record)
        except IRIError as error:
            return self._failed(there, error)

    def _volume(self, there: CatalogEntry, record: VolumeRecord) -> float | None:
        shelf = there.shelf
        if record.volume.deleted_at:
            if self._keeping.catalogue.is_awaited(record.id) or (record.is_ready and shelf.is_held(record)):
                return HELD_SECONDS
            shelf.drop(record)
            self._gone(there, "volume")
            return None
        if not record.is_ready:
            size = shelf.make(record, self._base(record), self._tell(there))
            self._become(there, lambda now: records.available(_volume(now), size))
            self._keeping.event(there, "Available", "Create", "the volume can be used")
            self._want(origin(record))
            return 0
        if record.has_bytes < record.wanted_bytes:
            size = shelf.grow(record)
            if size < record.wanted_bytes:
                raise ResourceExhausted(f"the volume has grown to {size} bytes only")
            self._become(there, lambda now: records.available(_volume(now), size))
            self._keeping.event(there, "Expanded", "Expand", f"the volume has {size} bytes")
            return 0
        return None

    def _base(self, record: VolumeRecord) -> SnapshotRecord | None:
        if record.source.snapshot_data_source is None:
            return None
        there = self._keeping.catalogue.get(record.source.snapshot_data_source.snapshot_id)
        if there is None or not isinstance(there.record, SnapshotRecord):
            raise InvalidArgument("the snapshot that the volume was to start as is gone")
        return there.record

    def _snapshot(self, there: CatalogEntry, record: SnapshotRecord) -> float | None:
        shelf = there.shelf
        if record.snapshot.deleted_at:
            if self._keeping.catalogue.is_awaited(record.id):
                return HELD_SECONDS
            if self._keeping.catalogue.rest_on(record.id):
                self._become(there, lambda now: replace(_snapshot(now), is_retired=True))
                return None
            shelf.drop(record)
            self._gone(there, "snapshot")
            self._want(record.snapshot.spec.volume_id)
            return None
        if record.is_ready:
            return None
        source = self._keeping.catalogue.get(record.snapshot.spec.volume_id)
        if source is None or not isinstance(source.record, VolumeRecord):
            raise InvalidArgument("the volume of which the snapshot was to be is gone")
        volume = source.record
        base = shelf.copy(volume, record)
        status = replace(record.snapshot.status, state=SnapshotState.READY, size=volume.has_bytes)
        self._become(
            there,
            lambda now: replace(
                _snapshot(now), snapshot=replace(_snapshot(now).snapshot, status=status), base=base
            ),
        )
        self._keeping.event(there, "Ready", "Snapshot", "the snapshot can be used")
        self._want(origin(record))
        return 0

    def _become(self, there: CatalogEntry, change: Callable[[Record], Record]) -> None:
        self._keeping.update(there.record.id, change)

    def _gone(self, there: CatalogEntry, what: str) -> None:
        self._keeping.event(there, "Removed", "Delete", f"the {what} is gone")
        self._keeping.gone(there)
        self._want(there.record.base)

    def _tell(self, there: CatalogEntry) -> Callable[[str, str], None]:
        def tell(reason: str, message: str) -> None:
            self._keeping.event(there, reason, "PullImage", message)

        return tell

    def _failed(self, there: CatalogEntry, error: IRIError) -> float:
        reason, action = _doing(there.record)
        if isinstance(error, ImageNotResolvable):
            reason = ImageNotResolvable.__name__
        log.warning("volume step failed object=%s reason=%s error=%s", there.record.name, reason, error)
        if isinstance(error, ResourceExhausted):
            self.collect()
        failures = self._keeping.failed(there.record.id, VolumeDetail(reason=reason, message=str(error)))
        self._keeping.event(there, reason, action, str(error), is_warning=True)
        return RETRIES.delay(failures - 1)

    def collect(self) -> int:
        """Removes images that no disk rests on. Returns the bytes freed."""
        used = self._bases()
        return 0 if used is None else self._images.collect(used)


def _doing(record: Record) -> tuple[str, str]:
    match record:
        case VolumeRecord(volume=volume):
            if volume.deleted_at:
                return "DeleteVolumeFailed", "Delete"
            return ("ExpandVolumeFailed", "Expand") if record.is_ready else ("CreateVolumeFailed", "Create")
        case SnapshotRecord(snapshot=snapshot):
            return (
                ("DeleteSnapshotFailed", "Delete") if snapshot.deleted_at else ("SnapshotFailed", "Snapshot")
            )


def _volume(record: Record) -> VolumeRecord:
    assert isinstance(record, VolumeRecord)
    return record


def _snapshot(record: Record) -> SnapshotRecord:
    assert isinstance(record, SnapshotRecord)
    return record
