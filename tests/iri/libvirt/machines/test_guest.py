"""What is said of a guest: its state, from what libvirt shows of its domain and what was wished."""

from __future__ import annotations

import pytest

from iri.libvirt.domain.domain_state import Life, Seen
from iri.libvirt.domain.record import Record
from iri.libvirt.machines.guest import GUEST_POWER_OFF, Guest, state_of
from iri.machine import MachineSpec, MachineState, Power

ON, OFF = MachineSpec(power=Power.ON), MachineSpec(power=Power.OFF)


@pytest.mark.parametrize(
    ("id", "guest", "want"),
    [
        ("recorded", Guest(id="1", record=Record(spec=ON)), MachineState.PENDING),
        ("starting", Guest(id="1", record=Record(spec=ON, is_built=True), seen=Seen(life=Life.HELD)), MachineState.PENDING),
        ("runs", Guest(id="1", record=Record(spec=ON, is_built=True), seen=Seen(life=Life.RUNNING)), MachineState.RUNNING),
        ("paused", Guest(id="1", record=Record(spec=ON, is_built=True), seen=Seen(life=Life.PAUSED)), MachineState.RUNNING),
        ("off by wish", Guest(id="1", record=Record(spec=OFF, is_built=True), is_kept_off=True), MachineState.SUSPENDED),
        ("off by wish, and started with its host", Guest(id="1", record=Record(spec=OFF, is_built=True)), MachineState.PENDING),
        ("off by itself", Guest(id="1", record=Record(spec=ON, is_built=True), reason=GUEST_POWER_OFF), MachineState.TERMINATED),
        ("under deletion", Guest(id="1", record=Record(spec=ON, deleted_at=1), seen=Seen(life=Life.HELD)), MachineState.TERMINATING),
    ],
)  # fmt: skip
def test_state(id: str, guest: Guest, want: MachineState) -> None:
    assert state_of(guest) is want
