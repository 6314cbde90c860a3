"""The whole report: who reports, the pools, the entries of the decision, the events. Pure.

A transition time changes only when its status does, so that two reports of a converged host are the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

from msgspec.structs import replace

from poollet.decide.decision import Decision
from poollet.report.conditions import CALL_REASONS
from schemas import report
from schemas.report import Report, ReportedCondition

Conditions = tuple[ReportedCondition, ...]
NUMBERS = re.compile(r"[0-9a-fA-F-]*[0-9][0-9a-fA-F-]*")  # ids too


AnyPool = TypeVar("AnyPool", report.PoolReport, report.VolumePoolReport)
AnyEntry = TypeVar("AnyEntry", report.MachineReport, report.VolumeReport, report.SnapshotReport)


@dataclass(frozen=True)
class Pools:
    machines: Mapping[str, report.PoolReport] = field(default_factory=dict)
    volumes: Mapping[str, report.VolumePoolReport] = field(default_factory=dict)


def assemble_report(
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
        pools={name: _date_pool(one, before.pools.get(name), at) for name, one in pools.machines.items()},
        volume_pools={
            name: _date_pool(one, before.volume_pools.get(name), at) for name, one in pools.volumes.items()
        },
        machines={
            name: _date_entry(one, before.machines.get(name), at) for name, one in decision.machines.items()
        },
        volumes={
            name: _date_entry(one, before.volumes.get(name), at) for name, one in decision.volumes.items()
        },
        snapshots={
            name: _date_entry(one, before.snapshots.get(name), at) for name, one in decision.snapshots.items()
        },
        orphans=decision.orphans,
        events=events,
    )


def carry_times(conditions: Conditions, before: Conditions, at: str) -> Conditions:
    """With the times of `before` where the status is the same, else with `at`."""
    last = {(one.type, one.status): one for one in before}
    return tuple(_carry_time(one, last.get((one.type, one.status)), at) for one in conditions)


def _carry_time(one: ReportedCondition, last: ReportedCondition | None, at: str) -> ReportedCondition:
    """An error that differs only in numbers keeps its text: some runtimes number their requests in it."""
    if last is None:
        return replace(one, last_transition_time=at)
    is_of_call = one.reason in CALL_REASONS and one.reason == last.reason
    message = (
        last.message
        if is_of_call and mask_numbers(one.message) == mask_numbers(last.message)
        else one.message
    )
    return replace(one, message=message, last_transition_time=last.last_transition_time or at)


def mask_numbers(message: str) -> str:
    return NUMBERS.sub("#", message)


def stamp(moment: datetime) -> str:
    """RFC 3339 in UTC, whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _date_pool(one: AnyPool, before: AnyPool | None, at: str) -> AnyPool:
    known = before.status.conditions if before else ()
    return replace(one, status=replace(one.status, conditions=carry_times(one.status.conditions, known, at)))


def _date_entry(one: AnyEntry, before: AnyEntry | None, at: str) -> AnyEntry:
    if one.status is None or not one.status.conditions:
        return one
    known = before.status.conditions if before and before.status and before.uid == one.uid else ()
    return replace(one, status=replace(one.status, conditions=carry_times(one.status.conditions, known, at)))
