"""A shelf of qcow2 files in a folder: pools of type dir and netfs.

    volume-<id>.qcow2     the data         volume-<id>.json      what it is
    snapshot-<id>.qcow2   a copy of data   snapshot-<id>.json

A snapshot is a copy, by reference where the filesystem can, so a running guest's disk never changes its path. A volume made
of one rests on it; the copy stays until the last such volume is gone.
"""

from __future__ import annotations

import os
from collections.abc import Set
from pathlib import Path

from iri.errors import FailedPrecondition, InvalidArgument, IRIError, Unavailable
from iri.libvirt.connect.disk_users import DiskUsers
from iri.libvirt.connect.storage import PoolSpace, StoragePools
from iri.libvirt.device_sources import FileSource
from iri.libvirt.folder_lock import FolderLock
from iri.libvirt.images import resolving
from iri.libvirt.images.images import Images
from iri.libvirt.volumes import disk_files, names, record_files, storage_xml
from iri.libvirt.volumes.backend import Tell
from iri.libvirt.volumes.pool_marker import PoolMarkers
from iri.libvirt.volumes.record import Record, SnapshotRecord, VolumeRecord
from iri.libvirt.volumes.record_files import RecordFiles, StoredRecords
from iri.libvirt.volumes.secrets import Passphrases, tried
from iri.libvirt.volumes.settings import DirPool, FilePool, NetfsPool
from iri.libvirt.volumes.storage_xml import NewVolume
from iri.volume import Access

DRIVER = "file"


class FileBackend:
    def __init__(
        self,
        pool: FilePool,
        storage: StoragePools,
        holders: DiskUsers,
        passphrases: Passphrases,
        images: Images,
        marks: PoolMarkers,
    ) -> None:
        self._pool = pool
        self._storage = storage
        self._holders = holders
        self._passphrases = passphrases
        self._images = images
        self._marks = marks
        self.folder = Path(pool.path)
        self._sidecars = RecordFiles(self.folder)
        self._claim = FolderLock(f"storage pool {pool.name}")
        self._mark = ""  # until it is open

    @property
    def name(self) -> str:
        return self._pool.name

    @property
    def hides_passphrases(self) -> bool:
        return True

    def open(self) -> StoredRecords:
        noted = self._marks.noted(self.name)
        if noted and isinstance(self._pool, DirPool):
            # Else libvirt would build a folder in the place of the one that is not mounted.
            folder = self._marks.folder(self.name) or Path(self._pool.path)
            self._marks.refuse_other(self.name, folder, noted)
        try:
            self._storage.ensure_pool(self.name, storage_xml.pool(self._pool))
        except FailedPrecondition as error:
            if not isinstance(self._pool, NetfsPool):
                raise
            raise Unavailable(
                " ".join(str(error).split())
            ) from None  # its server may be away: libvirt has no word for that
        self.folder = Path(self._storage.pool_path(self.name))
        self._sidecars = RecordFiles(self.folder)
        if noted:
            self._marks.refuse_other(self.name, self.folder, noted)
        with record_files.on_disk(f"opening storage pool {self.name} at {self.folder}"):
            self._claim.take(self.folder)
            self._mark = self._marks.adopt(self.name, self.folder)
            return self._sidecars.read()

    def refuse_away(self) -> None:
        """Unavailable while its disk is not there: before anything is made, changed or deleted."""
        if not self._mark:
            raise Unavailable(f"storage pool {self.name} cannot be reached")
        try:
            self._marks.refuse_other(self.name, self.folder, self._mark)
        except Unavailable as error:
            raise Unavailable(f"storage pool {self.name} cannot be reached: {error}") from None

    def close(self) -> None:
        self._claim.drop()

    def add(self, record: Record) -> None:
        if self._path(record).exists() or self._path(record).is_symlink():
            raise FailedPrecondition(
                f"there is data of {record.name} in pool {self.name}, and no record that says what it is"
            )
        self.write(record)

    def write(self, record: Record) -> None:
        self.refuse_away()
        self._sidecars.write(record)

    def make(self, record: VolumeRecord, base: SnapshotRecord | None, tell: Tell) -> int:
        self.refuse_away()
        self._storage.delete(self.name, self._file(record))
        backing: tuple[str, str] | None = None
        if base is not None and base.is_encrypted:
            # A container keeps its passphrase; a layer over one would need two.
            self._copy(self._path(base), self._path(record))
            if record.wanted_bytes > base.snapshot.status.size:
                self._storage.resize(self.name, self._file(record), record.wanted_bytes)
            return self._storage.size(self.name, self._file(record))
        if base is not None:
            backing = (str(self._path(base)), "qcow2")
        if (source := record.source.image_data_source) is not None:
            image = resolving.ensured(self._images, source.image, source.architecture, tell)
            if image.virtual_bytes > record.wanted_bytes:
                raise InvalidArgument(
                    f"the image needs a volume of {image.virtual_bytes} bytes or more, not of {record.wanted_bytes}"
                )
            backing = (str(image.path), image.format)
        self._create(record, backing)
        return self._storage.size(self.name, self._file(record))

    def _create(self, record: VolumeRecord, backing: tuple[str, str] | None) -> None:
        file = self._file(record)
        secret = self._passphrases.id(record.name) if record.is_encrypted else ""
        new = NewVolume(name=file, size_bytes=record.wanted_bytes, backing=backing, secret_id=secret)
        tried(
            lambda: self._storage.create(self.name, file, storage_xml.volume(new)),
            lambda: self._storage.delete(self.name, file),
        )

    def base_of(self, snapshot: SnapshotRecord) -> str:
        return snapshot.base if snapshot.is_encrypted else snapshot.id

    def grow(self, record: VolumeRecord) -> int:
        self.refuse_away()
        running = [holding for holding in self._holders.of(self._source(record)) if holding.is_running]
        if running:
            self._holders.grow(running[0], record.wanted_bytes)
        else:
            self._storage.resize(self.name, self._file(record), record.wanted_bytes)
        return max(record.wanted_bytes, self._storage.size(self.name, self._file(record)))

    def copy(self, volume: VolumeRecord, snapshot: SnapshotRecord) -> str:
        self.refuse_away()
        path = self._path(snapshot)
        path.unlink(missing_ok=True)
        running = [holding for holding in self._holders.of(self._source(volume)) if holding.is_running]
        if not running:
            self._copy(self._path(volume), path)
            return volume.base
        secret = self._passphrases.id(volume.name) if volume.is_encrypted else ""
        tried(lambda: self._holders.copy(running[0], str(path), secret), lambda: path.unlink(missing_ok=True))
        return ""

    def _copy(self, source: Path, into: Path) -> None:
        try:
            disk_files.copied(source, into)
        except OSError as error:
            into.unlink(missing_ok=True)
            raise record_files.failure(error, f"copying {source.name}") from None
        except IRIError:
            into.unlink(missing_ok=True)
            raise

    def drop(self, record: Record) -> None:
        self.refuse_away()
        path = self._path(record)
        if disk_files.is_plain_file(path):
            with record_files.on_disk(f"deleting {path.name}"):
                if record.wipe:
                    disk_files.overwrite(path)
                path.unlink()
        elif path.is_symlink():
            path.unlink()
        self._passphrases.drop(record.name)
        self._sidecars.drop(record.name)

    def is_held(self, record: VolumeRecord) -> bool:
        return bool(self._holders.of(self._source(record)))

    def access(self, record: VolumeRecord) -> Access:
        attributes = {"path": str(self._path(record)), "format": "qcow2"}
        limits = {"iops": record.iops, "tps": record.tps}
        attributes |= {name: str(value) for name, value in limits.items() if value}
        return Access(driver=DRIVER, handle=names.handle(record.id), attributes=attributes)

    def room(self) -> PoolSpace:
        """Of the filesystem, without a look at every volume."""
        status = os.statvfs(self.folder)
        capacity, free = status.f_blocks * status.f_frsize, status.f_bavail * status.f_frsize
        return PoolSpace(capacity, capacity - free, free)

    def measure(self) -> None:
        """A folder is measured whenever it is asked."""

    def rests_on(self) -> Set[str]:
        self.refuse_away()
        return disk_files.bases(self.folder)

    def _source(self, record: VolumeRecord) -> FileSource:
        return FileSource(path=str(self._path(record)))

    def _file(self, record: Record) -> str:
        return f"{record.name}.qcow2"

    def _path(self, record: Record) -> Path:
        return self.folder / self._file(record)
