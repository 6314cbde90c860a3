"""What a volume or a snapshot is, stored beside its data: all that a runtime which lost everything else needs to know.

Passphrases are never in it: libvirt's secret store has them for as long as they are needed. Pure.

A record is a format on disk. `format` is raised when an older runtime would misread it, and such a record is refused: its object is
left alone, and its name is not used again. Fields are only ever added, each with a default.

    field                                    decided                  changes
    base, is_encrypted, wipe, tps, iops      when it is created       never (`base` of a snapshot: when its data is there)
    spec.resources                           by the caller            grows only
    status                                   by the reconciler        when data is complete or has grown
    deleted_at                               by the caller            once
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from iri.errors import FailedPrecondition
from iri.volume import (
    Resources,
    RuntimeSnapshot,
    RuntimeVolume,
    RuntimeVolumeSpec,
    RuntimeVolumeStatus,
    SnapshotState,
    VolumeDataSource,
    VolumeEncryption,
    VolumeState,
)

FORMAT = 1
MIB = 1 << 20
PASSPHRASE = "encryptionKey"


class StoredObject(msgspec.Struct, frozen=True, kw_only=True):
    """`base`: the snapshot that is its backing file. `wipe`: its data is overwritten before it is deleted."""

    base: str = ""
    is_encrypted: bool = False
    wipe: bool = False
    format: int = FORMAT


class VolumeRecord(StoredObject, frozen=True, kw_only=True, tag="volume"):
    """`volume.status` has the actual size, never the access data."""

    volume: RuntimeVolume
    tps: int = 0
    iops: int = 0

    @property
    def id(self) -> str:
        return self.volume.id

    @property
    def labels(self) -> Mapping[str, str]:
        return self.volume.labels

    @property
    def name(self) -> str:
        """Of its file, its image and its secret."""
        return f"volume-{self.id}"

    @property
    def is_ready(self) -> bool:
        return self.volume.status.state is VolumeState.AVAILABLE

    @property
    def actual_bytes(self) -> int:
        """The size of its data; 0 until the data is complete."""
        return self.volume.status.resources.storage_bytes if self.volume.status.resources else 0

    @property
    def desired_bytes(self) -> int:
        """What was asked for, rounded as every pool rounds it."""
        return round_up(self.volume.spec.desired_bytes)

    @property
    def charged_bytes(self) -> int:
        """What the volume takes of its pool's limit: while it is growing, the size that it will have."""
        return max(self.actual_bytes, self.desired_bytes)

    @property
    def source(self) -> VolumeDataSource:
        return self.volume.spec.volume_data_source or VolumeDataSource()


class SnapshotRecord(StoredObject, frozen=True, kw_only=True, tag="snapshot"):
    """`is_retired`: deleted, but volumes still have it as their backing file."""

    snapshot: RuntimeSnapshot
    is_retired: bool = False

    @property
    def id(self) -> str:
        return self.snapshot.id

    @property
    def labels(self) -> Mapping[str, str]:
        return self.snapshot.labels

    @property
    def name(self) -> str:
        return f"snapshot-{self.id}"

    @property
    def is_ready(self) -> bool:
        return self.snapshot.status.state is SnapshotState.READY


Record = VolumeRecord | SnapshotRecord


def round_up(size_bytes: int) -> int:
    """To whole MiB, which every type of pool supports."""
    return -(-size_bytes // MIB) * MIB


def passphrase(spec: RuntimeVolumeSpec) -> bytes | None:
    """None for a volume that is not encrypted, and for a request that brings none."""
    return spec.encryption.secret_data.get(PASSPHRASE) if spec.encryption else None


def without_secrets(spec: RuntimeVolumeSpec) -> RuntimeVolumeSpec:
    """Keeps the keys without their values: that there is a passphrase is part of the request."""
    if spec.encryption is None:
        return spec
    return replace(
        spec, encryption=VolumeEncryption(secret_data=dict.fromkeys(spec.encryption.secret_data, b""))
    )


def with_available_size(record: VolumeRecord, size_bytes: int) -> VolumeRecord:
    """The data is complete and has that size."""
    status = RuntimeVolumeStatus(state=VolumeState.AVAILABLE, resources=Resources(storage_bytes=size_bytes))
    return replace(record, volume=replace(record.volume, status=status))


def encode(record: Record) -> bytes:
    """JSON, which people can read beside the data."""
    return msgspec.json.encode(record)


def decode(body: bytes, name: str) -> Record:
    """Raises FailedPrecondition for an invalid record, or one of another object."""
    try:
        record: Record = msgspec.json.decode(body, type=Record)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise FailedPrecondition(f"cannot read the record of {name}: {error}") from None
    if record.name != name:
        raise FailedPrecondition(f"the record of {name} belongs to {record.name}")
    if record.format > FORMAT:
        raise FailedPrecondition(
            f"the record of {name} was written by a later gitvirt (format {record.format})"
        )
    return record
