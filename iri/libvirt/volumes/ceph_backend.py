"""Volumes as RBD images in a Ceph pool. A volume's record is metadata of its image.

    volume-<id>, snapshot-<id>      one of ours, with its record
    image-<algorithm>-<hex>@base    the content of an OS image, which volumes are clones of
    new-<name>                      <name> while it is being created

Theory of operation. Ceph cannot replace an image in one step, so an image is created as `new-<name>`, gets its record, and then takes
its name: the old image is removed, the new one renamed. After a crash the next start finds one of these:

    new-<name>             <name>    finish by
    without a record       any       removing new-<name>: it is incomplete
    with a record          exists    removing new-<name>: the old image still counts, and its work is done again
    with a record          absent    renaming new-<name>

A snapshot is a clone of one moment. Must never happen: an image has its name before its record; an image is removed while another
host has it open (`is_attached` asks Ceph for watchers); a clone loses its parent (clones are flattened first).
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from iri.errors import FailedPrecondition, IRIError, NotFound
from iri.libvirt.connect.disk_users import DiskUsers
from iri.libvirt.connect.storage import PoolSpace, StoragePools
from iri.libvirt.device_sources import RbdSource
from iri.libvirt.images.images import Images, LocalImage, Tell
from iri.libvirt.volumes import names, record, storage_xml
from iri.libvirt.volumes.backend import ensure_volume_image
from iri.libvirt.volumes.rbd import Rbd
from iri.libvirt.volumes.record import Record, SnapshotRecord, VolumeRecord
from iri.libvirt.volumes.record_files import StoredRecords
from iri.libvirt.volumes.secrets import Passphrases
from iri.libvirt.volumes.settings import RbdPool
from iri.libvirt.volumes.storage_xml import address
from iri.volume import Access

DRIVER = "ceph"
RECORD = "gitvirt.record"
NEW, OS_IMAGE, BASE = "new-", "image-", "base"
HEADER_BYTES = 16 << 20  # the part of an image that LUKS2 takes
READERS = 8


class CephBackend:
    """Implements StorageBackend."""

    hides_passphrases = False

    def __init__(
        self,
        pool: RbdPool,
        folder: Path,
        storage: StoragePools,
        disk_users: DiskUsers,
        passphrases: Passphrases,
        images: Images,
    ) -> None:
        self._pool = pool
        self.name = pool.name
        self._folder = folder
        self._storage = storage
        self._disk_users = disk_users
        self._passphrases = passphrases
        self._images = images
        self._rbd = Rbd(pool, folder)
        self._key = ""
        self._importing = threading.Lock()
        self._space = PoolSpace(pool.capacity_bytes, 0, 0)

    def open(self) -> StoredRecords:
        """Finishes interrupted work before records are read, so each image has its final name."""
        try:
            self._key = Path(self._pool.key_file).read_text().strip()
        except OSError as error:
            raise FailedPrecondition(f"cannot read the key file: {error.strerror}") from None
        self._rbd.open(self._key)
        secret = self._passphrases.put(f"pool-{self.name}", storage_xml.ceph_key(self._key), "ceph")
        self._storage.ensure_pool(self.name, storage_xml.pool(self._pool, secret))
        self.measure()
        existing = set(self._rbd.images())
        for name in sorted(existing):
            if name.startswith(NEW):
                self._finish_interrupted(name, existing)
        ours = [name for name in self._rbd.images() if names.OBJECT.fullmatch(name)]
        with ThreadPoolExecutor(READERS) as readers:
            read = list(readers.map(self._read, ours))
        records = tuple(found for found in read if not isinstance(found, IRIError))
        damaged = {
            name: str(found) for name, found in zip(ours, read, strict=True) if isinstance(found, IRIError)
        }
        return StoredRecords(records, damaged)

    def _finish_interrupted(self, name: str, existing: Set[str]) -> None:
        """Finishes interrupted work: renames a complete image whose name is free, and removes any other."""
        own = name.removeprefix(NEW)
        if own in existing or own.startswith(OS_IMAGE) or isinstance(self._read(name), IRIError):
            self._rbd.drop(name)
        else:
            self._rbd.rename(name, own)

    def _read(self, image: str) -> Record | IRIError:
        """Returns the error of a missing or invalid record. Raises when the cluster does not answer."""
        own = image.removeprefix(NEW)
        try:
            return record.decode(self._rbd.metadata(image, RECORD).encode(), own)
        except NotFound:
            return NotFound(f"image {own} has no record")
        except FailedPrecondition as error:
            return error

    def close(self) -> None:
        """Nothing is held: Ceph has no lock of ours, so a pool must belong to one runtime by its settings."""

    def add_record(self, record_: Record) -> None:
        """Creates an empty image to carry the record; `create_data` replaces the image."""
        if self._rbd.exists(record_.name):
            raise FailedPrecondition(
                f"pool {self.name} has an image {record_.name} without a record; rename or remove it"
            )
        self._rbd.drop(f"{NEW}{record_.name}")
        self._rbd.create(f"{NEW}{record_.name}", 0)
        self._publish(record_)

    def _publish(self, record_: Record) -> None:
        """Writes the record into the new image, then gives the image its name."""
        new = f"{NEW}{record_.name}"
        self._rbd.set_metadata(new, RECORD, record.encode(record_).decode())
        self._rbd.drop(record_.name)
        self._rbd.rename(new, record_.name)

    def write_record(self, record_: Record) -> None:
        """In place: Ceph replaces the value of a key in one step."""
        self._rbd.set_metadata(record_.name, RECORD, record.encode(record_).decode())

    def create_data(self, record_: VolumeRecord, base: SnapshotRecord | None, tell: Tell) -> int:
        """Works on `new-<name>` from the start, and publishes it last. Interrupted at any point, it starts again."""
        new, overhead = f"{NEW}{record_.name}", HEADER_BYTES if record_.is_encrypted else 0
        self._rbd.drop(new)
        if base is not None:
            self._rbd.snap(base.name, BASE)
            self._rbd.clone(base.name, BASE, new)
            if base.is_encrypted:
                # A clone that has grown beyond its encrypted parent cannot be read beyond it.
                self._rbd.flatten(new)
        elif (image := ensure_volume_image(self._images, record_, tell)) is not None:
            self._start_as(image, record_, new, tell)
        else:
            self._rbd.create(new, record_.desired_bytes + overhead)
            if record_.is_encrypted:
                self._encrypt(record_, new, None)
        if self._rbd.size(new) < record_.desired_bytes + overhead:
            self._rbd.resize(new, record_.desired_bytes + overhead)
        self._set_limits(record_, new)
        self._publish(record_)
        return self._rbd.size(record_.name) - overhead

    def _start_as(self, image: LocalImage, record_: VolumeRecord, new: str, tell: Tell) -> None:
        """The OS image is imported into the pool once; volumes are clones of it. An encrypted volume cannot be a clone of a
        plain image, so it is a copy."""
        if record_.is_encrypted:
            self._rbd.create(new, record_.desired_bytes + HEADER_BYTES)
            self._encrypt(record_, new, image)
            return
        base = f"{OS_IMAGE}{image.path.name}"
        with self._importing:
            if not self._rbd.exists(base):
                tell("ImportingImage", f"copying the image into pool {self.name}")
                self._rbd.drop(f"{NEW}{base}")
                self._rbd.fill(f"{NEW}{base}", image.path, image.format, None)
                self._rbd.rename(f"{NEW}{base}", base)
            self._rbd.snap(base, BASE)
            self._rbd.clone(base, BASE, new)

    def _encrypt(self, record_: VolumeRecord, new: str, image: LocalImage | None) -> None:
        """Formats the new image and, with an OS image, copies that into it through the encryption."""
        with self._passphrase_file(record_) as file:
            self._rbd.encrypt(new, file)
            if image is not None:
                self._rbd.fill(new, image.path, image.format, file)

    @contextmanager
    def _passphrase_file(self, record_: VolumeRecord) -> Iterator[int]:
        """A file in memory, for as long as a command reads it: its descriptor."""
        handle = os.memfd_create("passphrase", 0)
        try:
            os.write(handle, self._passphrases.value(record_.name))
            yield handle
        finally:
            os.close(handle)

    def _set_limits(self, record_: VolumeRecord, image: str) -> None:
        """Limits that Ceph applies on every host that opens the image."""
        for name, value in (("iops", record_.iops), ("bps", record_.tps)):
            if value:
                self._rbd.set_metadata(image, f"conf_rbd_qos_{name}_limit", str(value))

    def base_for_clone(self, snapshot: SnapshotRecord) -> str:
        """None: clones are flattened before their parent is removed."""
        del snapshot
        return ""

    def grow_data(self, record_: VolumeRecord) -> int:
        """Through the running guest's QEMU where there is one, so that the guest sees the size at once."""
        overhead = HEADER_BYTES if record_.is_encrypted else 0
        running = self._disk_users.find_running(self._source(record_))
        if running is not None and not overhead:
            self._disk_users.grow(running, record_.desired_bytes)
        else:
            self._rbd.resize(record_.name, record_.desired_bytes + overhead)
        return self._rbd.size(record_.name) - overhead

    def snapshot_data(self, volume: VolumeRecord, snapshot: SnapshotRecord) -> str:
        """Quick, also under a running guest: a clone of the moment, which shares the data."""
        new = f"{NEW}{snapshot.name}"
        self._rbd.drop(new)
        self._rbd.snap(volume.name, snapshot.id)
        self._rbd.clone(volume.name, snapshot.id, new)
        self._publish(snapshot)
        return ""

    def delete(self, record_: Record) -> None:
        """Data first, record with it: they are one image. The snapshot that a clone was made of goes after the clone."""
        parent = self._os_image_of(record_)
        if record_.wipe and self._rbd.exists(record_.name) and self._rbd.size(record_.name):
            self._storage.wipe(self.name, record_.name)
        self._passphrases.drop(record_.name)
        self._rbd.drop(f"{NEW}{record_.name}")
        self._rbd.drop(record_.name)
        if isinstance(record_, SnapshotRecord):
            with contextlib.suppress(NotFound):
                self._rbd.drop_snapshot(f"volume-{record_.snapshot.spec.volume_id}", record_.id)
        if parent:
            self._delete_unused(parent)

    def _os_image_of(self, record_: Record) -> str:
        """The imported OS image that it is a clone of; empty for none, and for an image that is gone."""
        with contextlib.suppress(NotFound):
            parent = self._rbd.parent(record_.name)
            return parent if parent.startswith(OS_IMAGE) else ""
        return ""

    def _delete_unused(self, image: str) -> None:
        """Removes the content of an OS image once no volume is a clone of it. The host's own cache still has the image."""
        with self._importing, contextlib.suppress(NotFound):
            if not self._rbd.children(image, BASE):
                self._rbd.drop(image)

    def is_attached(self, record_: VolumeRecord) -> bool:
        """Also by a machine of another host, which this host's libvirt does not know: Ceph knows who has the image open."""
        if self._disk_users.find(self._source(record_)):
            return True
        with contextlib.suppress(NotFound):
            return self._rbd.is_watched(record_.name)
        return False

    def access(self, record_: VolumeRecord) -> Access:
        """With the pool's user and key: a machine of any host can open the image with them."""
        return Access(
            driver=DRIVER,
            handle=names.handle(record_.id),
            attributes={"monitors": ",".join(self._pool.monitors), "image": self._rbd.spec(record_.name)},
            secret_data={"userID": self._pool.user.encode(), "userKey": self._key.encode()},
        )

    def space(self) -> PoolSpace:
        """As of the last `measure`: Ceph may take seconds to answer."""
        return self._space

    def measure(self) -> None:
        """Takes the capacity from the settings, or from Ceph, which reports 0 without a manager."""
        measured = self._storage.measure(self.name)
        self._space = PoolSpace(
            self._pool.capacity_bytes or measured.capacity, measured.allocated, measured.available
        )

    def backing_files(self) -> Set[str]:
        """None: images in Ceph have no files of this host below them."""
        return frozenset()

    def _source(self, record_: VolumeRecord) -> RbdSource:
        """To look for domains that have it. Without a secret, which only an attached disk has."""
        return RbdSource(
            image=self._rbd.spec(record_.name),
            monitors=tuple(address(monitor) for monitor in self._pool.monitors),
            user=self._pool.user,
        )
