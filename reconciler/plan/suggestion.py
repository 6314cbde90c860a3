"""The smallest change that would make an object fit somewhere, by why each pool refused it. Pure.

One pool is proposed: the one with the least effort, then the fewest reasons, then the smallest share that is short, then by name. The
effort is the sum over all reasons of a pool, because all of them must be cured. Reasons that concern no pool (a quota) come in addition.

Everything is computed from the fields of a reason. A message is never read: it is for people, and its words may change.

Must never happen: a proposal that would not be enough. Where one reason has no amount, an amount beside it for the same volumes is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from reconciler.schedule.decision import Predicate, Reason, Refusal
from schemas.model.quantity import Quantity, QuantityError, parse

# What is easier to change comes first: the object, a switch on the pool, then what must be bought.
_EFFORT = {
    Predicate.PINNED: 1,
    Predicate.SELECTOR: 1,
    Predicate.TAINT: 1,
    Predicate.CORDON: 1,
    Predicate.QUOTA: 1,
    Predicate.SECRET: 1,
    Predicate.SPREAD: 2,
    Predicate.ANTI_AFFINITY: 2,
    Predicate.CLASS: 2,
    Predicate.VOLUME: 2,
    Predicate.CAPACITY: 3,
    Predicate.VOLUME_CAPACITY: 3,
    Predicate.REJECTED: 4,
    Predicate.READY: 5,
    Predicate.LINK: 5,
    Predicate.NO_POOLS: 6,
    Predicate.SNAPSHOT: 6,
    Predicate.DESTROYED: 7,
}


def suggest(refusals: Sequence[Refusal]) -> str:
    """`rack-a1 with memory 12Gi more`. Empty without a refusal. The pool of a destroyed host is proposed only where there is no other."""
    general = [refusal for refusal in refusals if not refusal.pool]
    pools = [refusal for refusal in refusals if refusal.pool]
    pools = [refusal for refusal in pools if not _is_destroyed(refusal)] or pools
    parts = [_steps(refusal.reasons) for refusal in general]
    if pools:
        best = min(pools, key=lambda refusal: (*_effort(refusal.reasons), refusal.pool))
        parts.append(f"{best.pool} {_steps(best.reasons)}")
    return ", and ".join(parts)


def _is_destroyed(refusal: Refusal) -> bool:
    return any(reason.predicate is Predicate.DESTROYED for reason in refusal.reasons)


def _effort(reasons: Iterable[Reason]) -> tuple[int, int, float]:
    """Compared between pools only. The last part is the one float of this package; it breaks ties and places nothing."""
    reasons = tuple(reasons)
    weight = sum(_EFFORT[reason.predicate] for reason in reasons)
    return weight, len(reasons), sum(_share_short(reason) for reason in reasons)


def _share_short(reason: Reason) -> float:
    """How much of what is needed is not there; nothing where no amounts are told."""
    return _share(reason.need, reason.have)


@lru_cache(maxsize=1024)  # pools of one fleet have few amounts, and each is compared with each
def _share(needed: str, there: str) -> float:
    try:
        need, have = parse(needed), parse(there)
    except QuantityError:
        return 0.0
    return (need.nano - have.nano) / need.nano if need.nano > 0 else 0.0


def _steps(reasons: Iterable[Reason]) -> str:
    counted = [reason for reason in reasons if not is_rounded_away(reason)]
    volumes = [reason for reason in counted if reason.predicate is Predicate.VOLUME_CAPACITY]
    if not all(is_short(reason) for reason in volumes):  # then no amount alone would do
        counted = [reason for reason in counted if reason not in volumes or not is_short(reason)]
    steps = dict.fromkeys(_step(reason) for reason in counted)
    return "with " + ", ".join(steps) if steps else ""


def is_short(reason: Reason) -> bool:
    """Whether an amount is missing that can be named."""
    return bool(reason.need and reason.have) and not is_rounded_away(reason)


def is_rounded_away(reason: Reason) -> bool:
    """Amounts that read alike tell a reader nothing."""
    return bool(reason.need) and reason.need == reason.have


# A predicate is in one of two places: with a text of its own here, or with a case in `_step` that uses the amounts of the reason.
TAKES_VOLUMES = "a volume pool that takes its volumes"
_FIXED = {
    Predicate.READY: "the pool ready",
    Predicate.LINK: "the host connected, or its next report",
    Predicate.DESTROYED: "a new host for it",
    Predicate.CORDON: "the pool uncordoned",
    Predicate.CLASS: "that class offered",
    Predicate.PINNED: "the pin removed",
    Predicate.VOLUME: "its volumes within reach",
    Predicate.SNAPSHOT: "its snapshot on it",
    Predicate.ANTI_AFFINITY: "the machines that it keeps apart from moved to other pools",
    Predicate.REJECTED: "the reason for its rejection fixed",
    Predicate.SECRET: "its Secrets encrypted for it (gitvirt secret rekey)",
    Predicate.NO_POOLS: "a pool",
}


def _step(reason: Reason) -> str:
    match reason.predicate:
        case Predicate.TAINT:
            return f"a toleration of {reason.taint}"
        case Predicate.SELECTOR:
            return f"label {reason.resource}={reason.need} on it"
        case Predicate.CAPACITY:
            return f"{reason.resource} {_more(reason)} more"
        case Predicate.VOLUME_CAPACITY:
            more = f"{reason.resource} {_more(reason)} more for its volumes"
            return more if is_short(reason) else TAKES_VOLUMES
        case Predicate.QUOTA:
            return f"{reason.resource} {_more(reason)} more in its quota"
        case Predicate.SPREAD:
            return "a larger maxSkew" if reason.need else "that label on it"
        case fixed:
            return _FIXED[fixed]


def _more(reason: Reason) -> str:
    """Need minus have, in the notation of the need."""
    try:
        need, have = parse(reason.need), parse(reason.have)
    except QuantityError:
        return f"({reason.need} needed, {reason.have} there)"
    return str(Quantity(need.nano - have.nano, need.notation))
