"""What happens to an object in words: once for the subject of a commit, where objects are grouped, and once for its own line. Pure.

A change that destroys or stops something says so in capital letters, in both: DELETE, DESTROY, EVICT, FENCE. Readers of `git log` need not
know which of two similar words costs data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from reconciler.plan.significance import condition_of, is_ready_again, new_failure, state_of, words_of
from reconciler.plan.types import Action, Change
from reconciler.world.pools.grants import POOL_STATUS
from reconciler.world.record import Record
from reconciler.world.reports.status_update import READY
from reconciler.write.object_names import full_name
from schemas.effects.effect import Loss
from schemas.effects.words import describe_losses
from schemas.kinds import Kind
from schemas.model import Condition
from schemas.model.quantity import Quantity

# Verb, and the word before the pool; empty where the pool says nothing.
_VERBS: Mapping[Action, tuple[str, str]] = {
    Action.SCHEDULE: ("schedule", "onto"),
    Action.ADOPT: ("adopt", "on"),
    Action.EVICT: ("EVICT", "from"),
    Action.WITHDRAW: ("withdraw", "from"),
    Action.RETURN: ("bring back", ""),
    Action.MARK_DELETED: ("DELETE", ""),
    Action.RETAIN: ("retain", ""),
    Action.REMOVE: ("remove", "from"),
    Action.GENERATE: ("generate", ""),
    Action.ANNOUNCE: ("announce", ""),
    Action.AWAIT_APPROVAL: ("hold the deletion of", ""),
    Action.SYNC: ("sync", ""),
}
FENCE, GRANT = "FENCE the host of", "grant"
UP_TO_DATE = "UpToDate"  # the condition of an object that its host does not bring to what is declared
AGAIN = "again"
_STATE_WORDS = {"Error": "in error"}  # that are not read after `is`
# Fields of a status that say nothing to people.
_UNNAMED = ("conditions", "last_state_transition_time", "observed_revision")
_FIRST = ("DELETE", "EVICT", "FENCE", "stop")
_WEIGHT = {action: rank for rank, action in enumerate(Action)}


@dataclass(frozen=True, slots=True)
class Phrase:
    """Either a verb, with the word that comes before a pool and an ending, or what objects are: `running`. Changes with one phrase are one group."""

    verb: str = ""
    preposition: str = ""
    state: str = ""
    ending: str = ""


def weight(change: Change, phrase: Phrase) -> tuple[bool, int]:
    """What destroys or stops something comes first, then the order of `Action`."""
    return not phrase.verb.startswith(_FIRST), _WEIGHT[change.action]


def phrase_of(change: Change) -> Phrase:
    match change.action:
        case Action.CLAIM:
            return Phrase(verb=_claim_verb(change))
        case Action.STOP:
            undo = change.after.undo if change.after is not None else None
            return Phrase(verb="stop", ending=f", DELETE at {undo.until}" if undo is not None else "")
        case Action.BLOCKED | Action.UNSCHEDULABLE:
            return Phrase(state=change.action.noun)
        case Action.STATUS | Action.ANNOUNCE if verb := _pool_verb(change):
            return Phrase(verb=verb)
        case Action.STATUS if state_of(change):
            state = _shown_state(change.after)
            return Phrase(state=_STATE_WORDS.get(state, state.lower()))
        case Action.STATUS if (failure := new_failure(change)) is not None:
            return Phrase(state=f"{_how(failure)}: {words_of(failure)}")
        case Action.STATUS if is_ready_again(change):
            state = str(getattr(change.after.status, "state", "")) if change.after is not None else ""
            return Phrase(state=f"{state.lower() or 'ready'} {AGAIN}")
        case Action.STATUS:
            return Phrase(verb="update")
        case action:
            return Phrase(*_VERBS[action])


def _how(failure: Condition) -> str:
    """An object that runs and lacks a change that its host cannot make, such as another ssh key, does not fail."""
    if failure.status != "False":
        return "unknown"
    return "not as declared" if failure.type == UP_TO_DATE else "failing"


def line_of(change: Change, losses: Sequence[Loss] = ()) -> str:
    """One line: what happens to the object, old -> new, why, and what that destroys."""
    name, phrase = full_name(change.key), phrase_of(change)
    if phrase.verb:
        text = f"{phrase.verb} {name}"
        text += f" {phrase.preposition} {change.pool}" if phrase.preposition and change.pool else ""
        text += phrase.ending
    elif transition := _transition(change):
        text = f"{name}: {transition}"
    else:
        text = f"{name} is {phrase.state}"
    why = _reason(change, phrase)
    return "; ".join(each for each in (f"{text}: {why}" if why else text, describe_losses(losses)) if each)


def _reason(change: Change, phrase: Phrase) -> str:
    """Of a decision its own; of what a host reports the condition, or else the fields that changed."""
    if phrase.verb == GRANT:
        status = change.after.status if change.after is not None else None
        host = status.host if isinstance(status, POOL_STATUS) else None
        return f"to host {host.id}" if host is not None else ""
    if change.action is not Action.STATUS or phrase.verb == FENCE:
        return change.reason
    if phrase.state.endswith(AGAIN):
        return ""
    found = new_failure(change) or (None if state_of(change) else condition_of(change))
    if found is not None:
        named = name_condition(found)
        return f"{found.message} ({named})" if found.message else named
    return "" if state_of(change) else ", ".join(_changed_fields(change))


def name_condition(found: Condition) -> str:
    """`Ready: Running`; the status in place of a reason that only says the type again: `VolumesReady: True`."""
    return f"{found.type}: {found.status if found.reason in ('', found.type) else found.reason}"


def _changed_fields(change: Change) -> Iterator[str]:
    """`size: 1Gi -> 2Gi`; of a field with parts its name alone."""
    before, after = (
        record.status if record is not None else None for record in (change.before, change.after)
    )
    if before is None or after is None or type(before) is not type(after):
        return
    for field in msgspec.structs.fields(after):
        was, now = (getattr(status, field.name) for status in (before, after))
        if was == now or field.name in _UNNAMED:
            continue
        is_plain = isinstance(now, str | int | Quantity) and isinstance(was, str | int | Quantity | None)
        yield f"{field.encode_name}: {was or 'none'} -> {now or 'none'}" if is_plain else field.encode_name


def _transition(change: Change) -> str:
    """`Pending -> Running`."""
    if change.action is not Action.STATUS or not state_of(change):
        return ""
    before, after = _shown_state(change.before), _shown_state(change.after)
    return f"{before} -> {after}" if before and after else ""


def _shown_state(record: Record | None) -> str:
    """As `gitvirt get` shows it: a pool that does not report is Pending on `live`, and Unknown to people."""
    status = record.status if record is not None else None
    is_unknown = isinstance(status, POOL_STATUS) and any(
        (each.type, each.status) == (READY, "Unknown") for each in status.conditions
    )
    return "Unknown" if is_unknown else str(getattr(status, "state", ""))


def _claim_verb(change: Change) -> str:
    claim = change.after.claim if change.after is not None else None
    if claim is None:
        return "end the claim of"
    return "release" if claim.released else "claim"


def _pool_verb(change: Change) -> str:
    """What is decided about the host of a pool: that it loses the pool, or gets it."""
    if change.key.kind not in (Kind.MACHINE_POOL, Kind.VOLUME_POOL) or change.after is None:
        return ""
    before, after = change.before.status if change.before else None, change.after.status
    if not isinstance(after, POOL_STATUS) or not (before is None or isinstance(before, POOL_STATUS)):
        return ""
    was, now = ({_request(each) for each in _requests(status)} for status in (before, after))
    if any(state == "Fenced" for _, state in now - was):
        return FENCE
    is_granted = after.host is not None and (before is None or before.host != after.host)
    return GRANT if is_granted and change.action is Action.STATUS else ""


def _requests(status: object) -> list[object]:
    found = (getattr(status, "destroyed", None), getattr(status, "move", None))
    return [each for each in found if each is not None]


def _request(request: object) -> tuple[str, str]:
    return getattr(request, "commit", ""), getattr(request, "state", "")
