"""What the formats of a plan say alike: one line about a change, a reason, a pool, how full it is.

Pure functions from a Plan's values to text without markup. Each format adds its own color or escapes. Nothing reads
these texts back: `as_json` has the fields.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from reconciler.plan.types import Action, Change, Plan, PoolUsage
from reconciler.schedule.decision import Predicate, Reason, Refusal, Score
from reconciler.schedule.scores import LOCAL, MACHINE_POINTS, SOFT_TAINT, WHOLE, Policy
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


def describe_score(score: Score) -> str:
    """What the parts of a score mean, the policy's first: `98% of its resources would stay free`. Points say nothing to people."""
    return "; ".join(_describe_part(name, points) for name, points in score.parts)


def _describe_part(name: str, points: int) -> str:
    match name:
        case Policy.MOST_FREE:
            return f"{_percent(points)}% of its resources would stay free"
        case Policy.BIN_PACK:
            return f"{_percent(points)}% of its resources would be used"
        case Policy.SPREAD:
            return f"{many((WHOLE - points) // MACHINE_POINTS, 'machine')} on it now"
        case "SoftTaints":
            return (
                f"{many(points // SOFT_TAINT, 'taint')} (PreferNoSchedule) that the machine does not tolerate"
            )
        case _:
            return f"{many(points // LOCAL, 'volume')} of it in the same zone"


def _percent(points: int) -> int:
    return max(0, points) * 100 // WHOLE


def amounts_of(reason: Reason) -> str:
    is_short = reason.need != reason.have
    return f" (need {reason.need}, have {reason.have})" if is_short else ""


def by_weight(plan: Plan) -> tuple[Change, ...]:
    """Changes in the order of their weight, then by key."""
    rank = {action: place for place, action in enumerate(Action)}
    return tuple(sorted(plan.changes, key=lambda change: (rank[change.action], change.key)))


def count_actions(changes: Iterable[Change]) -> str:
    counts = Counter(change.action.noun for change in changes)
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())


def amounts(usage: PoolUsage) -> Iterator[tuple[str, str, str, str]]:
    """Resource, allocatable, before, after."""
    for resource in sorted(usage.allocatable.keys() | usage.before.keys() | usage.after.keys()):
        row = (usage.allocatable, usage.before, usage.after)
        shown = "host" if resource == SHARE else resource
        yield (shown, *(format_amount(resource, vector.get(resource, 0)) for vector in row))  # type: ignore[misc]


def many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def rows_of(refusals: Iterable[Refusal]) -> list[tuple[str, str]]:
    """Pools and a reason that they share: `rack-a1, rack-a2`, `PoolNotReady: no poollet announces it`.

    Pools that have different amounts share a row too: `cpu is short (need 8; rack-a1 has 2, rack-a2 has 4)`."""
    refusals = tuple(refusals)
    found: dict[tuple[str, str], dict[str, list[str]]] = {}  # text, need -> have -> pools
    for refusal in refusals:
        for text, need, have in dict.fromkeys(_reasons(refusal)):
            found.setdefault((text, need), {}).setdefault(have, []).append(refusal.pool)
    every = len({refusal.pool for refusal in refusals if refusal.pool})
    rows = []
    for (text, need), pools in found.items():
        names = [name for same in pools.values() for name in same]
        rows.append((_join_pools(names, every), f"{text}{_join_amounts(need, pools)}"))
    return rows


def _reasons(refusal: Refusal) -> Iterator[tuple[str, str, str]]:
    """Text, need and have of each. A volume that fits nowhere has a reason for each volume pool; those that say the same are one."""
    volumes: dict[tuple[str, str, str], list[str]] = {}
    for reason in refusal.reasons:
        if reason.volume_pool:
            of = (reason.volume, reason.message, amounts_of(reason))
            volumes.setdefault(of, []).append(reason.volume_pool)
        elif reason.predicate is Predicate.ANTI_AFFINITY:
            yield f"{reason.predicate}: not beside machines there", "", f"{reason.resource} has {reason.have}"
        else:
            about = f"volume {reason.volume}: " if reason.volume else ""
            need, have = (reason.need, reason.have) if reason.need != reason.have else ("", "")
            yield f"{reason.predicate}: {about}{reason.message}", need, have
    for (volume, why, amounts), names in volumes.items():
        yield f"{Predicate.VOLUME_CAPACITY}: volume {volume} on {', '.join(names)}: {why}{amounts}", "", ""


def _join_amounts(need: str, pools: Mapping[str, Sequence[str]]) -> str:
    """What the pools have: one amount for all, or that of each; beyond MOST_POOLS only the number of the others."""
    if not any(pools):
        return "" if not need else f" (need {need}, have none)"
    if not need:
        parts = list(pools)[:MOST_POOLS]
    elif len(pools) == 1:
        return f" (need {need}, have {next(iter(pools))})"
    else:
        shown = list(pools.items())[:MOST_POOLS]
        parts = [f"{_join_pools(list(names), 0)} has {have}" for have, names in shown]
    more = f" and {len(pools) - MOST_POOLS:,} more" if len(pools) > MOST_POOLS else ""
    return f" ({f'need {need}; ' if need else ''}{', '.join(parts)}{more})"


def _join_pools(pools: list[str], every: int) -> str:
    if len(pools) > 1 and len(pools) == every:
        return EVERY_POOL
    more = f" and {len(pools) - MOST_POOLS:,} more" if len(pools) > MOST_POOLS else ""
    return ", ".join(pools[:MOST_POOLS]) + more


def reason_of(change: Change) -> str:
    """Why a change is made, and for a placement also where it goes."""
    where = f"onto {change.pool}" if change.action in (Action.SCHEDULE, Action.ADOPT) else ""
    return ": ".join(part for part in (where, change.reason) if part)


def is_changed(usage: PoolUsage, resource: str) -> bool:
    """Whether the pool has more or less of it after the plan, or would have if others did not take as much as goes."""
    is_same = usage.before == usage.after
    return is_same or usage.before.get(resource, 0) != usage.after.get(resource, 0)


def share(usage: PoolUsage, resource: str, vector: Mapping[str, int]) -> int:
    """Percent of what the pool can give away, rounded down, so that 100 means full."""
    whole = usage.allocatable.get(resource, 0)
    return 100 * vector.get(resource, 0) // whole if whole > 0 else 0


def bar(percent: int, width: int = 10) -> str:
    """How full, drawn. Anything at all is at least one block, and only what is full has all of them."""
    filled = (max(percent, 0) * width + 50) // 100
    filled = min(max(filled, percent > 0), width - (percent < 100))
    return "█" * filled + "░" * (width - filled)


def resource_of(shown: str) -> str:
    """The name in vectors of what `amounts` shows."""
    return SHARE if shown == "host" else shown
