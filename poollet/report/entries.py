"""Entries of objects in the report, where the three kinds agree: new, pending, rejected, or with conditions added. Pure.

Theory of operation. An entry answers one assignment, which it names by id. Its phase is what the
reconciler acts on:

    present     accepted by this pool; without an id in its status it is not created yet
    unknown     whether it exists cannot be told now; the reconciler waits
    rejected    refused, with reasons; final for this assignment, and another pool is tried
    gone        does not exist here; final, and what an order to delete or to evict waits for

Must never happen: an entry says `gone` while the object may exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from poollet.decide.actions import CallError, EventText
from poollet.decide.assignments import HostOrder
from poollet.decide.memory import Entry
from poollet.decide.retry import RetryDecision
from poollet.decide.secrets import NotReady
from poollet.report.conditions import READY, UP_TO_DATE, condition, sort_conditions, summarize_problems
from schemas import report
from schemas.kinds import Kind
from schemas.live_layout import MAX_TEXT
from schemas.report.objects import Phase

Conditions = tuple[report.ReportedCondition, ...]
Status = report.ReportedMachineStatus | report.ReportedVolumeStatus | report.ReportedSnapshotStatus
ENTRIES: Mapping[
    Kind, type[report.MachineReport] | type[report.VolumeReport] | type[report.SnapshotReport]
] = {
    Kind.MACHINE: report.MachineReport,
    Kind.VOLUME: report.VolumeReport,
    Kind.VOLUME_SNAPSHOT: report.SnapshotReport,
}


def new_entry(
    order: HostOrder, phase: Phase = "present", reasons: tuple[report.ReportedReason, ...] = ()
) -> Entry:
    """The answer to an assignment, without a status: all that `gone` and `rejected` need."""
    return ENTRIES[order.key.kind](order.ref.uid, order.assignment, phase, order.pool, reasons)


def rejection_reasons(errors: Iterable[CallError]) -> tuple[report.ReportedReason, ...]:
    """The errors of a runtime as reasons of a rejection; messages are cut to what a report can carry."""
    return tuple(report.ReportedReason(one.code, one.message[:MAX_TEXT]) for one in errors)


def empty_status(entry: Entry) -> Status:
    """The status of an entry's kind with nothing known."""
    match entry:
        case report.MachineReport():
            return report.ReportedMachineStatus()
        case report.VolumeReport():
            return report.ReportedVolumeStatus()
        case report.SnapshotReport():
            return report.ReportedSnapshotStatus()


def report_pending(order: HostOrder, known: Conditions = ()) -> Entry:
    """Accepted by this pool and not created yet, so without an id."""
    blocked = [one for one in known if one.status == "False"]
    ready = condition(READY, False, blocked[0].reason if blocked else "Pending")
    entry, conditions = new_entry(order), sort_conditions((*known, ready))
    return replace(entry, status=replace(empty_status(entry), state="Pending", conditions=conditions))


def with_conditions(entry: Entry, known: Conditions) -> Entry:
    """The entry with these conditions in place of those of the same type. Its phase becomes `present`: there
    is something to say about an object that the runtime lists."""
    status = entry.status or empty_status(entry)
    conditions = sort_conditions((*known, *without_types(status.conditions, known)))
    return replace(entry, phase="present", status=replace(status, conditions=conditions))


def explain_state(state: str, explanation: EventText | None) -> tuple[str, str]:
    """Reason and message of an object that is not ready. A warning is the reason; anything else is progress, which only the message names."""
    match explanation:
        case None:
            return state, ""
        case EventText(reason, message, True):
            return reason, message
        case EventText(reason, message):
            return state, f"{reason}: {message}" if message else reason


def without_types(found: Iterable[report.ReportedCondition], known: Conditions) -> Conditions:
    """Those of a type that is not known already."""
    types = {one.type for one in known}
    return tuple(one for one in found if one.type not in types)


def up_to_date_conditions(found: RetryDecision, blocked: Iterable[NotReady] = ()) -> Conditions:
    """Reported only while it is false."""
    # The last report put all problems into one condition, which stays until each call was made again.
    problems = [*found.errors, *(blocked if found.retries.from_last_report is None else ())]
    return (summarize_problems(UP_TO_DATE, problems),) if problems else ()
