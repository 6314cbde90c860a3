"""A node as viewers see it: a poollet, whether it is there, and its pools with their room. Pure.

    what is known of the poollet                                    state
    its report says that it leaves                                  LEFT
    its heartbeat is expired                                        LOST
    it was seen to be alive                                         READY
    it has an old report, or none                                   UNCONFIRMED

A poollet is a node while gitvirt.yaml lists it, or while a report of this fleet is there under its name. Amounts are in the units of
schemas.model.capacity: cpu in thousandths of a core, everything else in whole units.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from reconciler.picture.instance import StatedReason, find_trouble
from reconciler.schedule.decision import Predicate
from reconciler.world.pools.pool_state import PoolState
from reconciler.world.reports.heartbeat import Heartbeat
from reconciler.world.reports.status_update import amounts
from reconciler.world.view import View
from schemas.model.capacity import needs
from schemas.report.objects import ReportedPoolStatus


class NodeState(StrEnum):
    """As NodeState of controller.proto, without its prefix."""

    READY = "READY"
    UNCONFIRMED = "UNCONFIRMED"
    LOST = "LOST"
    LEFT = "LEFT"


STATES = {
    Heartbeat.ALIVE: NodeState.READY,
    Heartbeat.EXPIRED: NodeState.LOST,
    Heartbeat.LEFT: NodeState.LEFT,
    Heartbeat.UNCONFIRMED: NodeState.UNCONFIRMED,
}


@dataclass(frozen=True, slots=True)
class PoolPicture:
    """`reasons` say why it takes nothing new; empty where `is_schedulable`."""

    name: str
    kind: str
    labels: tuple[tuple[str, str], ...]
    capacity: tuple[tuple[str, int], ...]
    allocatable: tuple[tuple[str, int], ...]
    charged: tuple[tuple[str, int], ...]
    reasons: tuple[StatedReason, ...] = ()

    @property
    def is_schedulable(self) -> bool:
        return not self.reasons


@dataclass(frozen=True, slots=True)
class NodePicture:
    """`has_reported`: there is a report of it. `info` is what its host says about itself. When it was alive last is not in here: that
    changes with each heartbeat (FleetPicture.signs)."""

    name: str
    state: NodeState
    pools: tuple[PoolPicture, ...] = ()
    version: str = ""
    info: tuple[tuple[str, str], ...] = ()
    has_reported: bool = False
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class NodePainter:
    """Of one tick's view."""

    view: View

    def list_nodes(self) -> set[str]:
        reports = self.view.reports.by_poollet
        reporting = {name for name, each in reports.items() if self.view.is_ours(each)}
        return {*self.view.rules.settings.poollets, *reporting}

    def find_state(self, name: str) -> NodeState:
        report = self.view.reports.by_poollet.get(name)
        if report is None or not self.view.is_ours(report):
            return NodeState.UNCONFIRMED
        if report.has_left:
            return NodeState.LEFT
        return STATES[self.view.reports.heartbeats.get(report.writer, Heartbeat.UNCONFIRMED)]

    def find_sign_of_life(self, name: str) -> datetime | None:
        """When the host was alive last, by the clock of this process; by its own clock while it was not seen to change."""
        reports, report = self.view.reports, self.view.reports.by_poollet.get(name)
        if report is None:
            return None
        seen = reports.watch.seen.get(report.writer)
        if seen is None or not (seen.has_changed or seen.sign):
            return report.time
        at = max(seen.since, seen.sign.at) if seen.sign is not None else seen.since
        return reports.now - (reports.time - at)

    def paint(self, name: str, pools: Iterable[PoolState]) -> NodePicture:
        """`pools` are those that its report announces."""
        report = self.view.reports.by_poollet.get(name)
        about = report.poollet if report is not None and self.view.is_ours(report) else None
        own = sorted(pools, key=lambda each: each.key)
        info = (
            each.announced.status.node_info
            for each in own
            if each.announced is not None and isinstance(each.announced.status, ReportedPoolStatus)
        )
        return NodePicture(
            name,
            self.find_state(name),
            tuple(map(self.paint_pool, own)),
            about.version if about is not None else "",
            tuple(sorted(next(info, {}).items())),
            about is not None,
        )

    def paint_pool(self, pool: PoolState) -> PoolPicture:
        """The room as the scheduler counts it."""
        capacity = needs(amounts(pool.announced.status.capacity)) if pool.announced is not None else {}
        return PoolPicture(
            pool.name,
            pool.key.kind.value,
            tuple(sorted(pool.labels.items())),
            tuple(sorted(capacity.items())),
            tuple(sorted(pool.allocatable.items())),
            tuple(sorted(self.view.ledger.usage(pool.key).items())),
            tuple(self.list_reasons(pool)),
        )

    def list_reasons(self, pool: PoolState) -> Iterator[StatedReason]:
        """Why it takes nothing new."""
        if pool.why_not_ready:
            yield StatedReason(find_trouble(pool) or Predicate.READY.value, pool.why_not_ready)
        if self.view.has_lost_link(pool):
            yield StatedReason(Predicate.LINK.value, f"the link of poollet {pool.poollet} ended a moment ago")
        if pool.is_cordoned:
            yield StatedReason(Predicate.CORDON.value, "it is cordoned; `gitvirt uncordon` ends that")
