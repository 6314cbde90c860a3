"""Pools that people say are destroyed, by a commit: whether that is followed, still waits, or was taken back by the host itself.

The order stands on the pool as a condition, together with where the report stood when it was given. So whoever reconciles
later knows of it, and a host that reports anything after it lives: then the order is void, even if nobody reconciled
before that report was there. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal

from reconciler.decide.turn import Turn
from reconciler.decide.view import View
from reconciler.plan.types import Action
from reconciler.world.advance import Confirm
from reconciler.world.pool import PoolState
from reconciler.world.record import condition
from reconciler.world.record.condition import DESTROYED
from reconciler.world.reports.heartbeat import Heartbeat
from schemas.kinds import Key, Kind
from schemas.spelling import nearest

DIGITS = 12
NO_REPORT = "none"
EARLIER = "earlier"  # than the one that is there
WRITTEN = re.compile(
    rf"commit (?P<commit>\S+) says so; the last report was (?P<report>[0-9a-f]{{{DIGITS}}}|none|earlier)"
)


class Fate(StrEnum):
    FOLLOWED = "followed"  # what is on it counts as gone
    WAITS = "waits"  # its report may still change
    VOID = "void"  # it did


@dataclass(frozen=True, slots=True)
class Order:
    """`report` is where the pool's report stood then; `why` it waits, or is void."""

    commit: str
    report: str
    fate: Fate
    why: str = ""

    @property
    def words(self) -> str:
        return f"commit {self.commit} says so; the last report was {self.report}"


def orders(view: View) -> Mapping[str, Order]:
    """By the name of the pool, of either kind. A commit of now comes before what was recorded of an earlier one."""
    found = {
        key.name: recorded for key in sorted(view.destroyed) if (recorded := read(view, key)) is not None
    }
    for each in view.confirmations:
        if each.about is Confirm.POOL_DESTROYED:
            found[each.value] = Order(each.commit[:DIGITS], stood_at(view, each.value, each.time), Fate.WAITS)
    return {name: judged(view, name, order) for name, order in found.items()}


def destroyed_pools(view: View) -> frozenset[str]:
    """Whatever is on them counts as gone."""
    return frozenset(name for name, order in orders(view).items() if order.fate is Fate.FOLLOWED)


def read(view: View, pool: Key) -> Order | None:
    said = condition(getattr(view.known[pool].record.status, "conditions", ()), DESTROYED)
    match = WRITTEN.match(said.message) if said is not None else None
    if said is None or match is None:
        return None
    fate = Fate.FOLLOWED if said.status == "True" else Fate.WAITS
    return Order(match["commit"], match["report"], fate)


def judged(view: View, name: str, order: Order) -> Order:
    now = stood_at(view, name)
    if now not in (order.report, NO_REPORT):
        why = "its poollet has reported since; commit it again if it is gone for good"
        return Order(order.commit, order.report, Fate.VOID, why)
    if order.fate is Fate.FOLLOWED:
        return order  # whoever reconciles anew has seen no report change yet; this one was seen not to
    fresh = {state.heartbeat for state in states(view, name)}
    if Heartbeat.ALIVE in fresh:
        return Order(order.commit, order.report, Fate.WAITS, "its report is followed until its grace is over")
    if Heartbeat.UNCONFIRMED in fresh:
        why = "nobody knows yet whether its report still changes; it is followed when that is sure"
        return Order(order.commit, order.report, Fate.WAITS, why)
    return Order(order.commit, order.report, Fate.FOLLOWED)


def states(view: View, name: str) -> list[PoolState]:
    found = (view.pools.get(name), view.volume_pools.get(name))
    return [state for state in found if state is not None]


def is_known(view: View, name: str) -> bool:
    """Whether there is such a pool, a report of one, or something on it."""
    is_there = any(
        key in view.known or view.on_pool(key) or view.report_of(key) is not None for key in keys(name)
    )
    return is_there or bool(states(view, name))


def instead_of(view: View, name: str) -> str:
    """For who may have mistyped it."""
    near = nearest(name, sorted({*view.pools, *view.volume_pools}))
    return f"did you mean {near}?" if near else "nobody declares or announces one of that name"


def keys(name: str) -> tuple[Key, Key]:
    return Key(Kind.MACHINE_POOL, "", name), Key(Kind.VOLUME_POOL, "", name)


def stood_at(view: View, name: str, at: datetime | None = None) -> str:
    """The report that speaks of the pool, whether or not it may be relied on: the one that is there, or was at a time."""
    report = next((found for key in keys(name) if (found := view.report_of(key)) is not None), None)
    if report is None:
        return NO_REPORT
    commit, written = report
    return EARLIER if at is not None and written > at else commit[:DIGITS]


SAYS: Mapping[Fate, tuple[Literal["True", "False", "Unknown"], str]] = {
    Fate.FOLLOWED: ("True", "ByCommit"),
    Fate.WAITS: ("Unknown", "Waits"),
    Fate.VOID: ("False", "StillReports"),
}


def told(turn: Turn, order: Order | None) -> Turn:
    """The pool with what becomes of the order."""
    if order is None:
        return turn
    status, reason = SAYS[order.fate]
    after = turn.says(DESTROYED, status, reason, f"{order.words}{'; ' if order.why else ''}{order.why}")
    if after.record == turn.record:
        return turn
    return after.does(Action.STATUS, f"destroyed, by commit {order.commit}: {order.why or order.fate}")
