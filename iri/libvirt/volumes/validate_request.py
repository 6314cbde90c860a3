"""Turns a request into the record of a new object, or raises the reason why this host refuses it. Pure."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from iri.errors import FailedPrecondition, InvalidArgument
from iri.host import RuntimeVolumeClass
from iri.libvirt.volumes.record import (
    PASSPHRASE,
    Record,
    SnapshotRecord,
    VolumeRecord,
    passphrase,
    requested_bytes,
    without_secrets,
)
from iri.volume import (
    RuntimeSnapshot,
    RuntimeVolume,
    RuntimeVolumeSpec,
    RuntimeVolumeStatus,
    SnapshotStatus,
    VolumeDetail,
)

WIPE = "gitvirt.dev/wipe"


class VolumeBasis(Struct, frozen=True):
    """What a volume is made from: its class, the snapshot that it starts as, and the snapshot that is its backing file then."""

    volume_class: RuntimeVolumeClass
    snapshot: SnapshotRecord | None
    base: str
    wipes: bool


def new_volume_record(wanted: RuntimeVolume, id: str, now_ns: int, storage: VolumeBasis) -> VolumeRecord:
    """Encryption, wiping and limits are decided now and recorded: later changes of class or settings do not touch existing
    volumes."""
    spec, snapshot = wanted.spec, storage.snapshot
    _check(spec)
    if snapshot is not None:
        _check_against(spec, snapshot)
    made = replace(
        wanted,
        id=id,
        generation=0,
        created_at=now_ns,
        deleted_at=0,
        spec=without_secrets(spec),
        status=RuntimeVolumeStatus(),
        detail=VolumeDetail(),
    )
    return VolumeRecord(
        volume=made,
        base=storage.base,
        is_encrypted=spec.encryption is not None if snapshot is None else snapshot.is_encrypted,
        wipe=storage.wipes or wanted.annotations.get(WIPE) == "true",
        tps=storage.volume_class.tps,
        iops=storage.volume_class.iops,
    )


def _check(spec: RuntimeVolumeSpec) -> None:
    if requested_bytes(spec) <= 0:
        raise InvalidArgument("a volume needs a size")
    source = spec.volume_data_source
    if source is not None and None not in (source.image_data_source, source.snapshot_data_source):
        raise InvalidArgument("a volume is made from an image or from a snapshot, not from both")
    if spec.encryption is not None and not passphrase(spec):
        raise InvalidArgument(f"an encrypted volume needs a passphrase under {PASSPHRASE!r}")


def _check_against(spec: RuntimeVolumeSpec, snapshot: SnapshotRecord) -> None:
    size = snapshot.snapshot.status.size
    if requested_bytes(spec) < size:
        raise InvalidArgument(f"snapshot {snapshot.id} needs a volume of at least {size} bytes")
    if spec.encryption is not None and not snapshot.is_encrypted:
        raise InvalidArgument(
            f"snapshot {snapshot.id} is not encrypted, so a volume made from it cannot be encrypted"
        )


def new_snapshot_record(wanted: RuntimeSnapshot, id: str, source: Record, now_ns: int) -> SnapshotRecord:
    assert isinstance(source, VolumeRecord)
    if not source.is_ready or source.volume.deleted_at:
        raise FailedPrecondition(f"volume {source.id} is not available")
    status = SnapshotStatus(size=source.actual_bytes)
    made = replace(wanted, id=id, generation=0, created_at=now_ns, deleted_at=0, status=status)
    # The volume's backing file must stay while it is copied.
    return SnapshotRecord(snapshot=made, base=source.base, is_encrypted=source.is_encrypted, wipe=source.wipe)


def with_deletion_ordered(record: Record, now_ns: int) -> Record:
    match record:
        case VolumeRecord(volume=volume) if not volume.deleted_at:
            return replace(record, volume=replace(volume, deleted_at=now_ns))
        case SnapshotRecord(snapshot=snapshot) if not snapshot.deleted_at:
            return replace(record, snapshot=replace(snapshot, deleted_at=now_ns))
        case _:
            return record
