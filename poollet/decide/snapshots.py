"""Plans one snapshot of a volume: the calls that it needs next, and its entry in the report. Pure.

Must never happen: a snapshot that existed and is missing is taken again: it would hold other data.
"""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from iri.volume import RuntimeSnapshot, RuntimeVolume, SnapshotSpec, SnapshotState, VolumeState
from poollet.decide import model_to_iri
from poollet.decide.actions import Call, CreateCall, EventText, Ref, RemoveCall
from poollet.decide.assignments import Ensure, HostOrder, Retain, Skip, Withdraw
from poollet.decide.decision_pass import DecisionPass, OrderedObject
from poollet.decide.inventory import Absent, Duplicates, InFlight, Present, UnconfirmedAbsent, Unknown
from poollet.decide.machine.conditions import up_to_date_conditions
from poollet.decide.secrets import NotReady
from poollet.report import iri_to_report
from poollet.report.conditions import (
    LOST,
    READY,
    SOURCE_READY,
    UP_TO_DATE,
    condition,
    duplicates_condition,
    sort_conditions,
    summarize_problems,
)
from schemas import report
from schemas.kinds import Key, Kind
from schemas.model import Volume, VolumeSnapshot


def plan_snapshot(
    ordered_object: OrderedObject, snapshot: VolumeSnapshot, current: DecisionPass
) -> report.SnapshotReport:
    order, before = ordered_object.order, current.before(ordered_object.order, report.SnapshotReport)
    match ordered_object.presence:
        case Unknown():
            return replace(before or report_snapshot(order, None, ()), phase="unknown")
        case InFlight():
            current.keep_missing(order.ref)
            return before or report_pending(order, ())
        case UnconfirmedAbsent() as unconfirmed:
            current.remember_missing(order.ref, unconfirmed)
            return before or report_pending(order, ())
        case Duplicates(found):
            problem = duplicates_condition((one.runtime, one.object.id) for one in found)
            status = (before.status if before is not None else None) or report.ReportedSnapshotStatus()
            return report_snapshot(order, status, (problem,))
        case Absent():
            current.keep_missing(order.ref)
            return plan_absent(order, snapshot, current)
        case Present(there):
            assert isinstance(there, RuntimeSnapshot)
            return plan_present(order, there, current)
        case _:
            assert_never(ordered_object.presence)


def plan_absent(order: HostOrder, snapshot: VolumeSnapshot, current: DecisionPass) -> report.SnapshotReport:
    match order.intent:
        case Withdraw():
            return report.SnapshotReport(order.ref.uid, order.assignment, "gone", order.pool)
        case Skip(reason, message):
            return report_pending(order, (condition(UP_TO_DATE, False, reason, message),))
        case Retain():
            return report_lost(order, current)
        case Ensure():
            return (
                report_lost(order, current)
                if current.was_reported(order)
                else plan_missing(order, snapshot, current)
            )
        case _:
            assert_never(order.intent)


def report_lost(order: HostOrder, current: DecisionPass) -> report.SnapshotReport:
    before = current.before(order, report.SnapshotReport)
    status = (before.status if before is not None else None) or report.ReportedSnapshotStatus()
    problem = condition(READY, False, LOST, "the snapshot is missing from the runtime; its data is lost")
    return replace(report_snapshot(order, replace(status, state="Failed"), (problem,)), phase="unknown")


def plan_missing(order: HostOrder, snapshot: VolumeSnapshot, current: DecisionPass) -> report.SnapshotReport:
    source = find_source(order, snapshot, current)
    if isinstance(source, NotReady):
        return report_pending(order, (summarize_problems(SOURCE_READY, [(source.reason, source.message)]),))
    desired = RuntimeSnapshot(
        labels=model_to_iri.labels(order, current.inputs.facts.fleet), spec=SnapshotSpec(volume_id=source)
    )
    found = current.plan_action(order, (CreateCall(desired),), (EventText("Created", "created"),))
    return report_pending(order, up_to_date_conditions(found, ()))


def find_source(order: HostOrder, snapshot: VolumeSnapshot, current: DecisionPass) -> str | NotReady:
    """The runtime's id of the snapshot's volume."""
    name = snapshot.spec.volume_ref.name
    volume = current.view.objects.get(Key(Kind.VOLUME, snapshot.namespace, name))
    if not isinstance(volume, Volume):
        return NotReady("VolumeMissing", f"Volume {name} does not exist on live")
    there = current.inventory.at(Ref(RuntimeVolume, volume.metadata.uid), order.runtime)
    if (
        not isinstance(there, RuntimeVolume)
        or there.status.state is not VolumeState.AVAILABLE
        or there.deleted_at
    ):
        return NotReady("VolumeNotReady", f"Volume {name} is not available yet")
    return there.id


def plan_present(order: HostOrder, there: RuntimeSnapshot, current: DecisionPass) -> report.SnapshotReport:
    status = iri_to_report.snapshot_status(there, current.provider(order.runtime))
    is_ready = there.status.state is SnapshotState.READY and not there.deleted_at
    ready = condition(READY, is_ready, status.state or "Unknown")
    match order.intent:
        case Withdraw(reason):
            current.removing_since_ms[order.ref] = current.inputs.memory.removing_since_ms.get(
                order.ref, current.now_ms
            )
            calls: tuple[Call, ...] = () if there.deleted_at else (RemoveCall(RuntimeSnapshot, there.id),)
            found = current.plan_action(order, calls, (EventText("Removing", reason),))
            ending = condition(READY, False, "Terminating", f"removing the snapshot: {reason}")
            return report_snapshot(order, status, (ending, *up_to_date_conditions(found, ())))
        case Skip(reason, message):
            return report_snapshot(order, status, (ready, condition(UP_TO_DATE, False, reason, message)))
        case Retain() | Ensure():
            return report_snapshot(order, status, (ready,))
        case _:
            assert_never(order.intent)


def report_pending(order: HostOrder, known: tuple[report.ReportedCondition, ...]) -> report.SnapshotReport:
    missing = [one for one in known if one.status == "False"]
    ready = condition(READY, False, missing[0].reason if missing else "Pending")
    return report_snapshot(order, report.ReportedSnapshotStatus(state="Pending"), (*known, ready))


def report_snapshot(
    order: HostOrder,
    status: report.ReportedSnapshotStatus | None,
    known: tuple[report.ReportedCondition, ...],
) -> report.SnapshotReport:
    whole = replace(status, conditions=sort_conditions(known)) if status is not None else None
    return report.SnapshotReport(order.ref.uid, order.assignment, "present", order.pool, status=whole)
