"""When a call is made again: the table of retry.py, row by row, and what is reported meanwhile."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from iri.change import SetPower
from iri.machine import Power, RuntimeMachine
from poollet.decide.actions import Call, CallError, CallResult, CreateCall, RemoveCall, UpdateCall
from poollet.decide.retry import (
    FORGET_MS,
    GIVE_UP_AFTER,
    NO_EFFECT,
    NO_RETRIES,
    PERMANENT,
    Attempt,
    Outcome,
    Retries,
    RetryDecision,
    choose_calls,
    next_try,
    record_result,
    record_results,
)

SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000
AT = 1_000_000
ON, OFF = UpdateCall("m", SetPower(Power.ON)), UpdateCall("m", SetPower(Power.OFF))
CREATE, REMOVE = CreateCall(RuntimeMachine()), RemoveCall(RuntimeMachine, "m")
LATER, NO = CallError("Unavailable", "later"), CallError("InvalidArgument", "no")
OLD = CallError("Unavailable", "as the last report said")


def make_accepted(tries: int, no_effect: int, call: Call = ON) -> Attempt:
    return Attempt(call, AT, Outcome.ACCEPTED, tries, no_effect)


def make_failed(tries: int, error: CallError = LATER, spread: float = 1.0, call: Call = ON) -> Attempt:
    return Attempt(call, AT, Outcome.FAILED, tries, 0, error, spread)


def make_ordered(
    tries: int = 0, no_effect: int = 0, error: CallError | None = None, call: Call = ON
) -> Attempt:
    return Attempt(call, AT, Outcome.ORDERED, tries, no_effect, error)


def make_skipped(
    tries: int = 0, no_effect: int = 0, error: CallError | None = None, call: Call = ON
) -> Attempt:
    return Attempt(call, AT, Outcome.NOT_MADE, tries, no_effect, error)


# the attempt, how long after its outcome the call is due (None: never)
NEXT: dict[str, tuple[Attempt, float | None]] = {
    "a new call": (Attempt(ON, AT), 0),
    "skipped": (make_skipped(), 0),
    "skipped, after errors": (make_skipped(7, error=LATER), 0),
    "skipped, after a permanent error": (make_skipped(7, error=NO), 0),
    "skipped, after tries without effect": (make_skipped(5, no_effect=5), 0),
    "ordered for the first time, no result": (make_ordered(), 5 * SECOND),
    "ordered again, no result": (make_ordered(2, no_effect=2), 10 * SECOND),
    "ordered again after an error, no result": (make_ordered(3, error=LATER), 20 * SECOND),
    "ordered again after a permanent error, no result": (make_ordered(1, error=NO), 5 * SECOND),
    "accepted once": (make_accepted(1, 1), 5 * SECOND),
    "accepted twice": (make_accepted(2, 2), 10 * SECOND),
    "accepted three times": (make_accepted(3, 3), 20 * SECOND),
    "accepted five times": (make_accepted(5, 5), 80 * SECOND),
    "accepted six times, an update": (make_accepted(GIVE_UP_AFTER, GIVE_UP_AFTER), None),
    "accepted a hundred times, an update": (make_accepted(100, 100), None),
    "accepted six times, a creation": (make_accepted(6, 6, CREATE), 160 * SECOND),
    "accepted seven times, a removal": (make_accepted(7, 7, REMOVE), 5 * MINUTE),
    "accepted a hundred times, a removal": (make_accepted(100, 100, REMOVE), 5 * MINUTE),
    "accepted six times, with an effect each time": (make_accepted(6, 0), 160 * SECOND),
    "accepted a hundred times, with an effect each time": (make_accepted(100, 1), 5 * MINUTE),
    "failed once": (make_failed(1), 1 * SECOND),
    "failed twice": (make_failed(2), 2 * SECOND),
    "failed three times": (make_failed(3), 4 * SECOND),
    "failed nine times": (make_failed(9), 256 * SECOND),
    "failed ten times": (make_failed(10), 5 * MINUTE),
    "failed a million times": (make_failed(10**6), 5 * MINUTE),
    "failed, spread to the half": (make_failed(3, spread=0.5), 2 * SECOND),
    "failed, spread to three quarters": (make_failed(1, spread=0.75), 750),
    "a creation failed": (make_failed(2, call=CREATE), 2 * SECOND),
    "a removal failed": (make_failed(2, call=REMOVE), 2 * SECOND),
    "a permanent error": (make_failed(1, NO), 1 * HOUR),
    "a permanent error, again": (make_failed(9, NO), 1 * HOUR),
    "a permanent error is not spread": (make_failed(1, NO, 0.5), 1 * HOUR),
    **{f"{code} is permanent": (make_failed(1, CallError(code, "")), HOUR) for code in sorted(PERMANENT)},
    "ResourceExhausted passes": (make_failed(1, CallError("ResourceExhausted", "")), SECOND),
    "NetworkNotReady passes": (make_failed(1, CallError("NetworkNotReady", "")), SECOND),
    "ImageNotResolvable passes": (make_failed(1, CallError("ImageNotResolvable", "")), SECOND),
    "Internal passes": (make_failed(1, CallError("Internal", "")), SECOND),
}


@pytest.mark.parametrize(("attempt", "wait_ms"), NEXT.values(), ids=NEXT.keys())
def test_when_a_call_is_due(attempt: Attempt, wait_ms: float | None) -> None:
    assert next_try(attempt) == (None if wait_ms is None else AT + wait_ms)


NOW = AT + 7
DONE, LATE = CallResult(ON, NOW), CallResult(ON, NOW, LATER, spread=0.6)
SKIP = CallResult(ON, NOW, is_skipped=True)

# the attempt, the result, (outcome, tries, no effect, error, spread)
RESULTS: dict[str, tuple[Attempt, CallResult, tuple[Outcome, int, int, CallError | None, float]]] = {
    "first try accepted": (make_ordered(), DONE, (Outcome.ACCEPTED, 1, 1, None, 1.0)),
    "accepted again": (make_ordered(2, 2), DONE, (Outcome.ACCEPTED, 3, 3, None, 1.0)),
    "accepted again after an effect": (make_ordered(4, 0), DONE, (Outcome.ACCEPTED, 5, 1, None, 1.0)),
    "accepted after errors": (make_ordered(4, 0, LATER), DONE, (Outcome.ACCEPTED, 1, 1, None, 1.0)),
    "first try failed": (make_ordered(), LATE, (Outcome.FAILED, 1, 0, LATER, 0.6)),
    "failed again": (make_ordered(3, 0, LATER), LATE, (Outcome.FAILED, 4, 0, LATER, 0.6)),
    "failed again, otherwise": (make_ordered(3, 0, NO), LATE, (Outcome.FAILED, 4, 0, LATER, 0.6)),
    "failed after tries without effect": (make_ordered(5, 5), LATE, (Outcome.FAILED, 1, 0, LATER, 0.6)),
    "first try skipped": (make_ordered(), SKIP, (Outcome.NOT_MADE, 0, 0, None, 1.0)),
    "skipped after errors": (make_ordered(3, 0, LATER), SKIP, (Outcome.NOT_MADE, 3, 0, LATER, 1.0)),
    "skipped after tries without effect": (make_ordered(3, 2), SKIP, (Outcome.NOT_MADE, 3, 2, None, 1.0)),
}


@pytest.mark.parametrize(("before", "result", "want"), RESULTS.values(), ids=RESULTS.keys())
def test_what_a_result_makes_of_an_attempt(
    before: Attempt, result: CallResult, want: tuple[Outcome, int, int, CallError | None, float]
) -> None:
    after = record_result(before, result)
    assert (after.outcome, after.tries, after.no_effect, after.error, after.spread) == want
    assert (after.call, after.at_ms) == (ON, NOW)


# the attempt, the result, whether it is the result of that attempt's order
COUNTS: dict[str, tuple[Attempt, CallResult, bool]] = {
    "of the order": (make_ordered(), CallResult(ON, AT + 1), True),
    "in the moment of the order": (make_ordered(), CallResult(ON, AT), True),
    "of an earlier order": (make_ordered(), CallResult(ON, AT - 1), False),
    "of another call": (make_ordered(), CallResult(OFF, AT + 1), False),
    "recorded before": (make_accepted(1, 1), CallResult(ON, AT), False),
    "recorded before, and failed": (make_failed(1), CallResult(ON, AT + 1, LATER), False),
    "never ordered": (Attempt(ON, AT), CallResult(ON, AT + 1), False),
}


@pytest.mark.parametrize(("before", "result", "counts"), COUNTS.values(), ids=COUNTS.keys())
def test_a_result_counts_once_and_for_the_order_before_it(
    before: Attempt, result: CallResult, counts: bool
) -> None:
    known = Retries((before,), OLD)
    after = record_results(known, [result])
    assert after == (Retries((record_result(before, result),), OLD) if counts else known)


class Want(NamedTuple):
    """Which calls are made, what is reported, when to look again (after `AT`), and whether it is a repetition."""

    calls: tuple[Call, ...] = ()
    errors: tuple[CallError, ...] = ()
    recheck_ms: int | None = None
    is_repetition: bool = False


# the needed calls, what is remembered, how long after `AT` it is, and what is wanted
CHOICES: dict[str, tuple[tuple[Call, ...], Retries, int, Want]] = {
    "nothing is needed": ((), NO_RETRIES, 0, Want()),
    "nothing is needed any more": ((), Retries((make_failed(1),), OLD), 0, Want()),
    "new": ((ON,), NO_RETRIES, 0, Want((ON,))),
    "several are new": ((OFF, ON), NO_RETRIES, 0, Want((OFF, ON))),
    "waiting for the next try": ((ON,), Retries((make_failed(1),)), 400, Want((), (LATER,), SECOND)),
    "due after an error": ((ON,), Retries((make_failed(1),)), SECOND, Want((ON,), (LATER,))),
    "accepted just now": ((ON,), Retries((make_accepted(1, 1),)), 1, Want((), (), 5 * SECOND)),
    "due again": ((ON,), Retries((make_accepted(1, 1),)), 5 * SECOND, Want((ON,), (), None, True)),
    "due again after an effect": ((ON,), Retries((make_accepted(3, 0),)), HOUR, Want((ON,))),
    "no effect, reported": ((ON,), Retries((make_accepted(3, 3),)), 1, Want((), (NO_EFFECT,), 20 * SECOND)),
    "no effect, not reported yet": ((ON,), Retries((make_accepted(2, 2),)), 1, Want((), (), 10 * SECOND)),
    "given up": ((ON,), Retries((make_accepted(6, 6),)), 9 * HOUR, Want((), (NO_EFFECT,))),
    "a permanent error is waited for without an alarm": (
        (ON,),
        Retries((make_failed(1, NO),)),
        1,
        Want((), (NO,)),
    ),
    "a permanent error is tried again": ((ON,), Retries((make_failed(1, NO),)), HOUR, Want((ON,), (NO,))),
    "one waits, the other is made": (
        (OFF, ON),
        Retries((make_failed(4),)),
        1,
        Want((OFF,), (LATER,), 8 * SECOND),
    ),
    "two wait, the sooner one counts": (
        (OFF, ON),
        Retries((make_failed(4), make_accepted(1, 1, OFF))),
        1,
        Want((), (LATER,), 5 * SECOND),
    ),
    "one error for two calls": (
        (OFF, ON),
        Retries((make_failed(1), make_failed(1, call=OFF))),
        1,
        Want((), (LATER,), SECOND),
    ),
    "two errors, in the order of the calls": (
        (OFF, ON),
        Retries((make_failed(1), make_failed(1, NO, call=OFF))),
        1,
        Want((), (NO, LATER), SECOND),
    ),
    "an error and no effect": (
        (ON, OFF),
        Retries((make_accepted(6, 6), make_failed(1, call=OFF))),
        1,
        Want((), (LATER, NO_EFFECT), SECOND),
    ),
    "an error of a call that is not needed": ((ON,), Retries((make_failed(1, call=OFF),)), 1, Want((ON,))),
    "a repetition and a new call": ((OFF, ON), Retries((make_accepted(1, 1),)), HOUR, Want((OFF, ON))),
    "after a restart": ((ON,), Retries((), OLD), 0, Want((ON,), (OLD,))),
    "after a restart, ordered": ((ON,), Retries((make_ordered(),), OLD), 1, Want((), (OLD,), 5 * SECOND)),
    "after a restart, accepted": (
        (ON,),
        Retries((make_accepted(1, 1),), OLD),
        1,
        Want((), (OLD,), 5 * SECOND),
    ),
    "after a restart, failed": ((ON,), Retries((make_failed(1),), OLD), 1, Want((), (LATER,), SECOND)),
    "after a restart, without effect again": (
        (ON,),
        Retries((make_accepted(3, 3),), OLD),
        1,
        Want((), (NO_EFFECT,), 20 * SECOND),
    ),
    "after a restart, one of two failed": (
        (OFF, ON),
        Retries((make_failed(1), make_ordered(call=OFF)), OLD),
        1,
        Want((), (OLD,), SECOND),
    ),
}


@pytest.mark.parametrize(("needed", "known", "after_ms", "want"), CHOICES.values(), ids=CHOICES.keys())
def test_which_calls_are_made_and_what_is_reported(
    needed: tuple[Call, ...], known: Retries, after_ms: int, want: Want
) -> None:
    found = choose_calls(needed, known, AT + after_ms)
    recheck_ms = None if found.recheck_at_ms is None else found.recheck_at_ms - AT
    assert Want(found.calls, found.errors, recheck_ms, found.is_repetition) == want


@pytest.mark.parametrize(("needed", "known", "after_ms", "want"), CHOICES.values(), ids=CHOICES.keys())
def test_a_call_that_was_just_ordered_is_not_ordered_again_and_nothing_else_is_reported(
    needed: tuple[Call, ...], known: Retries, after_ms: int, want: Want
) -> None:
    first = choose_calls(needed, known, AT + after_ms)
    second = choose_calls(needed, first.retries, AT + after_ms + 1)
    assert second.calls == ()
    assert second.errors == want.errors


def test_a_call_that_is_not_needed_for_a_while_had_an_effect_and_is_forgotten_later() -> None:
    known = Retries((make_accepted(4, 4),))
    unneeded = choose_calls((), known, AT + FORGET_MS - 1).retries
    assert unneeded == Retries((make_accepted(4, 0),))
    assert choose_calls((), unneeded, AT + FORGET_MS).retries == NO_RETRIES


def test_the_error_of_the_last_report_is_forgotten_when_the_call_is_not_needed() -> None:
    assert choose_calls((), Retries((), OLD), AT).retries == NO_RETRIES


class RepeatedCall:
    """One call that stays needed: each second a decision, and a runtime that answers at once."""

    def __init__(self, call: Call = ON) -> None:
        self.call, self.now_ms, self.retries = call, AT, NO_RETRIES
        self.made_at: list[int] = []

    def decide(self, error: CallError | None = None, *, is_needed: bool = True) -> RetryDecision:
        found = choose_calls((self.call,) if is_needed else (), self.retries, self.now_ms)
        results = [CallResult(call, self.now_ms, error) for call in found.calls]
        self.made_at += [(self.now_ms - AT) // SECOND for _ in results]
        self.retries = record_results(found.retries, results)
        self.now_ms += SECOND
        return found


def test_an_update_without_effect_is_made_six_times() -> None:
    repeated = RepeatedCall()
    errors = [repeated.decide().errors for _ in range(1_000)]
    assert repeated.made_at == [0, 5, 15, 35, 75, 155]
    assert errors.index((NO_EFFECT,)) == 16  # once the third try had none
    assert set(errors[16:]) == {(NO_EFFECT,)}


def test_a_removal_without_effect_is_repeated_for_ever() -> None:
    repeated = RepeatedCall(REMOVE)
    for _ in range(2_000):
        repeated.decide()
    assert repeated.made_at == [0, 5, 15, 35, 75, 155, 315, 615, 915, 1215, 1515, 1815]


def test_a_guest_that_powers_itself_off_is_started_ever_more_rarely_and_never_given_up() -> None:
    repeated = RepeatedCall()
    for _ in range(1_000):
        found = repeated.decide()
        assert NO_EFFECT not in found.errors
        if found.calls:  # it runs for a second
            repeated.decide(is_needed=False)
    assert (
        repeated.made_at == [0, 5, 15, 35, 75, 155, 315, 615, 915, 1215, 1515, 1815][: len(repeated.made_at)]
    )
    assert len(repeated.made_at) > GIVE_UP_AFTER


def test_a_transient_error_is_retried_ever_more_rarely_and_success_starts_over() -> None:
    repeated = RepeatedCall()
    for _ in range(20):
        assert repeated.decide(LATER).errors in ((), (LATER,))
    assert repeated.made_at == [0, 1, 3, 7, 15]
    for _ in range(40):
        repeated.decide()
    assert repeated.made_at == [0, 1, 3, 7, 15, 31, 36, 46]


def test_a_permanent_error_is_retried_each_hour() -> None:
    repeated = RepeatedCall()
    for _ in range(2 * HOUR // SECOND + 1):
        repeated.decide(NO)
    assert repeated.made_at == [0, 3600, 7200]
