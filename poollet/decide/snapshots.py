"""What becomes of one snapshot of a volume: the calls it needs next, and what the report says of it.

As with volumes, one that was there and is missing is never made anew: it would hold other data.
"""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from iri.volume import RuntimeSnapshot, RuntimeVolume, SnapshotSpec, SnapshotState, VolumeState
from poollet.decide import model_to_iri
from poollet.decide.actions import Call, CreateCall, EventText, Ref, RemoveCall
from poollet.decide.assignments import Go, Have, Keep, Leave, Order
from poollet.decide.decision_pass import Round, Standing
from poollet.decide.inventory import Absent, Doubtful, Present, Several, Unknown, Unsettled
from poollet.decide.machine_conditions import up_to_date_conditions
from poollet.decide.machines import DUPLICATES, ordered
from poollet.decide.secrets import NotReady
from poollet.decide.volumes import LOST
from poollet.report import iri_to_report
from poollet.report.conditions import READY, SOURCE_READY, UP_TO_DATE, condition, summarize_problems
from schemas import report
from schemas.kinds import Key, Kind
from schemas.model import Volume, VolumeSnapshot


def snapshot_entry(standing: Standing, snapshot: VolumeSnapshot, round: Round) -> report.SnapshotReport:
    order, before = standing.order, round.before(standing.order, report.SnapshotReport)
    match standing.presence:
        case Unknown():
            return replace(before or said_of(order, None, ()), phase="unknown")
        case Unsettled():
            round.keep_missing(order.ref)
            return before or pending(order, ())
        case Doubtful() as doubtful:
            round.doubt(order.ref, doubtful)
            return before or pending(order, ())
        case Several(found):
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
            round.keep_missing(order.ref)
            return of_absent(order, snapshot, round)
        case Present(there):
            assert isinstance(there, RuntimeSnapshot)
            return of_present(order, there, round)
        case _:
            assert_never(standing.presence)


def of_absent(order: Order, snapshot: VolumeSnapshot, round: Round) -> report.SnapshotReport:
    match order.intent:
        case Go():
            return report.SnapshotReport(order.ref.uid, order.assignment, "gone", order.pool)
        case Leave(reason, message):
            return pending(order, (condition(UP_TO_DATE, False, reason, message),))
        case Keep():
            return lost(order, round)
        case Have():
            return lost(order, round) if round.was_reported(order) else created(order, snapshot, round)
        case _:
            assert_never(order.intent)


def lost(order: Order, round: Round) -> report.SnapshotReport:
    before = round.before(order, report.SnapshotReport)
    status = (before.status if before is not None else None) or report.ReportedSnapshotStatus()
    fault = condition(READY, False, LOST, "the snapshot is missing from the runtime; its data is lost")
    return replace(said_of(order, replace(status, state="Failed"), (fault,)), phase="unknown")


def created(order: Order, snapshot: VolumeSnapshot, round: Round) -> report.SnapshotReport:
    source = source_id(order, snapshot, round)
    if isinstance(source, NotReady):
        return pending(order, (summarize_problems(SOURCE_READY, [(source.reason, source.message)]),))
    wanted = RuntimeSnapshot(
        labels=model_to_iri.labels(order, round.situation.facts.fleet), spec=SnapshotSpec(volume_id=source)
    )
    found = round.step(order, (CreateCall(wanted),), (EventText("Created", "created"),))
    return pending(order, up_to_date_conditions(found, ()))


def source_id(order: Order, snapshot: VolumeSnapshot, round: Round) -> str | NotReady:
    """The runtime's id of the volume that it is taken of."""
    name = snapshot.spec.volume_ref.name
    volume = round.view.objects.get(Key(Kind.VOLUME, snapshot.namespace, name))
    if not isinstance(volume, Volume):
        return NotReady("VolumeMissing", f"Volume {name} does not exist on live")
    there = round.inventory.at(Ref(RuntimeVolume, volume.metadata.uid), order.runtime)
    if (
        not isinstance(there, RuntimeVolume)
        or there.status.state is not VolumeState.AVAILABLE
        or there.deleted_at
    ):
        return NotReady("VolumeNotReady", f"Volume {name} is not available yet")
    return there.id


def of_present(order: Order, there: RuntimeSnapshot, round: Round) -> report.SnapshotReport:
    status = iri_to_report.snapshot_status(there, round.provider(order.runtime))
    is_ready = there.status.state is SnapshotState.READY and not there.deleted_at
    ready = condition(READY, is_ready, status.state or "Unknown")
    match order.intent:
        case Go(reason):
            round.removing_since_ms[order.ref] = round.situation.memory.removing_since_ms.get(
                order.ref, round.now_ms
            )
            calls: tuple[Call, ...] = () if there.deleted_at else (RemoveCall(RuntimeSnapshot, there.id),)
            found = round.step(order, calls, (EventText("Removing", reason),))
            ending = condition(READY, False, "Terminating", f"removing the snapshot: {reason}")
            return said_of(order, status, (ending, *up_to_date_conditions(found, ())))
        case Leave(reason, message):
            return said_of(order, status, (ready, condition(UP_TO_DATE, False, reason, message)))
        case Keep() | Have():
            return said_of(order, status, (ready,))
        case _:
            assert_never(order.intent)


def pending(order: Order, said: tuple[report.ReportedCondition, ...]) -> report.SnapshotReport:
    waits = [one for one in said if one.status == "False"]
    ready = condition(READY, False, waits[0].reason if waits else "Pending")
    return said_of(order, report.ReportedSnapshotStatus(state="Pending"), (*said, ready))


def said_of(
    order: Order, status: report.ReportedSnapshotStatus | None, said: tuple[report.ReportedCondition, ...]
) -> report.SnapshotReport:
    whole = replace(status, conditions=ordered(said)) if status is not None else None
    return report.SnapshotReport(order.ref.uid, order.assignment, "present", order.pool, status=whole)
