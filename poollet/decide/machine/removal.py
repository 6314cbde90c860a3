"""How a machine is removed: its guest is powered off first, and after a while the machine is removed in any case."""

from __future__ import annotations

from iri.change import SetPower
from iri.machine import MachineState, Power, RuntimeMachine
from poollet.decide.actions import Call, Ref, RemoveCall, UpdateCall
from poollet.decide.decision_pass import DecisionPass


def removal_calls(ref: Ref, there: RuntimeMachine, current: DecisionPass) -> tuple[Call, ...]:
    since_ms = current.inputs.memory.removing_since_ms.get(ref, current.now_ms)
    current.removing_since_ms[ref] = since_ms
    if there.deleted_at:
        return ()
    off = UpdateCall(there.id, SetPower(Power.OFF))
    deadline_ms = since_ms + 1000 * current.inputs.facts.power_off_seconds
    is_refused = any(one.call == off and one.error is not None for one in current.retries_of(ref).attempts)
    if there.status.state is not MachineState.RUNNING or is_refused or current.now_ms >= deadline_ms:
        return (RemoveCall(RuntimeMachine, there.id),)
    current.recheck_at(deadline_ms)
    return (off,) if there.spec.power is not Power.OFF else ()
