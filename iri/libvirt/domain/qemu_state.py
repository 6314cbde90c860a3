"""Finds what QEMU has and libvirt has forgotten: leaks of a libvirtd that was killed while attaching a device. Pure.

libvirt names everything that it puts into QEMU: block nodes `libvirt-NUMBER-LAYER`, with the number in the domain's XML, and
devices by their aliases. So what has such a name and is not in the XML is leaked. Block nodes count only when they hold a
suspected disk: others may belong to a copy or a backup that a person makes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from iri.libvirt.domain.names import parse_alias
from iri.libvirt.xml import parse

NODE = re.compile(r"libvirt-(\d+)-(.+)")
STORAGE = "storage"  # the layer below all others of a disk


class BlockNode(msgspec.Struct, frozen=True, kw_only=True):
    """One layer of a disk in QEMU: a format, or the storage below it."""

    name: str
    place: str  # a path, or pool/image
    rests_on: str = ""  # the place of its backing image


class Layer(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a block node, as far as they say where it reads."""

    file: Layer | None = None
    filename: str = ""
    pool: str = ""
    image: str = ""


class QemuState(msgspec.Struct, frozen=True, kw_only=True):
    """What QEMU has, and libvirt's document. The document is asked for last, so nothing that came meanwhile counts as leaked."""

    devices: frozenset[str] = frozenset()
    nics: frozenset[str] = frozenset()  # aliases of interfaces with a part on the host
    nodes: tuple[BlockNode, ...] = ()
    objects: frozenset[str] = frozenset()
    disks: Mapping[str, str] = {}  # the node that each device reads
    document: str = ""


class LeakedDevices(msgspec.Struct, frozen=True, kw_only=True):
    """False when nothing is leaked."""

    devices: tuple[str, ...] = ()  # the guest may use them by now
    nics: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()  # each before its backing nodes
    objects: tuple[str, ...] = ()  # decryption keys of the nodes

    def __bool__(self) -> bool:
        return bool(self.devices or self.nics or self.nodes or self.objects)


def find_leaked(state: QemuState, locations: Iterable[str]) -> LeakedDevices:
    """`locations` are those of disks that are to be attached, or were when libvirtd died. Their backing images are searched too."""
    root = parse(state.document)
    aliases = {found.get("name", "") for found in root.iterfind("devices/*/alias")}
    known = {int(index) for found in root.iter("source") if (index := found.get("index", "")).isdigit()}
    devices = ours(state.devices) - aliases
    free = {
        node: number for node in state.nodes if (number := node_number(node.name)) and number not in known
    }
    read = {node_number(state.disks.get(device, "")) for device in devices}
    sought = {place for place in locations if place} | {node.place for node in free if free[node] in read}
    while below := {node.rests_on for node in free if node.place in sought and node.rests_on} - sought:
        sought |= below
    numbers = {free[node] for node in free if node.place in sought}
    left = [node.name for node in free if free[node] in numbers]
    return LeakedDevices(
        devices=tuple(sorted(devices)),
        nics=tuple(sorted(ours(state.nics) - aliases)),
        nodes=tuple(sorted(left, key=lambda name: name.endswith(STORAGE))),
        objects=tuple(sorted(name for name in state.objects if node_number(name) in numbers)),
    )


def ours(names: Iterable[str]) -> set[str]:
    """Those with an alias of ours; libvirt's own devices and a person's are left out."""
    return {name for name in names if parse_alias(name) is not None}


def node_number(name: str) -> int:
    """0 for a node that is not libvirt's; those begin at 1."""
    found = NODE.fullmatch(name)
    return int(found.group(1)) if found else 0


def data_location(file: str) -> str:
    """QEMU names a node's file as a path, a URI, or options in JSON, which it cuts off when they are long. Empty when none can be
    read from it."""
    if file.startswith("json:"):
        return json_location(file.removeprefix("json:"))
    if file.startswith("rbd:"):
        return file.removeprefix("rbd:").split(":")[0]
    return file


def json_location(options: str) -> str:
    """From the innermost layer, which is the one that reads a file or an image."""
    try:
        layer = msgspec.json.decode(options, type=Layer)
    except (msgspec.DecodeError, ValueError):
        return ""
    while layer.file is not None:
        layer = layer.file
    return layer.filename or (f"{layer.pool}/{layer.image}" if layer.pool and layer.image else "")
