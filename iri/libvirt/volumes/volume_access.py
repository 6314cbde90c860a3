"""How a machine's spec says where a volume is, and what that means on this host. Pure: the pools' folders are passed in.

A spec comes from outside. It reaches only files in this host's own pools, by the names that volumes have there, and Ceph images
with a key that the spec brings itself.

    driver   the spec names                                 checked later, by `disks`
    file     a path: a volume's file in one of the pools    that the volume exists and is ready, that no other domain has it
    ceph     image, monitors, user and key                  that no other domain of this host has it
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from iri.errors import InvalidArgument
from iri.libvirt.device_sources import DataSource, FileSource, RbdSource
from iri.libvirt.volumes import names
from iri.libvirt.volumes.settings import MONITOR
from iri.libvirt.volumes.storage_xml import address
from iri.machine import VolumeConnection

RBD_IMAGE = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.-]*/(?:[A-Za-z0-9_.-]+/)?[A-Za-z0-9_.][A-Za-z0-9_.-]*")
USER = re.compile(r"[A-Za-z0-9_.-]{1,128}")
LARGEST_LIMIT = (1 << 63) - 1


class RequestedVolume(msgspec.Struct, frozen=True, kw_only=True):
    """A volume of this host, or an image of any Ceph cluster with the key that the spec brings. Limits of 0: none."""

    where: DataSource  # in Ceph: without the secret, which exists only once the disk is prepared
    volume_id: str = ""  # empty for an image in Ceph
    key: bytes = b""  # of the Ceph user
    iops: int
    tps: int


def parse_connection(connection: VolumeConnection, folders: Iterable[Path]) -> RequestedVolume:
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


def _parse_file(attributes: Mapping[str, str], folders: Iterable[Path]) -> RequestedVolume:
    """Only a volume: snapshots and local disks lie in the same folders."""
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
    return RequestedVolume(
        where=FileSource(path=str(path)),
        volume_id=match["id"],
        iops=_parse_limit(attributes, "iops"),
        tps=_parse_limit(attributes, "tps"),
    )


def _parse_image(connection: VolumeConnection) -> RequestedVolume:
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
    try:
        key = base64.b64decode(secret["userKey"], validate=True)
    except binascii.Error:
        raise InvalidArgument("the secret userKey is not a Ceph key") from None
    return RequestedVolume(
        where=RbdSource(image=image, monitors=tuple(map(address, monitors)), user=user),
        key=key,
        iops=_parse_limit(attributes, "iops"),
        tps=_parse_limit(attributes, "tps"),
    )


def _parse_limit(attributes: Mapping[str, str], name: str) -> int:
    """0 without one: unlimited. Longer numbers are cut before they are compared, so that none takes long to read."""
    written = attributes.get(name, "0")
    if not (written.isascii() and written.isdigit()) or int(written[:20]) > LARGEST_LIMIT:
        raise InvalidArgument(f"a disk's {name} must be a whole number")
    return int(written)
