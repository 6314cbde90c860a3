"""Promises about the logs of serial consoles."""

from __future__ import annotations

import threading
from contextlib import closing

import pytest

from iri.change import SetPower
from iri.console_log import LogRequest
from iri.errors import FailedPrecondition, NotFound
from iri.machine import MachineState, Power, RuntimeMachine, RuntimeMachineSpec
from iri.runtime import ConsoleLog
from tests.iri.contract.subject import OFF, Subject, eventually

ALL, FOLLOW, PREVIOUS = LogRequest(), LogRequest(follow=True), LogRequest(previous=True)


class LogPromises:
    def test_a_log_has_what_the_guest_wrote_and_its_tail_the_last_lines(self, subject: Subject) -> None:
        machine = running(subject)
        whole = eventually(
            lambda: read_all(subject, machine, ALL), ends_a_line, subject.seconds, "write lines"
        )
        lines = whole.splitlines(keepends=True)
        last = read_all(subject, machine, LogRequest(tail_lines=1))
        assert last.count(b"\n") <= 1
        assert last in read_all(subject, machine, ALL)
        assert read_all(subject, machine, LogRequest(tail_lines=-1)) == b""
        assert read_all(subject, machine, LogRequest(tail_lines=1 << 40)).startswith(lines[0])

    def test_a_machine_that_is_off_has_its_log_and_a_start_keeps_it_as_the_previous_one(
        self, subject: Subject
    ) -> None:
        machine = running(subject)
        with pytest.raises(FailedPrecondition):
            read_all(subject, machine, PREVIOUS)
        switch(subject, machine, Power.OFF)
        first = read_all(subject, machine, ALL)
        assert first
        switch(subject, machine, Power.ON)
        assert read_all(subject, machine, PREVIOUS) == first

    def test_whoever_follows_a_log_gets_the_next_start_too_until_the_machine_is_gone(
        self, subject: Subject
    ) -> None:
        machine = running(subject)
        with closing(subject.runtime.console_log(machine.id, FOLLOW)) as log:
            reader = Reader(log)
            reader.start()
            switch(subject, machine, Power.OFF)
            first = read_all(subject, machine, ALL)
            switch(subject, machine, Power.ON)
            second = eventually(
                lambda: read_all(subject, machine, ALL), bool, subject.seconds, "write after the start"
            )
            eventually(lambda: reader.data, lambda data: first + second[:1] in data, subject.seconds, "go on")
            subject.remove_fully(RuntimeMachine, machine.id)
            reader.join(subject.seconds)
            assert not reader.is_alive()
            assert reader.data.startswith(first)

    def test_closing_a_log_wakes_its_reader(self, subject: Subject) -> None:
        machine = running(subject)
        log = subject.runtime.console_log(machine.id, LogRequest(tail_lines=-1, follow=True))
        reader = Reader(log)
        reader.start()
        log.close()
        log.close()
        reader.join(60)
        assert not reader.is_alive()

    def test_a_machine_that_never_ran_has_no_log_and_one_that_is_gone_is_not_found(
        self, subject: Subject
    ) -> None:
        spec = RuntimeMachineSpec(class_name=subject.machine_class, power=Power.OFF)
        machine = subject.runtime.create(subject.new_machine(spec=spec))
        subject.reaches(machine.id, *OFF)
        for request in (ALL, PREVIOUS):
            with pytest.raises(FailedPrecondition, match="never"):
                read_all(subject, machine, request)
        subject.remove_fully(RuntimeMachine, machine.id)
        with pytest.raises(NotFound):
            read_all(subject, machine, FOLLOW)


class Reader(threading.Thread):
    """Reads a log to its end."""

    def __init__(self, log: ConsoleLog) -> None:
        super().__init__(daemon=True)
        self.log = log
        self.data = b""

    def run(self) -> None:
        while part := self.log.read():
            self.data += part


def read_all(subject: Subject, machine: RuntimeMachine, request: LogRequest) -> bytes:
    with closing(subject.runtime.console_log(machine.id, request)) as log:
        return b"".join(iter(log.read, b""))


def running(subject: Subject) -> RuntimeMachine:
    """With something in its log."""
    machine = subject.running()
    eventually(lambda: read_all(subject, machine, ALL), bool, subject.seconds, "write to its console")
    return machine


def ends_a_line(log: bytes) -> bool:
    return b"\n" in log


def switch(subject: Subject, machine: RuntimeMachine, power: Power) -> None:
    subject.runtime.change(machine.id, SetPower(power))
    subject.reaches(machine.id, *(OFF if power is Power.OFF else (MachineState.RUNNING,)))
