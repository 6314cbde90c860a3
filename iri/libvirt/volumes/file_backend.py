"""Volumes as qcow2 files in a folder: pools of type dir and netfs.

    volume-<id>.qcow2     the data         volume-<id>.json      its record
    snapshot-<id>.qcow2   a copy of data   snapshot-<id>.json    its record

A snapshot is a copy, by reference where the filesystem can, so a running guest's disk never changes its path. A volume made from
a snapshot has the copy as its backing file; the copy stays until the last such volume is deleted.

Must never happen: anything is created, changed or deleted in a folder whose disk is not mounted (`require_mounted` compares the
pool's marker before each change); a file is changed behind the back of a QEMU that has it open; data is deleted after its record, so
that nothing would find what an interrupted deletion left.

    to make            from nothing or an image      a new qcow2 file, over the image where there is one
                       from a snapshot               a new qcow2 file over the snapshot's; of an encrypted one a copy
    to grow            no guest has it               libvirt resizes the file
                       a guest has it                its QEMU does, and the guest sees it
    to snapshot        no guest has it               the file is copied, locked against a QEMU that would write
                       a guest has it                its QEMU copies it, as of one moment
"""

from __future__ import annotations

import os
from collections.abc import Set
from pathlib import Path

from iri.errors import FailedPrecondition, IRIError, Unavailable
from iri.libvirt.connect.disk_users import DiskUsers
from iri.libvirt.connect.storage import PoolSpace, StoragePools
from iri.libvirt.device_sources import FileSource
from iri.libvirt.folder_lock import FolderLock
from iri.libvirt.images.images import Images, Tell
from iri.libvirt.volumes import disk_files, names, record_files, storage_xml
from iri.libvirt.volumes.backend import ensure_volume_image
from iri.libvirt.volumes.pool_marker import PoolMarkers
from iri.libvirt.volumes.record import Record, SnapshotRecord, VolumeRecord
from iri.libvirt.volumes.record_files import RecordFiles, StoredRecords
from iri.libvirt.volumes.secrets import Passphrases, retry_luks
from iri.libvirt.volumes.settings import DirPool, FilePool, NetfsPool
from iri.libvirt.volumes.storage_xml import NewVolume
from iri.volume import Access

DRIVER = "file"


class FileBackend:
    """Implements StorageBackend."""

    hides_passphrases = True

    def __init__(
        self,
        pool: FilePool,
        storage: StoragePools,
        disk_users: DiskUsers,
        passphrases: Passphrases,
        images: Images,
        markers: PoolMarkers,
    ) -> None:
        self._pool = pool
        self.name = pool.name
        self._storage = storage
        self._disk_users = disk_users
        self._passphrases = passphrases
        self._images = images
        self._markers = markers
        self.folder = Path(pool.path)
        self._records = RecordFiles(self.folder)
        self._lock = FolderLock(f"storage pool {pool.name}")
        self._marker = ""  # empty until the pool is open

    def open(self) -> StoredRecords:
        """Compares the marker before libvirt touches the pool, and again at the folder that libvirt uses."""
        noted = self._markers.expected_marker(self.name)
        if noted and isinstance(self._pool, DirPool):
            # Else libvirt would create a new folder where the pool's disk is not mounted.
            folder = self._markers.folder(self.name) or Path(self._pool.path)
            self._markers.check_folder(self.name, folder, noted)
        try:
            self._storage.ensure_pool(self.name, storage_xml.pool(self._pool))
        except FailedPrecondition as error:
            if not isinstance(self._pool, NetfsPool):
                raise
            raise Unavailable(
                " ".join(str(error).split())
            ) from None  # its server may be away, for which libvirt has no error code
        self.folder = Path(self._storage.pool_path(self.name))
        self._records = RecordFiles(self.folder)
        if noted:
            self._markers.check_folder(self.name, self.folder, noted)
        with record_files.translate_os_errors(f"opening storage pool {self.name} at {self.folder}"):
            self._lock.acquire(self.folder)
            self._marker = self._markers.adopt_folder(self.name, self.folder)
            return self._records.read()

    def require_mounted(self) -> None:
        """Raises Unavailable while the pool's disk is not mounted. Call before anything is created, changed or deleted."""
        if not self._marker:
            raise Unavailable(f"storage pool {self.name} cannot be reached")
        try:
            self._markers.check_folder(self.name, self.folder, self._marker)
        except Unavailable as error:
            raise Unavailable(f"storage pool {self.name} cannot be reached: {error}") from None

    def close(self) -> None:
        """Gives the folder to another runtime."""
        self._lock.release()

    def add_record(self, record: Record) -> None:
        """Refuses a name whose data lies there without a record: a lost record can be restored, overwritten data cannot."""
        if self._path(record).exists() or self._path(record).is_symlink():
            raise FailedPrecondition(
                f"pool {self.name} has data of {record.name} without a record; move the file away"
            )
        self.write_record(record)

    def write_record(self, record: Record) -> None:
        """Only into the pool's own disk: see `require_mounted`."""
        self.require_mounted()
        self._records.write(record)

    def create_data(self, record: VolumeRecord, base: SnapshotRecord | None, tell: Tell) -> int:
        """Removes an incomplete file first. The record says that the data is not ready until this returns."""
        self.require_mounted()
        self._storage.delete(self.name, self._file(record))
        backing: tuple[str, str] | None = None
        if base is not None and base.is_encrypted:
            # A copy keeps its passphrase; a layer over an encrypted file would need two.
            self._copy(self._path(base), self._path(record))
            if record.desired_bytes > base.snapshot.status.size:
                self._storage.resize(self.name, self._file(record), record.desired_bytes)
            return self._storage.size(self.name, self._file(record))
        if base is not None:
            backing = (str(self._path(base)), "qcow2")
        if (image := ensure_volume_image(self._images, record, tell)) is not None:
            backing = (str(image.path), image.format)
        self._create(record, backing)
        return self._storage.size(self.name, self._file(record))

    def _create(self, record: VolumeRecord, backing: tuple[str, str] | None) -> None:
        """Tried several times where it is encrypted: see `secrets.retry_luks`."""
        file = self._file(record)
        secret = self._passphrases.id(record.name) if record.is_encrypted else ""
        new = NewVolume(name=file, size_bytes=record.desired_bytes, backing=backing, secret_id=secret)
        retry_luks(
            lambda: self._storage.create(self.name, file, storage_xml.volume(new)),
            lambda: self._storage.delete(self.name, file),
        )

    def base_for_clone(self, snapshot: SnapshotRecord) -> str:
        """The snapshot itself; of an encrypted one, which is copied, what the copy rests on."""
        return snapshot.base if snapshot.is_encrypted else snapshot.id

    def grow_data(self, record: VolumeRecord) -> int:
        """Through the running guest's QEMU where there is one: it has the file open."""
        self.require_mounted()
        running = self._disk_users.find_running(self._source(record))
        if running is not None:
            self._disk_users.grow(running, record.desired_bytes)
        else:
            self._storage.resize(self.name, self._file(record), record.desired_bytes)
        return max(record.desired_bytes, self._storage.size(self.name, self._file(record)))

    def snapshot_data(self, volume: VolumeRecord, snapshot: SnapshotRecord) -> str:
        """A running guest's QEMU makes the copy, as of one moment. Else the file is copied while no QEMU can write to it."""
        self.require_mounted()
        path = self._path(snapshot)
        path.unlink(missing_ok=True)
        running = self._disk_users.find_running(self._source(volume))
        if running is None:
            self._copy(self._path(volume), path)
            return volume.base
        secret = self._passphrases.id(volume.name) if volume.is_encrypted else ""
        retry_luks(
            lambda: self._disk_users.copy(running, str(path), secret), lambda: path.unlink(missing_ok=True)
        )
        return ""

    def _copy(self, source: Path, into: Path) -> None:
        """A copy that fails is removed: the next attempt needs the name."""
        with record_files.translate_os_errors(f"copying {source.name}"):
            try:
                disk_files.copy_file(source, into)
            except (OSError, IRIError):
                into.unlink(missing_ok=True)
                raise

    def delete(self, record: Record) -> None:
        """Data first, record last: an interrupted deletion is found again by its record."""
        self.require_mounted()
        path = self._path(record)
        if disk_files.is_plain_file(path):
            with record_files.translate_os_errors(f"deleting {path.name}"):
                if record.wipe:
                    disk_files.overwrite(path)
                path.unlink()
        elif path.is_symlink():
            path.unlink()
        self._passphrases.drop(record.name)
        self._records.delete(record.name)

    def is_attached(self, record: VolumeRecord) -> bool:
        """Asks libvirt, because a guest may still have a disk that its machine has detached."""
        return bool(self._disk_users.find(self._source(record)))

    def access(self, record: VolumeRecord) -> Access:
        """The path, and the limits of the class, which travel with the volume to the machine that attaches it."""
        attributes = {"path": str(self._path(record)), "format": "qcow2"}
        limits = {"iops": record.iops, "tps": record.tps}
        attributes |= {name: str(value) for name, value in limits.items() if value}
        return Access(driver=DRIVER, handle=names.handle(record.id), attributes=attributes)

    def space(self) -> PoolSpace:
        """Asks the filesystem, which is quicker than a look at every volume."""
        status = os.statvfs(self.folder)
        capacity, free = status.f_blocks * status.f_frsize, status.f_bavail * status.f_frsize
        return PoolSpace(capacity, capacity - free, free)

    def measure(self) -> None:
        """Does nothing: `space` asks the filesystem each time."""

    def backing_files(self) -> Set[str]:
        """Read from the disks themselves. Raises Unavailable while the pool's disk is not mounted: then nothing is known."""
        self.require_mounted()
        return disk_files.backing_names(self.folder)

    def _source(self, record: VolumeRecord) -> FileSource:
        return FileSource(path=str(self._path(record)))

    def _file(self, record: Record) -> str:
        return f"{record.name}.qcow2"

    def _path(self, record: Record) -> Path:
        return self.folder / self._file(record)
