"""Builds the storage of a host from the settings: backends, the volumes in them, and the disks for machines.

Without pools in the settings there is one, a folder below the runtime's own. Local disks of machines are files, so they go to the first
pool that holds files; a host with Ceph pools alone offers none.

Limits: the only module that knows all backends. A new kind of pool needs settings, XML, a backend, and a row in `backend` here.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path

from iri.host import RuntimeVolumeClass
from iri.journal import Journal
from iri.libvirt.connect.disk_users import DiskUsers
from iri.libvirt.connect.link import LibvirtLink
from iri.libvirt.connect.storage import LibvirtSecrets, StoragePools
from iri.libvirt.images.images import Images
from iri.libvirt.volumes.backend import StorageBackend
from iri.libvirt.volumes.backends import Backends
from iri.libvirt.volumes.ceph_backend import CephBackend
from iri.libvirt.volumes.disks import LocalDisks, Tell, VolumeDisks
from iri.libvirt.volumes.file_backend import FileBackend
from iri.libvirt.volumes.pool_marker import PoolMarkers
from iri.libvirt.volumes.secrets import Passphrases
from iri.libvirt.volumes.settings import DirPool, NetfsPool, Pool, RbdPool, StorageSettings, with_default
from iri.libvirt.volumes.volumes import Volumes

# The names in image indexes.
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def build_storage(
    link: LibvirtLink,
    settings: StorageSettings,
    images: Images,
    folder: Path,
    *,
    journal: Journal,
    volume_class: Callable[[str], RuntimeVolumeClass],
    tell: Tell,
) -> tuple[Volumes, VolumeDisks]:
    """`folder` is the runtime's own; `tell` records an event of a machine. Starts nothing: see Volumes.start."""
    settings = with_default(settings, str(folder / "volumes"))
    storage, disk_users, passphrases = StoragePools(link), DiskUsers(link), Passphrases(LibvirtSecrets(link))
    markers = PoolMarkers(storage, LibvirtSecrets(link), folder / "pools")

    def backend(pool: Pool) -> StorageBackend:
        """One for each pool of the settings; nothing is opened yet."""
        match pool:
            case DirPool() | NetfsPool():
                return FileBackend(pool, storage, disk_users, passphrases, images, markers)
            case RbdPool():
                return CephBackend(pool, folder / "ceph", storage, disk_users, passphrases, images)

    backends = [backend(pool) for pool in settings.pools]
    all_backends = Backends(settings, backends, markers, disk_users.referenced_files)
    volumes = Volumes(all_backends, passphrases, images, journal, volume_class, settings.workers)
    files = next((backend for backend in backends if isinstance(backend, FileBackend)), None)
    local = LocalDisks(files, storage, disk_users, images) if files else None
    architecture = ARCHITECTURES.get(platform.machine(), platform.machine())
    disks = VolumeDisks(volumes, local, disk_users, passphrases, architecture=architecture, tell=tell)
    link.on_connected(volumes.wake_waiting)
    return volumes, disks
