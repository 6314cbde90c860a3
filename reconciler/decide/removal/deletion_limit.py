"""How much may be deleted at once without an approval. Pure counting; `deletion` decides which objects it is about.

    the deletion would leave      an approval is needed
    nothing of a kind             always, even for the only object
    half or less, of 3 or more    always
    more                          when both `count` and `percent` of limits.delete are exceeded

Orders that were given before are counted until their objects are gone. Otherwise a script that removes one file a minute
would delete everything without an approval.
"""

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
    """The smaller of each number, and the groups of both. A commit that raises the limit and uses it at once is held by the old one."""
    groups = tuple(sorted({*old.groups, *new.groups}))
    return DeleteLimit(count=min(old.count, new.count), percent=min(old.percent, new.percent), groups=groups)


def why_over_limit(losses: DeletionCounts, limit: DeleteLimit) -> str:
    """Why this deletion needs an approval, or an empty text. More losses never need less of it: the tests hold it to that."""
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
