"""The state that is listed for a machine, from its record and the observation of its domain."""

from __future__ import annotations

import pytest

from iri.libvirt.domain.domain_state import DomainState, RunState
from iri.libvirt.domain.record import MachineRecord
from iri.libvirt.machines.guest import GUEST_POWER_OFF, Guest, derive_state
from iri.machine import MachineState, Power, RuntimeMachineSpec

ON, OFF = RuntimeMachineSpec(power=Power.ON), RuntimeMachineSpec(power=Power.OFF)


@pytest.mark.parametrize(
    ("id", "guest", "want"),
    [
        ("recorded", Guest(id="1", record=MachineRecord(spec=ON)), MachineState.PENDING),
        ("starting", Guest(id="1", record=MachineRecord(spec=ON, is_built=True), observed=DomainState(run_state=RunState.UNFINISHED_START)), MachineState.PENDING),
        ("runs", Guest(id="1", record=MachineRecord(spec=ON, is_built=True), observed=DomainState(run_state=RunState.RUNNING)), MachineState.RUNNING),
        ("paused", Guest(id="1", record=MachineRecord(spec=ON, is_built=True), observed=DomainState(run_state=RunState.PAUSED)), MachineState.RUNNING),
        ("off as desired", Guest(id="1", record=MachineRecord(spec=OFF, is_built=True), is_autostart_off=True), MachineState.SUSPENDED),
        ("off as desired, autostart still on", Guest(id="1", record=MachineRecord(spec=OFF, is_built=True)), MachineState.PENDING),
        ("off by itself", Guest(id="1", record=MachineRecord(spec=ON, is_built=True), reason=GUEST_POWER_OFF), MachineState.TERMINATED),
        ("under deletion", Guest(id="1", record=MachineRecord(spec=ON, deleted_at=1), observed=DomainState(run_state=RunState.UNFINISHED_START)), MachineState.TERMINATING),
    ],
)  # fmt: skip
def test_state_of_a_machine_follows_its_record_and_its_domain(
    id: str, guest: Guest, want: MachineState
) -> None:
    assert derive_state(guest) is want
