"""libvirt's storage pools and volumes, by name; and its secrets, by id.

libvirt keeps a list of the volumes of each pool and does not notice what others do to the folder. So the runtime refreshes a pool
after each rename, and a volume that libvirt does not know is looked for once more after a refresh. A refresh is refused while any
volume of the pool is being created, which takes seconds for an encrypted one; the calls here wait for that, up to a minute.

    secret                              described by                        read back
    ownership of a libvirtd             `libvirtd_owner`                    its description alone
    keys and Ignition data of machines  `machine_secrets`                   yes
    passphrases and Ceph keys           `volumes.secrets`                   only where a Ceph pool needs it
    the marker of a pool                `volumes.pool_marker`               yes
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Literal, TypeVar

import libvirt
import msgspec

from iri.errors import NotFound
from iri.libvirt.connect.libvirt_errors import default_if_missing
from iri.libvirt.connect.link import LibvirtLink
from iri.libvirt.xml import child, element, parse, text

T = TypeVar("T")
SecretType = Literal["volume", "ceph"]  # libvirt's type of usage
BUSY_SECONDS = 60.0
BUSY_POLL_SECONDS = 0.02


class PoolSpace(msgspec.Struct, frozen=True):
    """Bytes of a pool. Ceph without a manager reports 0 for each."""

    capacity: int
    allocated: int
    available: int


class StoragePools:
    """Calls about pools and their volumes. Every method names pool and volume in its errors."""

    def __init__(self, link: LibvirtLink) -> None:
        self._link = link

    def ensure_pool(self, name: str, definition: str) -> None:
        """Defines, builds and starts the pool, and has it started with the host. An existing pool is used as it is."""

        def ensure(raw: libvirt.virConnect) -> None:
            missing = libvirt.VIR_ERR_NO_STORAGE_POOL
            pool = default_if_missing(missing, None, raw.storagePoolLookupByName, name)
            if pool is None:
                pool = raw.storagePoolDefineXML(definition, 0)
            if not pool.isActive():
                pool.create(libvirt.VIR_STORAGE_POOL_CREATE_WITH_BUILD)
            if not pool.autostart():
                pool.setAutostart(1)

        self._link.call(ensure, f"starting storage pool {name}")

    def pool_path(self, name: str) -> str:
        """The folder that libvirt uses, which may differ from the settings: an existing pool is used as it is."""
        document = self._call_pool(name, lambda pool: str(pool.XMLDesc(0)), "reading storage pool")
        return parse(document).findtext("target/path", "")

    def measure(self, name: str) -> PoolSpace:
        """Refreshes the pool first: libvirt answers with the figures of its last refresh."""

        def info(pool: libvirt.virStoragePool) -> PoolSpace:
            _refresh(pool)
            _, capacity, allocated, available = pool.info()
            return PoolSpace(capacity, allocated, available)

        return self._call_pool(name, info, "measuring storage pool")

    def create(self, pool_name: str, volume: str, definition: str) -> None:
        """libvirt refuses a name that exists already."""
        self._call_pool(
            pool_name, lambda pool: pool.createXML(definition, 0), f"creating {volume} in storage pool"
        )

    def resize(self, pool_name: str, volume: str, size_bytes: int) -> None:
        """Only while no guest has it open: see DiskUsers.grow. libvirt refuses to shrink."""
        self._call_volume(pool_name, volume, lambda found: found.resize(size_bytes, 0), "resizing")

    def size(self, pool_name: str, volume: str) -> int:
        """The present size, whoever changed it."""
        return self._call_volume(pool_name, volume, lambda found: int(found.info()[1]), "measuring")

    def refresh(self, pool_name: str) -> None:
        """Has libvirt see what others changed."""
        self._call_pool(pool_name, _refresh, "refreshing storage pool")

    def wipe(self, pool_name: str, volume: str) -> None:
        """Overwrites the whole volume with zeros. Takes as long as that takes."""
        self._call_volume(pool_name, volume, lambda found: found.wipe(0), "wiping")

    def delete(self, pool_name: str, volume: str) -> None:
        """No error when it does not exist."""
        with contextlib.suppress(NotFound):
            self._call_volume(pool_name, volume, lambda found: found.delete(0), "deleting")

    def _call_pool(self, name: str, action: Callable[[libvirt.virStoragePool], T], doing: str) -> T:
        return self._link.call(lambda raw: action(raw.storagePoolLookupByName(name)), f"{doing} {name}")

    def _call_volume(
        self, pool: str, volume: str, action: Callable[[libvirt.virStorageVol], T], doing: str
    ) -> T:
        """libvirt knows the volumes that it made itself, and others only after a refresh."""

        def find_volume(raw: libvirt.virConnect) -> libvirt.virStorageVol:
            at = raw.storagePoolLookupByName(pool)
            missing = libvirt.VIR_ERR_NO_STORAGE_VOL
            found = default_if_missing(missing, None, at.storageVolLookupByName, volume)
            if found is None:
                _refresh(at)
                found = at.storageVolLookupByName(volume)
            return found

        return self._link.call(
            lambda raw: action(find_volume(raw)), f"{doing} {volume} in storage pool {pool}"
        )


class LibvirtSecrets:
    """Calls about libvirt secrets of any usage; names and usages are the caller's."""

    def __init__(self, link: LibvirtLink) -> None:
        self._link = link

    def put(self, definition: str, value: bytes) -> None:
        """Defines the secret, or redefines that of the same id, and replaces its value."""
        self._link.call(lambda raw: raw.secretDefineXML(definition, 0).setValue(value, 0), "storing a secret")

    def define(self, definition: str) -> None:
        """Defines a secret without a value. libvirt refuses a second one of the same usage."""
        self._link.call(lambda raw: raw.secretDefineXML(definition, 0), "storing an ownership secret")

    def find_by_usage(self, usage: str) -> tuple[str, str] | None:
        """Id and description of the secret of that usage."""

        def read(raw: libvirt.virConnect) -> tuple[str, str]:
            secret = raw.secretLookupByUsage(libvirt.VIR_SECRET_USAGE_TYPE_VOLUME, usage)
            return secret.UUIDString(), parse(secret.XMLDesc(0)).findtext("description", "")

        try:
            return self._link.call(read, "reading an ownership secret")
        except NotFound:
            return None

    def value(self, id: str) -> bytes:
        """Only for secrets that are not private."""
        return self._link.call(
            lambda raw: bytes(raw.secretLookupByUUIDString(id).value(0)), "reading a secret"
        )

    def drop(self, id: str) -> bool:
        """Returns False when it does not exist."""
        try:
            self._link.call(lambda raw: raw.secretLookupByUUIDString(id).undefine(), "deleting a secret")
        except NotFound:
            return False
        return True

    def usages(self) -> dict[str, str]:
        """The usage of every secret by id, ours or not."""
        return self._link.call(
            lambda raw: {secret.UUIDString(): secret.usageID() for secret in raw.listAllSecrets(0)},
            "listing secrets",
        )


def secret_document(
    id: str, *, usage: str = "", type: SecretType = "volume", description: str = "", is_private: bool = False
) -> str:
    """The XML of a secret. libvirt never gives out the value of a private one."""
    root = element("secret", ephemeral="no", private="yes" if is_private else "no")
    child(root, "uuid", id)
    if description:
        child(root, "description", description)
    if usage:
        child(child(root, "usage", type=type), "name" if type == "ceph" else "volume", usage)
    return text(root)


def _refresh(pool: libvirt.virStoragePool) -> None:
    """Waits while libvirt refuses because a volume of the pool is being created."""
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            pool.refresh(0)
        except libvirt.libvirtError as error:
            if "asynchronous jobs running" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(BUSY_POLL_SECONDS)
        else:
            return
