"""The whole report: who reports, the pools, the entries of the decision, the events. Pure.

Theory of operation. A host that converged must produce the same bytes in each pass, because a push that
differs makes the reconciler work. Two things would make them differ, and are removed here:

    times       a condition keeps the time of the last report while its status is the same
    order       entries have the order of their names; conditions were sorted by type before

A third would make a host push whose calls fail: some runtimes write a request's number or its duration into the text of an
error, which so differs with each try. The text is always reported as it is now, because a number in it may as well be a fact
("has 2Gi"). But it is worth no push of its own: `select_error_entries` gives the entries without such texts, by which the publisher
tells news from what may wait for the next heartbeat. The status and the reason of the condition are news. Which texts these are
is told by the reason, a field; no text is compared or parsed. What a provider's events say waits in the same way.

A pool keeps its times by its name. An object keeps them by its uid: another object of the same name begins
with new ones.

Must never happen: an entry of the decision is left out, two passes with equal inputs report different
bytes, or a condition has another text than the decision gave it.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from poollet.decide.decision import Decision
from poollet.decide.memory import Entry
from poollet.report.conditions import CALL_REASONS, FAILED, PENDING
from poollet.report.entries import Conditions
from schemas import report
from schemas.report import Report, ReportedCondition

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
        ended=decision.memory.ended,
    )


def carry_times(conditions: Conditions, before: Conditions, at: str) -> Conditions:
    """With the times of `before` where the status is the same, else with `at`. Reason and text are those of now."""
    last = {(one.type, one.status): one.last_transition_time for one in before}
    return tuple(
        replace(one, last_transition_time=last.get((one.type, one.status)) or at) for one in conditions
    )


def select_error_entries(found: Report, imported: frozenset[str] = frozenset()) -> Report:
    """Only what shows an error of a call, or what a provider's event says, in an entry or an event, without the text. All other entries are
    left out. `imported` are the reasons of such events."""
    volatile = CALL_REASONS | imported | ({PENDING} if imported else set())
    return Report(
        pools=_select(found.pools, volatile),
        volume_pools=_select(found.volume_pools, volatile),
        machines=_select(found.machines, volatile),
        volumes=_select(found.volumes, volatile),
        snapshots=_select(found.snapshots, volatile),
        events=tuple(
            replace(one, message="", first=None) if one.reason == FAILED or one.reason in imported else one
            for one in found.events
        ),
    )


def _select(found: Mapping[AnyName, AnyReport], volatile: Set[str]) -> dict[AnyName, AnyReport]:
    """Those whose conditions have a text that a call made, or a provider."""
    selected = {}
    for name, one in found.items():
        if one.status is None or all(each.reason not in volatile for each in one.status.conditions):
            continue
        plain = tuple(_without_error_text(each, volatile) for each in one.status.conditions)
        if plain != one.status.conditions:
            selected[name] = replace(one, status=replace(one.status, conditions=plain))
    return selected


def _without_error_text(one: ReportedCondition, volatile: Set[str]) -> ReportedCondition:
    """The text of any other reason follows from `live` or from a list, and is news."""
    return replace(one, message="") if one.reason in volatile else one


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
