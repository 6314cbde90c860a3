"""Volumes and their snapshots as callers send them to a runtime and read them from it. Frozen structs; no gRPC.

The rules of iri/machine.py hold here too: structs mirror messages, `unknown` keeps what they have no name for.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

import msgspec

from iri.metadata import RuntimeMetadata


class VolumeState(IntEnum):
    """ERROR: the volume cannot be created; its detail has the reason."""

    UNKNOWN = -1  # any number that is not in this list
    PENDING = 0
    AVAILABLE = 1
    ERROR = 2


class SnapshotState(IntEnum):
    """FAILED: no volume can be filled from it."""

    UNKNOWN = -1
    PENDING = 0
    READY = 1
    FAILED = 2


class Resources(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The size in bytes."""

    storage_bytes: int = 0
    unknown: bytes = b""


class VolumeEncryption(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The passphrase of an encrypted volume."""

    secret_data: Mapping[str, bytes] = {}
    unknown: bytes = b""


class ImageSource(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An OCI image whose disk fills the volume; an empty architecture is the host's."""

    image: str = ""
    architecture: str = ""
    unknown: bytes = b""


class SnapshotSource(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A snapshot of the same runtime."""

    snapshot_id: str = ""
    unknown: bytes = b""


class VolumeDataSource(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What fills a new volume: at most one of the two, nothing for an empty one."""

    image_data_source: ImageSource | None = None
    snapshot_data_source: SnapshotSource | None = None
    unknown: bytes = b""


class RuntimeVolumeSpec(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The desired state, exactly as the caller sent it."""

    class_name: str = ""
    resources: Resources | None = None  # desired
    encryption: VolumeEncryption | None = None
    volume_data_source: VolumeDataSource | None = None
    unknown: bytes = b""

    @property
    def desired_bytes(self) -> int:
        """0 when the caller named no size."""
        return self.resources.storage_bytes if self.resources else 0


class Access(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How a machine attaches the volume. `handle` stays the same for as long as the volume lives."""

    driver: str = ""
    handle: str = ""
    attributes: Mapping[str, str] = {}
    secret_data: Mapping[str, bytes] = {}
    unknown: bytes = b""


class RuntimeVolumeStatus(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The actual state."""

    state: VolumeState = VolumeState.PENDING
    access: Access | None = None  # only while AVAILABLE
    resources: Resources | None = None  # what the volume has now


class VolumeDetail(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the volume service has no field for; the host service carries it. Empty for a volume that is as desired."""

    reason: str = (
        ""  # why the volume is not as desired, in CamelCase: "ImageNotResolvable", "ExpandVolumeFailed", ...
    )
    message: str = ""


class RuntimeVolume(RuntimeMetadata, frozen=True, kw_only=True, gc=False):
    """A volume of one runtime. Its data exists once the state is AVAILABLE; before that, only the order for it."""

    spec: RuntimeVolumeSpec = RuntimeVolumeSpec()
    status: RuntimeVolumeStatus = RuntimeVolumeStatus()
    detail: VolumeDetail = VolumeDetail()

    @property
    def is_as_desired(self) -> bool:
        """Available, not being deleted, and as large as desired. A volume with a detail is never as desired."""
        actual_bytes = self.status.resources.storage_bytes if self.status.resources else 0
        return (
            self.status.state is VolumeState.AVAILABLE
            and not self.deleted_at
            and actual_bytes >= self.spec.desired_bytes
        )


class SnapshotSpec(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The volume whose data the snapshot keeps."""

    volume_id: str = ""
    unknown: bytes = b""


class SnapshotStatus(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`size` is how many bytes a volume needs to be filled from it."""

    state: SnapshotState = SnapshotState.PENDING
    size: int = 0  # bytes


class RuntimeSnapshot(RuntimeMetadata, frozen=True, kw_only=True, gc=False):
    """A volume's data at one moment. It outlives its volume."""

    spec: SnapshotSpec = SnapshotSpec()
    status: SnapshotStatus = SnapshotStatus()
