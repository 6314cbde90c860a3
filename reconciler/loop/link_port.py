"""What the loop asks of the link, and tells it: a seam, so that ticks know neither gRPC nor certificates. `reconciler.link` implements it.

What comes in is a value, taken once in a tick: whether hosts are there (`LinkInput`). What goes out is a nudge: which hosts a commit
concerns; and a picture of the fleet for viewers of the API. All may be lost, late or repeated, and every decision is the same, only later.

Offers are both: what hosts answer is an input of the tick (`tick_offers`).
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from reconciler.decide.placement.offers import Answers, OfferedObject
from reconciler.loop.outcome import Committed, NoChange
from reconciler.picture.fleet_picture import PictureKeeper, PictureNews
from reconciler.plan.types import Action, Change, Plan
from reconciler.world.pools.pool_state import PoolState
from reconciler.world.reports.heartbeat import NO_LINK, LinkInput
from reconciler.world.world import World
from schemas.kinds import Key, Kind
from schemas.settings.fleet import FleetSettings

log = logging.getLogger(__name__)

# Kinds whose documents concern the host of their pool alone, and none while they have no pool.
OF_ONE_POOL = frozenset((Kind.MACHINE, Kind.VOLUME, Kind.VOLUME_SNAPSHOT, Kind.NETWORK_INTERFACE))
OF_NO_HOST = frozenset((Kind.RESOURCE_QUOTA,))
POOLS = frozenset((Kind.MACHINE_POOL, Kind.VOLUME_POOL))


class LinkPort(Protocol):
    """Called by the thread that ticks; every call but `offer` returns at once."""

    def read(self) -> LinkInput:
        """What is known now."""

    def follow(self, settings: FleetSettings) -> None:
        """These settings are in force: a tick ended well with them."""

    def nudge(self, commit: str, poollets: Collection[str] | None) -> None:
        """`live` is at this commit, which concerns these hosts; None: all."""

    def may_offer(self, poollet: str, host: str) -> bool:
        """Whether that host is connected, and has answered offers so far."""

    def offer(self, offered: Sequence[OfferedObject], seconds: float) -> Answers:
        """Asks all these hosts at once, each in one message, and waits so long at most."""

    def is_viewed(self, settings: FleetSettings) -> bool:
        """Whether pictures are wanted with these settings. Without viewers none is painted."""

    def show(self, news: PictureNews) -> None:
        """The fleet as it is after a tick that ended well."""


class NoLink:
    """Of a process that serves no link."""

    def read(self) -> LinkInput:
        return NO_LINK

    def follow(self, settings: FleetSettings) -> None:
        """Takes no note of them."""

    def nudge(self, commit: str, poollets: Collection[str] | None) -> None:
        """Hosts see it when they look next."""

    def may_offer(self, poollet: str, host: str) -> bool:
        del poollet, host
        return False

    def offer(self, offered: Sequence[OfferedObject], seconds: float) -> Answers:
        del offered, seconds
        return {}

    def is_viewed(self, settings: FleetSettings) -> bool:
        del settings
        return False

    def show(self, news: PictureNews) -> None:
        """There is no viewer."""


class LinkFeed:
    """What the link is told after each tick that ended well. The thread that ticks owns it; it may forget everything at any time."""

    def __init__(self, link: LinkPort) -> None:
        self._link = link
        self._settings: FleetSettings | None = None
        self._keeper: PictureKeeper | None = None

    def tell(self, world: World, outcome: Committed | NoChange, dirty: Collection[Key]) -> None:
        """The picture before the settings, so that whoever is let in finds one; the commit last: whoever has no right to the link any
        more is not told of it. `dirty` are the keys that the tick looked at."""
        settings, commit = world.rules.settings, None
        if isinstance(outcome, Committed):
            commit = outcome.commit
        has_new_settings, self._settings = settings != self._settings, settings
        if not self._link.is_viewed(settings):
            self._keeper = None
        else:
            self._show(world, outcome.plan, dirty, commit)
        self._link.follow(settings)
        if commit is not None:
            pools = {**world.volume_pools, **world.pools}
            self._link.nudge(commit, find_concerned(outcome.plan, pools, has_new_settings=has_new_settings))

    def _show(self, world: World, plan: Plan, dirty: Collection[Key], commit: str | None) -> None:
        """A defect here must not stop ticks: viewers then see the picture of before, and the next one is painted from nothing."""
        self._keeper = self._keeper or PictureKeeper()
        try:
            self._link.show(self._keeper.update(world, plan, dirty, commit))
        except Exception:
            self._keeper = None
            log.exception("the picture for viewers of the API failed; they see the one before")


def find_concerned(
    plan: Plan, pools: Mapping[str, PoolState], *, has_new_settings: bool
) -> frozenset[str] | None:
    """The poollets that may have something to do after this commit; None where that may be all of them, as after a change of a class.

    A host knows the status that it reported. Whoever is left out by mistake looks at `live` by itself, at its next poll.
    """
    if has_new_settings:
        return None
    found: set[str] = set()
    for change in plan.changes:
        kind = change.key.kind
        is_written_by_people = kind is Kind.NETWORK_INTERFACE and change.action is Action.SYNC
        if kind in OF_NO_HOST:
            continue
        if kind not in OF_ONE_POOL | POOLS or is_written_by_people:
            return None
        if change.action is not Action.STATUS or change.key.kind in POOLS:
            found.update(_pools_of(change))
    states = (pools[name] for name in found if name in pools)
    return frozenset(state.poollet for state in states if state.poollet)


def _pools_of(change: Change) -> set[str]:
    if change.key.kind in POOLS:
        return {change.key.name}
    return {record.pool for record in (change.before, change.after) if record is not None and record.pool}
