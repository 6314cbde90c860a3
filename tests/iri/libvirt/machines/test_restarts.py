"""When a guest that ended is started again: later after each restart in a row, and never later because of the host's uptime."""

from __future__ import annotations

import pytest

from iri.libvirt.domain.record import MachineRecord
from iri.libvirt.machines.guest import CRASH, Guest
from iri.libvirt.machines.power import next_restart
from iri.libvirt.machines.power_settings import PowerSettings

pytestmark = pytest.mark.clock

RULES = PowerSettings(first_restart=10.0, longest_restart=40.0, steady=60.0)


def ended_guest(**fields: object) -> Guest:
    return Guest(**({"id": "1", "record": MachineRecord(), "reason": CRASH} | fields))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("id", "guest", "now", "want"),
    [
        ("ended before this process started", ended_guest(), 5.0, (0, 0.0)),
        ("ended before this process started, host up for years", ended_guest(), 3e8, (0, 0.0)),
        ("ended as the clock began", ended_guest(started_at=0.0, ended_at=0.0), 0.0, (0, 10.0)),
        ("first end", ended_guest(started_at=100.0, ended_at=101.0), 101.0, (0, 10.0)),
        ("first end, some seconds ago", ended_guest(started_at=100.0, ended_at=101.0), 108.0, (0, 3.0)),
        ("second end in a row", ended_guest(started_at=100.0, ended_at=101.0, restarts=1), 101.0, (1, 20.0)),
        ("many ends in a row", ended_guest(started_at=100.0, ended_at=101.0, restarts=50), 101.0, (50, 40.0)),
        ("ended after a steady run", ended_guest(started_at=100.0, ended_at=160.0, restarts=5), 160.0, (0, 10.0)),
        ("never seen to start", ended_guest(ended_at=160.0, restarts=1), 160.0, (1, 20.0)),
    ],
)  # fmt: skip
def test_guest_that_ended_is_started_again_after_its_delay(
    id: str, guest: Guest, now: float, want: tuple[int, float]
) -> None:
    assert next_restart(guest, RULES, now) == want
