"""What the suite must know about a runtime to use it, and how it waits for the runtime's work."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from iri.errors import NotFound
from iri.identity import UID_LABELS
from iri.machine import (
    AttachmentState,
    Disk,
    Image,
    MachineState,
    RuntimeLocalDisk,
    RuntimeMachine,
    RuntimeMachineSpec,
    RuntimeNetworkInterface,
)
from iri.runtime import KIND_NAMES, AnyObject, Runtime, RuntimeKind
from iri.volume import (
    ImageSource,
    Resources,
    RuntimeSnapshot,
    RuntimeVolume,
    RuntimeVolumeSpec,
    SnapshotSpec,
    SnapshotState,
    VolumeDataSource,
    VolumeState,
)

OFF = (MachineState.SUSPENDED, MachineState.TERMINATED)
GENERATION = "machinepoollet.ironcore.dev/irimachine-generation"
MIB = 1 << 20
T = TypeVar("T")


@dataclass(frozen=True)
class Subject:
    """A runtime under test, with names of things that it offers or can reach, and with sizes that it supports."""

    runtime: Runtime
    machine_class: str
    larger_class: str
    volume_class: str
    network_id: str
    seconds: float = 10.0  # enough for anything to settle
    volume_bytes: int = 16 * MIB
    guest_powers_itself_off: Callable[[str], None] | None = None
    notice_seconds: float = 1.0  # until a watcher knows that a guest has ended
    missing_network_id: str = ""  # which the host is to have, and has not
    missing_image: str = ""  # a path of a folder that the host may look into
    unreachable_image: str = ""  # of a server that does not answer
    console_input: bytes = b"root\necho it-works\n"
    console_output: bytes = b"it-works\r\n"

    def disk(self, name: str, device: str) -> Disk:
        return Disk(name=name, device=device, local_disk=RuntimeLocalDisk(size_bytes=self.volume_bytes))

    def image_disk(self, image: str) -> Disk:
        wanted = RuntimeLocalDisk(size_bytes=self.volume_bytes, image=Image(image=image))
        return Disk(name="root", device="oda", local_disk=wanted)

    def interface(self, name: str, **attributes: str) -> RuntimeNetworkInterface:
        return RuntimeNetworkInterface(name=name, network_id=self.network_id, attributes=attributes)

    def new_machine(
        self,
        *,
        spec: RuntimeMachineSpec | None = None,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> RuntimeMachine:
        """A machine to create, with a uid of its own."""
        return RuntimeMachine(
            labels=uid_labels(RuntimeMachine) | dict(labels or {}),
            annotations=annotations or {},
            spec=spec or RuntimeMachineSpec(class_name=self.machine_class),
        )

    def running(
        self,
        *,
        spec: RuntimeMachineSpec | None = None,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> RuntimeMachine:
        wanted = self.new_machine(spec=spec, labels=labels, annotations=annotations)
        machine = self.runtime.create(wanted)
        return self.reaches(machine.id, MachineState.RUNNING)

    def get(self, id: str, kind: type[AnyObject]) -> AnyObject:
        return self.runtime.objects(kind)[id]

    def machine(self, id: str) -> RuntimeMachine:
        machine = self.get(id, RuntimeMachine)
        assert machine.status.state is not MachineState.STOPPED, "promise 2: never STOPPED"
        assert machine.status.state is not MachineState.UNKNOWN
        return machine

    def until(self, id: str, holds: Callable[[RuntimeMachine], bool], what: str) -> RuntimeMachine:
        """The machine, once the condition holds."""
        return eventually(lambda: self.machine(id), holds, self.seconds, what)

    def reaches(self, id: str, *states: MachineState) -> RuntimeMachine:
        return self.until(id, lambda machine: machine.status.state in states, f"be {states}")

    def await_attached(self, id: str, name: str) -> RuntimeMachine:
        return self.until(id, lambda machine: is_attached(machine, name), f"have {name} attached")

    def await_detached(self, id: str, name: str) -> RuntimeMachine:
        return self.until(id, lambda machine: name not in devices(machine), f"have {name} detached")

    def volume_of_image(self, image: str) -> RuntimeVolume:
        return self.volume(VolumeDataSource(image_data_source=ImageSource(image=image)))

    def volume(self, source: VolumeDataSource | None = None) -> RuntimeVolume:
        size = Resources(storage_bytes=self.volume_bytes)
        wanted = RuntimeVolumeSpec(class_name=self.volume_class, resources=size, volume_data_source=source)
        return RuntimeVolume(labels=uid_labels(RuntimeVolume), spec=wanted)

    def available(self, wanted: RuntimeVolume | None = None) -> RuntimeVolume:
        id = self.runtime.create(wanted or self.volume()).id
        return self.until_volume(
            id, lambda volume: volume.status.state is VolumeState.AVAILABLE, "be available"
        )

    def until_volume(self, id: str, holds: Callable[[RuntimeVolume], bool], what: str) -> RuntimeVolume:
        return eventually(lambda: self.get(id, RuntimeVolume), holds, self.seconds, what)

    def snapshot(self, volume_id: str) -> RuntimeSnapshot:
        return RuntimeSnapshot(labels=uid_labels(RuntimeSnapshot), spec=SnapshotSpec(volume_id=volume_id))

    def ready(self, volume_id: str) -> RuntimeSnapshot:
        id = self.runtime.create(self.snapshot(volume_id)).id
        return eventually(
            lambda: self.get(id, RuntimeSnapshot),
            lambda snapshot: snapshot.status.state is SnapshotState.READY,
            self.seconds,
            "be ready",
        )

    def remove_fully(self, kind: type[AnyObject], id: str) -> None:
        """Orders the removal as poollets do, again and again, until the object does not exist."""
        deadline = time.monotonic() + self.seconds
        with suppress(NotFound):
            while time.monotonic() < deadline:
                self.runtime.remove(kind, id)
                time.sleep(0.01)
            raise AssertionError(f"{KIND_NAMES[kind]} {id} is still there")
        assert id not in self.runtime.objects(kind)


def uid_labels(kind: RuntimeKind) -> dict[str, str]:
    return {UID_LABELS[kind]: str(uuid.uuid4())}


def devices(machine: RuntimeMachine) -> dict[str, AttachmentState]:
    status = machine.status
    return {device.name: device.state for device in (*status.volumes, *status.network_interfaces)}


def is_attached(machine: RuntimeMachine, name: str) -> bool:
    return devices(machine).get(name) is AttachmentState.ATTACHED


def eventually(look: Callable[[], T], holds: Callable[[T], bool], seconds: float, what: str) -> T:
    deadline = time.monotonic() + seconds
    while True:
        found = look()
        if holds(found):
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"did not {what} within {seconds} s: {found}")
        time.sleep(0.01)
