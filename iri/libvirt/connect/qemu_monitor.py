"""Asks QEMU itself, past libvirt, what it has, and removes from it what libvirt has forgotten.

libvirt logs the first such call for each guest as a taint, so callers use it only on suspicion (see qemu_leak_repair).

Replies are QEMU's and change between its versions. Whatever cannot be parsed is FailedPrecondition, never an empty answer: an empty
answer would mean that nothing is leaked, or that everything libvirt knows is.

    to remove       command         refused by QEMU while
    a device        device_del      it does not refuse: the guest decides, later
    an interface    netdev_del      it does not refuse, so the device must be gone before
    a block node    blockdev-del    a device or another node uses it
    a key           object-del      not relied on: the nodes that it decrypts are removed before
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from typing import Any

import libvirt
import libvirt_qemu
from msgspec.structs import replace

from iri.errors import FailedPrecondition
from iri.libvirt.connect.link import LibvirtLink
from iri.libvirt.domain.qemu_state import BlockNode, QemuState, data_location

DEVICES, OBJECTS = "/machine/peripheral", "/objects"
BACKEND = "host"  # begins the name of a network interface's part on the host
NETDEV = re.compile(rf"\b{BACKEND}(ua-nic-[\w-]+):")


class QemuMonitor:
    """Every method may raise an IRIError: FailedPrecondition with QEMU's own words when it refuses, or when its reply cannot be
    parsed. Thread-safe."""

    def __init__(self, link: LibvirtLink) -> None:
        self._link = link

    def observe(self, id: str) -> QemuState:
        """The order matters: libvirt's document is read after QEMU's replies (see domain.qemu_state.QemuState)."""
        state = qemu_state_of(
            network=self._ask(id, "human-monitor-command", **{"command-line": "info network"}),
            devices=self._ask(id, "qom-list", path=DEVICES),
            objects=self._ask(id, "qom-list", path=OBJECTS),
            nodes=self._ask(id, "query-named-block-nodes"),
            blocks=self._ask(id, "query-block"),
        )
        document = self._link.call(lambda raw: raw.lookupByUUIDString(id).XMLDesc(0), "observing the domain")
        return replace(state, document=document)

    def unplug_device(self, id: str, device: str) -> None:
        """Asks the guest to release the device."""
        self._ask(id, "device_del", id=device)

    def remove_nic(self, id: str, alias: str) -> None:
        """QEMU does not check whether a device still uses it."""
        self._ask(id, "netdev_del", id=BACKEND + alias)

    def remove_node(self, id: str, name: str) -> None:
        """QEMU refuses while anything uses it."""
        self._ask(id, "blockdev-del", **{"node-name": name})

    def remove_object(self, id: str, name: str) -> None:
        self._ask(id, "object-del", id=name)

    def _ask(self, domain_id: str, command: str, /, **arguments: str) -> Any:
        """One command of QMP, past libvirt. The reply is parsed here, so that a refusal is an error and never an answer."""
        request = json.dumps({"execute": command, "arguments": arguments})

        def ask(raw: libvirt.virConnect) -> str:
            answer: str = libvirt_qemu.qemuMonitorCommand(raw.lookupByUUIDString(domain_id), request, 0)
            return answer

        return parse_answer(command, self._link.call(ask, "speaking to QEMU"))


@contextlib.contextmanager
def parsing() -> Iterator[None]:
    """What cannot be parsed is an error, never an empty answer: see above."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise FailedPrecondition(f"cannot parse the QEMU monitor reply ({type(error).__name__})") from error


def parse_answer(command: str, reply: str) -> Any:
    """The value of a reply. Raises FailedPrecondition with QEMU's reason when the reply is an error."""
    with parsing():
        answer = json.loads(reply)
        if "error" in answer:
            raise FailedPrecondition(f"QEMU refuses {command}: {answer['error'].get('desc')}")
        return answer["return"]


def qemu_state_of(*, network: Any, devices: Any, objects: Any, nodes: Any, blocks: Any) -> QemuState:
    """What QEMU has; the document that libvirt has is added by the caller."""
    with parsing():
        return QemuState(
            devices=frozenset(one["name"] for one in devices),
            nics=frozenset(NETDEV.findall(network)),
            nodes=tuple(map(node_of, nodes)),
            objects=frozenset(one["name"] for one in objects),
            disks={device_of(one): one["inserted"]["node-name"] for one in blocks if "inserted" in one},
        )


def node_of(description: dict[str, Any]) -> BlockNode:
    """One element of the answer to `query-named-block-nodes`."""
    image = description.get("image", {})
    rests_on = image.get("full-backing-filename") or image.get("backing-filename") or ""
    return BlockNode(
        name=description["node-name"],
        place=data_location(description["file"]),
        rests_on=data_location(rests_on),
    )


def device_of(description: dict[str, Any]) -> str:
    """NAME of `/machine/peripheral/NAME/virtio-backend`, which is what QEMU says of a device with a disk."""
    path: str = description.get("qdev") or ""
    return path.removeprefix(f"{DEVICES}/").split("/")[0]
