"""libvirtd is killed while it attaches a device to a running guest. QEMU keeps what it was given by then and libvirt forgets it, and
yet the device is attached in the end, without a restart of the guest and without leftovers.
"""

from __future__ import annotations

import json
import operator
import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from iri.change import AttachInterface, AttachVolume, DetachInterface, DetachVolume, MachineChange, SetPower
from iri.errors import IRIError
from iri.libvirt.connect.link import LibvirtLink
from iri.libvirt.connect.qemu_monitor import QemuMonitor
from iri.libvirt.domain.names import alias_of
from iri.libvirt.machines.qemu_leak_repair import remove_leaks
from iri.libvirt.runtime import LibvirtRuntime
from iri.libvirt.settings import Settings
from iri.machine import (
    Disk,
    MachineState,
    Power,
    RuntimeLocalDisk,
    RuntimeMachine,
    RuntimeMachineSpec,
    RuntimeNetworkInterface,
)
from iri.volume import Resources, RuntimeVolume, RuntimeVolumeSpec
from tests.guests.micro import READY
from tests.iri.contract.devices import build_disk
from tests.iri.contract.subject import devices, eventually, is_attached, uid_labels
from tests.iri.libvirt.world import console_log, micro_settings, running_runtime
from tests.servers.leftovers import leftovers
from tests.servers.libvirtd import Libvirtd, libvirtd

SECONDS = 120.0  # for what takes one, on a machine that does nothing else
MIB = 1 << 20
ROOT = Disk(name="root", device="oda", local_disk=RuntimeLocalDisk(size_bytes=MIB))
NIC = RuntimeNetworkInterface(name="second", network_id="cut")
KEPT = RuntimeNetworkInterface(name="first", network_id="cut")  # its network is there


class Qmp:
    """QEMU's own monitor, free while libvirtd is away."""

    def __init__(self, path: Path) -> None:
        self._line = socket.socket(socket.AF_UNIX)
        self._line.settimeout(SECONDS)
        self._line.connect(str(path))
        self._file = self._line.makefile("rw")
        assert "QMP" in self._file.readline()
        self.do("qmp_capabilities")

    def do(self, command: str, **arguments: object) -> None:
        self._file.write(json.dumps({"execute": command, "arguments": arguments}))
        self._file.flush()
        while "event" in (answer := json.loads(self._file.readline())):
            pass
        assert "return" in answer, answer

    def close(self) -> None:
        self._file.close()
        self._line.close()


class Lab:
    def __init__(self, daemon: Libvirtd, runtime: LibvirtRuntime, id: str, disk: Disk) -> None:
        self.daemon = daemon
        self.runtime = runtime
        self.id = id
        self.disk = disk

    @property
    def path(self) -> str:
        assert self.disk.connection is not None
        return self.disk.connection.attributes["path"]

    def machine(self) -> RuntimeMachine | None:
        try:
            return self.runtime.objects(RuntimeMachine).get(self.id)
        except IRIError:  # libvirt has only just gone
            return None

    def until(self, holds: Callable[[RuntimeMachine], bool], what: str) -> RuntimeMachine:
        found = eventually(
            self.machine, lambda machine: machine is not None and holds(machine), SECONDS, what
        )
        assert found is not None
        return found

    def has(self, name: str) -> None:
        self.until(lambda machine: is_attached(machine, name) and is_in_sync(machine), f"have {name}")

    def order(self, change: MachineChange) -> None:
        eventually(lambda: self._send_order(change), bool, SECONDS, "take the order")

    def _send_order(self, change: MachineChange) -> bool:
        try:
            self.runtime.change(self.id, change)
        except IRIError:
            return False
        return True

    def ask(self, command: str) -> Any:
        messages = self.daemon.virsh("qemu-monitor-command", self.id, json.dumps({"execute": command})).stdout
        return json.loads(messages)["return"]

    def nodes(self) -> list[str]:
        """Of the volume's file, in QEMU."""
        return sorted(
            node["node-name"] for node in self.ask("query-named-block-nodes") if node["file"] == self.path
        )

    def document(self) -> ElementTree.Element:
        return ElementTree.fromstring(self.daemon.virsh("dumpxml", self.id).stdout)

    def messages(self, reason: str) -> list[str]:
        return [event.message for event in self.runtime.events() if event.reason == reason]

    def die_in_the_midst(self, *commands: Callable[[Qmp, Lab, ElementTree.Element], None]) -> None:
        """As if libvirtd had lived so long: what it would have told QEMU is told, and it knows nothing of that."""
        document = self.document()
        (monitor,) = (self.daemon.folder / "lib" / "qemu").glob(f"domain-*{self.id[:8]}*/monitor.sock")
        self.daemon.kill()
        qmp = Qmp(monitor)
        for command in commands:
            command(qmp, self, document)
        qmp.close()
        self.daemon.start()


def storage(qmp: Qmp, lab: Lab, document: ElementTree.Element) -> None:
    number = following(document)
    qmp.do(
        "blockdev-add", **{"driver": "file", "filename": lab.path, "node-name": f"libvirt-{number}-storage"}
    )


def form(qmp: Qmp, lab: Lab, document: ElementTree.Element) -> None:
    number = following(document)
    names = {"node-name": f"libvirt-{number}-format", "file": f"libvirt-{number}-storage"}
    qmp.do("blockdev-add", driver="qcow2", **names)


def disk_device(qmp: Qmp, lab: Lab, document: ElementTree.Element) -> None:
    drive = f"libvirt-{following(document)}-format"
    qmp.do("device_add", driver="virtio-blk-pci", drive=drive, bus=port(document), id=str(alias_of(lab.disk)))


def tap(qmp: Qmp, lab: Lab, document: ElementTree.Element) -> None:
    name = f"host{alias_of(NIC)}"
    qmp.do("netdev_add", type="tap", id=name, ifname="vnet77", script="no", downscript="no")


def nic_device(qmp: Qmp, lab: Lab, document: ElementTree.Element) -> None:
    alias = str(alias_of(NIC))
    qmp.do("device_add", driver="virtio-net-pci", netdev=f"host{alias}", bus=port(document), id=alias)


def following(document: ElementTree.Element) -> int:
    """The number that libvirt gives the next disk."""
    return 1 + max(int(source.get("index", 0)) for source in document.iterfind("devices/disk/source"))


def port(document: ElementTree.Element) -> str:
    """The one that libvirt takes next."""
    ports = {
        int(found.get("index", 0))
        for found in document.iterfind("devices/controller")
        if found.get("model") == "pcie-root-port"
    }
    taken = {
        int(found.get("bus", "0"), 16) for found in document.iterfind("devices/*/address") if found.get("bus")
    }
    return f"pci.{min(ports - taken)}"


def is_in_sync(machine: RuntimeMachine) -> bool:
    return any(one.type == "Ready" and one.reason == "InSync" for one in machine.status.conditions)


def ready_message(machine: RuntimeMachine) -> str:
    return next(one.message for one in machine.status.conditions if one.type == "Ready")


@pytest.fixture(scope="module")
def daemon() -> Iterator[Libvirtd]:
    """One that may die."""
    with libvirtd() as made:
        yield made


@pytest.fixture
def settings(daemon: Libvirtd) -> Settings:
    return micro_settings(daemon)


@pytest.fixture
def lab(daemon: Libvirtd, settings: Settings) -> Iterator[Lab]:
    with running_runtime(settings) as runtime:
        spec = RuntimeVolumeSpec(class_name="plain", resources=Resources(storage_bytes=MIB))
        volume = runtime.create(RuntimeVolume(labels=uid_labels(RuntimeVolume), spec=spec))
        made = eventually(
            lambda: runtime.objects(RuntimeVolume)[volume.id],
            lambda found: found.status.access is not None,
            SECONDS,
            "be there",
        )
        assert made.status.access is not None
        desired = RuntimeMachineSpec(class_name="small", volumes=(ROOT,), network_interfaces=(KEPT,))
        id = runtime.create(RuntimeMachine(labels=uid_labels(RuntimeMachine), spec=desired)).id
        lab = Lab(daemon, runtime, id, build_disk("data", "odb", made.status.access, MIB))
        lab.until(lambda machine: machine.status.state is MachineState.RUNNING, "run")
        eventually(lambda: console_log(settings, id), lambda log: READY in log, SECONDS, "be ready")
        lab.has("root")
        yield lab
        runtime.remove(RuntimeMachine, id)
        eventually(lambda: runtime.objects(RuntimeMachine), operator.not_, SECONDS, "be removed")
        runtime.remove(RuntimeVolume, volume.id)
        eventually(lambda: leftovers(daemon, Path(settings.folder)), operator.not_, SECONDS, "leave nothing")


DISKS = (
    ("file", (storage,)),
    ("disk", (storage, form)),
    ("device", (storage, form, disk_device)),
)


@pytest.mark.parametrize("commands", [case[1] for case in DISKS], ids=[case[0] for case in DISKS])
def test_disk_is_attached_although_qemu_has_leaked_it(
    lab: Lab, commands: tuple[Callable[[Qmp, Lab, ElementTree.Element], None], ...]
) -> None:
    lab.die_in_the_midst(*commands)
    assert len(lab.nodes()) == min(len(commands), 2)
    lab.order(AttachVolume(lab.disk))
    lab.has("data")
    assert len(lab.nodes()) == 2, "once"
    assert any(lab.path in str(device) for device in lab.ask("query-block"))
    eventually(lambda: len(lab.messages("LeakRepaired")), lambda count: count == 1, SECONDS, "say so")
    assert lab.daemon.guests().keys() == {lab.id}
    lab.order(DetachVolume("data"))
    lab.until(lambda machine: "data" not in devices(machine), "release it")
    eventually(lab.nodes, operator.not_, SECONDS, "close its file")


NICS = (("tap", (tap,)), ("device", (tap, nic_device)))


@pytest.mark.parametrize("commands", [case[1] for case in NICS], ids=[case[0] for case in NICS])
def test_network_interface_is_attached_although_qemu_has_leaked_it(
    lab: Lab, commands: tuple[Callable[[Qmp, Lab, ElementTree.Element], None], ...]
) -> None:
    lab.die_in_the_midst(*commands)
    assert "vnet77" in lab.daemon.inside("ip", "link").stdout
    lab.order(AttachInterface(NIC))
    lab.has("second")
    # The kernel takes its time to remove a TAP that QEMU has closed.
    eventually(
        lambda: "vnet77" in lab.daemon.inside("ip", "link").stdout, operator.not_, SECONDS, "release its TAP"
    )
    eventually(lambda: len(lab.messages("LeakRepaired")), lambda count: count == 1, SECONDS, "say so")
    lab.order(DetachInterface("second"))
    lab.until(lambda machine: "second" not in devices(machine), "release it")


def test_guest_that_does_not_release_a_leaked_device_shows_in_the_condition(lab: Lab) -> None:
    lab.die_in_the_midst(storage, form, disk_device)
    lab.daemon.virsh("suspend", lab.id)  # its guest does nothing, so it releases nothing
    lab.order(AttachVolume(lab.disk))
    found = lab.until(lambda machine: "does not release it" in ready_message(machine), "say so")
    assert str(alias_of(lab.disk)) in ready_message(found)
    assert "restart the machine to remove it" in ready_message(found)
    assert len(lab.nodes()) == 2, "what the guest may be using stays"
    lab.daemon.virsh("resume", lab.id)
    lab.has("data")
    assert len(lab.nodes()) == 2, "once"


def test_restart_of_the_machine_removes_a_leaked_device(lab: Lab) -> None:
    lab.die_in_the_midst(storage, form, disk_device)
    lab.daemon.virsh("suspend", lab.id)
    lab.order(AttachVolume(lab.disk))
    lab.until(lambda machine: "does not release it" in ready_message(machine), "say so")
    lab.order(SetPower(Power.OFF))
    lab.until(lambda machine: machine.status.state is MachineState.SUSPENDED, "be off")
    lab.order(DetachInterface("first"))
    lab.until(lambda machine: devices(machine).keys() == {"root", "data"}, "have the desired devices")
    lab.order(SetPower(Power.ON))
    lab.until(lambda machine: machine.status.state is MachineState.RUNNING, "run")
    lab.has("data")
    assert len(lab.nodes()) == 2, "once"


def test_device_is_attached_without_access_to_the_qemu_monitor(daemon: Libvirtd) -> None:
    link = LibvirtLink(
        daemon.uri.replace("qemu", "test").replace("system", "default")
    )  # a hypervisor that is none
    link.open()
    try:
        assert (
            remove_leaks(QemuMonitor(link), "6695eb01-f6a4-8304-79aa-97f2502e193f", {"/pool/data"}) == set()
        )
    finally:
        link.close()


def cut(lab: Lab) -> None:
    """libvirtd dies while QEMU, which is held up, has yet to take the first of what it was told."""
    qemu = lab.daemon.guests()[lab.id]
    os.kill(qemu, signal.SIGSTOP)
    try:
        lab.order(AttachVolume(lab.disk))
        eventually(
            lambda: lab.daemon.virsh("domcontrol", lab.id, check=False).stdout,
            lambda messages: "occupied" in messages,
            SECONDS,
            "tell QEMU",
        )
        lab.daemon.kill()
    finally:
        os.kill(qemu, signal.SIGCONT)
    lab.daemon.start()


def test_disk_is_attached_after_an_attach_was_cut_off(lab: Lab) -> None:
    cut(lab)
    lab.has("data")
    assert len(lab.nodes()) == 2, "once"


def test_leak_of_a_disk_that_is_no_longer_desired_is_removed(lab: Lab) -> None:
    cut(lab)
    lab.order(DetachVolume("data"))
    lab.until(lambda machine: "data" not in devices(machine) and is_in_sync(machine), "have none")
    eventually(lab.nodes, operator.not_, SECONDS, "close its file")
