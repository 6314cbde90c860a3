"""What is new about a status, for whoever tells it: a word, and whether it is worth a commit of its own. Pure.

A fleet that starts up reports a stream of small news: pulling an image, waiting for a volume, a revision that was seen. A commit for each would
drown `git log`, so a tick that has only such news to write is deferred (`reconciler.loop.outcome.Deferred`), and the next real
commit takes them along. What a person or a program may wait for (Running, Ready, an address) is never minor.

Limits: this compares fields of two records. It never reads a message to learn a state; `words_of` is for commit subjects alone.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from reconciler.plan.types import Action, Change
from schemas.model import Condition

_PENDING = ("", "Pending")
_BOOKKEEPING = ("conditions", "observed_revision", "state", "last_state_transition_time")


def state_of(change: Change) -> str:
    """The state that it has come to; nothing when it did not change."""
    before, after = (str(getattr(status, "state", "")) for status in _statuses(change))
    return after if after != before else ""


def condition_of(change: Change) -> Condition | None:
    """The first condition that says something else than before. Times do not count, nor does the order or the loss of a condition."""
    before, after = (_conditions(status) for status in _statuses(change))
    known = {each.type: (each.status, each.reason, each.message) for each in before}
    news = (each for each in after if known.get(each.type) != (each.status, each.reason, each.message))
    return next(news, None)


def words_of(condition: Condition) -> str:
    """`VolumesPending`: volumes pending."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", condition.reason or condition.type)
    return words.lower()


def is_minor(change: Change) -> bool:
    """Whether it can wait for the next commit: nothing but words, revisions and being pending is new.

    Everything that is not bookkeeping must be equal in both records. So a field that is added to a status is news by default, and
    it cannot be forgotten here."""
    if change.action is not Action.STATUS or change.before is None or change.after is None:
        return False
    before, after = change.before.status, change.after.status
    if before is None or after is None or type(before) is not type(after):
        return False
    is_pending = state_of(change) in _PENDING
    same: dict[str, Any] = {name: getattr(before, name) for name in _BOOKKEEPING if hasattr(before, name)}
    blank = msgspec.structs.replace(change.after, status=msgspec.structs.replace(after, **same))
    was, now = ({(each.type, each.status) for each in _conditions(status)} for status in (before, after))
    return is_pending and blank == change.before and was == now


def _conditions(status: object) -> tuple[Condition, ...]:
    found: tuple[Condition, ...] = getattr(status, "conditions", ())
    return found


def _statuses(change: Change) -> tuple[object, object]:
    """Before and after."""
    before, after = (record and record.status for record in (change.before, change.after))
    return before, after
