"""Promises about what is measured."""

from __future__ import annotations

import time

from iri.change import SetPower
from iri.machine import Power, RuntimeMachine, RuntimeMachineSpec
from iri.usage import RuntimeMachineUsage, RuntimeUsage
from tests.iri.contract.subject import OFF, Subject, eventually


class UsagePromises:
    def test_a_machine_that_runs_uses_processors_and_memory_and_more_of_them_later(
        self, subject: Subject
    ) -> None:
        machine = subject.running()
        first = eventually(
            lambda: of(subject, machine),
            lambda found: bool(found and found.cpu_time_ns),
            subject.seconds,
            "work",
        )
        assert first is not None
        assert first.memory_used_bytes > 0
        assert first.guest_available_bytes <= first.guest_memory_bytes
        eventually(
            lambda: of(subject, machine),
            lambda found: found is not None and found.cpu_time_ns > first.cpu_time_ns,
            subject.seconds,
            "work on",
        )

    def test_devices_are_named_as_in_the_spec(self, subject: Subject) -> None:
        spec = RuntimeMachineSpec(
            class_name=subject.machine_class,
            volumes=(subject.disk("root", "oda"), subject.disk("data", "odb")),
            network_interfaces=(subject.interface("eth"),),
        )
        machine = subject.running(spec=spec)
        found = eventually(lambda: of(subject, machine), bool, subject.seconds, "be measured")
        assert found is not None
        assert {disk.name for disk in found.disks} == {"root", "data"}
        assert [network.name for network in found.networks] == ["eth"]

    def test_a_machine_that_is_off_is_not_measured(self, subject: Subject) -> None:
        machine, other = subject.running(), subject.running()
        eventually(lambda: of(subject, machine), bool, subject.seconds, "be measured")
        subject.runtime.change(machine.id, SetPower(Power.OFF))
        subject.reaches(machine.id, *OFF)
        assert of(subject, machine) is None
        assert of(subject, other) is not None

    def test_the_host_is_measured_as_a_whole(self, subject: Subject) -> None:
        subject.running()
        first = subject.runtime.usage()
        assert abs(first.time_ns - time.time_ns()) < 60_000_000_000
        assert first.host.cpus == subject.runtime.about().host.capacity["cpu"]
        assert 0 < first.host.memory_used_bytes <= first.host.memory_bytes
        later = eventually(
            subject.runtime.usage,
            lambda found: found.host.cpu_time_ns > first.host.cpu_time_ns,
            subject.seconds,
            "work on",
        )
        assert later.time_ns > first.time_ns


def of(subject: Subject, machine: RuntimeMachine) -> RuntimeMachineUsage | None:
    measured: RuntimeUsage = subject.runtime.usage()
    return next((each for each in measured.machines if each.machine_id == machine.id), None)
