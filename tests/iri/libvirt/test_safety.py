"""What a spec reaches of the host: what its operator named, on real libvirt, and of everything else not even a mention.

Refusals name their cause and the setting that is their cure. Whatever domains are there afterwards, all files, devices,
bridges and networks in them are the operator's or made by the runtime.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from iri.change import AttachInterface, AttachVolume
from iri.errors import FailedPrecondition, ImageNotResolvable, InvalidArgument
from iri.libvirt.folder_lock import LOCK
from iri.libvirt.images.settings import ImageSettings
from iri.libvirt.networks.network_policy import Bridge, NetworkPolicy
from iri.libvirt.runtime import LibvirtRuntime
from iri.libvirt.settings import Settings
from iri.machine import (
    Disk,
    Image,
    MachineState,
    RuntimeGuestConfig,
    RuntimeLocalDisk,
    RuntimeMachine,
    RuntimeMachineSpec,
    RuntimeNetworkInterface,
    VolumeConnection,
)
from iri.volume import ImageSource, Resources, RuntimeVolume, RuntimeVolumeSpec, VolumeDataSource
from tests.iri.contract.subject import Subject, eventually, uid_labels
from tests.iri.libvirt.world import micro_settings, running_runtime
from tests.servers.leftovers import leftovers
from tests.servers.libvirtd import Libvirtd

BRIDGE, MISSING = "br-ops", "br-gone"
PLACES = ("file", "dev", "dir", "path", "bridge", "network", "name", "socket", "mount")


@pytest.fixture(scope="module")
def settings(libvirtd: Libvirtd) -> Settings:
    made = micro_settings(libvirtd)
    allowed = Path(made.folder) / "allowed"
    allowed.mkdir()
    (allowed / "way-out").symlink_to("/etc")
    (allowed / "shadow.raw").symlink_to("/etc/shadow")
    rules = NetworkPolicy(bridges={BRIDGE: Bridge(), MISSING: Bridge()})
    return replace(made, networks=rules, images=ImageSettings(paths=(str(allowed),)))


@pytest.fixture(scope="module")
def runtime(libvirtd: Libvirtd, settings: Settings) -> Iterator[LibvirtRuntime]:
    libvirtd.inside("ip", "link", "add", BRIDGE, "type", "bridge")
    libvirtd.inside("ip", "link", "set", BRIDGE, "up")
    with running_runtime(settings) as made:
        yield made
    libvirtd.inside("ip", "link", "del", BRIDGE)


@pytest.fixture
def subject(runtime: LibvirtRuntime, libvirtd: Libvirtd, settings: Settings) -> Iterator[Subject]:
    yield Subject(
        runtime=runtime,
        machine_class="small",
        larger_class="large",
        volume_class="plain",
        network_id="lan",
        volume_bytes=1 << 20,
        seconds=60,
    )
    for machine in runtime.objects(RuntimeMachine):
        runtime.remove(RuntimeMachine, machine)
    eventually(lambda: runtime.objects(RuntimeMachine), operator.not_, 60, "remove the machines")
    eventually(lambda: leftovers(libvirtd, Path(settings.folder)), operator.not_, 60, "leave nothing")


def local(image: str) -> Disk:
    return Disk(
        name="root", device="oda", local_disk=RuntimeLocalDisk(size_bytes=1 << 20, image=Image(image=image))
    )


def outside(driver: str, **attributes: str) -> Disk:
    connection = VolumeConnection(
        driver=driver, handle="h", attributes=attributes, effective_storage_bytes=1 << 20
    )
    return Disk(name="root", device="oda", connection=connection)


def disks(settings: Settings) -> list[Disk]:
    folder = settings.folder
    return [
        local("/etc/shadow"),
        local("file:///etc/shadow"),
        local(f"{folder}/allowed/../classes.json"),
        outside("file", path="/etc/shadow"),
        outside("file", path=f"{folder}/volumes/../../../../etc/shadow"),
        outside("file", path=f"{folder}/machines"),
        outside("file", path="/dev/sda"),
        outside("block", path="/dev/sda", dev="/dev/sda"),
        outside("nvme", device="0000:01:00.0"),
        outside("nbd", path="/run/libvirt/libvirt-sock"),
        outside("", path="/etc/shadow"),
        Disk(name="root", device="oda"),
    ]


INTERFACES = (
    RuntimeNetworkInterface(name="a", network_id="bridge:eth0"),
    RuntimeNetworkInterface(name="a", network_id=f"bridge:{BRIDGE}/../eth0"),
    RuntimeNetworkInterface(name="a", network_id=f"bridge:{BRIDGE}", attributes={"vlan": "7"}),
    RuntimeNetworkInterface(name="a", network_id="libvirt:default"),
    RuntimeNetworkInterface(name="a", network_id="libvirt:"),
    RuntimeNetworkInterface(name="a", network_id="lan", attributes={"cidr": "127.0.0.0/8"}),
    RuntimeNetworkInterface(name="a", network_id="lan", attributes={"cidr": "8.8.8.0/24"}),
    RuntimeNetworkInterface(name="a", network_id="lan", attributes={"cidr": "10.0.0.0/24", "nat": "true"}),
)


def test_no_disk_is_a_file_or_device_of_the_host(
    subject: Subject, settings: Settings, libvirtd: Libvirtd
) -> None:
    running = subject.running()
    for disk in disks(settings):
        spec = RuntimeMachineSpec(class_name="small", volumes=(disk,))
        with pytest.raises((InvalidArgument, FailedPrecondition)) as caught:
            subject.runtime.create(RuntimeMachine(labels=uid_labels(RuntimeMachine), spec=spec))
        assert str(caught.value)
        with pytest.raises((InvalidArgument, FailedPrecondition)):
            subject.runtime.change(running.id, AttachVolume(disk))
    assert list(subject.runtime.objects(RuntimeMachine)) == [running.id]
    assert_only_what_is_allowed(libvirtd, settings)


def test_no_interface_is_on_a_device_of_the_host(
    subject: Subject, settings: Settings, libvirtd: Libvirtd
) -> None:
    running = subject.running()
    for interface in INTERFACES:
        spec = RuntimeMachineSpec(class_name="small", network_interfaces=(interface,))
        with pytest.raises(InvalidArgument, match=r"operator|no meaning|network_id"):
            subject.runtime.create(RuntimeMachine(labels=uid_labels(RuntimeMachine), spec=spec))
        with pytest.raises(InvalidArgument):
            subject.runtime.change(running.id, AttachInterface(interface))
    assert_only_what_is_allowed(libvirtd, settings)


def test_no_volume_is_made_of_a_file_of_the_host(subject: Subject, settings: Settings) -> None:
    for disk in disks(settings)[:3]:
        assert disk.local_disk is not None
        assert disk.local_disk.image is not None
        source = VolumeDataSource(image_data_source=ImageSource(image=disk.local_disk.image.image))
        spec = RuntimeVolumeSpec(
            class_name="plain", resources=Resources(storage_bytes=1 << 20), volume_data_source=source
        )
        with pytest.raises((InvalidArgument, FailedPrecondition)):
            subject.runtime.create(RuntimeVolume(labels=uid_labels(RuntimeVolume), spec=spec))
    assert not subject.runtime.objects(RuntimeVolume)


def test_links_out_of_an_allowed_folder_lead_nowhere(
    subject: Subject, settings: Settings, libvirtd: Libvirtd
) -> None:
    """They may come and go, so it is waited for, and what is there is not told."""
    for link in ("way-out/shadow", "shadow.raw", "not-there.raw"):
        disk = local(f"{settings.folder}/allowed/{link}")
        wanted = RuntimeMachine(
            labels=uid_labels(RuntimeMachine), spec=RuntimeMachineSpec(class_name="small", volumes=(disk,))
        )
        with pytest.raises(ImageNotResolvable, match="not in a folder that this host allows"):
            subject.runtime.create(wanted)
    assert not subject.runtime.objects(RuntimeMachine)
    assert_only_what_is_allowed(libvirtd, settings)
    cached = [path for path in (Path(settings.folder) / "images").rglob("*") if path.is_file()]
    assert [path.name for path in cached] == [LOCK]


def test_hostname_with_markup_is_refused(subject: Subject) -> None:
    guest = RuntimeGuestConfig(hostname='x"\nusers: [{name: root}]')
    spec = RuntimeMachineSpec(class_name="small", guest_config=guest)
    with pytest.raises(InvalidArgument, match="hostname"):
        subject.runtime.create(RuntimeMachine(labels=uid_labels(RuntimeMachine), spec=spec))


def test_a_bridge_that_is_allowed_is_reached(
    subject: Subject, settings: Settings, libvirtd: Libvirtd
) -> None:
    nic = RuntimeNetworkInterface(
        name="a", network_id=f"bridge:{BRIDGE}", attributes={"mac": "52:54:00:0b:00:01"}
    )
    machine = subject.running(spec=RuntimeMachineSpec(class_name="small", network_interfaces=(nic,)))
    subject.await_attached(machine.id, "a")
    assert "vnet" in libvirtd.inside("ip", "link", "show", "master", BRIDGE).stdout
    (detail,) = subject.machine(machine.id).detail.network_interfaces
    assert detail.mac == "52:54:00:0b:00:01"
    assert_only_what_is_allowed(libvirtd, settings)


def test_missing_bridge_is_a_condition_until_it_exists_again(subject: Subject, libvirtd: Libvirtd) -> None:
    nic = RuntimeNetworkInterface(name="a", network_id=f"bridge:{MISSING}")
    machine = subject.runtime.create(
        RuntimeMachine(
            labels=uid_labels(RuntimeMachine),
            spec=RuntimeMachineSpec(class_name="small", network_interfaces=(nic,)),
        )
    )
    message = subject.until(
        machine.id,
        lambda found: any(MISSING in condition.message for condition in found.status.conditions),
        "say that the bridge is missing",
    )
    assert message.status.state is not MachineState.RUNNING
    libvirtd.inside("ip", "link", "add", MISSING, "type", "bridge")
    try:
        subject.reaches(machine.id, MachineState.RUNNING)
        subject.runtime.remove(RuntimeMachine, machine.id)
        eventually(lambda: subject.runtime.objects(RuntimeMachine), operator.not_, 60, "remove the machine")
    finally:
        libvirtd.inside("ip", "link", "del", MISSING)


def assert_only_what_is_allowed(libvirtd: Libvirtd, settings: Settings) -> None:
    """Each place that a domain of ours names, by libvirt's own word."""
    ours = (settings.folder, str(libvirtd.folder), "/usr/", "/dev/urandom", "/dev/pts/", "/dev/net/tun")
    names = {BRIDGE, "org.qemu.guest_agent.0"}
    for id in libvirtd.virsh("list", "--all", "--uuid").stdout.split():
        devices = ElementTree.fromstring(libvirtd.virsh("dumpxml", id).stdout).find("devices")
        assert devices is not None
        assert devices.find("hostdev") is None
        for source in devices.iter("source"):
            for key, value in source.attrib.items():
                if key in PLACES:
                    is_known = value in names or value.startswith((*ours, "gitvirt-", "gv"))
                    assert is_known or "/lib/qemu/" in value or value.startswith("/var/lib/libvirt/"), (
                        key,
                        value,
                    )
