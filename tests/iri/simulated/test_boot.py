"""What a simulated host does when it boots, and what it remembers of ended assignments."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from iri.change import SetPower
from iri.ended_assignments import KEPT, EndedAssignments
from iri.errors import InvalidArgument
from iri.identity import ASSIGNMENT_LABEL, UID_LABELS
from iri.machine import HOST_BOOTED, MachineState, Power, RuntimeMachine, RuntimeMachineSpec
from iri.simulated import machine_calls
from iri.simulated.clock import SECOND_NS
from iri.simulated.host import SimulatedHost
from iri.simulated.machine_lifecycle import SimulatedMachine
from iri.simulated.runtime import SimulatedRuntime
from iri.simulated.state.state_log import StateLog
from tests.iri.quick_host import PROFILE


def host_in(folder: Path) -> SimulatedHost:
    host = SimulatedHost(PROFILE, seed=7, log=StateLog(folder))
    host.set_clock(0)
    return host


def new_machine(**labels: str) -> RuntimeMachine:
    uid = {UID_LABELS[RuntimeMachine]: str(uuid.uuid4())}
    return RuntimeMachine(labels=uid | labels, spec=RuntimeMachineSpec(class_name="small"))


def boot(host: SimulatedHost) -> None:
    with host.lock(even_when_down=True) as now_ns:
        machine_calls.restart_host(host, 0, now_ns)
    host.advance_clock(60 * SECOND_NS)


def states(runtime: SimulatedRuntime) -> list[tuple[MachineState, str]]:
    return [(one.status.state, one.detail.reason) for one in runtime.objects(RuntimeMachine).values()]


def running(host: SimulatedHost) -> SimulatedRuntime:
    runtime = SimulatedRuntime(host)
    runtime.create(new_machine())
    host.advance_clock(60 * SECOND_NS)
    assert states(runtime) == [(MachineState.RUNNING, "")]
    return runtime


def test_a_host_whose_starts_are_not_held_boots_its_guests(tmp_path: Path) -> None:
    host = host_in(tmp_path)
    runtime = running(host)
    boot(host)
    assert states(runtime) == [(MachineState.RUNNING, "")]


def test_held_guests_stay_off_over_boots_and_restarts_until_they_are_released(tmp_path: Path) -> None:
    host = host_in(tmp_path)
    runtime = running(host)
    runtime.hold_starts(release=False)
    boot(host)
    assert states(runtime) == [(MachineState.TERMINATED, HOST_BOOTED)]
    host.close()
    host = host_in(tmp_path)
    boot(host)
    runtime = SimulatedRuntime(host)
    assert states(runtime) == [(MachineState.TERMINATED, HOST_BOOTED)]
    runtime.hold_starts(release=True)
    host.advance_clock(60 * SECOND_NS)
    assert states(runtime) == [(MachineState.RUNNING, "")]
    host.close()


def test_a_held_guest_starts_when_its_power_is_ordered_on(tmp_path: Path) -> None:
    host = host_in(tmp_path)
    runtime = running(host)
    runtime.hold_starts(release=False)
    boot(host)
    (id,) = runtime.objects(RuntimeMachine)
    runtime.change(id, SetPower(Power.ON))
    host.advance_clock(60 * SECOND_NS)
    assert states(runtime) == [(MachineState.RUNNING, "")]


def test_a_release_starts_no_guest_that_ended_by_itself(tmp_path: Path) -> None:
    host = host_in(tmp_path)
    runtime = running(host)
    (id,) = runtime.objects(RuntimeMachine)
    with host.lock() as now_ns:
        guest = host.find(SimulatedMachine, id)
        machine_calls.act(host, guest, machine_calls.GuestAction.CRASH, now_ns)
    runtime.hold_starts(release=True)
    host.advance_clock(60 * SECOND_NS)
    assert states(runtime) == [(MachineState.TERMINATED, "Crash")]


def test_ended_assignments_survive_a_restart_and_a_rewrite_of_the_log(tmp_path: Path) -> None:
    host = SimulatedHost(PROFILE, seed=7, log=StateLog(tmp_path, rewrite_from_bytes=1))
    SimulatedRuntime(host).end_assignments(("one", "two"))
    for _ in range(10):  # each writes the host's record again
        host.advance_clock(1)
    host.close()
    host = host_in(tmp_path)
    assert host.ended.ids == ("one", "two")
    with pytest.raises(InvalidArgument, match="assignment two was ended"):
        SimulatedRuntime(host).create(new_machine(**{ASSIGNMENT_LABEL: "two"}))
    host.close()


def test_only_the_newest_ended_assignments_are_kept() -> None:
    ended = EndedAssignments()
    ended.add([str(number) for number in range(KEPT)])
    assert ended.add(["0", "new", "new", ""]) == (("new",), ("0",))
    assert "0" not in ended
    assert "1" in ended
    assert len(ended.ids) == KEPT
