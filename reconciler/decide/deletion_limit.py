"""How much may be deleted at once without asking a person. Pure counting; who is to go is decided elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.settings.fleet import DeleteLimit


@dataclass(frozen=True, slots=True)
class DeletionCounts:
    """Objects of one kind: `total` on `live`, `going` of them ordered gone already, `absent` those that would be now."""

    total: int
    going: int
    absent: int


def stricter(old: DeleteLimit, new: DeleteLimit) -> DeleteLimit:
    """A commit that raises the limit and uses it at once is held by the old one."""
    return DeleteLimit(count=min(old.count, new.count), percent=min(old.percent, new.percent))


def why_over_limit(losses: DeletionCounts, limit: DeleteLimit) -> str:
    """Why a person must approve this, or nothing."""
    if losses.absent <= 0:
        return ""
    lost, total = losses.going + losses.absent, losses.total
    counted = f"{lost} of {total}"
    if lost >= total:
        return f"{counted} would be deleted: all of them"
    if total >= 3 and lost * 2 >= total:
        return f"{counted} would be deleted: half or more"
    if lost > limit.count and lost * 100 > limit.percent * total:
        return f"{counted} would be deleted: more than {limit.count} and more than {limit.percent}%"
    return ""
