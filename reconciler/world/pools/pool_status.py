"""The status of a pool on the target branch, from its announcement and how reliable that is. Pure.

    heartbeat         condition Ready                        state
    alive             True, or False with the reason         as reported; Pending where Ready is not True
    unconfirmed       as it was                              as it was if it was not ready, else as reported
    left              False (PoolletLeft)                    Offline; of a volume pool Unavailable
    expired           Unknown (ReportLost)                   Pending
    none              Unknown (NotAnnounced)                 Pending; empty if it was never reported
    remembered        as it was                              as it was: nothing is written at all

Called by decide/pool.py, which adds the grant and the requests of people; these fields are never touched here.

Must never happen: a status is written from what live itself remembers; a report that may be years old makes a pool ready
that was not.
"""

from __future__ import annotations

from datetime import datetime
from typing import TypeAlias

import msgspec

from reconciler.world.pools.grants import POOL_STATUS
from reconciler.world.pools.pool_state import PoolState
from reconciler.world.record import Record, Truth, condition, merge_conditions, with_condition
from reconciler.world.reports.heartbeat import Heartbeat
from reconciler.world.reports.status_update import READY, amounts, condition_of
from schemas.live_layout import SHARE
from schemas.model import Condition, MachinePoolStatus, NameRef, PoolAddress, VolumePoolStatus
from schemas.model.charge import format_vector
from schemas.model.quantity import Quantity, parse
from schemas.report import objects as report

replace = msgspec.structs.replace
PoolStatus: TypeAlias = MachinePoolStatus | VolumePoolStatus


def update_pool_status(state: PoolState, record: Record, now: datetime) -> PoolStatus | None:
    """A pool whose host is silent keeps its last status; when the heartbeat expires, it is Unknown."""
    before = record.status
    if not isinstance(before, POOL_STATUS):
        return None
    if state.is_remembered:
        return before
    if state.announced is None or state.heartbeat is Heartbeat.EXPIRED:
        return _silent(state, before, now)
    seen = state.announced.status
    conditions = _conditions(state, before.conditions, seen.conditions, now)
    shown, capacity = _state(state, before, seen.state, conditions), amounts(seen.capacity)
    after = replace(before, state=shown, conditions=conditions, capacity=capacity)
    match after, seen:
        case MachinePoolStatus(), report.ReportedPoolStatus():
            classes = seen.available_machine_classes
            return replace(
                after,
                available_machine_classes=tuple(NameRef(name=each.name) for each in classes),
                addresses=tuple(PoolAddress(type=each.type, address=each.address) for each in seen.addresses),
                allocatable=_allocatable(state, seen),
                node_info=dict(seen.node_info),
            )
        case VolumePoolStatus(), report.ReportedVolumePoolStatus():
            classes = seen.available_volume_classes
            return replace(
                after,
                available_volume_classes=tuple(NameRef(name=each.name) for each in classes),
                allocatable=amounts(seen.capacity | seen.allocatable),
                reachable_from=seen.reachable_from,
            )
        case _:
            return _silent(state, before, now)


def _state(state: PoolState, before: PoolStatus, reported: str, conditions: tuple[Condition, ...]) -> str:
    """The state of the pool, in agreement with the condition Ready: never Ready or Available while the condition is not true."""
    if state.heartbeat is Heartbeat.LEFT:
        return "Offline" if isinstance(before, MachinePoolStatus) else "Unavailable"
    ready = condition(before.conditions, READY)
    if state.heartbeat is Heartbeat.UNCONFIRMED and ready is not None and ready.status != "True":
        # It was not ready when it was last heard, and nothing has shown yet that it is back.
        return before.state or "Pending"
    ready = condition(conditions, READY)
    is_ready = ready is not None and ready.status == "True"
    return "Pending" if reported in ("Ready", "Available") and not is_ready else reported


def _silent(state: PoolState, before: PoolStatus, now: datetime) -> PoolStatus:
    """A state that no report confirms is pending; a pool that was never reported has none."""
    conditions = _ready(state, before.conditions, now)
    return replace(before, state="Pending" if before.state else "", conditions=conditions)


def _allocatable(state: PoolState, seen: report.ReportedPoolStatus) -> dict[str, Quantity]:
    """As the scheduler counts, so that people see what it sees; a pool that reports class counts alone gives away just those."""
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
