"""What of a QEMU's is nobody's: left by a libvirtd that did not live to finish, and forgotten by libvirt. Pure.

libvirt names all it puts in: block nodes `libvirt-NUMBER-LAYER` with the number in the domain's XML, devices by their aliases.
So what has such a name and is not in the XML is libvirt's and forgotten. Of block nodes, only those that hold a disk that is
wanted count: others may belong to a copy or a backup that somebody is making.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from iri.libvirt.domain.names import parse_alias
from iri.libvirt.xml import parse

NODE = re.compile(r"libvirt-(\d+)-(.+)")
STORAGE = "storage"  # the layer that all others of a disk rest on


class BlockNode(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    place: str  # a path, or pool/image
    rests_on: str = ""  # the place of its backing image


class Layer(msgspec.Struct, frozen=True, kw_only=True):
    """Of a node that QEMU tells as options, as far as that says where it reads."""

    file: Layer | None = None
    filename: str = ""
    pool: str = ""
    image: str = ""


class QemuState(msgspec.Struct, frozen=True, kw_only=True):
    """What QEMU has, and what libvirt knows it to have, which was asked last: nothing that came meanwhile counts as forgotten."""

    devices: frozenset[str] = frozenset()
    nics: frozenset[str] = frozenset()  # aliases of those that have something of the host
    nodes: tuple[BlockNode, ...] = ()
    objects: frozenset[str] = frozenset()
    disks: Mapping[str, str] = {}  # by device the node it reads
    document: str = ""


class LeakedDevices(msgspec.Struct, frozen=True, kw_only=True):
    """False when there is nothing."""

    devices: tuple[str, ...] = ()  # which the guest may have found by now
    nics: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()  # each before what it rests on
    objects: tuple[str, ...] = ()  # keys of the nodes

    def __bool__(self) -> bool:
        return bool(self.devices or self.nics or self.nodes or self.objects)


def find_leaked(state: QemuState, locations: Iterable[str]) -> LeakedDevices:
    """`places` are those of disks that are to be attached, or were when libvirtd died."""
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
    return {name for name in names if parse_alias(name) is not None}


def node_number(name: str) -> int:
    """Zero for one that is not libvirt's, which begins with one."""
    found = NODE.fullmatch(name)
    return int(found.group(1)) if found else 0


def data_location(file: str) -> str:
    """QEMU tells of a node where it reads as a path, as a URI, or as options in JSON, which it cuts off when they are long. Nothing
    for what says no place."""
    if file.startswith("json:"):
        return json_location(file.removeprefix("json:"))
    if file.startswith("rbd:"):
        return file.removeprefix("rbd:").split(":")[0]
    return file


def json_location(options: str) -> str:
    try:
        layer = msgspec.json.decode(options, type=Layer)
    except (msgspec.DecodeError, ValueError):
        return ""
    while layer.file is not None:
        layer = layer.file
    return layer.filename or (f"{layer.pool}/{layer.image}" if layer.pool and layer.image else "")
