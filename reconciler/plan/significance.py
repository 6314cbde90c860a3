"""What is new about a status, for whoever tells it: a word, and whether it is worth a commit of its own. Pure."""

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
    before, after = (_status(change, is_after) for is_after in (False, True))
    state = str(getattr(after, "state", ""))
    return state if state != str(getattr(before, "state", "")) else ""


def condition_of(change: Change) -> Condition | None:
    """The first condition that says something else than before."""
    before = {each.type: each for each in _conditions(change, False)}
    for each in _conditions(change, True):
        old = before.get(each.type)
        if old is None or (old.status, old.reason, old.message) != (each.status, each.reason, each.message):
            return each
    return None


def words_of(condition: Condition) -> str:
    """`VolumesPending`: volumes pending."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", condition.reason or condition.type)
    return words.lower()


def is_minor(change: Change) -> bool:
    """Whether it can wait for the next commit: nothing but words, revisions and being pending is new."""
    if change.action is not Action.STATUS or change.before is None or change.after is None:
        return False
    before, after = change.before.status, change.after.status
    if before is None or after is None or type(before) is not type(after):
        return False
    is_pending = state_of(change) in _PENDING
    same: dict[str, Any] = {name: getattr(before, name) for name in _BOOKKEEPING if hasattr(before, name)}
    blank = msgspec.structs.replace(change.after, status=msgspec.structs.replace(after, **same))
    return is_pending and blank == change.before and _truths(change, False) == _truths(change, True)


def _truths(change: Change, is_after: bool) -> set[tuple[str, str]]:
    return {(each.type, each.status) for each in _conditions(change, is_after)}


def _conditions(change: Change, is_after: bool) -> tuple[Condition, ...]:
    found: tuple[Condition, ...] = getattr(_status(change, is_after), "conditions", ())
    return found


def _status(change: Change, is_after: bool) -> object:
    record = change.after if is_after else change.before
    return record.status if record is not None else None
