"""One reconciliation of one volume or snapshot: compare its record with its data, take the next step.

Theory of operation. The record beside the data says what is desired and whether the data is complete. `reconcile` takes one step
and returns when to call again. Each step can be repeated and can be cut off anywhere. The first row that applies decides:

    object     record                    step
    volume     deletion ordered          wait while it is attached or a copy of it is still to be made; else delete data, then record
    volume     not ready                 create the data, then record that it is ready with its size
    volume     smaller than desired      grow it, then record the new size
    snapshot   deletion ordered          wait while a volume is still to be made from it; keep the data while a volume has it as
                                         its backing file (retired); else delete data, then record
    snapshot   not ready                 copy the volume's data, then record that it is ready
    either     otherwise                 nothing: converged

An error becomes the listed object's detail and an event, and a retry after a growing delay.

Must never happen: data is deleted without an ordered deletion; data is deleted while a domain has it as a disk or another disk
has it as its backing file; an object is recorded as ready before its data is complete.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Set

from msgspec.structs import replace

from iri.backoff import ExponentialDelay
from iri.errors import ImageNotResolvable, InvalidArgument, IRIError, ResourceExhausted
from iri.libvirt.images.images import Images
from iri.libvirt.volumes.catalog import CatalogEntry, pending_source
from iri.libvirt.volumes.record import Record, SnapshotRecord, VolumeRecord, with_available_size
from iri.libvirt.volumes.record_writer import RecordWriter
from iri.volume import SnapshotState, VolumeDetail

log = logging.getLogger(__name__)
RETRIES = ExponentialDelay(1.0, 300.0)
IN_USE_SECONDS = 5.0


class VolumeReconciler:
    """`files_in_use`: names of backing files, None while not all are known. `wake` has an object reconciled."""

    def __init__(
        self,
        writer: RecordWriter,
        images: Images,
        files_in_use: Callable[[], Set[str] | None],
        wake: Callable[[str], None],
    ) -> None:
        self._writer = writer
        self._wake = wake
        self._images = images
        self._files_in_use = files_in_use

    def is_converged(self, entry: CatalogEntry) -> bool:
        """Whether waking it would change nothing."""
        match entry.record:
            case VolumeRecord(volume=volume) as record:
                has_size = record.actual_bytes >= record.desired_bytes
                return record.is_ready and not volume.deleted_at and has_size
            case SnapshotRecord(snapshot=snapshot) as record:
                return record.is_ready and not snapshot.deleted_at

    def reconcile(self, key: Hashable) -> float | None:
        """Returns the seconds until the next step, or None when there is nothing to do."""
        entry = self._writer.catalog.get(str(key))
        if entry is None:
            return None
        try:
            match entry.record:
                case VolumeRecord() as record:
                    return self._reconcile_volume(entry, record)
                case SnapshotRecord() as record:
                    return self._reconcile_snapshot(entry, record)
        except IRIError as error:
            return self._record_failure(entry, error)

    def _reconcile_volume(self, entry: CatalogEntry, record: VolumeRecord) -> float | None:
        """The rows for volumes of the table above."""
        backend = entry.backend
        if record.volume.deleted_at:
            if self._writer.catalog.is_awaited_source(record.id) or (
                record.is_ready and backend.is_attached(record)
            ):
                return IN_USE_SECONDS
            backend.delete(record)
            self._finish_deletion(entry, "volume")
            return None
        if not record.is_ready:
            size = backend.create_data(
                record,
                self._base(record),
                lambda reason, message: self._writer.record_event(entry, reason, "PullImage", message),
            )
            self._record_size(record, size)
            self._writer.record_event(entry, "Available", "Create", "the volume is available")
            self._wake(pending_source(record))
            return 0
        if record.actual_bytes < record.desired_bytes:
            size = backend.grow_data(record)
            if size < record.desired_bytes:
                raise ResourceExhausted(
                    f"the volume has grown only to {size} of {record.desired_bytes} bytes"
                )
            self._record_size(record, size)
            self._writer.record_event(entry, "Expanded", "Expand", f"the volume has {size} bytes")
            return 0
        return None

    def _base(self, record: VolumeRecord) -> SnapshotRecord | None:
        """The snapshot that the volume starts as; None for one from an image or from nothing."""
        if record.source.snapshot_data_source is None:
            return None
        entry = self._writer.catalog.get(record.source.snapshot_data_source.snapshot_id)
        if entry is None or not isinstance(entry.record, SnapshotRecord):
            raise InvalidArgument("the snapshot that the volume is made from is gone")
        return entry.record

    def _reconcile_snapshot(self, entry: CatalogEntry, record: SnapshotRecord) -> float | None:
        """The rows for snapshots of the table above."""
        backend = entry.backend
        if record.snapshot.deleted_at:
            if self._writer.catalog.is_awaited_source(record.id):
                return IN_USE_SECONDS
            if self._writer.catalog.has_dependents(record.id):
                self._writer.update(record.id, SnapshotRecord, lambda now: replace(now, is_retired=True))
                return None
            backend.delete(record)
            self._finish_deletion(entry, "snapshot")
            self._wake(record.snapshot.spec.volume_id)
            return None
        if record.is_ready:
            return None
        source = self._writer.catalog.get(record.snapshot.spec.volume_id)
        if source is None or not isinstance(source.record, VolumeRecord):
            raise InvalidArgument("the volume of the snapshot is gone")
        volume = source.record
        base = backend.snapshot_data(volume, record)
        status = replace(record.snapshot.status, state=SnapshotState.READY, size=volume.actual_bytes)
        self._writer.update(
            record.id,
            SnapshotRecord,
            lambda now: replace(now, snapshot=replace(now.snapshot, status=status), base=base),
        )
        self._writer.record_event(entry, "Ready", "Snapshot", "the snapshot is ready")
        self._wake(pending_source(record))
        return 0

    def _record_size(self, record: VolumeRecord, size: int) -> None:
        """The volume is ready and has that size; a call may have asked for more meanwhile."""
        self._writer.update(record.id, VolumeRecord, lambda now: with_available_size(now, size))

    def _finish_deletion(self, entry: CatalogEntry, what: str) -> None:
        """The last event, then the catalog; what it rested on may be deletable now."""
        self._writer.record_event(entry, "Removed", "Delete", f"the {what} is deleted")
        self._writer.drop(entry)
        self._wake(entry.record.base)

    def _record_failure(self, entry: CatalogEntry, error: IRIError) -> float:
        """Returns the delay of the next attempt. A full pool or cache is first relieved of unused images."""
        reason, action = _failure_names(entry.record)
        if isinstance(error, ImageNotResolvable):
            reason = ImageNotResolvable.__name__
        log.warning("volume step failed object=%s reason=%s error=%s", entry.record.name, reason, error)
        if isinstance(error, ResourceExhausted):
            self.collect_images()
        failures = self._writer.record_failure(
            entry.record.id, VolumeDetail(reason=reason, message=str(error))
        )
        self._writer.record_event(entry, reason, action, str(error), is_warning=True)
        return RETRIES.delay(failures - 1)

    def collect_images(self) -> int:
        """Removes images that no disk has as its backing file. Returns the bytes freed."""
        used = self._files_in_use()
        return 0 if used is None else self._images.collect(used)


def _failure_names(record: Record) -> tuple[str, str]:
    """The reason of the event, and the action that failed."""
    match record:
        case VolumeRecord(volume=volume):
            if volume.deleted_at:
                return "DeleteVolumeFailed", "Delete"
            return ("ExpandVolumeFailed", "Expand") if record.is_ready else ("CreateVolumeFailed", "Create")
        case SnapshotRecord(snapshot=snapshot):
            return (
                ("DeleteSnapshotFailed", "Delete") if snapshot.deleted_at else ("SnapshotFailed", "Snapshot")
            )
