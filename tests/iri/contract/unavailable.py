"""Promises about missing networks and images: each has an error or a reason of its own, with its name."""

from __future__ import annotations

import pytest

from iri.change import AttachInterface
from iri.errors import ImageNotResolvable, NetworkNotReady
from iri.machine import MachineState, RuntimeMachine, RuntimeMachineSpec, RuntimeNetworkInterface
from iri.volume import RuntimeVolume, VolumeDetail, VolumeState
from tests.iri.contract.subject import Subject


class UnavailablePromises:
    def test_7_missing_network_is_refused_before_anything_is_created(self, subject: Subject) -> None:
        lan = RuntimeNetworkInterface(name="lan", network_id=subject.missing_network_id)
        spec = RuntimeMachineSpec(class_name=subject.machine_class, network_interfaces=(lan,))
        wanted = subject.new_machine(spec=spec)
        before = subject.runtime.objects(RuntimeMachine).keys()
        with pytest.raises(NetworkNotReady, match=subject.missing_network_id.rpartition(":")[2]):
            subject.runtime.create(wanted)
        assert subject.runtime.objects(RuntimeMachine).keys() == before

    def test_7_missing_network_is_not_attached(self, subject: Subject) -> None:
        machine = subject.running()
        lan = RuntimeNetworkInterface(name="lan", network_id=subject.missing_network_id)
        with pytest.raises(NetworkNotReady, match=subject.missing_network_id.rpartition(":")[2]):
            subject.runtime.change(machine.id, AttachInterface(lan))
        assert subject.machine(machine.id).spec == machine.spec

    def test_7_missing_image_file_is_refused_before_anything_is_created(self, subject: Subject) -> None:
        disk = subject.image_disk(subject.missing_image)
        spec = RuntimeMachineSpec(class_name=subject.machine_class, volumes=(disk,))
        machines, volumes = (
            subject.runtime.objects(RuntimeMachine).keys(),
            subject.runtime.objects(RuntimeVolume).keys(),
        )
        with pytest.raises(ImageNotResolvable, match=subject.missing_image):
            subject.runtime.create(subject.new_machine(spec=spec))
        with pytest.raises(ImageNotResolvable, match=subject.missing_image):
            subject.runtime.create(subject.volume_of_image(subject.missing_image))
        assert subject.runtime.objects(RuntimeMachine).keys() == machines
        assert subject.runtime.objects(RuntimeVolume).keys() == volumes

    def test_7_volume_whose_image_cannot_be_pulled_has_a_reason_in_its_detail(self, subject: Subject) -> None:
        volume = subject.runtime.create(subject.volume_of_image(subject.unreachable_image))

        def has_reason(found: RuntimeVolume) -> bool:
            assert found.status.state is not VolumeState.AVAILABLE
            return found.detail.reason == ImageNotResolvable.__name__ and bool(found.detail.message)

        found = subject.until_volume(volume.id, has_reason, "report its missing image")
        assert subject.unreachable_image in found.detail.message
        assert found.status.state is VolumeState.ERROR
        subject.remove_fully(RuntimeVolume, volume.id)

    def test_7_volume_that_is_as_desired_has_no_reason(self, subject: Subject) -> None:
        assert subject.available().detail == VolumeDetail()

    def test_7_machine_whose_image_cannot_be_pulled_has_a_condition(self, subject: Subject) -> None:
        disk = subject.image_disk(subject.unreachable_image)
        spec = RuntimeMachineSpec(class_name=subject.machine_class, volumes=(disk,))
        machine = subject.runtime.create(subject.new_machine(spec=spec))

        def has_reason(found: RuntimeMachine) -> bool:
            assert found.status.state is MachineState.PENDING
            answer = [one for one in found.status.conditions if one.type == "Ready" and one.status == "False"]
            return any(one.reason == ImageNotResolvable.__name__ and one.message for one in answer)

        subject.until(machine.id, has_reason, "report its missing image")
        subject.remove_fully(RuntimeMachine, machine.id)
