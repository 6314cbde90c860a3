"""When runtimes are measured, and what is said of whose machines."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from iri.errors import Unavailable, Unimplemented
from iri.identity import UID_LABELS
from iri.machine import MachineState, RuntimeMachine, RuntimeMachineSpec
from iri.simulated.host import SimulatedHost
from iri.simulated.runtime import SimulatedRuntime
from iri.usage import RuntimeDiskUsage, RuntimeHostUsage, RuntimeMachineUsage, RuntimeUsage
from poollet.runtimes.runtime_client import MACHINE_KINDS, RuntimeClient
from poollet.runtimes.usage_message import MOST_BYTES, to_message
from poollet.runtimes.usage_reader import LEAST_MS, MOST_MS, MeasuredHost, MeasuredMachine, UsageReader
from tests.iri.contract.subject import eventually
from tests.iri.quick_host import quick_host

LABELS = {
    UID_LABELS[RuntimeMachine]: "uid-1",
    "machinepoollet.ironcore.dev/machine-namespace": "staging",
    "machinepoollet.ironcore.dev/machine-name": "web",
}


class CountedRuntime(SimulatedRuntime):
    """Counts how often it is measured, and may hang or fail."""

    def __init__(self, host: SimulatedHost) -> None:
        super().__init__(host)
        self.count = 0
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.error: Unavailable | Unimplemented | None = None

    def usage(self) -> RuntimeUsage:
        self.count += 1
        self.may_answer.wait(60)
        if self.error is not None:
            raise self.error
        return super().usage()


@dataclass
class Measured:
    """One reader, with a clock that a test turns."""

    runtime: CountedRuntime = field(default_factory=lambda: CountedRuntime(quick_host()))
    now_ms: int = 1_000_000

    def __post_init__(self) -> None:
        self.client = RuntimeClient("sim", self.runtime, MACHINE_KINDS, lambda: self.now_ms)
        self.reader = UsageReader({"sim": self.client}, lambda: self.now_ms)

    def run_machine(self, labels: dict[str, str]) -> None:
        made = self.runtime.create(RuntimeMachine(labels=labels, spec=RuntimeMachineSpec(class_name="small")))
        eventually(
            lambda: self.runtime.objects(RuntimeMachine)[made.id].status.state,
            lambda state: state is MachineState.RUNNING,
            30,
            "run",
        )


def test_machines_have_the_names_that_the_poollet_gave_them_and_others_are_left_out() -> None:
    measured = Measured()
    measured.run_machine(LABELS)
    measured.run_machine({})
    measured.client.fetch_lists()
    found = measured.reader.read(60)
    assert found is not None
    assert [(each.uid, each.namespace, each.name) for each in found.machines] == [("uid-1", "staging", "web")]
    assert found.host.cpus > 0


def test_what_is_new_enough_is_not_measured_again() -> None:
    measured = Measured()
    assert measured.reader.read(60) is not None
    measured.now_ms += LEAST_MS - 1
    assert measured.reader.read(60) is not None
    assert measured.runtime.count == 1
    measured.now_ms += 1
    assert measured.reader.read(60) is not None
    assert measured.runtime.count == 2


def test_a_runtime_that_hangs_gets_one_call_and_readers_wait_no_longer() -> None:
    measured = Measured()
    measured.reader.read(60)
    measured.runtime.may_answer.clear()
    measured.now_ms += LEAST_MS
    started = time.monotonic()
    assert measured.reader.read(0.05) is not None, "the last one is new enough to be shown"
    measured.now_ms += MOST_MS
    assert measured.reader.read(0.05) is None
    assert time.monotonic() - started < 30
    assert measured.runtime.count == 2
    measured.runtime.may_answer.set()
    eventually(lambda: measured.reader.read(60), bool, 30, "be measured again")


def test_a_runtime_that_does_not_answer_or_does_not_measure_has_nothing() -> None:
    measured = Measured()
    for error in (Unavailable("away"), Unimplemented("no such call")):
        measured.runtime.error = error
        assert measured.reader.read(60) is None


def test_a_message_that_would_be_too_large_loses_devices_first_and_then_machines() -> None:
    disks = tuple(RuntimeDiskUsage(name=f"disk-{number}", read_bytes=1 << 40) for number in range(4))

    def host(count: int) -> MeasuredHost:
        used = RuntimeMachineUsage(cpu_time_ns=10**15, disks=disks)
        machines = tuple(
            MeasuredMachine(f"uid-{number}", "ns", f"m-{number}", used) for number in range(count)
        )
        return MeasuredHost(time.time_ns(), RuntimeHostUsage(cpus=8), machines)

    assert len(to_message(host(500)).machines[0].disks) == 4
    many = to_message(host(12_000))
    assert (len(many.machines), len(many.machines[0].disks)) == (12_000, 0)
    most = to_message(host(60_000))
    assert most.ByteSize() <= MOST_BYTES
    assert most.machines[0].cpu_time.seconds == 10**6
