"""Which of the calls that an object needs are made now: not those that failed a moment ago, nor the same ones over and over.

Some runtimes accept a call and do nothing; some guests switch themselves off whenever they are started. What is repeated
comes ever more rarely, and what never had an effect is given up until something else is wanted.
"""

from __future__ import annotations

from dataclasses import dataclass

from poollet.memory import Attempts, Failure, Memory, Pace
from poollet.step import Call, Create, Ref, Remove

FIRST_PAUSE_MS, LONGEST_PAUSE_MS = 5_000, 300_000
TELLING = 3  # so often without effect, and people are told
HOPELESS = 6  # and so often, and it is left
FORGOTTEN_MS = 600_000


@dataclass(frozen=True, slots=True)
class Paced:
    """`calls` to make now. `pace` is what to remember. `failures` are those that still count."""

    calls: tuple[Call, ...] = ()
    pace: Pace | None = None
    failures: tuple[Failure, ...] = ()
    is_repeated: bool = False
    is_vain: bool = False
    again_ms: int | None = None


def paced(ref: Ref, needed: tuple[Call, ...], memory: Memory, attempts: Attempts, now_ms: int) -> Paced:
    before = memory.paces.get(ref)
    failures = tuple(one for one in attempts.failures.get(ref, ()) if one.call in needed)
    held = [one for one in failures if now_ms < one.retry_ms]
    calls = tuple(call for call in needed if all(call != one.call for one in held))
    again_ms = min((one.retry_ms for one in held), default=None)
    if not calls:
        return Paced((), needless(before, now_ms) if not needed else before, failures, again_ms=again_ms)
    if before is None or before.calls != calls or any(one.call in calls for one in failures):
        return Paced(calls, Pace(calls, 1, now_ms), failures, again_ms=again_ms)
    is_vain = before.count >= TELLING and not before.was_needless
    if is_vain and before.count >= HOPELESS and not any(isinstance(call, Create | Remove) for call in calls):
        return Paced((), before, failures, is_vain=True, again_ms=again_ms)
    due_ms = before.last_ms + pause_ms(before.count)
    if now_ms < due_ms:
        again_ms = due_ms if again_ms is None else min(again_ms, due_ms)
        return Paced((), before, failures, is_vain=is_vain, again_ms=again_ms)
    after = Pace(calls, before.count + 1, now_ms, before.was_needless)
    return Paced(calls, after, failures, not before.was_needless, is_vain, again_ms)


def needless(pace: Pace | None, now_ms: int) -> Pace | None:
    """Remembered for a while, for it may be needed again as soon as it had its effect."""
    if pace is None or now_ms - pace.last_ms >= FORGOTTEN_MS:
        return None
    return Pace(pace.calls, pace.count, pace.last_ms, was_needless=True)


def pause_ms(count: int) -> int:
    return int(min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** min(count - 1, 16)))
