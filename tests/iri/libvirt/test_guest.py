"""The proof from within: a Linux guest boots from a volume made of an image and says on its console what it was given."""

from __future__ import annotations

import hashlib
import json
import operator
import re
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from iri.change import AttachInterface, AttachVolume, DetachVolume, ExpandVolume, SetPower, UpdateVolume
from iri.host import RuntimeMachineClass, RuntimeVolumeClass
from iri.libvirt.domain.traits import ClassTraits
from iri.libvirt.host.settings import HostSettings, OfferedClasses
from iri.libvirt.images.settings import ImageSettings
from iri.libvirt.machines.power_settings import PowerSettings
from iri.libvirt.runtime import LibvirtRuntime
from iri.libvirt.settings import Settings
from iri.machine import (
    MachineState,
    Power,
    RuntimeGuestConfig,
    RuntimeMachine,
    RuntimeMachineSpec,
    RuntimeNetworkInterface,
)
from iri.volume import ImageSource, Resources, RuntimeVolume, RuntimeVolumeSpec, VolumeDataSource
from tests.guests.linux import CMDLINE, MEMORY_BYTES, linux_image, linux_kernel
from tests.iri.contract.devices import build_disk
from tests.iri.contract.subject import OFF, Subject, eventually, uid_labels
from tests.iri.libvirt.world import console_log, running_runtime
from tests.servers.leftovers import leftovers
from tests.servers.libvirtd import Libvirtd

MIB = 1 << 20
IMAGE_BYTES, DATA_BYTES = 48 * MIB, 8 * MIB
SECONDS = 300.0  # a guest boots in five, on a machine that does nothing else
pytestmark = pytest.mark.timeout(1200)
LINUX = RuntimeMachineClass(name="linux", resources={"cpu": 1, "memory": MEMORY_BYTES})
EFI = RuntimeMachineClass(name="efi", resources={"cpu": 1, "memory": 256 * MIB})
USER_DATA = b"#cloud-config\nwrite_files: [{path: /x, content: 'a < b & \"c\"'}]\n"
IGNITION = b'{"ignition": {"version": "3.4.0"}, "storage": {"files": []}}\n'


@pytest.fixture(scope="module")
def settings(libvirtd: Libvirtd) -> Settings:
    folder = libvirtd.folder / f"linux-{uuid.uuid4().hex[:8]}"
    images = folder / "images-of-the-operator"
    images.mkdir(parents=True, mode=0o755)
    folder.chmod(0o711)
    linux_image(images)
    kernel, initramfs = linux_kernel(images)
    efi = ClassTraits(firmware="uefi", kernel=str(kernel), initramfs=str(initramfs), cmdline=CMDLINE)
    return Settings(
        uri=libvirtd.uri,
        folder=str(folder),
        host=HostSettings(
            accelerator="tcg",
            reserved={},
            classes=OfferedClasses(machines=(LINUX, EFI), volumes=(RuntimeVolumeClass(name="plain"),)),
            traits={"linux": ClassTraits(hotplug_ports=4), "efi": efi},
        ),
        images=ImageSettings(paths=(str(images),)),
        power=PowerSettings(stop_timeout=5.0, press=0.5),
        qemu_logs=str(libvirtd.folder / "log" / "qemu"),
    )


@pytest.fixture(scope="module")
def runtime(libvirtd: Libvirtd, settings: Settings) -> Iterator[LibvirtRuntime]:
    with running_runtime(settings) as made:
        yield made


@pytest.fixture
def subject(runtime: LibvirtRuntime, libvirtd: Libvirtd, settings: Settings) -> Iterator[Subject]:
    made = Subject(
        runtime=runtime,
        machine_class="linux",
        larger_class="linux",
        volume_class="plain",
        network_id="lan",
        seconds=SECONDS,
        volume_bytes=DATA_BYTES,
    )
    yield made
    for machine in runtime.objects(RuntimeMachine):
        runtime.remove(RuntimeMachine, machine)
    eventually(lambda: runtime.objects(RuntimeMachine), operator.not_, SECONDS, "remove the machines")
    for volume in runtime.objects(RuntimeVolume):
        runtime.remove(RuntimeVolume, volume)
    eventually(lambda: runtime.objects(RuntimeVolume), operator.not_, SECONDS, "remove the volumes")
    eventually(lambda: leftovers(libvirtd, Path(settings.folder)), operator.not_, SECONDS, "leave nothing")


class Guest:
    """What one of them has said."""

    def __init__(self, subject: Subject, settings: Settings, machine: RuntimeMachine) -> None:
        self.id = machine.id
        self._subject = subject
        self._settings = settings

    def read_console(self) -> list[str]:
        text = console_log(self._settings, self.id).decode(errors="replace")
        return [match[1].strip() for match in re.finditer(r"GUEST ([^\r\n]*)[\r\n]", text)]

    def says(self, line: str) -> None:
        eventually(self.read_console, lambda lines: line in lines, SECONDS, f"say {line!r}")

    def last(self, word: str) -> str:
        return next((line for line in reversed(self.read_console()) if line.startswith(word)), "")


def root_volume(subject: Subject, settings: Settings) -> RuntimeVolume:
    image = ImageSource(image=str(Path(settings.folder) / "images-of-the-operator" / "linux.raw"))
    spec = RuntimeVolumeSpec(
        class_name="plain",
        resources=Resources(storage_bytes=IMAGE_BYTES),
        volume_data_source=VolumeDataSource(image_data_source=image),
    )
    return subject.available(RuntimeVolume(labels=uid_labels(RuntimeVolume), spec=spec))


def machine_on(
    volume: RuntimeVolume, data: bytes, hostname: str, *interfaces: RuntimeNetworkInterface
) -> RuntimeMachine:
    assert volume.status.access is not None
    spec = RuntimeMachineSpec(
        class_name="linux",
        ignition_data=data,
        guest_config=RuntimeGuestConfig(hostname=hostname),
        volumes=(build_disk("root", "oda", volume.status.access, IMAGE_BYTES),),
        network_interfaces=interfaces,
    )
    return RuntimeMachine(labels=uid_labels(RuntimeMachine), spec=spec)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_guest_sees_its_cloud_init_data_disks_and_addresses(subject: Subject, settings: Settings) -> None:
    runtime = subject.runtime
    lan = RuntimeNetworkInterface(
        name="primary",
        network_id="fleet/default/lan",
        ips=("10.44.0.77",),
        attributes={"cidr": "10.44.0.0/24"},
    )
    machine = runtime.create(machine_on(root_volume(subject, settings), USER_DATA, "web-1", lan))
    guest = Guest(subject, settings, machine)
    guest.says("hostname web-1")
    guest.says(f"instance {machine.id}")
    guest.says(f"user-data {sha256(USER_DATA)}")
    assert not guest.last("ignition")
    (mac,) = (detail.mac for detail in subject.machine(machine.id).detail.network_interfaces)
    guest.says(f"interface {mac}")
    guest.says(f"disks oda={IMAGE_BYTES}")
    guest.says(f"address {mac} 10.44.0.77")
    subject.until(
        machine.id, lambda found: addresses(found) == {"primary": ("10.44.0.77",)}, "know the address"
    )

    data = subject.available()
    assert data.status.access is not None
    disk = build_disk("data", "odb", data.status.access, DATA_BYTES)
    runtime.change(machine.id, AttachVolume(disk))
    guest.says(f"disks oda={IMAGE_BYTES} odb={DATA_BYTES}")
    runtime.change(data.id, ExpandVolume(Resources(storage_bytes=2 * DATA_BYTES)))
    assert disk.connection is not None
    grown = replace(disk, connection=replace(disk.connection, effective_storage_bytes=2 * DATA_BYTES))
    runtime.change(machine.id, UpdateVolume(grown))
    guest.says(f"disks oda={IMAGE_BYTES} odb={2 * DATA_BYTES}")

    second = RuntimeNetworkInterface(
        name="second", network_id="fleet/default/lan", attributes={"cidr": "10.44.0.0/24"}
    )
    runtime.change(machine.id, AttachInterface(second))
    subject.await_attached(machine.id, "second")
    known = subject.until(machine.id, lambda found: len(addresses(found)) == 2, "know both addresses")
    (detail,) = (each for each in known.detail.network_interfaces if each.name == "second")
    guest.says(f"address {detail.mac} {detail.ips[0]}")

    runtime.change(machine.id, DetachVolume("data"))
    subject.await_detached(machine.id, "data")
    eventually(lambda: guest.last("disks"), lambda line: "odb" not in line, SECONDS, "see the disk go")
    runtime.change(machine.id, SetPower(Power.OFF))
    subject.reaches(machine.id, *OFF)
    assert "power-button" in guest.read_console(), "asked, not forced"


def test_guest_sees_its_ignition_data_and_hostname(subject: Subject, settings: Settings) -> None:
    machine = subject.runtime.create(machine_on(root_volume(subject, settings), IGNITION, "core-1"))
    guest = Guest(subject, settings, machine)
    guest.says(f"ignition {sha256(IGNITION)}")
    guest.says("hostname core-1")
    guest.says(f"disks oda={IMAGE_BYTES}")
    assert subject.machine(machine.id).status.state is MachineState.RUNNING


def test_guest_sees_its_efi_variables(subject: Subject, settings: Settings) -> None:
    vendor = "2b6a1ee7-5a5a-4a3c-9a8e-000000000001"
    variable = {"name": "GitvirtTest", "uuid": vendor, "value": "it works"}
    wanted = RuntimeMachine(
        labels=uid_labels(RuntimeMachine),
        annotations={"gitvirt.dev/efi-variables": json.dumps([variable])},
        spec=RuntimeMachineSpec(class_name="efi"),
    )
    guest = Guest(subject, settings, subject.runtime.create(wanted))
    guest.says(f"efi GitvirtTest-{vendor} it works")


def addresses(machine: RuntimeMachine) -> dict[str, tuple[str, ...]]:
    return {detail.name: detail.ips for detail in machine.detail.network_interfaces if detail.ips}
