"""How a machine's spec says where a volume is, and what that means on this host. Pure: the pools' folders are passed in.

A spec comes from outside. It reaches only files in this host's own pools, by the names that volumes have there, and Ceph images
with a key that the spec brings itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from iri.errors import InvalidArgument
from iri.libvirt.volumes import names
from iri.libvirt.volumes.settings import MONITOR
from iri.libvirt.volumes.storage_xml import address
from iri.machine import VolumeConnection

FILE, CEPH = "file", "ceph"
RBD_IMAGE = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.-]*/(?:[A-Za-z0-9_.-]+/)?[A-Za-z0-9_.][A-Za-z0-9_.-]*")
USER = re.compile(r"[A-Za-z0-9_.-]{1,128}")
LARGEST_LIMIT = (1 << 63) - 1


class VolumeFile(msgspec.Struct, frozen=True):
    """A volume of this host. Limits of 0: none."""

    volume_id: str
    path: str
    iops: int = 0
    tps: int = 0


class VolumeImage(msgspec.Struct, frozen=True):
    """An image of any Ceph cluster, with the key that the spec brings."""

    image: str
    monitors: tuple[tuple[str, int], ...]
    user: str
    key: bytes  # as Ceph writes it, base64
    iops: int = 0
    tps: int = 0


def parse_connection(connection: VolumeConnection, folders: Iterable[Path]) -> VolumeFile | VolumeImage:
    """Raises InvalidArgument. Says nothing about whether the volume exists."""
    match connection.driver:
        case "file":
            return _parse_file(connection.attributes, folders)
        case "ceph":
            return _parse_image(connection)
        case other:
            raise InvalidArgument(
                f"this host attaches disks by the drivers file and ceph, not by {other[:40]!r}"
            )


def _parse_file(attributes: Mapping[str, str], folders: Iterable[Path]) -> VolumeFile:
    path = Path(attributes.get("path", ""))
    match = names.OBJECT.fullmatch(path.stem)
    # Path objects keep "..", so a path that climbs out has another parent than the folder.
    if (
        path.parent not in set(folders)
        or match is None
        or match["kind"] != "volume"
        or path.suffix != ".qcow2"
    ):
        raise InvalidArgument("a disk of driver file must be a volume in one of this host's pools")
    return VolumeFile(
        match["id"], str(path), _parse_limit(attributes, "iops"), _parse_limit(attributes, "tps")
    )


def _parse_image(connection: VolumeConnection) -> VolumeImage:
    """Everything comes from the spec, so each value is matched against its pattern before it reaches XML."""
    attributes, secret = connection.attributes, connection.secret_data
    image = attributes.get("image", "")
    if RBD_IMAGE.fullmatch(image) is None:
        raise InvalidArgument("a disk of driver ceph needs the attribute image: pool/name")
    monitors = [monitor for monitor in attributes.get("monitors", "").split(",") if monitor]
    if not monitors or any(MONITOR.fullmatch(monitor) is None for monitor in monitors):
        raise InvalidArgument("a disk of driver ceph needs the attribute monitors: host:port,host:port")
    try:
        user = secret.get("userID", b"").decode("ascii")
    except UnicodeDecodeError:
        user = ""
    if USER.fullmatch(user) is None or not secret.get("userKey"):
        raise InvalidArgument("a disk of driver ceph needs the secrets userID and userKey")
    return VolumeImage(
        image,
        tuple(address(monitor) for monitor in monitors),
        user,
        secret["userKey"],
        _parse_limit(attributes, "iops"),
        _parse_limit(attributes, "tps"),
    )


def _parse_limit(attributes: Mapping[str, str], name: str) -> int:
    written = attributes.get(name, "0")
    if not (written.isascii() and written.isdigit()) or int(written[:20]) > LARGEST_LIMIT:
        raise InvalidArgument(f"a disk's {name} must be a whole number")
    return int(written)
