"""Names by which libvirt, QEMU and the guest know things, made from those of a spec. Pure.

A device's alias carries its attachment name and a fingerprint of what is attached. So a domain's XML alone tells which device
belongs to which attachment, and a detached device of the same name is not taken for the new one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from enum import Enum

import msgspec

from iri.machine import Disk, RuntimeNetworkInterface

NAME_LABEL = "machinepoollet.ironcore.dev/machine-name"
LONGEST_NAME = 40
ALIAS = re.compile(r"ua-(disk|nic)-([A-Za-z0-9_-]+)-([0-9a-f]{8})")
# IronCore's device names begin with the o of "ironcore" where virtio disks have a v.
DEVICE = re.compile(r"[a-z]d([a-z]{1,2})")
# Only letters, digits, - and _ can be in an alias; _ begins an escape.
ESCAPE = re.compile(r"_([0-9a-f]{2})")


class DeviceKind(Enum):
    """The second word of an alias."""

    DISK = "disk"
    NIC = "nic"


class Alias(msgspec.Struct, frozen=True, order=True):
    """The identity of an attached device, readable from XML."""

    kind: str
    name: str  # the attachment's
    fingerprint: str

    def __str__(self) -> str:
        return f"ua-{self.kind}-{escape(self.name)}-{self.fingerprint}"


def alias_of(device: Disk | RuntimeNetworkInterface) -> Alias:
    """Every value that makes another device goes into the fingerprint; what can change in place does not."""
    match device:
        case Disk():
            return Alias(DeviceKind.DISK.value, device.name, fingerprint(disk_identity(device)))
        case RuntimeNetworkInterface():
            identity = [
                device.network_id,
                *(f"{key}={device.attributes[key]}" for key in sorted(device.attributes)),
            ]
            return Alias(DeviceKind.NIC.value, device.name, fingerprint(identity))


def disk_identity(disk: Disk) -> Iterable[str]:
    """The values that make two disks different. A volume that has grown, or has a new key, stays the same disk."""
    if disk.connection is not None:
        return (disk.device, "connection", disk.connection.driver, disk.connection.handle)
    return (disk.device, "local")


def parse_alias(text: str) -> Alias | None:
    """None for a device that is not one of our attachments."""
    found = ALIAS.fullmatch(text)
    if found is None:
        return None
    kind, name, print_ = found.groups()
    return Alias(kind, unescape(name), print_)


def escape(name: str) -> str:
    """An attachment's name in the characters that libvirt allows in an alias; `unescape` is its inverse."""
    return "".join(
        character
        if character.isascii() and (character.isalnum() or character == "-")
        else "".join(f"_{byte:02x}" for byte in character.encode())
        for character in name
    )


def unescape(text: str) -> str:
    """Never raises: an alias of another program may look like one of ours."""
    raw = ESCAPE.sub(lambda found: chr(int(found.group(1), 16)), text)
    return raw.encode("latin-1", "replace").decode(errors="replace")


def fingerprint(parts: Iterable[str]) -> str:
    """Short, because libvirt limits aliases. The zero byte keeps ("ab", "c") and ("a", "bc") apart."""
    digest = hashlib.blake2b(digest_size=4)
    for part in parts:
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()


def domain_name(id: str, labels: Mapping[str, str]) -> str:
    """A readable name for `virsh list`. The id keeps it unique and is never cut."""
    readable = re.sub(r"[^A-Za-z0-9-]+", "-", labels.get(NAME_LABEL, "")).strip("-")[:LONGEST_NAME]
    return f"{readable or 'machine'}-{id}"


def choose_target(device: str, taken: Iterable[str]) -> str:
    """The target name that libvirt needs for a disk: like the spec's name, or the last free one when libvirt cannot use that.

    Guests name their disks themselves; the serial number identifies a disk.
    """
    taken = frozenset(taken)
    found = DEVICE.fullmatch(device)
    wanted = f"vd{found.group(1)}" if found else ""
    if wanted and wanted not in taken:
        return wanted
    letters = "abcdefghijklmnopqrstuvwxyz"
    free = (f"vd{first}{second}" for first in reversed(letters) for second in reversed(letters))
    return next(name for name in free if name not in taken)
