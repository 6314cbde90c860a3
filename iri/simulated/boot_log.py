"""What a simulated guest writes to its serial console at each start. A function of the machine's record, so it survives every restart of the host.

    line                            since
    simulated guest NAME, start N   power was switched on
    NAME login:                     the guest runs
    NAME: power down                it is off again, by order or by itself

Limits: what people type at an open console is not in it.
"""

from __future__ import annotations

import threading

from iri.console_log import LogRequest, find_tail
from iri.errors import FailedPrecondition, NotFound
from iri.simulated.host import SimulatedHost
from iri.simulated.machine_lifecycle import (
    IS_ON,
    MachinePhase,
    SimulatedMachine,
    boot_count,
)

TICK_SECONDS = 0.1


def write_log(guest: SimulatedMachine, start: int) -> bytes:
    """Of that start, as far as it has come. An earlier one is complete."""
    config = guest.machine.spec.guest_config
    name = (config.hostname if config else "") or guest.machine.id
    lines = [f"simulated guest {name}, start {start}"]
    is_last = start == boot_count(guest)
    if not is_last or guest.phase is not MachinePhase.BOOTING:
        lines.append(f"{name} login: ")
    if not is_last or guest.phase not in IS_ON:
        lines.append(f"{name}: power down")
    return "".join(f"{line}\r\n" for line in lines).encode()


class BootLog:
    """Implements iri.runtime.ConsoleLog. A host has no thread of its own, so whoever follows applies what is due."""

    def __init__(self, host: SimulatedHost, machine_id: str, request: LogRequest) -> None:
        """Raises NotFound without the machine, FailedPrecondition for a start that it never had."""
        self._host, self._id, self._request = host, machine_id, request
        self._closed = threading.Event()
        guest = self._find()
        self._start = boot_count(guest) - request.previous
        if self._start < 1 and (request.previous or not request.follow):
            is_once = boot_count(guest) > 0
            what = (
                "was started only once: it has no previous log"
                if is_once
                else "was never started: it has no log"
            )
            raise FailedPrecondition(f"machine {machine_id} {what}")
        log = write_log(guest, self._start) if self._start else b""
        self._at = find_tail(len(log), request.tail_lines, lambda at, size: log[at : at + size])

    def read(self) -> bytes:
        while not self._closed.is_set():
            try:
                guest = self._find()
            except NotFound:
                return b""
            log = write_log(guest, self._start) if self._start else b""
            if len(log) > self._at:
                data, self._at = log[self._at :], len(log)
                return data
            if self._request.previous or not self._request.follow:
                return b""
            if self._start < boot_count(guest):
                self._start, self._at = self._start + 1, 0
                continue
            self._closed.wait(TICK_SECONDS)
            self._host.run_due()
        return b""

    def close(self) -> None:
        self._closed.set()

    def _find(self) -> SimulatedMachine:
        with self._host.lock():
            return self._host.find(SimulatedMachine, self._id)
