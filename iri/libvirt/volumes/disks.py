"""Disks as machines attach them: volumes of this host or of Ceph, and local disks, each of which belongs to one machine.

A local disk is a qcow2 file in the first pool that holds files, named after its machine and attachment. It is created under
another name and then renamed, so a machine gets a complete disk or none. Its life:

    event                                        the disk
    prepare, no file                             is created, from its image or empty
    prepare, smaller than desired                grows, also under a running guest
    release: the machine has detached it         is deleted
    forget: deletion of the machine was ordered  is deleted
    sweep at the start: incomplete               is deleted
    sweep: detached, and no domain refers to it  is deleted
    sweep: its machine is unknown                stays, and the log names it: libvirt may have lost the domain

Must never happen: a local disk is recreated empty while its pool's disk is not mounted; one of an unknown machine is deleted.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from iri.errors import FailedPrecondition, InvalidArgument, ResourceExhausted, Unavailable
from iri.libvirt.connect.disk_users import DiskUsers
from iri.libvirt.connect.storage import StoragePools
from iri.libvirt.device_sources import DataSource, DiskSource, FileSource, PreparedDisk, RbdSource
from iri.libvirt.images import qcow2
from iri.libvirt.images.images import Images, LocalImage, ensure_image, refuse_image
from iri.libvirt.volumes import disk_files, names, record_files, storage_xml
from iri.libvirt.volumes.file_backend import FileBackend
from iri.libvirt.volumes.record import PASSPHRASE, VolumeRecord, round_up
from iri.libvirt.volumes.secrets import Passphrases
from iri.libvirt.volumes.storage_xml import NewVolume
from iri.libvirt.volumes.volume_access import parse_connection
from iri.libvirt.volumes.volumes import Volumes
from iri.libvirt.whole_files import sync_folder
from iri.machine import Disk, RuntimeLocalDisk

log = logging.getLogger(__name__)
PARTIAL = ".partial"
Tell = Callable[[str, str, str], None]
"""Takes a machine's id, a reason in CamelCase and a sentence for people."""
Attached = Mapping[str, Sequence[Disk] | None]
"""The desired disks by machine; None where the machine's metadata cannot be read."""


class LocalDisks:
    """The local disks of all machines, in one folder."""

    def __init__(
        self, backend: FileBackend, storage: StoragePools, disk_users: DiskUsers, images: Images
    ) -> None:
        self._backend = backend
        self._storage = storage
        self._disk_users = disk_users
        self._images = images
        self._creating = threading.Lock()

    def prepare(
        self, machine_id: str, name: str, wanted: RuntimeLocalDisk, architecture: str, tell: Tell
    ) -> PreparedDisk:
        """Idempotent. Fetches the image first, without the lock: another machine's disk does not wait for that."""
        self._backend.require_mounted()
        image = None
        if wanted.image is not None and wanted.image.image:
            image = ensure_image(
                self._images, wanted.image.image, architecture, lambda *event: tell(machine_id, *event)
            )
        size = _size(wanted, image)
        path = self._backend.folder / names.local_disk(machine_id, name)
        with self._creating, record_files.translate_os_errors(f"creating the local disk {name}"):
            if not disk_files.is_plain_file(path):
                self._create(path, size, image)
            elif qcow2.virtual_bytes(path) < size:
                self._grow(path, size)
        return PreparedDisk(
            source=DiskSource(where=FileSource(path=str(path))),
            boot=image.boot if image else None,
            image_ref=image.reference if image else "",
        )

    def _create(self, path: Path, size: int, image: LocalImage | None) -> None:
        """libvirt creates the file under another name. The rename makes it a disk, and a refresh has libvirt see that.

        The caller holds `_creating` and has looked: there is no disk at `path`, because a rename overwrites without a question. `path`
        is in the backend's folder, its name from ids alone. `size` is at least the image's, and the image stays as long as the disk.
        """
        partial = path.with_name(f"{path.name}{PARTIAL}")
        partial.unlink(missing_ok=True)
        self._storage.refresh(self._backend.name)
        backing = (str(image.path), image.format) if image else None
        new = NewVolume(name=partial.name, size_bytes=size, backing=backing)
        self._storage.create(self._backend.name, new.name, storage_xml.volume(new))
        partial.rename(path)
        sync_folder(path.parent)
        self._storage.refresh(self._backend.name)

    def _grow(self, path: Path, size: int) -> None:
        """Through the running guest's QEMU where there is one: it has the file open."""
        running = self._disk_users.find_running(FileSource(path=str(path)))
        if running is not None:
            self._disk_users.grow(running, size)
        else:
            self._storage.resize(self._backend.name, path.name, size)

    def release(self, machine_id: str, name: str) -> None:
        """No error when there is none: the attachment may have been a volume."""
        self._backend.require_mounted()
        with record_files.translate_os_errors(f"deleting the local disk {name}"):
            (self._backend.folder / names.local_disk(machine_id, name)).unlink(missing_ok=True)

    def forget(self, machine_id: str) -> None:
        """Complete or not. Only after an ordered deletion of the machine."""
        self._backend.require_mounted()
        with (
            self._creating,
            record_files.translate_os_errors(f"deleting the local disks of machine {machine_id}"),
        ):
            for path, owner in self._local_disks():
                if owner == machine_id:
                    path.unlink(missing_ok=True)

    def sweep(self, attached: Attached) -> None:
        """Deletes incomplete disks, and disks that their machine has detached by order and that no domain refers to. A complete
        disk of an unknown machine stays: libvirt may have lost the domain."""
        try:
            self._backend.require_mounted()
        except Unavailable as error:
            log.warning("keeping all local disks error=%s", error)
            return
        with self._creating, record_files.translate_os_errors("deleting leftover local disks"):
            users = self._disk_users.referenced_files()
            for path, owner in self._local_disks():
                if path.suffix == PARTIAL:
                    path.unlink(missing_ok=True)
                elif owner not in attached:
                    log.warning("keeping local disk of unknown machine file=%s", path)
                elif str(path) not in users and is_detached(path, owner, attached[owner]):
                    log.info("deleting detached local disk file=%s", path)
                    path.unlink(missing_ok=True)

    def _local_disks(self) -> Iterator[tuple[Path, str]]:
        """All local disks, with the ids of their machines."""
        for path in tuple(self._backend.folder.iterdir()):
            match = names.LOCAL_DISK.fullmatch(path.name.removesuffix(PARTIAL))
            if match is not None:
                yield path, match["machine"]


class VolumeDisks:
    """What machines see of storage. Thread-safe."""

    def __init__(
        self,
        volumes: Volumes,
        local: LocalDisks | None,
        disk_users: DiskUsers,
        passphrases: Passphrases,
        *,
        architecture: str,
        tell: Tell,
    ) -> None:
        self._volumes = volumes
        self._local = local
        self._disk_users = disk_users
        self._passphrases = passphrases
        self._architecture = architecture
        self._tell = tell

    def refuse(self, machine_id: str, disk: Disk) -> None:
        """Raises InvalidArgument or FailedPrecondition for a disk that this host will never attach. Quick: asks libvirt and the
        records, never a server."""
        if disk.connection is not None:
            found = parse_connection(disk.connection, self._volumes.backends.folders())
            if isinstance(found.where, FileSource):
                self._refuse_file(disk.name, found.volume_id, Path(found.where.path))
            self._refuse_held(machine_id, disk.name, found.where)
        elif disk.local_disk is None:
            raise InvalidArgument(f"disk {disk.name} is neither a volume nor a local disk")
        else:
            self._refuse_local(disk.name, disk.local_disk)

    def _refuse_local(self, name: str, wanted: RuntimeLocalDisk) -> None:
        """Needs a pool for files, a size or an image, and an image that this host may use."""
        if self._local is None:
            raise FailedPrecondition(f"disk {name}: this host has no pool for local disks")
        has_image = wanted.image is not None and bool(wanted.image.image)
        if wanted.size_bytes < 0 or (not wanted.size_bytes and not has_image):
            raise InvalidArgument(f"disk {name} needs a size or an image")
        if wanted.image is not None and has_image:
            refuse_image(self._volumes.images, wanted.image.image)

    def _refuse_file(self, name: str, volume_id: str, path: Path) -> None:
        """Refused while a pool is unopened: the volume may be in it."""
        entry = self._volumes.entry(volume_id)
        if entry is None or not isinstance(entry.record, VolumeRecord):
            self._volumes.backends.require_all_open()
            raise FailedPrecondition(f"disk {name}: this host has no volume {volume_id}")
        if not entry.record.is_ready or entry.record.volume.deleted_at:
            raise FailedPrecondition(f"disk {name}: volume {volume_id} is not available")
        if not disk_files.is_plain_file(path):
            raise FailedPrecondition(f"disk {name}: the data of volume {volume_id} is missing")

    def _refuse_held(self, machine_id: str, name: str, where: DataSource) -> None:
        """Asks libvirt, not the records: a guest may still use a volume that its machine has detached."""
        others = [user for user in self._disk_users.find(where) if user.domain_id != machine_id]
        if others:
            raise FailedPrecondition(
                f"disk {name} is attached to machine {others[0].domain_id}; detach it there first"
            )

    def prepare(self, machine_id: str, disk: Disk) -> PreparedDisk:
        """Idempotent. May block for as long as an image takes to fetch."""
        self.refuse(machine_id, disk)
        if disk.connection is None:
            return self._prepare_local(machine_id, disk)
        secret_name = _secret_name(machine_id, disk.name)
        found = parse_connection(disk.connection, self._volumes.backends.folders())
        passphrase = disk.connection.encryption_data.get(PASSPHRASE)
        luks = self._luks_secret(found.volume_id, secret_name, passphrase) if passphrase else ""
        where = found.where
        if isinstance(where, RbdSource):
            where = replace(where, secret_id=self._passphrases.put(secret_name, found.key, "ceph"))
        source = DiskSource(where=where, luks_secret_id=luks, iops=found.iops, bytes_per_second=found.tps)
        return PreparedDisk(source=source)

    def _luks_secret(self, volume_id: str, secret_name: str, passphrase: bytes) -> str:
        """The id of the secret that opens the disk. A volume that this host has formatted keeps the passphrase of that moment, in its
        own secret: the spec's may have changed since, and would lock its data. Any other disk has the passphrase of the spec."""
        entry = self._volumes.entry(volume_id) if volume_id else None
        record = entry.record if entry is not None else None
        if (
            isinstance(record, VolumeRecord)
            and record.is_encrypted
            and not record.source.snapshot_data_source
        ):
            own = self._passphrases.find(record.name)
            if own:
                return own
        return self._passphrases.put(secret_name, passphrase)

    def _prepare_local(self, machine_id: str, disk: Disk) -> PreparedDisk:
        """A full pool is relieved of unused images before the next attempt."""
        assert self._local is not None
        assert disk.local_disk is not None
        try:
            return self._local.prepare(machine_id, disk.name, disk.local_disk, self._architecture, self._tell)
        except ResourceExhausted:
            self._volumes.collect_images()  # so that the next attempt has room
            raise

    def release(self, machine_id: str, name: str) -> None:
        """The machine has detached the disk for good: deletes its local disk and its secrets."""
        if self._local is not None:
            self._local.release(machine_id, name)
        self._passphrases.drop(_secret_name(machine_id, name))
        self._passphrases.drop(_secret_name(machine_id, name), "ceph")

    def forget(self, machine_id: str) -> None:
        """Deletion of the machine was ordered: deletes all its local disks and secrets."""
        if self._local is not None:
            self._local.forget(machine_id)
        self._passphrases.drop_unused(lambda name: not name.startswith(f"disk-{machine_id}-"))

    def sweep(self, attached: Attached) -> None:
        """Removes leftovers of interrupted work, and secrets of unknown machines. Data stays without an order, and while a domain
        refers to it."""
        if self._local is not None:
            self._local.sweep(attached)
        self._passphrases.drop_unused(
            lambda name: not name.startswith("disk-") or name[len("disk-") :][:36] in attached
        )

    def wake_waiting(self) -> None:
        """A machine has detached something: volumes that wait for that are reconciled."""
        self._volumes.wake_waiting()


def is_detached(path: Path, machine_id: str, disks: Sequence[Disk] | None) -> bool:
    """False as long as the machine's record cannot be read."""
    return disks is not None and path.name not in {
        names.local_disk(machine_id, disk.name) for disk in disks if disk.connection is None
    }


def _secret_name(machine_id: str, name: str) -> str:
    """Of the disk's passphrase and key; begins with the machine's id, so that all of a machine are found."""
    return names.local_disk(machine_id, name).removesuffix(".qcow2")


def _size(wanted: RuntimeLocalDisk, image: LocalImage | None) -> int:
    """The desired size, at least that of the image; without a desired size, the image's own."""
    if image is None:
        return round_up(wanted.size_bytes)
    if wanted.size_bytes and wanted.size_bytes < image.virtual_bytes:
        raise InvalidArgument(
            f"the image needs a disk of at least {image.virtual_bytes} bytes, not {wanted.size_bytes}"
        )
    return max(round_up(wanted.size_bytes), round_up(image.virtual_bytes))
