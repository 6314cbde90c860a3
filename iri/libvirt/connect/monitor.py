"""What QEMU itself says that it has, past libvirt, and taking out of it what libvirt knows nothing of.

libvirt notes once a guest, in its log, that somebody spoke to its QEMU. So nobody does who has no reason to.
"""

from __future__ import annotations

import json
import re
from typing import Any

import libvirt
import libvirt_qemu
from msgspec.structs import replace

from iri.errors import FailedPrecondition
from iri.libvirt.connect.link import Link
from iri.libvirt.domain.inside import Inside, Node, place_of

DEVICES, OBJECTS = "/machine/peripheral", "/objects"
BACKEND = "host"  # begins the name of what on the host a network interface is
NETDEV = re.compile(rf"\b{BACKEND}(ua-nic-[\w-]+):")


class Monitor:
    """Every method may raise an IRIError: FailedPrecondition with QEMU's own words when it refuses. Thread-safe."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def look(self, id: str) -> Inside:
        network = self._ask(id, "human-monitor-command", **{"command-line": "info network"})
        inside = Inside(
            devices=self._names(id, DEVICES),
            nics=frozenset(NETDEV.findall(network)),
            nodes=tuple(map(node_of, self._ask(id, "query-named-block-nodes"))),
            objects=self._names(id, OBJECTS),
            disks={
                device_of(told): told["inserted"]["node-name"]
                for told in self._ask(id, "query-block")
                if "inserted" in told
            },
        )
        document = self._link.call(lambda raw: raw.lookupByUUIDString(id).XMLDesc(0), "looking at the domain")
        return replace(inside, document=document)

    def let_go(self, id: str, device: str) -> None:
        """Asks the guest to."""
        self._ask(id, "device_del", id=device)

    def drop_nic(self, id: str, alias: str) -> None:
        """QEMU does not ask whether a device still uses it."""
        self._ask(id, "netdev_del", id=BACKEND + alias)

    def drop_node(self, id: str, name: str) -> None:
        """QEMU refuses while anything uses it."""
        self._ask(id, "blockdev-del", **{"node-name": name})

    def drop_object(self, id: str, name: str) -> None:
        self._ask(id, "object-del", id=name)

    def _names(self, id: str, path: str) -> frozenset[str]:
        return frozenset(one["name"] for one in self._ask(id, "qom-list", path=path))

    def _ask(self, domain_id: str, command: str, /, **arguments: str) -> Any:
        request = json.dumps({"execute": command, "arguments": arguments})

        def ask(raw: libvirt.virConnect) -> str:
            answer: str = libvirt_qemu.qemuMonitorCommand(raw.lookupByUUIDString(domain_id), request, 0)
            return answer

        answer = json.loads(self._link.call(ask, "speaking to QEMU"))
        if "error" in answer:
            raise FailedPrecondition(f"QEMU refuses {command}: {answer['error'].get('desc')}")
        return answer["return"]


def node_of(told: dict[str, Any]) -> Node:
    image = told.get("image", {})
    rests_on = image.get("full-backing-filename") or image.get("backing-filename") or ""
    return Node(name=told["node-name"], place=place_of(told["file"]), rests_on=place_of(rests_on))


def device_of(told: dict[str, Any]) -> str:
    """`/machine/peripheral/NAME/virtio-backend`, as QEMU has it for a device that has a disk."""
    path: str = told.get("qdev") or ""
    return path.removeprefix(f"{DEVICES}/").split("/")[0]
