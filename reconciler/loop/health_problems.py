"""Why /healthz is not ok after a tick, by how the tick ended and by what it left undone. Pure; health.py has the table.

Limits: it reads the World and the plan, and decides nothing.
"""

from __future__ import annotations

from reconciler.loop.health import HealthCause, HealthProblem
from reconciler.loop.outcome import Committed, NoChange, Outcome, TickBlocked
from reconciler.world.world import World


def find_health_problems(world: World, outcome: Outcome) -> tuple[HealthProblem, ...] | None:
    """What a tick that ended so leaves undone. None for an outcome that says nothing about it, as a conflict: what was found before holds."""
    match outcome:
        case TickBlocked(problems, reason):
            cause = HealthCause.LIVE_LOST if world.is_live_lost else HealthCause.BLOCKED
            return (HealthProblem(cause, reason, problems[0].hint if problems else ""),)
        case Committed(plan) | NoChange(plan):
            held = world.head.held
            found = (
                [HealthProblem(HealthCause.SOURCE_HELD, held.message, held.trailer or held.cure)]
                if held
                else []
            )
            found += [
                HealthProblem(HealthCause.AWAITING_APPROVAL, each.reason, each.trailer)
                for each in plan.awaiting
                if each.kind is None and (held is None or each.trailer != held.trailer)
            ]
            return tuple(found)
        case _:
            return None
