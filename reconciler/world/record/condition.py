"""Conditions: one aspect of a state each. A transition time moves only when the status does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal

import msgspec

from reconciler.world.record.timestamps import stamp
from schemas.model import Condition

Truth = Literal["True", "False", "Unknown"]

SCHEDULED = "Scheduled"  # placed, or why not
ACCEPTED = "Accepted"  # the reconciler can act on what the source says, or why not: Blocked, Frozen
DELETION_HELD = "DeletionHeld"  # gone from the source, and why it is not ordered gone
CLAIM_REFUSED = "ClaimRefused"  # a poollet says of the object what it may not say
EVICTION = "Eviction"  # why a placed machine is to leave its pool, or may not without consent
DESTROYED = (
    "Destroyed"  # people state by a commit that the host of a pool is gone with all it had: what became of it
)
HOST_MOVED = "HostMoved"  # people move a pool to another host by a commit: what became of it
HOST_MISMATCH = "HostMismatch"  # another host than the one with the grant reports as the pool, or waits to
UNVERIFIED = "AbsenceUnverified"  # the reason of DELETION_HELD for an object that may still be declared
FROZEN = "Frozen"  # the reason of ACCEPTED for an object whose file cannot be used: it stays as it was
OWN = frozenset(
    {SCHEDULED, ACCEPTED, DELETION_HELD, CLAIM_REFUSED, EVICTION, DESTROYED, HOST_MOVED, HOST_MISMATCH}
)
"""Types that the reconciler writes; all others are what a poollet reports."""

Conditions = tuple[Condition, ...]


def condition(conditions: Iterable[Condition], type: str) -> Condition | None:
    for each in conditions:
        if each.type == type:
            return each
    return None


def own(conditions: Iterable[Condition]) -> Conditions:
    """Those that the reconciler writes."""
    return tuple(each for each in conditions if each.type in OWN)


def with_condition(conditions: Sequence[Condition], new: Condition, now: datetime) -> Conditions:
    """`new` in the place of the one of its type, or at the end. Its transition time is carried over, else its own, else now."""
    before = condition(conditions, new.type)
    timed = _with_time(new, before, now)
    if before is None:
        return (*conditions, timed)
    return tuple(timed if each.type == new.type else each for each in conditions)


def without_condition(conditions: Sequence[Condition], type: str) -> Conditions:
    return tuple(each for each in conditions if each.type != type)


def merge_conditions(kept: Sequence[Condition], reported: Iterable[Condition], now: datetime) -> Conditions:
    """What is reported takes the place of what was reported before; the reconciler's own stay. In the order of their types."""
    mine = {each.type: each for each in kept if each.type in OWN}
    theirs = {
        each.type: _with_time(each, condition(kept, each.type), now)
        for each in reported
        if each.type not in OWN
    }
    return tuple(each for _, each in sorted((mine | theirs).items()))


def _with_time(new: Condition, before: Condition | None, now: datetime) -> Condition:
    is_same = before is not None and before.status == new.status
    time = before.last_transition_time if before is not None and is_same else new.last_transition_time
    return msgspec.structs.replace(new, last_transition_time=time or stamp(now), last_update_time="")
