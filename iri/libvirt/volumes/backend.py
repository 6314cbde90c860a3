"""What the volumes of one pool need of it. One implementation per kind of storage; each is crash-safe at every step,
because a record says whether its data is whole: what is not is made again from the start.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Protocol

from iri.libvirt.connect.storage import PoolSpace
from iri.libvirt.volumes.record import Record, SnapshotRecord, VolumeRecord
from iri.libvirt.volumes.record_files import StoredRecords
from iri.volume import Access

Tell = Callable[[str, str], None]


class StorageBackend(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def hides_passphrases(self) -> bool:
        """Libvirt alone needs them; else we must be able to read them back until the volume is made."""
        ...

    def open(self) -> StoredRecords:
        """Starts the pool, removes what interrupted work left, and reads what is there."""
        ...

    def close(self) -> None: ...

    def add_record(self, record: Record) -> None:
        """The record of a new object, durably. FailedPrecondition when data of that name is there without one."""
        ...

    def write_record(self, record: Record) -> None:
        """A new version of it, durably."""
        ...

    def create_data(self, record: VolumeRecord, base: SnapshotRecord | None, tell: Tell) -> int:
        """Makes the volume's data and returns its size. `base` is the snapshot that it starts as."""
        ...

    def base_for_clone(self, snapshot: SnapshotRecord) -> str:
        """The snapshot that a volume made of this one will rest on; empty when it will stand alone."""
        ...

    def grow_data(self, record: VolumeRecord) -> int:
        """Also while a guest uses it. Returns the size it has then."""
        ...

    def snapshot_data(self, volume: VolumeRecord, snapshot: SnapshotRecord) -> str:
        """The volume as it is now becomes the snapshot's data. Returns the snapshot that this rests on itself, or nothing."""
        ...

    def delete(self, record: Record) -> None:
        """Data, secrets, and last of all the record."""
        ...

    def is_attached(self, record: VolumeRecord) -> bool:
        """By a domain, running or not."""
        ...

    def access(self, record: VolumeRecord) -> Access: ...

    def space(self) -> PoolSpace:
        """As last measured; quick, whatever state the storage is in."""
        ...

    def measure(self) -> None:
        """Asks the storage how much room there is."""
        ...

    def backing_files(self) -> Set[str]:
        """Names of the files that disks of this pool rest on."""
        ...
