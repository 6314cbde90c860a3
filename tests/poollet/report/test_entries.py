"""Entries of the three kinds: pending, rejected, or with conditions added."""

from __future__ import annotations

import pytest

from poollet.decide.actions import RUNTIME_KINDS, CallError, Ref
from poollet.decide.assignments import Ensure, HostOrder, Ordered
from poollet.decide.gates import GateInput
from poollet.decide.memory import Entry
from poollet.decide.retry import Retries, RetryDecision
from poollet.decide.secrets import NotReady
from poollet.report.conditions import READY, UP_TO_DATE, condition
from poollet.report.entries import (
    Conditions,
    empty_status,
    new_entry,
    rejection_reasons,
    report_pending,
    up_to_date_conditions,
    with_conditions,
    without_types,
)
from poollet.sync.live_view import LiveDocument
from schemas import report
from schemas.live_layout import MAX_TEXT
from tests.poollet.documents import machine, snapshot, volume


def order_of(document: LiveDocument) -> HostOrder:
    object = document.object
    assert isinstance(object, Ordered)
    assert object.status.assignment is not None
    return HostOrder(
        ref=Ref(RUNTIME_KINDS[object.KIND], object.metadata.uid),
        key=object.key,
        pool=object.status.assignment.pool,
        runtime="sim",
        assignment=object.status.assignment.id,
        object=object,
        intent=Ensure(),
        at=GateInput(),
    )


ORDERS = {"machine": order_of(machine()), "volume": order_of(volume()), "snapshot": order_of(snapshot())}
TYPES: dict[str, type[Entry]] = {
    "machine": report.MachineReport,
    "volume": report.VolumeReport,
    "snapshot": report.SnapshotReport,
}


@pytest.mark.parametrize("kind", ORDERS)
def test_an_entry_answers_the_assignment_of_its_order(kind: str) -> None:
    order, reasons = ORDERS[kind], (report.ReportedReason("Full", "no space"),)
    found = new_entry(order, "rejected", reasons)
    assert type(found) is TYPES[kind]
    assert (found.uid, found.assignment, found.pool) == (order.ref.uid, order.assignment, order.pool)
    assert (found.phase, found.reasons, found.status) == ("rejected", reasons, None)


@pytest.mark.parametrize("kind", ORDERS)
def test_a_pending_object_has_no_id(kind: str) -> None:
    found = report_pending(ORDERS[kind])
    assert found.status is not None
    assert (found.phase, found.status.state) == ("present", "Pending")
    empty = empty_status(found)
    assert type(found.status) is type(empty)
    ids = {"machine": "machine_id", "volume": "volume_id", "snapshot": "snapshot_id"}
    assert getattr(found.status, ids[kind]) == ""


UP, DOWN = condition("ClassReady", True, "ClassReady"), condition("ClassReady", False, "ClassMissing", "m")
SECRET = condition("SecretsReady", False, "SecretMissing", "s")

# the conditions that are known, the reason of Ready, the types in the report
PENDING: dict[str, tuple[Conditions, str, list[str]]] = {
    "nothing known": ((), "Pending", ["Ready"]),
    "all is ready": ((UP,), "Pending", ["ClassReady", "Ready"]),
    "one is not": ((DOWN,), "ClassMissing", ["ClassReady", "Ready"]),
    "the first that is not gives the reason": (
        (UP, SECRET, DOWN),
        "SecretMissing",
        ["ClassReady", "ClassReady", "Ready", "SecretsReady"],
    ),
    "unknown does not block": (
        (condition("ClassReady", "Unknown", "Asking"),),
        "Pending",
        ["ClassReady", "Ready"],
    ),
}


@pytest.mark.parametrize(("known", "reason", "types"), PENDING.values(), ids=PENDING.keys())
def test_a_pending_object_names_what_it_waits_for(known: Conditions, reason: str, types: list[str]) -> None:
    found = report_pending(ORDERS["machine"], known)
    assert found.status is not None
    (ready,) = [one for one in found.status.conditions if one.type == READY]
    assert (ready.status, ready.reason) == ("False", reason)
    assert [one.type for one in found.status.conditions] == types


TYPED: dict[str, tuple[Conditions, Conditions, Conditions]] = {
    "none": ((), (), ()),
    "another type stays": ((SECRET,), (DOWN,), (SECRET,)),
    "the same type goes": ((UP, SECRET), (DOWN,), (SECRET,)),
    "all go": ((UP,), (DOWN, SECRET), ()),
}


@pytest.mark.parametrize(("given", "known", "want"), TYPED.values(), ids=TYPED.keys())
def test_a_type_that_is_known_is_not_stated_twice(
    given: Conditions, known: Conditions, want: Conditions
) -> None:
    assert without_types(given, known) == want


def with_status(phase: str, *conditions: report.ReportedCondition) -> report.MachineReport:
    status = report.ReportedMachineStatus(machine_id="sim://1", conditions=conditions)
    return report.MachineReport("u", "a", phase, status=status)  # type: ignore[arg-type]


# the entry before, the conditions, those of the entry after
ADDED: dict[str, tuple[report.MachineReport, Conditions, Conditions]] = {
    "to none": (with_status("present"), (DOWN,), (DOWN,)),
    "in the place of the same type": (with_status("present", UP), (DOWN,), (DOWN,)),
    "beside another type, sorted": (with_status("present", SECRET), (DOWN,), (DOWN, SECRET)),
    "to an unknown object": (with_status("unknown", SECRET), (DOWN,), (DOWN, SECRET)),
    "to an entry without a status": (report.MachineReport("u", "a", "unknown"), (DOWN,), (DOWN,)),
}


@pytest.mark.parametrize(("before", "known", "want"), ADDED.values(), ids=ADDED.keys())
def test_conditions_are_added_to_an_entry(
    before: report.MachineReport, known: Conditions, want: Conditions
) -> None:
    found = with_conditions(before, known)
    assert isinstance(found, report.MachineReport)
    assert found.status is not None
    assert (found.phase, found.status.conditions) == ("present", want)
    assert found.status.machine_id == (before.status.machine_id if before.status is not None else "")


REFUSED, OLD = CallError("Unavailable", "no answer"), CallError("Internal", "as it was reported")
BLOCKED = NotReady("Shrinks", "a volume cannot shrink")

# what became of the calls, what cannot be called for, reason and message of UpToDate
CALLS: dict[str, tuple[RetryDecision, tuple[NotReady, ...], tuple[str, str] | None]] = {
    "all is well": (RetryDecision(), (), None),
    "an error": (RetryDecision(errors=(REFUSED,)), (), ("Unavailable", "no answer")),
    "blocked": (RetryDecision(), (BLOCKED,), ("Shrinks", "a volume cannot shrink")),
    "an error comes first": (
        RetryDecision(errors=(REFUSED,)),
        (BLOCKED,),
        ("Unavailable", "no answer; a volume cannot shrink"),
    ),
    "the error of the last report has all problems in it": (
        RetryDecision(errors=(OLD,), retries=Retries((), OLD)),
        (BLOCKED,),
        ("Internal", "as it was reported"),
    ),
}


@pytest.mark.parametrize(("calls", "blocked", "want"), CALLS.values(), ids=CALLS.keys())
def test_up_to_date_is_reported_only_while_it_is_false(
    calls: RetryDecision, blocked: tuple[NotReady, ...], want: tuple[str, str] | None
) -> None:
    found = up_to_date_conditions(calls, blocked)
    assert [(one.type, one.status, one.reason, one.message) for one in found] == (
        [] if want is None else [(UP_TO_DATE, "False", *want)]
    )


def test_a_rejection_carries_each_error_within_the_limits_of_a_report() -> None:
    found = rejection_reasons((REFUSED, CallError("Internal", "x" * (MAX_TEXT + 1))))
    assert [(one.code, len(one.message)) for one in found] == [("Unavailable", 9), ("Internal", MAX_TEXT)]
