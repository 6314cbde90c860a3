"""Turns a request into the record of a new object, or raises the reason why this host refuses it. Pure.

Everything that decides how an object is stored is decided here, once, and written into its record: size, encryption, limits, wiping,
the source. InvalidArgument means that no retry can succeed; FailedPrecondition that another object is not ready yet.

    refused                                            as
    no size; both sources; encrypted without a key     InvalidArgument
    smaller than its snapshot                          InvalidArgument
    encrypted from a snapshot that is not              InvalidArgument
    a snapshot of a volume that is not available       FailedPrecondition

Limits: asks for no space, no image and no pool: `volumes` does, before and after.
"""

from __future__ import annotations

from msgspec.structs import replace

from iri.errors import FailedPrecondition, InvalidArgument
from iri.host import RuntimeVolumeClass
from iri.libvirt.volumes.record import (
    PASSPHRASE,
    Record,
    SnapshotRecord,
    VolumeRecord,
    passphrase,
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


def new_volume_record(
    wanted: RuntimeVolume,
    volume_class: RuntimeVolumeClass,
    snapshot: SnapshotRecord | None,
    *,
    base: str,
    wipes: bool,
) -> VolumeRecord:
    """Encryption, wiping and limits are decided now and recorded: later changes of class or settings do not touch existing
    volumes. `snapshot`: the one that the volume starts as. `base`: the one that is its backing file."""
    spec = wanted.spec
    _check(spec)
    if snapshot is not None:
        _check_against(spec, snapshot)
    status, detail = RuntimeVolumeStatus(), VolumeDetail()
    return VolumeRecord(
        volume=replace(wanted, spec=without_secrets(spec), status=status, detail=detail),
        base=base,
        is_encrypted=spec.encryption is not None if snapshot is None else snapshot.is_encrypted,
        wipe=wipes or wanted.annotations.get(WIPE) == "true",
        tps=volume_class.tps,
        iops=volume_class.iops,
    )


def _check(spec: RuntimeVolumeSpec) -> None:
    """InvalidArgument for a volume that no pool of this host could create, whatever it is made from: before any record is written."""
    if spec.desired_bytes <= 0:
        raise InvalidArgument("a volume needs a size")
    source = spec.volume_data_source
    if source is not None and None not in (source.image_data_source, source.snapshot_data_source):
        raise InvalidArgument("a volume is made from an image or from a snapshot, not from both")
    if spec.encryption is not None and not passphrase(spec):
        raise InvalidArgument(f"an encrypted volume needs a passphrase under {PASSPHRASE!r}")


def _check_against(spec: RuntimeVolumeSpec, snapshot: SnapshotRecord) -> None:
    """A volume made from a snapshot keeps its content: it cannot be smaller, and has the encryption that the content has."""
    size = snapshot.snapshot.status.size
    if spec.desired_bytes < size:
        raise InvalidArgument(f"snapshot {snapshot.id} needs a volume of at least {size} bytes")
    if spec.encryption is not None and not snapshot.is_encrypted:
        raise InvalidArgument(
            f"snapshot {snapshot.id} is not encrypted, so a volume made from it cannot be encrypted"
        )


def new_snapshot_record(wanted: RuntimeSnapshot, source: Record) -> SnapshotRecord:
    """Its size, encryption and wiping are those of the volume at this moment."""
    assert isinstance(source, VolumeRecord)
    if not source.is_ready or source.volume.deleted_at:
        raise FailedPrecondition(f"volume {source.id} is not available")
    made = replace(wanted, status=SnapshotStatus(size=source.actual_bytes))
    # The volume's backing file must stay while it is copied.
    return SnapshotRecord(snapshot=made, base=source.base, is_encrypted=source.is_encrypted, wipe=source.wipe)


def with_deletion_ordered(record: Record, now_ns: int) -> Record:
    """The time of the first order stays."""
    match record:
        case VolumeRecord(volume=volume) if not volume.deleted_at:
            return replace(record, volume=replace(volume, deleted_at=now_ns))
        case SnapshotRecord(snapshot=snapshot) if not snapshot.deleted_at:
            return replace(record, snapshot=replace(snapshot, deleted_at=now_ns))
        case _:
            return record
