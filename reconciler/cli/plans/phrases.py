"""What the formats of a plan say alike: one line about a change, a source change, a reason, a pool, and the
summary.

Pure functions from a Plan's values to text without markup. Each format adds its own color or escapes. Nothing reads
these texts back: `as_json` has the fields.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from reconciler.plan.source_changes import SourceChange
from reconciler.plan.types import Action, Change, Plan, PoolUsage
from reconciler.schedule.decision import Predicate, Reason, Refusal
from schemas.effects.effect import Creates
from schemas.effects.words import describe_change, describe_effect
from schemas.live_layout import SHARE
from schemas.model.capacity import format_amount

MOST_POOLS = 5
EVERY_POOL = "every pool"


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
    is_short = reason.need != reason.have
    return f" (need {reason.need}, have {reason.have})" if is_short else ""


def of_source_change(change: SourceChange) -> list[str]:
    """A line for what happens to the object as a whole, and one for each changed field: `field: old -> new`, and when it applies."""
    whole = (
        [] if change.whole is None or isinstance(change.whole, Creates) else [describe_effect(change.whole)]
    )
    fields = [f"{describe_change(each.change)}: {describe_effect(each.effect)}" for each in change.fields]
    return [*whole, *fields]


def by_weight(plan: Plan) -> tuple[Change, ...]:
    """Changes in the order of their weight, then by key."""
    rank = {action: place for place, action in enumerate(Action)}
    return tuple(sorted(plan.changes, key=lambda change: (rank[change.action], change.key)))


def is_plain(change: Change) -> bool:
    """Whether it says nothing that the rest of the plan does not say."""
    return change.action is Action.UNSCHEDULABLE or (
        change.action in (Action.SYNC, Action.STATUS) and not change.reason
    )


def count_actions(changes: Iterable[Change]) -> str:
    counts = Counter(change.action.noun for change in changes)
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())


def by_pool(plan: Plan) -> Mapping[str, list[Change]]:
    """The objects that are placed, by the pool that they go to."""
    found: dict[str, list[Change]] = {}
    for change in by_weight(plan):
        if change.action in (Action.SCHEDULE, Action.ADOPT):
            found.setdefault(change.pool, []).append(change)
    return dict(sorted(found.items()))


def amounts(usage: PoolUsage) -> Iterator[tuple[str, str, str, str]]:
    """Resource, allocatable, before, after."""
    for resource in sorted(usage.allocatable.keys() | usage.before.keys() | usage.after.keys()):
        row = (usage.allocatable, usage.before, usage.after)
        shown = "host" if resource == SHARE else resource
        yield (shown, *(format_amount(resource, vector.get(resource, 0)) for vector in row))  # type: ignore[misc]


def summary(plan: Plan) -> str:
    """`22 source changes; 6 generated, 4 unschedulable; 3 awaiting approval`.

    An object that is unschedulable counts once, whether this plan found it so or an earlier one did.
    """
    counts = Counter(change.action.noun for change in by_weight(plan))
    if plan.unschedulable:  # those of before too, which need no change
        counts[Action.UNSCHEDULABLE.noun] = len(plan.unschedulable)
    parts = [many(len(plan.source_changes), "source change")] if plan.source_changes else []
    parts += [", ".join(f"{count:,} {name}" for name, count in counts.items())] if counts else []
    if plan.pending_approvals:
        parts.append(f"{len(plan.pending_approvals):,} awaiting approval")
    if plan.pool_requests:
        parts.append(many(len(plan.pool_requests), "pool request"))
    errors = sum(problem.severity == "error" for problem in plan.problems)
    if errors:
        parts.append(many(errors, "error"))
    return "; ".join(parts) or "no changes"


def many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def rows_of(refusals: Iterable[Refusal]) -> list[tuple[str, str]]:
    """Pools and a reason that they share: `rack-a1, rack-a2`, `PoolNotReady: no poollet announces it`."""
    refusals = tuple(refusals)
    pools: dict[str, list[str]] = {}
    for refusal in refusals:
        for reason in dict.fromkeys(_reasons(refusal)):
            pools.setdefault(reason, []).append(refusal.pool)
    every = len({refusal.pool for refusal in refusals if refusal.pool})
    return [(_join_pools(names, every), reason) for reason, names in pools.items()]


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


def _join_pools(pools: list[str], every: int) -> str:
    if len(pools) > 1 and len(pools) == every:
        return EVERY_POOL
    more = f" and {len(pools) - MOST_POOLS:,} more" if len(pools) > MOST_POOLS else ""
    return ", ".join(pools[:MOST_POOLS]) + more


def reason_of(change: Change) -> str:
    """Why a change is made, and for a placement also where it goes."""
    where = f"onto {change.pool}" if change.action in (Action.SCHEDULE, Action.ADOPT) else ""
    return ": ".join(part for part in (where, change.reason) if part)
