"""Which of the calls that an object needs are made now: not those that failed a moment ago, nor the same ones over and over.

Some runtimes accept a call and do nothing; some guests switch themselves off whenever they are started. What is repeated
comes ever more rarely, and what never had an effect is given up until it is wanted no more. What people are told of it stays
the same meanwhile: at rest nothing may be written.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from poollet.decide.actions import Call, Create, Ref, Remove
from poollet.decide.memory import NO_EFFECT, Attempts, CallError, Failure, Memory, Pace, Refused

FIRST_PAUSE_MS, LONGEST_PAUSE_MS = 5_000, 300_000
TELLING = 3  # so often without effect, and people are told
HOPELESS = 6  # and so often, and it is left
FORGOTTEN_MS = 600_000
NOTHING_DONE = (NO_EFFECT, "the runtime accepted it and did not do it")
# The same call comes to the same as long as nothing else changes.
HOPELESS_CODES = frozenset(("Unimplemented", "InvalidArgument", "NetworkNotOffered"))
REFUSED_MS = 3_600_000  # so long a call of which the runtime says so is left


@dataclass(frozen=True, slots=True)
class Paced:
    """`calls` to make now. `paces` and `refused` are what to remember, `faults` what people are told of what is known, and
    `inherited` what the last run told, as long as this one does not know better."""

    calls: tuple[Call, ...] = ()
    paces: tuple[Pace, ...] = ()
    refused: tuple[Refused, ...] = ()
    faults: tuple[CallError, ...] = ()
    inherited: CallError | None = None
    is_repeated: bool = False  # all of them had been made before, in vain
    again_ms: int | None = None


class Turn(NamedTuple):
    """What becomes of one call: whether it is made now, what to remember and to tell, and when to look again."""

    pace: Pace | None = None
    is_due: bool = False
    is_repeated: bool = False
    is_vain: bool = False
    again_ms: int | None = None


def paced(ref: Ref, needed: tuple[Call, ...], memory: Memory, attempts: Attempts, now_ms: int) -> Paced:
    """Each call has a pace of its own, so that what is said of one does not change with another."""
    failures = tuple(one for one in attempts.failures.get(ref, ()) if one.call in needed)
    known = memory.paces.get(ref, ())
    refused = still_refused(needed, failures, memory.refused.get(ref, ()))
    turns = [(call, turn_of(call, known, failures, refused, now_ms)) for call in needed]
    refused = tuple(
        one for one in refused if not any(turn.is_vain and call == one.call for call, turn in turns)
    )
    told = [(one.code, one.message) for one in failures if all(one.call != other.call for other in refused)]
    told += [(one.code, one.message) for one in refused]
    told += [NOTHING_DONE] if any(turn.is_vain for _, turn in turns) else []
    due = [turn for _, turn in turns if turn.is_due]
    failed = [*(one.call for one in failures), *(one.call for one in refused)]
    is_known = all(turn.is_vain or call in failed for call, turn in turns)
    rest = (needless(one, now_ms) for one in known if one.call not in needed)
    paces = (*(turn.pace for _, turn in turns), *rest)
    return Paced(
        calls=tuple(call for call, turn in turns if turn.is_due),
        paces=tuple(one for one in paces if one is not None),
        refused=refused,
        faults=tuple(CallError(*one) for one in dict.fromkeys(told)),
        inherited=memory.inherited.get(ref) if needed and not is_known else None,
        is_repeated=bool(due) and all(turn.is_repeated for turn in due),
        again_ms=min((turn.again_ms for _, turn in turns if turn.again_ms is not None), default=None),
    )


def turn_of(
    call: Call,
    known: tuple[Pace, ...],
    failures: tuple[Failure, ...],
    refused: tuple[Refused, ...],
    now_ms: int,
) -> Turn:
    before = next((one for one in known if one.call == call), None)
    failure = next((one for one in failures if one.call == call), None)
    no = next((one for one in refused if one.call == call), None)
    if no is not None and now_ms - no.at_ms < REFUSED_MS:
        return Turn(before)
    if failure is not None and now_ms < failure.retry_ms:
        return Turn(before, again_ms=failure.retry_ms)
    if before is None:
        return Turn(Pace(call, 1, now_ms), is_due=True)
    has_failed = failure is not None and before.last_ms < failure.retry_ms
    if has_failed or (no is not None and before.last_ms <= no.at_ms):
        return Turn(Pace(call, 1, now_ms), is_due=True)
    if any(call in one.left and before.last_ms <= one.at_ms for one in failures):
        return Turn(
            replace(before, last_ms=now_ms), is_due=True
        )  # another one's failure kept it from being made
    return repeated(before, now_ms)


def repeated(before: Pace, now_ms: int) -> Turn:
    """The same call as last time, which was accepted and is needed again."""
    tried = before.vain if now_ms > before.last_ms else before.vain - 1
    is_vain = tried >= TELLING and not before.was_needless
    if is_vain and tried >= HOPELESS and not isinstance(before.call, Create | Remove):
        return Turn(before, is_vain=True)
    due_ms = before.last_ms + pause_ms(before.count)
    if now_ms < due_ms:
        return Turn(before, is_vain=is_vain, again_ms=due_ms)
    pace = Pace(before.call, before.count + 1, now_ms, 1 if before.was_needless else before.vain + 1)
    return Turn(pace, is_due=True, is_repeated=not before.was_needless, is_vain=is_vain)


def still_refused(
    needed: tuple[Call, ...], failures: tuple[Failure, ...], known: tuple[Refused, ...]
) -> tuple[Refused, ...]:
    """What the runtime will not do stays told while it is asked again after a while, for runtimes are upgraded."""
    newer = [one for one in failures if all(one.call != old.call or one.at_ms > old.at_ms for old in known)]
    rest = [one for one in known if one.call in needed and all(one.call != new.call for new in newer)]
    rest += [
        Refused(one.call, one.code, one.message, one.at_ms) for one in newer if one.code in HOPELESS_CODES
    ]
    return tuple(rest)


def needless(pace: Pace, now_ms: int) -> Pace | None:
    """Remembered for a while, for it may be needed again as soon as it had its effect."""
    if now_ms - pace.last_ms >= FORGOTTEN_MS:
        return None
    return replace(pace, was_needless=True)


def pause_ms(count: int) -> int:
    return int(min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** min(count - 1, 16)))
