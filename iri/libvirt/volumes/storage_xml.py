"""Pools and volumes as libvirt's XML. Pure; golden files show each.

QEMU runs as another user: it may enter a pool's folder and not list it, and libvirt gives it each volume while a guest uses that. Sizes
are bytes. A volume's backing file is named with its format: QEMU must not probe the format of data that a guest may have written.

Limits: makes documents and sends none. Values are bytes and names that `settings` and `names` have checked.
"""

from __future__ import annotations

import base64
import binascii
from typing import assert_never

import msgspec

from iri.errors import InvalidArgument
from iri.libvirt.volumes.settings import DirPool, NetfsPool, Pool, RbdPool
from iri.libvirt.xml import Element, child, element, text

DEFAULT_PORT = 6789  # of a Ceph monitor


class NewVolume(msgspec.Struct, frozen=True, kw_only=True):
    """`backing`: a path and its format. All volumes are sparse qcow2 files."""

    name: str
    size_bytes: int
    backing: tuple[str, str] | None = None
    secret_id: str = ""  # of a passphrase: LUKS


def pool(settings: Pool, secret_id: str = "") -> str:
    """libvirt mounts netfs pools and creates the folder of dir pools."""
    root = element("pool", type=str(settings.__struct_config__.tag))
    child(root, "name", settings.name)
    match settings:
        case DirPool():
            _target(root, settings.path)
        case NetfsPool():
            source = child(root, "source")
            child(source, "host", name=settings.host)
            child(source, "dir", path=settings.export)
            child(source, "format", type=settings.format)
            _target(root, settings.path)
        case RbdPool():
            source = child(root, "source")
            for monitor in settings.monitors:
                host, port = address(monitor)
                child(source, "host", name=host, port=port)
            child(source, "name", settings.ceph_pool)
            auth = child(source, "auth", type="ceph", username=settings.user)
            child(auth, "secret", uuid=secret_id)
        case _:
            assert_never(settings)
    return text(root)


def _target(root: Element, path: str) -> None:
    """The folder, which libvirt creates with this mode where it is missing."""
    target = child(root, "target")
    child(target, "path", path)
    child(child(target, "permissions"), "mode", "0711")


def volume(new: NewVolume) -> str:
    """Without a backing file the volume is empty; with one it holds only what differs."""
    root = element("volume")
    child(root, "name", new.name)
    child(root, "capacity", str(new.size_bytes), unit="bytes")
    child(root, "allocation", "0", unit="bytes")
    target = child(root, "target")
    child(target, "format", type="qcow2")
    child(child(target, "permissions"), "mode", "0600")
    child(target, "compat", "1.1")
    if new.secret_id:
        encryption = child(target, "encryption", format="luks")
        child(encryption, "secret", type="passphrase", uuid=new.secret_id)
    if new.backing is not None:
        path, format = new.backing
        backing = child(root, "backingStore")
        child(backing, "path", path)
        child(backing, "format", type=format)
    return text(root)


def ceph_key(written: str) -> bytes:
    """The bytes of a key in Ceph's own notation."""
    try:
        return base64.b64decode(written, validate=True)
    except binascii.Error:
        raise InvalidArgument("invalid Ceph key: `ceph auth get-key client.<user>` prints one") from None


def address(monitor: str) -> tuple[str, int]:
    """`host`, `host:port`, `[v6]:port`."""
    host, separator, port = monitor.rpartition(":")
    if not separator or not port.isdigit() or (":" in host and not host.startswith("[")):
        return monitor.strip("[]"), DEFAULT_PORT
    return host.strip("[]"), int(port)
