"""What the reconciler needs from the storage of one pool: a protocol with one implementation for each kind of storage.

Every method is crash-safe: a record says whether its data is complete, and incomplete data is created again from the start.

    promise                              kept by                                                     so that
    a record outlives its data           `add_record` first, `delete` of the record last             a start finds what is half done
    data is complete or absent           another name until it is complete, or the record's state    half of it is never a disk
    a step may be cut off anywhere       each one begins by removing what an earlier try left        it is simply called again
"""

from __future__ import annotations

from collections.abc import Set
from typing import Protocol

from iri.errors import InvalidArgument
from iri.libvirt.connect.storage import PoolSpace
from iri.libvirt.images.images import Images, LocalImage, Tell, ensure_image
from iri.libvirt.volumes.record import Record, SnapshotRecord, VolumeRecord
from iri.libvirt.volumes.record_files import StoredRecords
from iri.volume import Access


class StorageBackend(Protocol):
    """One for each configured pool. Thread-safe for different objects; the work queue serializes calls for one object."""

    name: str
    # Whether libvirt alone needs passphrases. Else the runtime reads them back until the volume is created.
    hides_passphrases: bool

    def open(self) -> StoredRecords:
        """Starts the pool, finishes interrupted work, and reads all records."""

    def close(self) -> None:
        """Releases the pool for another runtime. May be called for a pool that was never opened."""

    def add_record(self, record: Record) -> None:
        """Stores the record of a new object durably. Raises FailedPrecondition when data of that name has no record."""

    def write_record(self, record: Record) -> None:
        """Stores a new version of a record durably."""

    def create_data(self, record: VolumeRecord, base: SnapshotRecord | None, tell: Tell) -> int:
        """Creates the volume's data and returns its size. `base`: the snapshot that it starts as."""

    def base_for_clone(self, snapshot: SnapshotRecord) -> str:
        """The snapshot that will be the backing file of a volume made from this one; empty for none."""

    def grow_data(self, record: VolumeRecord) -> int:
        """Grows the volume, also while a guest uses it. Returns the new size."""

    def snapshot_data(self, volume: VolumeRecord, snapshot: SnapshotRecord) -> str:
        """Copies the volume as it is now. Returns the snapshot that is the copy's own backing file, or empty."""

    def delete(self, record: Record) -> None:
        """Deletes data and secrets, and the record last."""

    def is_attached(self, record: VolumeRecord) -> bool:
        """Whether a domain has it as a disk, running or not."""

    def access(self, record: VolumeRecord) -> Access:
        """What a machine needs to attach the volume, with the key where there is one. Only for a volume that is ready."""

    def space(self) -> PoolSpace:
        """The space as last measured; quick, whatever state the storage is in."""

    def measure(self) -> None:
        """Asks the storage for its space."""

    def backing_files(self) -> Set[str]:
        """Names of the backing files of this pool's disks."""


def ensure_volume_image(images: Images, record: VolumeRecord, tell: Tell) -> LocalImage | None:
    """The image that the volume is made from, on this host. InvalidArgument when the volume is too small for it."""
    source = record.source.image_data_source
    if source is None:
        return None
    image = ensure_image(images, source.image, source.architecture, tell)
    if image.virtual_bytes > record.desired_bytes:
        raise InvalidArgument(
            f"the image needs a volume of at least {image.virtual_bytes} bytes, not {record.desired_bytes}"
        )
    return image
