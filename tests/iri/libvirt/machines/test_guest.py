"""What is said of a guest: its state, from what libvirt shows of its domain and what was wished."""

from __future__ import annotations

import pytest

from iri.libvirt.domain.domain_state import DomainState, RunState
from iri.libvirt.domain.record import MachineRecord
from iri.libvirt.machines.guest import GUEST_POWER_OFF, Guest, state_of
from iri.machine import MachineState, Power, RuntimeMachineSpec

ON, OFF = RuntimeMachineSpec(power=Power.ON), RuntimeMachineSpec(power=Power.OFF)


@pytest.mark.parametrize(
    ("id", "guest", "want"),
    [
        ("recorded", Guest(id="1", record=MachineRecord(spec=ON)), MachineState.PENDING),
        ("starting", Guest(id="1", record=MachineRecord(spec=ON, is_built=True), seen=DomainState(life=RunState.HELD)), MachineState.PENDING),
        ("runs", Guest(id="1", record=MachineRecord(spec=ON, is_built=True), seen=DomainState(life=RunState.RUNNING)), MachineState.RUNNING),
        ("paused", Guest(id="1", record=MachineRecord(spec=ON, is_built=True), seen=DomainState(life=RunState.PAUSED)), MachineState.RUNNING),
        ("off by wish", Guest(id="1", record=MachineRecord(spec=OFF, is_built=True), is_kept_off=True), MachineState.SUSPENDED),
        ("off by wish, and started with its host", Guest(id="1", record=MachineRecord(spec=OFF, is_built=True)), MachineState.PENDING),
        ("off by itself", Guest(id="1", record=MachineRecord(spec=ON, is_built=True), reason=GUEST_POWER_OFF), MachineState.TERMINATED),
        ("under deletion", Guest(id="1", record=MachineRecord(spec=ON, deleted_at=1), seen=DomainState(life=RunState.HELD)), MachineState.TERMINATING),
    ],
)  # fmt: skip
def test_state(id: str, guest: Guest, want: MachineState) -> None:
    assert state_of(guest) is want
