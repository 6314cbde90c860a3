"""Which of the calls that an object needs are made now: not those that failed a moment ago, nor the same ones over and over.

Some runtimes accept a call and do nothing; some guests switch themselves off whenever they are started. What is repeated
comes ever more rarely, and what never had an effect is given up until something else is wanted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from poollet.memory import Attempts, Failure, Memory, Pace, Refused
from poollet.step import Call, Create, Ref, Remove

FIRST_PAUSE_MS, LONGEST_PAUSE_MS = 5_000, 300_000
TELLING = 3  # so often without effect, and people are told
HOPELESS = 6  # and so often, and it is left
FORGOTTEN_MS = 600_000
NO_EFFECT = ("NoEffect", "the runtime accepted it and did not do it")


HOPELESS_CODES = frozenset(("Unimplemented", "InvalidArgument"))
REFUSED_MS = 3_600_000  # so long a call of which the runtime says so is left


class Fault(NamedTuple):
    """Why a call is not made now, or did not succeed when it was."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Paced:
    """`calls` to make now. `pace` and `refused` are what to remember, `faults` what people are told."""

    calls: tuple[Call, ...] = ()
    pace: Pace | None = None
    refused: tuple[Refused, ...] = ()
    faults: tuple[Fault, ...] = ()
    is_repeated: bool = False
    again_ms: int | None = None


def paced(ref: Ref, needed: tuple[Call, ...], memory: Memory, attempts: Attempts, now_ms: int) -> Paced:
    failures = tuple(one for one in attempts.failures.get(ref, ()) if one.call in needed)
    refused = still_refused(needed, failures, memory.refused.get(ref, ()), now_ms)
    held = [one for one in failures if now_ms < one.retry_ms]
    calls = tuple(
        call
        for call in needed
        if all(call != one.call for one in held) and all(call != one.call for one in refused)
    )
    told = dict.fromkeys(
        [*((one.code, one.message) for one in failures), *((one.code, one.message) for one in refused)]
    )
    due = [one.retry_ms for one in held if all(one.call != other.call for other in refused)]
    found = Paced(refused=refused, faults=tuple(Fault(*one) for one in told), again_ms=min(due, default=None))
    before = memory.paces.get(ref)
    if not calls:
        return replace(found, pace=before if needed else needless(before, now_ms))
    is_due = before is not None and any(
        one.call in calls and before.last_ms < one.retry_ms for one in failures
    )
    if before is None or before.calls != calls or is_due:
        return replace(found, calls=calls, pace=Pace(calls, 1, now_ms))
    return repeated(calls, before, found, now_ms)


def repeated(calls: tuple[Call, ...], before: Pace, found: Paced, now_ms: int) -> Paced:
    """The same calls as last time, which were accepted and are needed again."""
    tried = before.vain if now_ms > before.last_ms else before.vain - 1
    is_vain = tried >= TELLING and not before.was_needless
    faults = (*found.faults, Fault(*NO_EFFECT)) if is_vain else found.faults
    is_last = is_vain and tried >= HOPELESS
    if is_last and not any(isinstance(call, Create | Remove) for call in calls):
        return replace(found, pace=before, faults=faults)
    due_ms = before.last_ms + pause_ms(before.count)
    if now_ms < due_ms:
        again_ms = due_ms if found.again_ms is None else min(found.again_ms, due_ms)
        return replace(found, pace=before, faults=faults, again_ms=again_ms)
    pace = Pace(calls, before.count + 1, now_ms, 1 if before.was_needless else before.vain + 1)
    return replace(found, calls=calls, pace=pace, faults=faults, is_repeated=not before.was_needless)


def still_refused(
    needed: tuple[Call, ...], failures: tuple[Failure, ...], known: tuple[Refused, ...], now_ms: int
) -> tuple[Refused, ...]:
    """Asked again after a while, for runtimes are upgraded."""
    rest = [one for one in known if one.call in needed and now_ms - one.at_ms < REFUSED_MS]
    for failure in failures:
        is_new = all(failure.call != one.call for one in known)
        if failure.code in HOPELESS_CODES and is_new:
            rest.append(Refused(failure.call, failure.code, failure.message, now_ms))
    return tuple(rest)


def needless(pace: Pace | None, now_ms: int) -> Pace | None:
    """Remembered for a while, for it may be needed again as soon as it had its effect."""
    if pace is None or now_ms - pace.last_ms >= FORGOTTEN_MS:
        return None
    return replace(pace, was_needless=True)


def pause_ms(count: int) -> int:
    return int(min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** min(count - 1, 16)))
