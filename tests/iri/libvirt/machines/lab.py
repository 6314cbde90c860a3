"""A runtime with machines that something befalls, on a libvirtd that may die."""

from __future__ import annotations

import operator
from collections.abc import Callable

from iri.libvirt.runtime import LibvirtRuntime
from iri.libvirt.settings import Settings
from iri.machine import MachineState, RuntimeCondition, RuntimeMachine, RuntimeMachineSpec
from tests.guests.micro import READY
from tests.iri.contract.subject import eventually, uid_labels
from tests.iri.libvirt.world import console_log
from tests.servers.libvirtd import Libvirtd

SECONDS = 60.0  # for what takes one, on a machine that does nothing else


class Lab:
    def __init__(self, daemon: Libvirtd, settings: Settings, runtime: LibvirtRuntime) -> None:
        self.daemon = daemon
        self.settings = settings
        self.runtime = runtime

    def create(self, **fields: object) -> str:
        spec = RuntimeMachineSpec(**({"class_name": "small"} | fields))  # type: ignore[arg-type]
        return self.runtime.create(RuntimeMachine(labels=uid_labels(RuntimeMachine), spec=spec)).id

    def running(self, **fields: object) -> str:
        """With a guest that listens."""
        id = self.create(**fields)
        self.until(id, lambda machine: machine.status.state is MachineState.RUNNING, "run")
        eventually(lambda: console_log(self.settings, id), lambda log: READY in log, SECONDS, "be ready")
        return id

    def machine(self, id: str) -> RuntimeMachine:
        return self.runtime.objects(RuntimeMachine)[id]

    def until(self, id: str, holds: Callable[[RuntimeMachine], bool], what: str) -> RuntimeMachine:
        return eventually(lambda: self.machine(id), holds, SECONDS, what)

    def reaches(self, id: str, *states: MachineState) -> RuntimeMachine:
        return self.until(id, lambda machine: machine.status.state in states, f"be {states}")

    def press(self, id: str, key: bytes) -> None:
        """A guest may be heard before the runtime lists it as running, and until then it has no console."""
        self.reaches(id, MachineState.RUNNING)
        console = self.runtime.console(id)
        console.write(key)
        console.close()

    def reasons(self, id: str) -> list[str]:
        return [event.reason for event in self.runtime.events() if event.id == id]

    def boots(self, id: str, times: int) -> None:
        """Its guest was started so often, and listens. The logs of the last two starts are kept."""
        self.until(id, lambda machine: machine.detail.boots == times, f"be started {times} times")
        eventually(
            lambda: console_log(self.settings, id).count(READY),
            lambda count: count == min(times, 2),
            SECONDS,
            f"boot {times} times",
        )

    def tells(self, id: str, reason: str, times: int = 1) -> None:
        """An event may come a little later than what it tells of can be seen."""
        eventually(lambda: self.reasons(id).count(reason), lambda n: n >= times, SECONDS, f"tell {reason}")

    def is_autostart(self, id: str) -> bool:
        return "enable" in self.daemon.virsh("dominfo", id).stdout.split("Autostart:")[1].split("\n")[0]

    def remove(self, id: str) -> None:
        self.runtime.remove(RuntimeMachine, id)
        eventually(lambda: id in self.runtime.objects(RuntimeMachine), operator.not_, SECONDS, "be removed")


def condition(machine: RuntimeMachine, type_: str) -> RuntimeCondition | None:
    return next((found for found in machine.status.conditions if found.type == type_), None)


def is_in_sync(machine: RuntimeMachine) -> bool:
    ready = condition(machine, "Ready")
    return ready is not None and ready.reason == "InSync"
