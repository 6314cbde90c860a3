"""What becomes of one snapshot of a volume: the calls it needs next, and what the report says of it.

As with volumes, one that was there and is missing is never made anew: it would hold other data.
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
from poollet.decide.machine_conditions import up_to_date_conditions
from poollet.decide.machines import DUPLICATES, ordered
from poollet.decide.secrets import NotReady
from poollet.decide.volumes import LOST
from poollet.report import iri_to_report
from poollet.report.conditions import READY, SOURCE_READY, UP_TO_DATE, condition, summarize_problems
from schemas import report
from schemas.kinds import Key, Kind
from schemas.model import Volume, VolumeSnapshot


def snapshot_entry(
    ordered_object: OrderedObject, snapshot: VolumeSnapshot, current: DecisionPass
) -> report.SnapshotReport:
    order, before = ordered_object.order, current.before(ordered_object.order, report.SnapshotReport)
    match ordered_object.presence:
        case Unknown():
            return replace(before or said_of(order, None, ()), phase="unknown")
        case InFlight():
            current.keep_missing(order.ref)
            return before or pending(order, ())
        case UnconfirmedAbsent() as doubtful:
            current.doubt(order.ref, doubtful)
            return before or pending(order, ())
        case Duplicates(found):
            ids = ", ".join(f"{one.runtime}: {one.object.id}" for one in found)
            fault = condition(
                UP_TO_DATE,
                False,
                DUPLICATES,
                f"several objects have this uid: {ids}; remove all but one on the host",
            )
            status = (before.status if before is not None else None) or report.ReportedSnapshotStatus()
            return said_of(order, status, (fault,))
        case Absent():
            current.keep_missing(order.ref)
            return of_absent(order, snapshot, current)
        case Present(there):
            assert isinstance(there, RuntimeSnapshot)
            return of_present(order, there, current)
        case _:
            assert_never(ordered_object.presence)


def of_absent(order: HostOrder, snapshot: VolumeSnapshot, current: DecisionPass) -> report.SnapshotReport:
    match order.intent:
        case Withdraw():
            return report.SnapshotReport(order.ref.uid, order.assignment, "gone", order.pool)
        case Skip(reason, message):
            return pending(order, (condition(UP_TO_DATE, False, reason, message),))
        case Retain():
            return lost(order, current)
        case Ensure():
            return lost(order, current) if current.was_reported(order) else created(order, snapshot, current)
        case _:
            assert_never(order.intent)


def lost(order: HostOrder, current: DecisionPass) -> report.SnapshotReport:
    before = current.before(order, report.SnapshotReport)
    status = (before.status if before is not None else None) or report.ReportedSnapshotStatus()
    fault = condition(READY, False, LOST, "the snapshot is missing from the runtime; its data is lost")
    return replace(said_of(order, replace(status, state="Failed"), (fault,)), phase="unknown")


def created(order: HostOrder, snapshot: VolumeSnapshot, current: DecisionPass) -> report.SnapshotReport:
    source = source_id(order, snapshot, current)
    if isinstance(source, NotReady):
        return pending(order, (summarize_problems(SOURCE_READY, [(source.reason, source.message)]),))
    wanted = RuntimeSnapshot(
        labels=model_to_iri.labels(order, current.inputs.facts.fleet), spec=SnapshotSpec(volume_id=source)
    )
    found = current.step(order, (CreateCall(wanted),), (EventText("Created", "created"),))
    return pending(order, up_to_date_conditions(found, ()))


def source_id(order: HostOrder, snapshot: VolumeSnapshot, current: DecisionPass) -> str | NotReady:
    """The runtime's id of the volume that it is taken of."""
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


def of_present(order: HostOrder, there: RuntimeSnapshot, current: DecisionPass) -> report.SnapshotReport:
    status = iri_to_report.snapshot_status(there, current.provider(order.runtime))
    is_ready = there.status.state is SnapshotState.READY and not there.deleted_at
    ready = condition(READY, is_ready, status.state or "Unknown")
    match order.intent:
        case Withdraw(reason):
            current.removing_since_ms[order.ref] = current.inputs.memory.removing_since_ms.get(
                order.ref, current.now_ms
            )
            calls: tuple[Call, ...] = () if there.deleted_at else (RemoveCall(RuntimeSnapshot, there.id),)
            found = current.step(order, calls, (EventText("Removing", reason),))
            ending = condition(READY, False, "Terminating", f"removing the snapshot: {reason}")
            return said_of(order, status, (ending, *up_to_date_conditions(found, ())))
        case Skip(reason, message):
            return said_of(order, status, (ready, condition(UP_TO_DATE, False, reason, message)))
        case Retain() | Ensure():
            return said_of(order, status, (ready,))
        case _:
            assert_never(order.intent)


def pending(order: HostOrder, said: tuple[report.ReportedCondition, ...]) -> report.SnapshotReport:
    waits = [one for one in said if one.status == "False"]
    ready = condition(READY, False, waits[0].reason if waits else "Pending")
    return said_of(order, report.ReportedSnapshotStatus(state="Pending"), (*said, ready))


def said_of(
    order: HostOrder, status: report.ReportedSnapshotStatus | None, said: tuple[report.ReportedCondition, ...]
) -> report.SnapshotReport:
    whole = replace(status, conditions=ordered(said)) if status is not None else None
    return report.SnapshotReport(order.ref.uid, order.assignment, "present", order.pool, status=whole)
