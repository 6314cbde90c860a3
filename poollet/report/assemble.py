"""The report put together: who reports, the pools, what was decided about each object, what happened. Pure.

Times of transitions move only when a status does, so that at rest two reports are the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from msgspec.structs import replace

from poollet.decide.decision import Decision
from poollet.report.conditions import CALL_REASONS
from schemas import report
from schemas.report import Report, ReportedCondition

Conditions = tuple[ReportedCondition, ...]
NUMBERS = re.compile(r"[0-9a-fA-F-]*[0-9][0-9a-fA-F-]*")  # ids too


@dataclass(frozen=True)
class Pools:
    machines: Mapping[str, report.PoolReport] = field(default_factory=dict)
    volumes: Mapping[str, report.VolumePoolReport] = field(default_factory=dict)


def assembled(
    by: report.PoolletReport,
    pools: Pools,
    decision: Decision,
    events: tuple[report.ReportedEvent, ...],
    before: Report,
    at: str,
) -> Report:
    """`before` is the last report of this ref, `at` is now."""
    return Report(
        poollet=by,
        pools={name: _pool(one, before.pools.get(name), at) for name, one in pools.machines.items()},
        volume_pools={
            name: _volume_pool(one, before.volume_pools.get(name), at) for name, one in pools.volumes.items()
        },
        machines={
            name: _machine(one, before.machines.get(name), at) for name, one in decision.machines.items()
        },
        volumes={name: _volume(one, before.volumes.get(name), at) for name, one in decision.volumes.items()},
        snapshots={
            name: _snapshot(one, before.snapshots.get(name), at) for name, one in decision.snapshots.items()
        },
        orphans=decision.orphans,
        events=events,
    )


def dated(conditions: Conditions, before: Conditions, at: str) -> Conditions:
    """With the times that they had where they still say the same, else with this one."""
    last = {(one.type, one.status): one for one in before}
    return tuple(_dated(one, last.get((one.type, one.status)), at) for one in conditions)


def _dated(one: ReportedCondition, last: ReportedCondition | None, at: str) -> ReportedCondition:
    """An error that differs only in its numbers is the same one: some runtimes count their requests in them."""
    if last is None:
        return replace(one, last_transition_time=at)
    is_of_call = one.reason in CALL_REASONS and one.reason == last.reason
    message = last.message if is_of_call and worded(one.message) == worded(last.message) else one.message
    return replace(one, message=message, last_transition_time=last.last_transition_time or at)


def worded(message: str) -> str:
    return NUMBERS.sub("#", message)


def stamp(moment: datetime) -> str:
    """RFC 3339 in UTC, whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _pool(one: report.PoolReport, before: report.PoolReport | None, at: str) -> report.PoolReport:
    known = before.status.conditions if before else ()
    return replace(one, status=replace(one.status, conditions=dated(one.status.conditions, known, at)))


def _volume_pool(
    one: report.VolumePoolReport, before: report.VolumePoolReport | None, at: str
) -> report.VolumePoolReport:
    known = before.status.conditions if before else ()
    return replace(one, status=replace(one.status, conditions=dated(one.status.conditions, known, at)))


def _machine(one: report.MachineReport, before: report.MachineReport | None, at: str) -> report.MachineReport:
    if one.status is None or not one.status.conditions:
        return one
    known = before.status.conditions if before and before.status and before.uid == one.uid else ()
    return replace(one, status=replace(one.status, conditions=dated(one.status.conditions, known, at)))


def _volume(one: report.VolumeReport, before: report.VolumeReport | None, at: str) -> report.VolumeReport:
    if one.status is None or not one.status.conditions:
        return one
    known = before.status.conditions if before and before.status and before.uid == one.uid else ()
    return replace(one, status=replace(one.status, conditions=dated(one.status.conditions, known, at)))


def _snapshot(
    one: report.SnapshotReport, before: report.SnapshotReport | None, at: str
) -> report.SnapshotReport:
    if one.status is None or not one.status.conditions:
        return one
    known = before.status.conditions if before and before.status and before.uid == one.uid else ()
    return replace(one, status=replace(one.status, conditions=dated(one.status.conditions, known, at)))
