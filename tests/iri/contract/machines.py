"""Promises about machines: identity, power, deletion, refusals."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from msgspec.structs import replace

from iri.change import (
    AttachInterface,
    AttachVolume,
    DetachInterface,
    DetachVolume,
    Resize,
    RuntimeChange,
    SetAnnotations,
    SetPower,
)
from iri.errors import FailedPrecondition, InvalidArgument, NotFound
from iri.machine import (
    Disk,
    MachineState,
    Power,
    RuntimeGuestConfig,
    RuntimeMachine,
    RuntimeMachineSpec,
    RuntimeNetworkInterface,
    VolumeConnection,
)
from tests.iri.contract.subject import GENERATION, OFF, Subject

LABELS = {"gitvirt.dev/fleet": "f", "machinepoollet.ironcore.dev/machine-name": "web ä\n1", "empty": ""}
ANNOTATIONS = {
    "machinepoollet.ironcore.dev/networkinterfacemapping": '{"primary":{"name":"web-1","uid":"u"}}',
    GENERATION: "0",
}
# Field 15 of a message that has none: what a newer client might send.
UNKNOWN = b"\x7a\x03new"


class MachinePromises:
    def test_1_spec_labels_and_annotations_come_back_as_they_were_sent(self, subject: Subject) -> None:
        spec = RuntimeMachineSpec(
            class_name=subject.machine_class,
            ignition_data=b"\x00\xffsecret",
            guest_config=RuntimeGuestConfig(hostname="web-1"),
            volumes=(
                replace(subject.disk("root", "oda"), unknown=UNKNOWN),
                subject.disk("data", "odb"),
            ),
            network_interfaces=(
                replace(
                    subject.interface("primary", rawNICLabels='{"b":"1","a":"2"}', empty=""),
                    ips=("10.0.0.9", "10.0.0.1", "fd00::1"),
                ),
            ),
        )
        machine = subject.runtime.create(
            subject.new_machine(spec=spec, labels=LABELS, annotations=ANNOTATIONS)
        )
        assert machine.spec == spec
        for _ in range(2):
            machine = subject.machine(machine.id)
            assert machine.spec == spec
            assert dict(machine.labels).items() >= LABELS.items()
            assert machine.annotations == ANNOTATIONS
            subject.reaches(machine.id, MachineState.RUNNING)

    def test_1_annotations_are_replaced_as_a_whole(self, subject: Subject) -> None:
        machine = subject.running(annotations={"a": "1", "b": "2"})
        subject.runtime.change(machine.id, SetAnnotations({"b": "3", "c": "4"}))
        changed = subject.machine(machine.id)
        assert changed.annotations == {"b": "3", "c": "4"}
        assert (changed.spec, changed.labels) == (machine.spec, machine.labels)
        assert changed.generation == machine.generation, "annotations are not part of spec"

    def test_machine_has_an_id_and_a_birthday(self, subject: Subject) -> None:
        before = time.time_ns()
        machine = subject.runtime.create(subject.new_machine())
        assert machine.id
        assert machine.id in subject.runtime.objects(RuntimeMachine)
        assert before - 10**9 <= machine.created_at <= time.time_ns() + 10**9
        assert machine.deleted_at == 0

    def test_2_machine_created_off_never_runs(self, subject: Subject) -> None:
        spec = RuntimeMachineSpec(class_name=subject.machine_class, power=Power.OFF)
        machine = subject.runtime.create(subject.new_machine(spec=spec))

        def is_off(found: RuntimeMachine) -> bool:
            assert found.status.state is not MachineState.RUNNING
            return found.status.state in OFF

        subject.until(machine.id, is_off, "be off")
        assert subject.machine(machine.id).detail.boots == 0

    def test_2_power_off_and_on(self, subject: Subject) -> None:
        machine = subject.running()
        subject.runtime.change(machine.id, SetPower(Power.OFF))
        assert subject.machine(machine.id).spec.power is Power.OFF
        subject.reaches(machine.id, *OFF)
        subject.runtime.change(machine.id, SetPower(Power.ON))
        subject.reaches(machine.id, MachineState.RUNNING)

    def test_2_guest_that_powers_itself_off_stays_off(self, subject: Subject) -> None:
        if subject.guest_powers_itself_off is None:
            raise AssertionError("say how a guest powers itself off")
        machine = subject.running()
        subject.guest_powers_itself_off(machine.id)
        off = subject.reaches(machine.id, *OFF)
        assert off.spec.power is Power.ON, "what is wanted is not the guest's to change"
        assert off.detail.reason

    def test_2_machine_that_ended_by_itself_starts_when_power_on_is_ordered_again(
        self, subject: Subject
    ) -> None:
        assert subject.guest_powers_itself_off is not None
        machine = subject.running()
        subject.guest_powers_itself_off(machine.id)
        subject.reaches(machine.id, *OFF)
        subject.runtime.change(machine.id, SetPower(Power.ON))
        subject.reaches(machine.id, MachineState.RUNNING)

    def test_3_observed_generation_catches_up(self, subject: Subject) -> None:
        machine = subject.running()
        subject.runtime.change(machine.id, AttachVolume(subject.disk("data", "odb")))
        changed = subject.machine(machine.id)
        assert changed.generation > machine.generation
        subject.runtime.change(machine.id, SetAnnotations({GENERATION: str(changed.generation)}))
        subject.until(
            machine.id,
            lambda found: found.status.observed_generation >= int(found.annotations[GENERATION]),
            "observe its generation",
        )

    def test_4_deletion_is_listed_until_it_is_done(self, subject: Subject) -> None:
        machine = subject.running(
            spec=RuntimeMachineSpec(class_name=subject.machine_class, volumes=(subject.disk("root", "oda"),))
        )
        subject.runtime.remove(RuntimeMachine, machine.id)
        going = subject.runtime.objects(RuntimeMachine).get(machine.id)
        if going is not None:
            assert going.deleted_at > 0
            assert going.status.state is MachineState.TERMINATING
            assert going.spec == machine.spec
        subject.remove_fully(RuntimeMachine, machine.id)
        with pytest.raises(NotFound):
            subject.runtime.remove(RuntimeMachine, machine.id)

    def test_4_deletion_is_cheap_to_repeat(self, subject: Subject) -> None:
        machine = subject.running()
        start = time.monotonic()
        for _ in range(200):
            try:
                subject.runtime.remove(RuntimeMachine, machine.id)
            except NotFound:
                break
        assert time.monotonic() - start < 60
        subject.remove_fully(RuntimeMachine, machine.id)

    def test_4_machine_that_was_never_started_can_be_deleted(self, subject: Subject) -> None:
        machine = subject.runtime.create(subject.new_machine())
        subject.remove_fully(RuntimeMachine, machine.id)

    def test_4_machine_under_deletion_takes_no_change(self, subject: Subject) -> None:
        machine = subject.running()
        subject.runtime.remove(RuntimeMachine, machine.id)
        for change in (SetPower(Power.OFF), AttachVolume(subject.disk("x", "odx"))):
            with pytest.raises((FailedPrecondition, NotFound)):
                subject.runtime.change(machine.id, change)

    def test_4_uid_can_be_used_again_once_its_machine_is_gone(self, subject: Subject) -> None:
        wanted = subject.new_machine()
        first = subject.runtime.create(wanted)
        subject.remove_fully(RuntimeMachine, first.id)
        second = subject.runtime.create(wanted)
        assert second.deleted_at == 0
        subject.reaches(second.id, MachineState.RUNNING)

    def test_5_same_uid_is_the_same_machine(self, subject: Subject) -> None:
        wanted = subject.new_machine(annotations={"a": "1"})
        first = subject.runtime.create(wanted)
        again = subject.runtime.create(replace(wanted, annotations={"a": "2"}))
        assert again.id == first.id
        assert again.annotations == {"a": "1"}
        same = [
            machine
            for machine in subject.runtime.objects(RuntimeMachine).values()
            if machine.labels == wanted.labels
        ]
        assert len(same) == 1

    def test_5_same_uid_at_once_is_one_machine(self, subject: Subject) -> None:
        wanted = subject.new_machine()
        with ThreadPoolExecutor(8) as threads:
            machines = list(threads.map(lambda _: subject.runtime.create(wanted), range(16)))
        assert len({machine.id for machine in machines}) == 1

    def test_5_without_a_uid_every_create_is_another_machine(self, subject: Subject) -> None:
        wanted = RuntimeMachine(spec=RuntimeMachineSpec(class_name=subject.machine_class))
        first, second = subject.runtime.create(wanted), subject.runtime.create(wanted)
        assert first.id != second.id

    @pytest.mark.parametrize(
        "change",
        [
            SetAnnotations({}),
            SetPower(Power.OFF),
            Resize("any"),
            AttachVolume(Disk(name="a", device="oda", connection=VolumeConnection(driver="ceph"))),
            DetachVolume("a"),
            AttachInterface(RuntimeNetworkInterface(name="a")),
            DetachInterface("a"),
        ],
        ids=lambda change: type(change).__name__,
    )
    def test_7_change_of_an_unknown_machine_is_not_found(
        self, subject: Subject, change: RuntimeChange
    ) -> None:
        with pytest.raises(NotFound):
            subject.runtime.change("no-such-machine", change)

    def test_7_unknown_machine_is_not_found(self, subject: Subject) -> None:
        with pytest.raises(NotFound):
            subject.runtime.remove(RuntimeMachine, "no-such-machine")
        with pytest.raises(NotFound):
            subject.runtime.console("no-such-machine")
        assert "no-such-machine" not in subject.runtime.objects(RuntimeMachine)

    def test_7_unknown_class_is_an_invalid_argument(self, subject: Subject) -> None:
        with pytest.raises(InvalidArgument, match="no-such-class"):
            subject.runtime.create(subject.new_machine(spec=RuntimeMachineSpec(class_name="no-such-class")))
        machine = subject.runtime.create(subject.new_machine())
        with pytest.raises(InvalidArgument, match="no-such-class"):
            subject.runtime.change(machine.id, Resize("no-such-class"))
        assert subject.machine(machine.id).spec.class_name == subject.machine_class

    def test_resize_waits_for_the_next_boot_or_is_done(self, subject: Subject) -> None:
        machine = subject.running()
        subject.runtime.change(machine.id, Resize(subject.larger_class))
        assert subject.machine(machine.id).spec.class_name == subject.larger_class
        if "class" in subject.machine(machine.id).detail.pending_changes:
            subject.runtime.change(machine.id, SetPower(Power.OFF))
            subject.reaches(machine.id, *OFF)
            subject.runtime.change(machine.id, SetPower(Power.ON))
        subject.until(
            machine.id,
            lambda found: found.status.state is MachineState.RUNNING and not found.detail.pending_changes,
            "run with the larger class",
        )
