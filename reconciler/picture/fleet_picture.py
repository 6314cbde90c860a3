"""All nodes and machines after a tick, and what changed since the one before.

PictureKeeper belongs to the thread that ticks. `update` paints the machines that the tick looked at, and the nodes whose pools or heartbeats
may be others. A World that was built from nothing is painted whole. What it returns is never changed again, so any thread may keep it.

A machine that the tick wrote is painted as the commit has it: viewers need not wait until it is read back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from reconciler.picture.instance import InstancePicture, paint_instance
from reconciler.picture.node import NodePainter, NodePicture
from reconciler.plan.types import Plan
from reconciler.schedule.decision import Refusal
from reconciler.world.pools.pool_state import PoolState
from reconciler.world.record import Record
from reconciler.world.view import View
from schemas.kinds import Key, Kind

POOL_KINDS = (Kind.MACHINE_POOL, Kind.VOLUME_POOL)


@dataclass(frozen=True, slots=True)
class FleetPicture:
    """`source` is the commit that is applied, `live` the head of the target. `signs` is when each node was alive last."""

    source: str = ""
    live: str = ""
    nodes: Mapping[str, NodePicture] = field(default_factory=dict)
    instances: Mapping[Key, InstancePicture] = field(default_factory=dict)
    signs: Mapping[str, datetime] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PictureNews:
    """The newest picture. `keys` and `names` are the machines and nodes that may differ from the picture before; None: any may."""

    picture: FleetPicture
    keys: frozenset[Key] | None = None
    names: frozenset[str] | None = None


class PictureKeeper:
    """Of one process; it may forget everything at any time."""

    def __init__(self) -> None:
        self._view: View | None = None
        self._picture = FleetPicture()
        self._refusals: dict[Key, tuple[Refusal, ...]] = {}
        self._signatures: dict[str, object] = {}
        # Of the commit that the last tick wrote: what the view says of them comes with the next one, which reads it back.
        self._written: frozenset[Key] = frozenset()
        self._written_pools: frozenset[str] = frozenset()

    def update(self, view: View, plan: Plan, dirty: Iterable[Key], commit: str | None) -> PictureNews:
        """After a tick that ended well. `dirty` are the keys that it looked at, `commit` is what it wrote on live, if it did."""
        is_whole = view is not self._view
        if is_whole:
            self._view, self._signatures, self._refusals = view, {}, {}
        written = {change.key: change.after for change in plan.changes}
        self._refusals |= {each.key: each.refusals for each in plan.unschedulable}
        keys = {*dirty, *written, *self._written}
        if is_whole:
            keys |= {*view.objects, *self._picture.instances}
        machines = frozenset(key for key in keys if key.kind is Kind.MACHINE)
        live = commit or view.live_commit or ""
        instances, pools = self._paint_instances(machines, written if commit else {}, live)
        touched = {*pools, *self._written_pools, *(key.name for key in keys if key.kind in POOL_KINDS)}
        self._written = frozenset(written if commit else ())
        self._written_pools = frozenset(pools if commit else ())
        painter = NodePainter(view)
        nodes, names = self._paint_nodes(painter, None if is_whole else touched)
        signs = ((name, painter.find_sign_of_life(name)) for name in nodes)
        alive = {name: at for name, at in signs if at is not None}
        self._picture = FleetPicture(view.source_commit or "", live, nodes, instances, alive)
        return PictureNews(self._picture, None if is_whole else machines, None if is_whole else names)

    def _paint_instances(
        self, keys: Iterable[Key], written: Mapping[Key, Record | None], live: str
    ) -> tuple[dict[Key, InstancePicture], set[str]]:
        """All machines, of which these are painted; and the pools that these are on or were on."""
        view, instances, pools = self._view, dict(self._picture.instances), set[str]()
        assert view is not None, "an update has one"
        for key in keys:
            before, after, known = instances.pop(key, None), None, view.objects.get(key)
            record = written.get(key, known.record if known is not None else None)
            if known is not None and record is not None:
                found = paint_instance(view, known, record, self._refusals.get(key, ()))
                found = replace(found, commit=live, since=found.since or view.reports.now)
                after = instances[key] = keep_equal(before, found)
            if after is None or after.pool:
                self._refusals.pop(key, None)
            pools |= {each.pool for each in (before, after) if each is not None}
        return instances, pools

    def _paint_nodes(
        self, painter: NodePainter, touched: set[str] | None
    ) -> tuple[dict[str, NodePicture], frozenset[str]]:
        """All nodes, and the names of those that may look otherwise than before: by their heartbeat, or by a pool of theirs."""
        view, nodes, changed = painter.view, dict[str, NodePicture](), set[str]()
        pools: dict[str, list[PoolState]] = {}
        for found in view.pools_by_kind.values():
            for each in found.values():
                pools.setdefault(each.poollet, []).append(each)
        signatures: dict[str, object] = {}
        for name in painter.list_nodes():
            own, report = pools.get(name, []), view.reports.by_poollet.get(name)
            lost = tuple(view.has_lost_link(each) for each in own)
            about = report.poollet if report is not None else None
            signatures[name] = painter.find_state(name), about, lost, tuple(own)
            is_touched = touched is None or any(each.name in touched for each in own)
            before = self._picture.nodes.get(name)
            if before is not None and not is_touched and self._signatures.get(name) == signatures[name]:
                nodes[name] = before
                continue
            changed.add(name)
            after = painter.paint(name, own)
            is_same = before is not None and before.state is after.state
            after = replace(after, since=before.since if before is not None and is_same else view.reports.now)
            nodes[name] = before if before is not None and before == after else after
        self._signatures = signatures
        return nodes, frozenset(changed | (self._picture.nodes.keys() - nodes.keys()))


def keep_equal(before: InstancePicture | None, after: InstancePicture) -> InstancePicture:
    """The one before where nothing but the commit and the time are others; its time where the state is the same."""
    if before is None:
        return after
    if before.state is after.state:
        after = replace(after, since=before.since)
    return before if replace(after, commit=before.commit) == before else after
