"""From a world to its plan: the one way, for run, plan and explain alike. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from reconciler.decide import Place, diff, verdicts
from reconciler.decide import placement as placing
from reconciler.decide.compose import compose
from reconciler.plan import Plan
from reconciler.schedule import schedule
from reconciler.world.advance import Advance
from reconciler.world.world import World
from schemas.kinds import Key


def make_plan(world: World, advance: Advance, now: datetime) -> Plan:
    """`problems` are those that stand in the world."""
    plan = _decided(world, advance.dirty, now)
    return replace(plan, problems=(*advance.problems, *plan.problems))


def _decided(world: World, dirty: Collection[Key], now: datetime) -> Plan:
    verdict = verdicts(world)
    needs = diff(world, dirty, now, verdict)
    requests = placing.requests(world, [need for need in needs if isinstance(need, Place)], now)
    decisions = (
        schedule(requests, placing.build_cluster_state(world, requests, needs), placing.policy(world))
        if requests
        else ()
    )
    return compose(world, needs, decisions, now, verdict)
