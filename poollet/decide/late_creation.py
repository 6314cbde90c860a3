"""Says `gone` and `rejected` only once nothing can be created for the assignment any more. Pure.

Theory of operation. A creation that was not answered may take effect at any later time: the runtime hung, or its process was
suspended. Once the host has said that an object is gone, another host gets it, and a late creation would make it run twice. So:

    the runtime                  before `gone`                                          before `rejected`
    has the Host service         the assignment is ended there (EndCall), and a list    the same, where a creation may be under way
                                 that was requested after that lacks the object
    answers Unimplemented        LATE_MS after the last creation without an answer;     the same
                                 of an object that was never there, also LATE_MS
                                 after this run began

A creation may be under way if this run had no answer to one, or if the last report of an earlier run had the object pending.
What takes effect even later than that is powered off (fences.py).

Must never happen: `gone` or `rejected` is said while a creation of this assignment may still be carried out by a runtime of ours.
"""

from __future__ import annotations

from poollet.decide.actions import CreateCall, EndCall
from poollet.decide.assignments import HostOrder
from poollet.decide.decision_pass import DecisionPass
from poollet.decide.memory import FINAL, Entry
from poollet.decide.retry import Outcome
from poollet.report.conditions import READY, condition
from poollet.report.entries import new_entry, report_pending, with_conditions
from schemas import report

LATE_MS = 300_000  # after which a runtime that cannot be asked is taken to carry out no call any more
UNIMPLEMENTED = "Unimplemented"
WAITING = "waits until no creation of it can take effect any more"


def end_assignment(order: HostOrder, current: DecisionPass) -> Entry | None:
    """None once it has ended; until then the call is planned, and this is the entry."""
    before = current.before(order)
    if before is not None and before.phase in FINAL:
        return None
    call = EndCall(order.assignment)
    known = next((one for one in current.retries_of(order.ref).attempts if one.call == call), None)
    if known is not None and known.outcome is Outcome.ACCEPTED:
        return None
    if known is not None and known.error is not None and known.error.code == UNIMPLEMENTED:
        late_ms = last_possible_ms(order, current)
        if late_ms is None or current.now_ms >= late_ms:
            return None
        current.recheck_at(late_ms)
    else:
        current.plan_action(order, (call,))
    ending = condition(READY, False, "Terminating", WAITING)
    return with_conditions(before or report_pending(order), (ending,))


def reject(order: HostOrder, reasons: tuple[report.ReportedReason, ...], current: DecisionPass) -> Entry:
    """The refusal, once no earlier creation can take effect: another host may take the object, and this one tries no more."""
    current.drop_actions(order)
    waiting = end_assignment(order, current) if may_be_under_way(order, current) else None
    return waiting or new_entry(order, "rejected", reasons)


def may_be_under_way(order: HostOrder, current: DecisionPass) -> bool:
    """Whether a creation of this assignment was called, and no answer to it is known."""
    if order.assignment in current.inputs.memory.inherited:
        return True
    return last_unanswered_ms(order, current) is not None


def last_unanswered_ms(order: HostOrder, current: DecisionPass) -> int | None:
    """When a creation last ended without an answer, in this run."""
    attempts = current.retries_of(order.ref).attempts
    moments = [one.unanswered_ms for one in attempts if isinstance(one.call, CreateCall)]
    return max((ms for ms in moments if ms is not None), default=None)


def last_possible_ms(order: HostOrder, current: DecisionPass) -> int | None:
    """Until when a creation may take effect on a runtime that cannot end assignments; None: none is under way."""
    found = last_unanswered_ms(order, current)
    since_ms = current.inputs.memory.since_ms
    if not current.was_made(
        order
    ):  # an earlier run may have called it, and died before its report was written
        found = max(found or 0, current.now_ms if since_ms is None else since_ms)
    return None if found is None else found + LATE_MS
