"""The whole report: who reports, the pools, the entries of the decision, the events. Pure.

Theory of operation. A host that converged must produce the same bytes in each pass, because a push that
differs makes the reconciler work. Three things would make them differ, and are removed here:

    times       a condition keeps the time of the last report while its status is the same
    numbers     an error of a call keeps its first text while only numbers and ids in it change
    order       entries have the order of their names; conditions were sorted by type before

A pool keeps its times by its name. An object keeps them by its uid: another object of the same name begins
with new ones.

Must never happen: an entry of the decision is left out, or two passes with equal inputs report different
bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from poollet.decide.decision import Decision
from poollet.decide.memory import Entry
from poollet.report.conditions import CALL_REASONS
from poollet.report.entries import Conditions
from schemas import report
from schemas.report import Report, ReportedCondition

NUMBERS = re.compile(r"[0-9a-fA-F-]*[0-9][0-9a-fA-F-]*")  # ids too


AnyReport = TypeVar("AnyReport", bound=report.PoolReport | report.VolumePoolReport | Entry)
AnyName = TypeVar("AnyName", str, tuple[str, ...])


class Pools(NamedTuple):
    """The entries of this host's pools, by name."""

    machines: dict[str, report.PoolReport]
    volumes: dict[str, report.VolumePoolReport]


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
        pools=_date(pools.machines, before.pools, at),
        volume_pools=_date(pools.volumes, before.volume_pools, at),
        machines=_date(decision.machines, before.machines, at),
        volumes=_date(decision.volumes, before.volumes, at),
        snapshots=_date(decision.snapshots, before.snapshots, at),
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
    """The text with each number or id replaced, so that texts which differ only in these are equal."""
    return NUMBERS.sub("#", message)


def stamp(moment: datetime) -> str:
    """RFC 3339 in UTC, whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _date(
    found: Mapping[AnyName, AnyReport], before: Mapping[AnyName, AnyReport], at: str
) -> dict[AnyName, AnyReport]:
    """Each entry with the times that the last report had for it."""
    return {name: _date_conditions(one, before.get(name), at) for name, one in found.items()}


def _date_conditions(one: AnyReport, before: AnyReport | None, at: str) -> AnyReport:
    """A pool keeps the times of its name, an object those of its uid."""
    if one.status is None or not one.status.conditions:
        return one
    is_same = before is not None and (
        isinstance(one, report.PoolReport | report.VolumePoolReport) or before.uid == one.uid
    )
    known = before.status.conditions if is_same and before is not None and before.status else ()
    return replace(one, status=replace(one.status, conditions=carry_times(one.status.conditions, known, at)))
