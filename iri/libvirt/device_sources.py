"""Where a domain's devices come from, once storage, networks, images and first-boot data are prepared. Frozen and pure.

The values between the parts: storage, networks and seed make them, `domain.devices` turns them into XML. So none of these parts imports
another, and a new kind of source is a new type here.

Must never happen: a secret is in one of them. They end up in a domain's XML, which every user of the host may read; a key is named by
the UUID of a libvirt secret.
"""

from __future__ import annotations

from pathlib import Path

import msgspec


class FileSource(msgspec.Struct, frozen=True, kw_only=True):
    """A file of this host: a volume or a local disk."""

    path: str
    format: str = "qcow2"  # or raw; never guessed from the content, which the guest writes


class RbdSource(msgspec.Struct, frozen=True, kw_only=True):
    """An image of a Ceph pool. The key is a libvirt secret, so it is not in the domain's XML."""

    image: str  # pool/name
    monitors: tuple[tuple[str, int], ...]
    user: str
    secret_id: str = ""  # a libvirt secret's UUID


DataSource = FileSource | RbdSource


class DiskSource(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about a disk's data that its XML element needs, besides alias and target."""

    where: DataSource
    luks_secret_id: str = ""  # of a libvirt secret; empty: not encrypted
    iops: int = 0  # 0: no limit
    bytes_per_second: int = 0


class Boot(msgspec.Struct, frozen=True, kw_only=True):
    """A kernel that the hypervisor loads: files of the host."""

    kernel: str
    initramfs: str = ""
    cmdline: str = ""


class PreparedDisk(msgspec.Struct, frozen=True, kw_only=True):
    """A disk that can be attached now."""

    source: DiskSource
    boot: Boot | None = None  # when the disk's image brings a kernel
    image_ref: str = ""


class NetworkNic(msgspec.Struct, frozen=True, kw_only=True):
    """A libvirt network: one that the operator defined, or one that was made on demand."""

    network: str


class BridgeNic(msgspec.Struct, frozen=True, kw_only=True):
    """A bridge of the host, with the VLAN that the policy allowed."""

    bridge: str
    vlan: int = 0  # 0: untagged
    openvswitch: bool = False


class NicSource(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the XML element of a network interface needs, besides its alias."""

    where: NetworkNic | BridgeNic
    mac: str


class SeedFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Host paths of a guest's first-boot data."""

    iso: Path | None = None
    ignition: Path | None = None
    nvram: Path | None = None  # the variable store, with the machine's EFI variables
