"""Machines that people gave free to be made anew elsewhere when their host is lost.

That takes the host's own promise, in its report: it is off, and stays off until the report says otherwise. What people say
meanwhile changes nothing about it: a host that cannot reach the remote must not start what may run elsewhere by now. So a
promise is taken back first, and the machine started once that stands on the ref.
"""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from iri.machine import Machine as IRIMachine
from iri.machine import Power
from poollet.decide.assignments import Order
from poollet.decide.inventory import Absent, Doubtful, Presence, Present, Several, Unknown, Unsettled
from poollet.decide.round import Round
from poollet.report import told
from schemas import report
from schemas.model import Machine
from schemas.report.objects import OFF_STATES, Promise

AGAIN_MS = 500  # a report takes that long to arrive


def stays_off(there: IRIMachine) -> bool:
    """Off, and its runtime has no word to start it: one that is to be on is started by many a runtime at any time."""
    return there.spec.power is Power.OFF and told.machine_state(there) in OFF_STATES


def while_standing_still(promise: Promise, there: IRIMachine) -> Promise:
    """Nothing is promised anew, and nothing that is not true stays said."""
    return "TakenBack" if promise == "StaysOff" and not stays_off(there) else promise


def may_start(order: Order, round: Round) -> bool:
    """By what was said of it before, which is all that others know."""
    before = round.before(order, report.MachineReport)
    promise = before.promise if before is not None else ""
    if promise == "" or (promise == "TakenBack" and round.situation.heard):
        return True
    round.postponed.append(order.key)
    round.look_again(round.now_ms + AGAIN_MS)
    return False


def with_promise(
    machine: Machine, entry: report.MachineReport, presence: Presence, before: report.MachineReport | None
) -> report.MachineReport:
    """Promised is only what is seen to be so. What was taken back is said until the machine runs: a promise may stand on the ref
    as long as that is not known."""
    last: Promise = before.promise if before is not None else ""
    is_free = machine.spec.on_pool_lost == "Replace" and machine.spec.power == "Off"
    if entry.phase == "present" and is_free and is_sure(presence, last):
        return replace(entry, promise="StaysOff")
    state = entry.status.state if entry.status is not None else None
    may_stand = last != "" and entry.phase in ("present", "unknown") and state != "Running"
    return replace(entry, promise="TakenBack" if may_stand else "")


def is_sure(presence: Presence, last: Promise) -> bool:
    """That it stays off. What cannot be seen at present is only as sure as it was."""
    match presence:
        case Present(there):
            return isinstance(there, IRIMachine) and stays_off(there)
        case Unsettled() | Doubtful():
            return last == "StaysOff"
        case Several() | Absent() | Unknown():
            return False
        case _:
            assert_never(presence)
