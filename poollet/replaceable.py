"""Machines that people gave free to be made anew elsewhere when their host is lost, if that had said of them that they are off.

Such a one is started only once the report that stands on the ref does not say so any more: a host that cannot reach the
remote must not start what may run elsewhere by now. And one that is to be on is never said to be off.
"""

from __future__ import annotations

from msgspec.structs import replace

from poollet.round import Round
from schemas import report
from schemas.model import Machine

OFF_STATES = frozenset(("Shutdown", "Terminated"))
AGAIN_MS = 500  # a report takes that long to arrive


def is_replaceable(machine: Machine) -> bool:
    return machine.spec.on_pool_lost == "Replace" and machine.spec.power != "Off"


def may_start(machine: Machine, before: report.Machine | None, round: Round) -> bool:
    """By what was said of it before, which is all that others know."""
    if not is_replaceable(machine) or before is None or before.status is None:
        return True
    state = before.status.state
    if state not in OFF_STATES and (state != "Pending" or round.situation.heard):
        return True
    round.look_again(round.now_ms + AGAIN_MS)
    return False


def as_told(machine: Machine, status: report.MachineStatus) -> report.MachineStatus:
    is_to_be_on = status.state in OFF_STATES and is_replaceable(machine)
    return replace(status, state="Pending") if is_to_be_on else status
