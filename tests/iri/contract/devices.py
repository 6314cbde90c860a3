"""Promises about the volumes and network interfaces of machines."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from iri.change import AttachInterface, AttachVolume, DetachInterface, DetachVolume, SetPower, UpdateVolume
from iri.errors import AlreadyExists, FailedPrecondition, NotFound
from iri.machine import Disk, MachineState, Power, RuntimeMachineSpec, VolumeConnection
from iri.volume import Access, RuntimeVolume
from tests.iri.contract.subject import OFF, Subject, devices


def build_disk(name: str, device: str, access: Access, size_bytes: int) -> Disk:
    """The disk of a machine that a volume's access describes, as poollets make it."""
    connection = VolumeConnection(
        driver=access.driver,
        handle=access.handle,
        attributes=access.attributes,
        secret_data=access.secret_data,
        effective_storage_bytes=size_bytes,
    )
    return Disk(name=name, device=device, connection=connection)


class DevicePromises:
    def test_3_devices_at_creation_become_attached(self, subject: Subject) -> None:
        machine = subject.running(
            spec=RuntimeMachineSpec(
                class_name=subject.machine_class,
                volumes=(subject.disk("root", "oda"),),
                network_interfaces=(subject.interface("primary"),),
            )
        )
        subject.await_attached(machine.id, "root")
        found = subject.await_attached(machine.id, "primary")
        assert [volume.name for volume in found.status.volumes] == ["root"]
        assert [interface.name for interface in found.status.network_interfaces] == ["primary"]
        assert all(volume.handle for volume in found.status.volumes)

    def test_3_volume_comes_and_goes_while_the_guest_runs(self, subject: Subject) -> None:
        machine = subject.running()
        disk = subject.disk("data", "odb")
        subject.runtime.change(machine.id, AttachVolume(disk))
        assert subject.machine(machine.id).spec.volumes == (disk,)
        subject.await_attached(machine.id, "data")
        subject.runtime.change(machine.id, DetachVolume("data"))
        assert subject.machine(machine.id).spec.volumes == ()
        found = subject.await_detached(machine.id, "data")
        assert found.status.state is MachineState.RUNNING

    def test_3_interface_comes_and_goes_while_the_guest_runs(self, subject: Subject) -> None:
        machine = subject.running()
        interface = subject.interface("second", mac="52:54:00:00:00:01")
        subject.runtime.change(machine.id, AttachInterface(interface))
        assert subject.machine(machine.id).spec.network_interfaces == (interface,)
        subject.await_attached(machine.id, "second")
        subject.runtime.change(machine.id, DetachInterface("second"))
        assert subject.machine(machine.id).spec.network_interfaces == ()
        subject.await_detached(machine.id, "second")

    def test_3_devices_of_a_machine_that_is_off_come_with_its_next_boot(self, subject: Subject) -> None:
        machine = subject.running()
        subject.runtime.change(machine.id, SetPower(Power.OFF))
        subject.reaches(machine.id, *OFF)
        subject.runtime.change(machine.id, AttachVolume(subject.disk("data", "odb")))
        subject.runtime.change(machine.id, SetPower(Power.ON))
        subject.reaches(machine.id, MachineState.RUNNING)
        subject.await_attached(machine.id, "data")

    def test_4_detaching_an_unknown_device_is_not_found(self, subject: Subject) -> None:
        machine = subject.running()
        for change in (
            DetachVolume("nope"),
            DetachInterface("nope"),
            UpdateVolume(subject.disk("nope", "odz")),
        ):
            with pytest.raises(NotFound, match="nope"):
                subject.runtime.change(machine.id, change)

    def test_4_detach_twice_is_not_found(self, subject: Subject) -> None:
        machine = subject.running(
            spec=RuntimeMachineSpec(class_name=subject.machine_class, volumes=(subject.disk("data", "odb"),))
        )
        subject.await_attached(machine.id, "data")
        subject.runtime.change(machine.id, DetachVolume("data"))
        with pytest.raises(NotFound):
            subject.runtime.change(machine.id, DetachVolume("data"))

    def test_4_attach_right_after_detach_of_the_same_name(self, subject: Subject) -> None:
        machine = subject.running(
            spec=RuntimeMachineSpec(
                class_name=subject.machine_class, network_interfaces=(subject.interface("primary"),)
            )
        )
        subject.await_attached(machine.id, "primary")
        other = subject.interface("primary", mac="52:54:00:00:00:02")
        subject.runtime.change(machine.id, DetachInterface("primary"))
        subject.runtime.change(machine.id, AttachInterface(other))
        assert subject.machine(machine.id).spec.network_interfaces == (other,)
        found = subject.until(
            machine.id,
            lambda found: [detail.mac for detail in found.detail.network_interfaces] == ["52:54:00:00:00:02"],
            "have the other interface",
        )
        assert list(devices(found)) == ["primary"]
        subject.await_attached(machine.id, "primary")

    def test_7_name_or_device_in_use_is_refused(self, subject: Subject) -> None:
        disk, interface = subject.disk("data", "odb"), subject.interface("primary")
        machine = subject.running(
            spec=RuntimeMachineSpec(
                class_name=subject.machine_class, volumes=(disk,), network_interfaces=(interface,)
            )
        )
        with pytest.raises(AlreadyExists, match="data"):
            subject.runtime.change(machine.id, AttachVolume(disk))
        with pytest.raises(AlreadyExists, match="primary"):
            subject.runtime.change(machine.id, AttachInterface(interface))
        with pytest.raises(FailedPrecondition, match="odb"):
            subject.runtime.change(machine.id, AttachVolume(subject.disk("other", "odb")))
        found = subject.machine(machine.id)
        assert found.spec.volumes == (disk,)
        assert found.spec.network_interfaces == (interface,)

    def test_interface_shows_its_mac_address(self, subject: Subject) -> None:
        machine = subject.running(
            spec=RuntimeMachineSpec(
                class_name=subject.machine_class,
                network_interfaces=(subject.interface("primary", mac="52:54:00:12:34:56"),),
            )
        )
        found = subject.until(
            machine.id, lambda found: bool(found.detail.network_interfaces), "describe its interface"
        )
        (detail,) = found.detail.network_interfaces
        assert (detail.name, detail.mac) == ("primary", "52:54:00:12:34:56")

    def test_volume_of_this_host_is_attached_and_grows_in_place(self, subject: Subject) -> None:
        volume = subject.available()
        assert volume.status.access is not None
        disk = build_disk("data", "odb", volume.status.access, subject.volume_bytes)
        machine = subject.running()
        subject.runtime.change(machine.id, AttachVolume(disk))
        before = subject.await_attached(machine.id, "data")
        assert disk.connection is not None
        grown = replace(
            disk, connection=replace(disk.connection, effective_storage_bytes=2 * subject.volume_bytes)
        )
        subject.runtime.change(machine.id, UpdateVolume(grown))
        after = subject.await_attached(machine.id, "data")
        assert after.spec.volumes == (grown,)
        assert after.status.volumes == before.status.volumes, "the disk was not attached again"
        subject.runtime.change(machine.id, DetachVolume("data"))
        subject.await_detached(machine.id, "data")
        assert volume.id in subject.runtime.objects(RuntimeVolume), "detaching deletes nothing"
