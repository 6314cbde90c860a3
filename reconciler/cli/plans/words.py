"""What the formats say alike: one line about a change, a declaration, a reason, a pool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from reconciler.plan import Action, Change, Declaration, Effect, Plan, Room
from reconciler.schedule import Predicate, Reason, Refusal
from schemas.live_layout import SHARE
from schemas.model.capacity import format_amount

MOST_POOLS = 5

_WHEN = {
    Effect.LIVE: "takes effect live",
    Effect.NEXT_PLACEMENT: "takes effect when it is placed next",
    Effect.NEXT_BOOT: "takes effect live where the host can, else at the next boot",
    Effect.RECREATE: "takes effect only when it is made anew",
}


def of_reason(reason: Reason) -> str:
    """`InsufficientCapacity: memory is short (need 64Gi, have 12Gi)`."""
    about = f"volume {reason.volume}: " if reason.volume else ""
    return f"{reason.predicate}: {about}{reason.message}{amounts_of(reason)}"


def fields_of(reason: Reason) -> dict[str, str]:
    """For programs. What a reason is not about is left out, but for the amounts."""
    about = {"taint": reason.taint, "volume": reason.volume, "volumePool": reason.volume_pool}
    return {
        "predicate": reason.predicate.value,
        "message": reason.message,
        "resource": reason.resource,
        "need": reason.need,
        "have": reason.have,
        **{name: value for name, value in about.items() if value},
    }


def amounts_of(reason: Reason) -> str:
    is_told = reason.need != reason.have
    return f" (need {reason.need}, have {reason.have})" if is_told else ""


def of_declaration(declaration: Declaration) -> str:
    if declaration.is_added or declaration.is_gone:
        return ""
    return f"{', '.join(declaration.fields)}: {_WHEN[declaration.effect]}"


def told(plan: Plan) -> tuple[Change, ...]:
    """Changes in the order of their weight, then by key."""
    rank = {action: place for place, action in enumerate(Action)}
    return tuple(sorted(plan.changes, key=lambda change: (rank[change.action], change.key)))


def is_plain(change: Change) -> bool:
    """Whether it says nothing that the rest of the plan does not say."""
    return change.action is Action.WAIT or (
        change.action in (Action.TAKE, Action.STATUS) and not change.reason
    )


def counted(changes: Iterable[Change]) -> str:
    counts = Counter(change.action.done for change in changes)
    return ", ".join(f"{count:,} {done}" for done, count in counts.items())


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
        yield (shown, *(format_amount(resource, vector.get(resource, 0)) for vector in row))  # type: ignore[misc]


def summary(plan: Plan) -> str:
    """`22 declared; 6 generated, 4 waiting; 3 held`."""
    counts = Counter(change.action.done for change in told(plan))
    parts = [f"{len(plan.declared):,} declared"] if plan.declared else []
    parts += [", ".join(f"{count:,} {done}" for done, count in counts.items())] if counts else []
    if len(plan.unplaced) > counts[Action.WAIT.done]:
        parts.append(f"{len(plan.unplaced):,} without a place")
    if plan.held:
        parts.append(f"{len(plan.held):,} held")
    errors = sum(problem.severity == "error" for problem in plan.problems)
    if errors:
        parts.append(f"{errors:,} error{'s' if errors > 1 else ''}")
    return "; ".join(parts) or "nothing to do"


def rows_of(refusals: Iterable[Refusal]) -> list[tuple[str, str]]:
    """Pools and a reason that they share: `rack-a1, rack-a2`, `PoolNotReady: no poollet announces it`."""
    refusals = tuple(refusals)
    pools: dict[str, list[str]] = {}
    for refusal in refusals:
        for reason in dict.fromkeys(_reasons(refusal)):
            pools.setdefault(reason, []).append(refusal.pool)
    every = len({refusal.pool for refusal in refusals if refusal.pool})
    return [(_named(names, every), reason) for reason, names in pools.items()]


def _reasons(refusal: Refusal) -> Iterator[str]:
    """A volume that fits nowhere has a reason for each volume pool; those that say the same are one."""
    volumes: dict[tuple[str, str, str], list[str]] = {}
    for reason in refusal.reasons:
        if not reason.volume_pool:
            yield of_reason(reason)
        else:
            of = (reason.volume, reason.message, amounts_of(reason))
            volumes.setdefault(of, []).append(reason.volume_pool)
    for (volume, why, amounts), names in volumes.items():
        yield f"{Predicate.VOLUME_CAPACITY}: volume {volume} on {', '.join(names)}: {why}{amounts}"


def _named(pools: list[str], every: int) -> str:
    if len(pools) > 1 and len(pools) == every:
        return "every pool"
    more = f" and {len(pools) - MOST_POOLS:,} more" if len(pools) > MOST_POOLS else ""
    return ", ".join(pools[:MOST_POOLS]) + more


def reason_of(change: Change) -> str:
    where = f"onto {change.pool}" if change.action in (Action.SCHEDULE, Action.ADOPT) else ""
    return ": ".join(part for part in (where, change.reason) if part)
