"""A machine as viewers see it: one state, why it is so, and where. Pure.

    what is known                                                   state
    its removal is ordered                                          TERMINATING
    no assignment, and it cannot go on as declared                  BLOCKED
    no assignment, and every pool refused it                        UNSCHEDULABLE
    no assignment otherwise                                         ACCEPTED
    assigned, and its host cannot be asked                          UNKNOWN
    assigned, and the host reports Running                          RUNNING
    assigned, and the host reports Shutdown                         STOPPED
    assigned, and the guest ended by itself: with an error          CRASHED
                                             otherwise              STOPPED
    assigned, and the host reports nothing of it yet, or Pending    PLACED

A machine that left the source keeps its state until its removal is ordered; what holds that is among its reasons.

What a host reports counts by the rules of world/reports/authority.py, as in a tick.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from reconciler.schedule.decision import Predicate, Refusal
from reconciler.world.objects.object_state import ObjectState
from reconciler.world.pools.pool_state import PoolState
from reconciler.world.record import ACCEPTED, DELETION_HELD, LOST, SCHEDULED, Record, condition, moment
from reconciler.world.reports.heartbeat import Heartbeat
from reconciler.world.reports.object_report import ObjectReport
from reconciler.world.reports.status_update import READY, status_from_report
from reconciler.world.view import View
from schemas.kinds import Key
from schemas.model import Machine, MachineStatus

CRASH = "Crash"  # the reason of Ready that runtimes give for a guest that ended with an error


class InstanceState(StrEnum):
    """As InstanceState of controller.proto, without its prefix."""

    ACCEPTED = "ACCEPTED"
    PLACED = "PLACED"
    RUNNING = "RUNNING"
    STOPPED = "STOPPED"
    CRASHED = "CRASHED"
    UNSCHEDULABLE = "UNSCHEDULABLE"
    UNKNOWN = "UNKNOWN"
    TERMINATING = "TERMINATING"
    BLOCKED = "BLOCKED"


class StatedReason(NamedTuple):
    """`reason` is a word for programs; the last three say what is too small."""

    reason: str
    message: str
    resource: str = ""
    need: str = ""
    have: str = ""


class PoolRefusal(NamedTuple):
    """Why one pool refused the machine. Without a pool it concerns the machine as such."""

    pool: str
    reasons: tuple[StatedReason, ...]


@dataclass(frozen=True, slots=True)
class InstancePicture:
    """`power` is what is declared. `is_leaving`: a commit orders that it stops here, to be removed or placed elsewhere. `since` is when
    this process saw that state first, or when `live` says that it began; `commit` is of `live`."""

    key: Key
    uid: str
    state: InstanceState
    pool: str = ""
    poollet: str = ""
    power: str = "On"
    is_leaving: bool = False
    refusals: tuple[PoolRefusal, ...] = ()
    reasons: tuple[StatedReason, ...] = ()
    ips: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    has_left_host: bool = False  # its host said that it leaves
    commit: str = ""
    since: datetime | None = None


def paint_instance(
    view: View, known: ObjectState, record: Record, refusals: tuple[Refusal, ...]
) -> InstancePicture:
    """`record` is what `live` has, or what a commit of this tick made of it. `refusals` are those of the last try."""
    machine = known.object
    assert isinstance(machine, Machine), "by its kind"
    pool = view.pools.get(record.pool)
    report = view.accepted_reports(known.key).report
    status = _observe(record, report, pool, view.reports.now)
    is_lost = pool is None or pool.is_lost
    state = _find_state(record, status, is_lost=is_lost)
    is_placed = record.assignment is not None
    rejections = tuple(
        PoolRefusal(each.pool, (StatedReason(each.reason or Predicate.REJECTED.value, each.message),))
        for each in status.rejections
        if each.pool != record.pool
    )
    ready = condition(status.conditions, READY)
    return InstancePicture(
        known.key,
        record.uid,
        state,
        record.pool,
        pool.poollet if pool is not None else "",
        machine.spec.power,
        is_ordered(record) or record.evict is not None,
        rejections if is_placed else (*rejections, *map(_refusal, refusals)),
        tuple(_list_reasons(record, status, state)),
        tuple(ip for each in status.network_interfaces for ip in each.ips),
        tuple(sorted(machine.metadata.labels.items())),
        pool is not None and pool.heartbeat is Heartbeat.LEFT,
        since=moment(ready.last_transition_time) if ready is not None else None,
    )


def _observe(
    record: Record, report: ObjectReport | None, pool: PoolState | None, now: datetime
) -> MachineStatus:
    """The status with the newest report, where one counts for the present assignment. The last report of a lost pool says nothing."""
    status, assignment = record.status, record.assignment
    is_present = report is not None and report.phase in ("present", "unknown")
    if report is None or assignment is None or pool is None:
        return status if isinstance(status, MachineStatus) else MachineStatus()
    if is_present and not pool.is_lost and report.assignment == assignment.id:
        status = status_from_report(record, report, now, find_trouble(pool))
    return status if isinstance(status, MachineStatus) else MachineStatus()


def find_trouble(pool: PoolState | None) -> str:
    """The reason why the pool is not ready, as its host reports it."""
    conditions = pool.announced.status.conditions if pool is not None and pool.announced else ()
    return next((each.reason for each in conditions if each.type == READY and each.status != "True"), "")


def is_ordered(record: Record) -> bool:
    """Whether its removal is ordered; of a machine with local data, first that it stops and is kept for an undo."""
    return record.is_deleting or record.undo is not None


def _find_state(record: Record, status: MachineStatus, *, is_lost: bool) -> InstanceState:
    if is_ordered(record):
        return InstanceState.TERMINATING
    if record.assignment is None:
        accepted, scheduled = record.condition(ACCEPTED), record.condition(SCHEDULED)
        if accepted is not None and accepted.status == "False":
            return InstanceState.BLOCKED
        is_refused = scheduled is not None and scheduled.reason == "Unschedulable"
        return InstanceState.UNSCHEDULABLE if is_refused else InstanceState.ACCEPTED
    ready = condition(status.conditions, READY)
    if is_lost or (ready is not None and ready.status == "Unknown"):
        return InstanceState.UNKNOWN
    match status.state:
        case "Running":
            return InstanceState.RUNNING
        case "Shutdown":
            return InstanceState.STOPPED
        case "Terminated":
            is_crash = ready is not None and ready.reason == CRASH
            return InstanceState.CRASHED if is_crash else InstanceState.STOPPED
        case "Terminating":
            return InstanceState.TERMINATING
    return InstanceState.BLOCKED if ready is not None and ready.reason == LOST else InstanceState.PLACED


def _list_reasons(record: Record, status: MachineStatus, state: InstanceState) -> list[StatedReason]:
    """What speaks against it, the reconciler's own reasons first."""
    accepted, scheduled = record.condition(ACCEPTED), record.condition(SCHEDULED)
    ready = condition(status.conditions, READY)
    found = [each for each in (accepted, scheduled) if each is not None and each.status == "False"]
    if ready is not None and ready.status != "True" and state is not InstanceState.RUNNING:
        found.append(ready)
    held = record.condition(DELETION_HELD)
    if held is not None and held.status == "True":
        found.append(held)
    reasons = [StatedReason(each.reason, each.message) for each in found]
    if record.evict is not None:
        reasons.append(StatedReason(record.evict.reason, f"it is to leave pool {record.pool}"))
    return list(dict.fromkeys(reasons))


def _refusal(found: Refusal) -> PoolRefusal:
    return PoolRefusal(
        found.pool,
        tuple(
            StatedReason(each.predicate.value, each.message, each.resource, each.need, each.have)
            for each in found.reasons
        ),
    )
