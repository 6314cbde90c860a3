"""When a call is made again: one record for each object and call, and one pure function for the time of its next try.

Theory of operation. The decision says again and again which calls an object needs. Each call has one `Attempt`, which remembers the
outcome of its last try. The executor reports results; `record_results` writes them down; `next_try` reads when the call is due.

    outcome    how it comes about                                   next try, while the call is needed
    ---------  ---------------------------------------------------  ------------------------------------------------------
    NOT_MADE   the call is new, or an earlier call of the same      at once
               action failed and this one was skipped
    ORDERED    the decision ordered the call, no result is known:   5 s, 10 s, ... 5 min after the order
               it was cancelled, or its result was lost
    ACCEPTED   the runtime accepted the call, and the object        5 s, 10 s, ... 5 min after the result;
               needs it again                                       never again after 6 tries without effect (updates only)
    FAILED     transient error                                      1 s, 2 s, ... 5 min after the error, spread by chance
    FAILED     permanent error: the runtime cannot do this          1 h after the error, for runtimes are upgraded

    event                              becomes    counters
    ---------------------------------  ---------  ---------------------------------------------------------------------------
    the call is due and ordered        ORDERED    unchanged; an error stays reported until the next result
    accepted                           ACCEPTED   `tries` + 1 (1 after an error), `no_effect` + 1, the error is cleared
    failed                             FAILED     `tries` + 1 (1 after an acceptance), `no_effect` = 0, the error is kept
    skipped                            NOT_MADE   unchanged
    the object does not need it now    (same)     `no_effect` = 0: the call had an effect. `tries` stays, so that a guest
                                                  that powers itself off is started ever more rarely
    not needed for 10 min              forgotten

Reported are the errors of the needed calls, and `NoEffect` from the third try without effect on. While nothing new is known the
text does not change, so that a converged host writes no report.

Over a restart only the last report is left: `from_last_report` is the error that it carries. The error stays reported, in the
words of then, until each needed call has an error or a `NoEffect` of its own; the calls themselves are tried at once.

Must never happen: the same update is repeated for ever without effect; two calls of one object wait for each other's pauses;
the reported text changes although the runtime gives the same answer to another try.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple, assert_never

from poollet.decide.actions import Call, CallError, CallResult, CreateCall, EndCall, RemoveCall
from poollet.report import conditions
from schemas.backoff import exponential

REPEAT_FIRST_MS, ERROR_FIRST_MS, LONGEST_MS = 5_000, 1_000, 300_000
PERMANENT_MS = 3_600_000
REPORT_AFTER, GIVE_UP_AFTER = 3, 6  # tries without effect
FORGET_MS = 600_000
NO_EFFECT = CallError(conditions.NO_EFFECT, "the runtime accepted the call, but nothing changed")
# There was no answer, so the call may take effect later.
UNANSWERED = frozenset(("TimedOut", "Unavailable", "Internal"))
# The same call has the same outcome as long as nothing else changes.
PERMANENT = frozenset(("Unimplemented", "InvalidArgument", "NetworkNotOffered"))


class Outcome(Enum):
    """How the last try of a call ended, as in the table above."""

    NOT_MADE = "not made"
    ORDERED = "ordered"
    ACCEPTED = "accepted"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Attempt:
    """The last try of one call. `at_ms` is when its outcome came about, `tries` counts equal results in a row, and `spread` shortens
    the wait after an error, so that calls which failed together do not come back together. `unanswered_ms` is when a try of it last
    ended without an answer."""

    call: Call
    at_ms: int
    outcome: Outcome = Outcome.NOT_MADE
    tries: int = 0
    no_effect: int = 0
    error: CallError | None = None
    spread: float = 1.0
    unanswered_ms: int | None = None

    @property
    def is_permanent(self) -> bool:
        """Whether the same call has the same outcome until the runtime is another one."""
        return self.error is not None and self.error.code in PERMANENT

    @property
    def is_explained(self) -> bool:
        """This run of the poollet knows itself why the object still needs the call."""
        return self.error is not None or self.no_effect >= REPORT_AFTER


class Retries(NamedTuple):
    """All that is remembered of one object's calls."""

    attempts: tuple[Attempt, ...] = ()
    from_last_report: CallError | None = None


NO_RETRIES = Retries()


@dataclass(frozen=True, slots=True)
class RetryDecision:
    """`calls` to make now, `errors` to report of the needed ones, and what to remember. `is_repetition`: all of `calls` were made before,
    without effect."""

    calls: tuple[Call, ...] = ()
    errors: tuple[CallError, ...] = ()
    retries: Retries = NO_RETRIES
    is_repetition: bool = False
    recheck_at_ms: int | None = None


def next_try(attempt: Attempt) -> int | None:
    """When the call is due while it is needed; None is never."""
    match attempt.outcome:
        case Outcome.NOT_MADE:
            return attempt.at_ms
        case Outcome.ACCEPTED if attempt.no_effect >= GIVE_UP_AFTER and is_update(attempt.call):
            return None
        case Outcome.ORDERED | Outcome.ACCEPTED:
            wait_ms = exponential(REPEAT_FIRST_MS, LONGEST_MS, attempt.tries - 1)
        case Outcome.FAILED if attempt.is_permanent:
            wait_ms = PERMANENT_MS
        case Outcome.FAILED:
            wait_ms = attempt.spread * exponential(ERROR_FIRST_MS, LONGEST_MS, attempt.tries - 1)
        case _:
            assert_never(attempt.outcome)
    return attempt.at_ms + round(wait_ms)


def is_update(call: Call) -> bool:
    """Only updates are given up: an object that is created or removed shows at last whether that was done."""
    return not isinstance(call, CreateCall | RemoveCall | EndCall)


def record_result(attempt: Attempt, result: CallResult) -> Attempt:
    """The attempt after the executor's result. Equal results in a row make the wait longer; another one
    starts over."""
    if result.is_skipped:
        return replace(attempt, outcome=Outcome.NOT_MADE, at_ms=result.at_ms)
    is_like_last = (result.error is None) == (attempt.error is None)
    tries = attempt.tries + 1 if is_like_last else 1
    if result.error is None:
        no_effect = attempt.no_effect + 1
        late = attempt.unanswered_ms
        return Attempt(attempt.call, result.at_ms, Outcome.ACCEPTED, tries, no_effect, unanswered_ms=late)
    late = result.at_ms if result.error.code in UNANSWERED else attempt.unanswered_ms
    return Attempt(attempt.call, result.at_ms, Outcome.FAILED, tries, 0, result.error, result.spread, late)


def record_results(retries: Retries, results: Iterable[CallResult]) -> Retries:
    """Each result counts once: for the order that came before it."""
    attempts = list(retries.attempts)
    for result in results:
        for index, one in enumerate(attempts):
            if one.call == result.call and one.outcome is Outcome.ORDERED and result.at_ms >= one.at_ms:
                attempts[index] = record_result(one, result)
    return retries._replace(attempts=tuple(attempts))


def choose_calls(needed: tuple[Call, ...], retries: Retries, now_ms: int) -> RetryDecision:
    """Which of the needed calls are made now. Each call has its own attempt, so that one call's error holds up no other."""
    if not needed and not retries.attempts:
        return RetryDecision()
    current = [_find(call, retries.attempts) or Attempt(call, now_ms) for call in needed]
    moments = [(one, at_ms) for one in current if (at_ms := next_try(one)) is not None]
    due = [one for one, at_ms in moments if at_ms <= now_ms]
    later = [at_ms for one, at_ms in moments if at_ms > now_ms and not one.is_permanent]
    errors = [one.error for one in current if one.error is not None]
    if any(one.no_effect >= REPORT_AFTER for one in current):
        errors.append(NO_EFFECT)
    is_explained = all(one.is_explained for one in current)
    last = None if is_explained else retries.from_last_report
    return RetryDecision(
        calls=tuple(one.call for one in due),
        errors=tuple(dict.fromkeys(errors)) if last is None else (last,),
        retries=Retries(
            (
                *(_order(one, now_ms) if one in due else one for one in current),
                *_keep_unneeded(retries, needed, now_ms),
            ),
            last,
        ),
        is_repetition=bool(due) and all(one.no_effect > 0 for one in due),
        recheck_at_ms=min(later, default=None),
    )


def _find(call: Call, attempts: Iterable[Attempt]) -> Attempt | None:
    return next((one for one in attempts if one.call == call), None)


def _order(attempt: Attempt, now_ms: int) -> Attempt:
    return replace(attempt, outcome=Outcome.ORDERED, at_ms=now_ms)


def _keep_unneeded(retries: Retries, needed: tuple[Call, ...], now_ms: int) -> tuple[Attempt, ...]:
    """Remembered for a while: a call may be needed again as soon as it had its effect. One that is not answered yet may still have it."""
    return tuple(
        replace(one, no_effect=0)
        for one in retries.attempts
        if one.call not in needed and (now_ms - one.at_ms < FORGET_MS or one.outcome is Outcome.ORDERED)
    )
