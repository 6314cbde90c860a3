"""What the formats say alike: one line about a change, a declaration, a reason, a pool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from reconciler.plan import Action, Change, Declaration, Effect, Plan, Room
from reconciler.schedule import Reason
from schemas.capacity import SHARE, amount

_WHEN = {
    Effect.LIVE: "takes effect live",
    Effect.NEXT_PLACEMENT: "takes effect when it is placed next",
    Effect.NEXT_BOOT: "takes effect live where the host can, else at the next boot",
    Effect.RECREATE: "takes effect only when it is made anew",
}


def of_reason(reason: Reason) -> str:
    """`InsufficientCapacity: memory is short (need 64Gi, have 12Gi)`."""
    amounts = f" (need {reason.need}, have {reason.have})" if reason.need or reason.have else ""
    return f"{reason.predicate}: {reason.message}{amounts}"


def of_declaration(declaration: Declaration) -> str:
    if declaration.is_added or declaration.is_gone:
        return ""
    return f"{', '.join(declaration.fields)}: {_WHEN[declaration.effect]}"


def told(plan: Plan) -> tuple[Change, ...]:
    """Changes in the order of their weight, then by key."""
    rank = {action: place for place, action in enumerate(Action)}
    return tuple(sorted(plan.changes, key=lambda change: (rank[change.action], change.key)))


def by_pool(plan: Plan) -> Mapping[str, list[Change]]:
    found: dict[str, list[Change]] = {}
    for change in told(plan):
        if change.action in (Action.SCHEDULE, Action.ADOPT):
            found.setdefault(change.pool, []).append(change)
    return dict(sorted(found.items()))


def amounts(room: Room) -> Iterator[tuple[str, str, str, str]]:
    """Resource, allocatable, before, after."""
    for resource in sorted(room.allocatable.keys() | room.before.keys() | room.after.keys()):
        row = (room.allocatable, room.before, room.after)
        shown = "host" if resource == SHARE else resource
        yield (shown, *(amount(resource, vector.get(resource, 0)) for vector in row))  # type: ignore[misc]


def summary(plan: Plan) -> str:
    """`2 schedule, 1 generate; 1 without a place; 3 held`."""
    counts = Counter(change.action for change in told(plan))
    parts = [", ".join(f"{count:,} {action}" for action, count in counts.items())] if counts else []
    if plan.declared and not counts:
        parts.append(f"{len(plan.declared):,} declared")
    if plan.unplaced:
        parts.append(f"{len(plan.unplaced):,} without a place")
    if plan.held:
        parts.append(f"{len(plan.held):,} held")
    errors = sum(problem.severity == "error" for problem in plan.problems)
    if errors:
        parts.append(f"{errors:,} error{'s' if errors > 1 else ''}")
    return "; ".join(parts) or "nothing to do"


def reason_of(change: Change) -> str:
    where = f"onto {change.pool}" if change.action in (Action.SCHEDULE, Action.ADOPT) else ""
    return ": ".join(part for part in (where, change.reason) if part)
