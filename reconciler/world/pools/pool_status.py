"""The status of a pool on the target branch, of what it announces and how far that can be relied on. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeVar

import msgspec

from reconciler.world.pools.announcement import READY
from reconciler.world.pools.pool_state import PoolState
from reconciler.world.record import Record, condition, merge_conditions, with_condition
from reconciler.world.reports.heartbeat import Heartbeat
from reconciler.world.reports.status_update import amounts, condition_of
from schemas.live_layout import SHARE
from schemas.model import Condition, MachinePoolStatus, NameRef, PoolAddress, VolumePoolStatus
from schemas.model.charge import format_vector
from schemas.model.quantity import Quantity, parse
from schemas.report import objects as report

replace = msgspec.structs.replace

Truth = Literal["True", "False", "Unknown"]
P = TypeVar("P", MachinePoolStatus, VolumePoolStatus)


def update_pool_status(
    state: PoolState, record: Record, now: datetime
) -> MachinePoolStatus | VolumePoolStatus | None:
    """A pool whose host is silent keeps its last status; when the heartbeat expires, it is Unknown."""
    if state.is_remembered and isinstance(record.status, MachinePoolStatus | VolumePoolStatus):
        return record.status
    match record.status, state.announced:
        case MachinePoolStatus() as machines, report.PoolReport() as pool:
            return _machine_pool(state, machines, pool.status, now)
        case VolumePoolStatus() as volumes, report.VolumePoolReport() as pool:
            return _volume_pool(state, volumes, pool.status, now)
        case MachinePoolStatus() as machines, _:
            return _silent(state, machines, now)
        case VolumePoolStatus() as volumes, _:
            return _silent(state, volumes, now)
        case _:
            return None


def _machine_pool(
    state: PoolState, before: MachinePoolStatus, seen: report.ReportedPoolStatus, now: datetime
) -> MachinePoolStatus:
    if state.heartbeat is Heartbeat.EXPIRED:
        return _silent(state, before, now)
    conditions = _conditions(state, before.conditions, seen.conditions, now)
    state_reported: Literal["Ready", "Pending", "Error", "Offline", ""] = seen.state
    if state.heartbeat is Heartbeat.LEFT:
        state_reported = "Offline"
    elif _is_unconfirmed(state, before):
        state_reported = before.state or "Pending"
    elif state_reported == "Ready" and not _is_ready(conditions):
        state_reported = "Pending"
    return replace(
        before,
        state=state_reported,
        conditions=conditions,
        available_machine_classes=tuple(NameRef(name=each.name) for each in seen.available_machine_classes),
        addresses=tuple(PoolAddress(type=each.type, address=each.address) for each in seen.addresses),
        capacity=amounts(seen.capacity),
        allocatable=_allocatable(state, seen),
        node_info=dict(seen.node_info),
    )


def _volume_pool(
    state: PoolState, before: VolumePoolStatus, seen: report.ReportedVolumePoolStatus, now: datetime
) -> VolumePoolStatus:
    if state.heartbeat is Heartbeat.EXPIRED:
        return _silent(state, before, now)
    conditions = _conditions(state, before.conditions, seen.conditions, now)
    state_reported: Literal["Available", "Pending", "Unavailable", ""] = seen.state
    if state.heartbeat is Heartbeat.LEFT:
        state_reported = "Unavailable"
    elif _is_unconfirmed(state, before):
        state_reported = before.state or "Pending"
    elif state_reported == "Available" and not _is_ready(conditions):
        state_reported = "Pending"
    return replace(
        before,
        state=state_reported,
        conditions=conditions,
        available_volume_classes=tuple(NameRef(name=each.name) for each in seen.available_volume_classes),
        capacity=amounts(seen.capacity),
        allocatable=amounts(seen.capacity | seen.allocatable),
        reachable_from=seen.reachable_from,
    )


def _silent(state: PoolState, before: P, now: datetime) -> P:
    """A state that no report confirms is pending; a pool that was never reported has none."""
    conditions = _ready(state, before.conditions, now)
    return replace(before, state="Pending" if before.state else "", conditions=conditions)


def _is_unconfirmed(state: PoolState, before: MachinePoolStatus | VolumePoolStatus) -> bool:
    """It was not ready when it was last heard, and nothing has shown yet that it is back."""
    ready = condition(before.conditions, READY)
    return state.heartbeat is Heartbeat.UNCONFIRMED and ready is not None and ready.status != "True"


def _is_ready(conditions: tuple[Condition, ...]) -> bool:
    """What the condition says, the state says too."""
    ready = condition(conditions, READY)
    return ready is not None and ready.status == "True"


def _allocatable(state: PoolState, seen: report.ReportedPoolStatus) -> dict[str, Quantity]:
    """As the scheduler counts; a pool that tells class counts alone gives away just those."""
    if SHARE in state.allocatable:
        return amounts(seen.capacity | seen.allocatable)
    return {resource: parse(amount) for resource, amount in format_vector(state.allocatable).items()}


def _conditions(
    state: PoolState, before: tuple[Condition, ...], seen: tuple[report.ReportedCondition, ...], now: datetime
) -> tuple[Condition, ...]:
    reported = tuple(condition_of(each) for each in seen if each.type != READY)
    ready = condition(before, READY)
    kept = merge_conditions(before, (*reported, *((ready,) if ready else ())), now)
    return _ready(state, kept, now)


def _ready(state: PoolState, conditions: tuple[Condition, ...], now: datetime) -> tuple[Condition, ...]:
    status, reason = _truth(state)
    before = condition(conditions, READY)
    if before is not None and state.heartbeat is Heartbeat.UNCONFIRMED:
        return conditions
    new = Condition(type=READY, status=status, reason=reason, message=state.why_not_ready)
    return with_condition(conditions, new, now)


def _truth(state: PoolState) -> tuple[Truth, str]:
    match state.heartbeat:
        case None:
            return "Unknown", "NotAnnounced"
        case Heartbeat.EXPIRED:
            return "Unknown", "ReportLost"
        case Heartbeat.LEFT:
            return "False", "PoolletLeft"
        case Heartbeat.ALIVE | Heartbeat.UNCONFIRMED:
            return ("False", "NotReady") if state.why_not_ready else ("True", "Reported")
