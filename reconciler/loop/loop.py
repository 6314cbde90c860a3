"""Tick after tick until told to stop. Owns when the next one comes: woken, due, after the least interval between pushes, or
less and less often while something is wrong.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import assert_never

from reconciler.gitstore.errors import RepoError
from reconciler.gitstore.repo import Refs
from reconciler.gitstore.waker import Waker, WakeReason
from reconciler.loop.listening import Health
from reconciler.loop.logs import worded
from reconciler.loop.outcome import Failed, Moved, Outcome, Postponed, Raced, Rested, Waiting, Wrote
from reconciler.loop.tick import Reconciler
from reconciler.plan import Plan
from schemas.backoff import Backoff, jittered
from schemas.problem import Severity

log = logging.getLogger(__name__)

FIRST_RACE_SECONDS = 0.05
MOST_RACE_SECONDS = 5.0
MOST_BACKOFF_SECONDS = 300.0
LEAST_UNWELL_SECONDS = 60.0
MOVES_AT_MOST = 5


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds. `interval` is how long a tick may be away when nothing wakes; `push` overrides the settings of the fleet."""

    interval: float = 10.0
    push: float | None = None


@dataclass(slots=True)
class _Told:
    """What was said already, so that a tick at rest says nothing."""

    problems: frozenset[str] = frozenset()
    held: frozenset[str] = frozenset()
    trouble: str = ""


@dataclass
class Loop:
    """`opened` gives the reconciler that reads other refs, in place of one that is over; it may raise RepoError or OSError.
    `on_well` is called after each tick that ended well."""

    reconciler: Reconciler
    opened: Callable[[Refs, Reconciler], Reconciler]
    waker: Waker
    pace: Pace = field(default_factory=Pace)
    chance: random.Random = field(default_factory=random.Random)
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    on_well: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self._races = Backoff(FIRST_RACE_SECONDS, MOST_RACE_SECONDS, least_share=0.0, chance=self.chance)
        self._failures = Backoff(1.0, MOST_BACKOFF_SECONDS, chance=self.chance)
        self._moves = 0
        self._first_refs = self.reconciler.refs
        self._next_refs: Refs | None = None
        self._told = _Told()
        self._last_end: datetime | None = None
        self._last_words = "no tick has ended yet"

    def run(self) -> None:
        """Returns once stopped, after the tick that is under way."""
        while True:
            pause = self.step()
            if self.waker.wait(pause) is WakeReason.STOPPED:
                return

    def run_once(self) -> Outcome:
        """Until there is nothing left to write, or it cannot be done: what then is wrong is for the caller to say."""
        while True:
            outcome = self._ticked(is_once=True)
            pause = self._pause(outcome)
            match outcome:
                case Rested() | Waiting() | Failed():
                    return outcome
                case Wrote() | Postponed() | Raced() | Moved():
                    if self.waker.wait(pause) is WakeReason.STOPPED:
                        return outcome
                case _:
                    assert_never(outcome)

    def step(self) -> float:
        """One tick; how long to rest after it."""
        return self._pause(self._ticked())

    def health(self) -> Health:
        """Unwell when no tick has ended well for several intervals."""
        if self._last_end is None:
            return Health(False, self._last_words)
        seconds = (self.clock() - self._last_end).total_seconds()
        most = max(LEAST_UNWELL_SECONDS, 5 * self.pace.interval, 3 * self._push_seconds())
        return Health(seconds <= most, f"{self._last_words}, {seconds:.0f} s ago")

    def _ticked(self, *, is_once: bool = False) -> Outcome:
        outcome = self._moved() or self.reconciler.tick(self.clock)
        if isinstance(outcome, Moved):
            self._moves += 1
            self._next_refs = outcome.refs
            log.info("reading other refs source=%s target=%s", outcome.refs.source, outcome.refs.target)
            if self._moves > MOVES_AT_MOST:
                cause = "the settings of each branch name another branch as the source"
                outcome = Failed(
                    "settings", cause, "let branches.source of gitvirt.yaml be the same everywhere"
                )
        elif not isinstance(outcome, Failed):
            self._moves = 0
        if (
            isinstance(outcome, Waiting)
            and outcome.has_no_source
            and self.reconciler.refs != self._first_refs
        ):
            self._next_refs = self._first_refs  # which may be there by then
        if not (is_once and isinstance(outcome, Failed | Waiting)):
            self._tell(outcome)
        return outcome

    def _moved(self) -> Failed | None:
        """To the refs that the settings name."""
        if self._next_refs is not None:
            try:
                self.reconciler = self.opened(self._next_refs, self.reconciler)
            except RepoError as error:
                return Failed("mirror", error.cause, error.cure)
            except OSError as error:
                return Failed("mirror", f"cannot keep a copy of the repo: {error.strerror}")
            self._next_refs = None
        return None

    def _pause(self, outcome: Outcome) -> float:
        match outcome:
            case Moved():
                return 0.0
            case Raced():
                return self._races.next()
            case Failed():
                return self._failures.next()
            case Postponed(_, until):
                self._well()
                return max(0.0, (until - self.clock()).total_seconds())
            case Waiting():
                return jittered(self.pace.interval, self.chance)
            case Wrote(plan, _, _):
                self._well()
                # What was written is read back at once, unless pushes are to be few.
                return max(self._push_seconds(), 0.0) or self._until_due(plan, 0.0)
            case Rested(plan):
                self._well()
                return self._until_due(plan, jittered(self.pace.interval, self.chance))
            case _:
                assert_never(outcome)

    def _well(self) -> None:
        self._races.reset()
        self._failures.reset()
        self._last_end = self.clock()
        self.on_well()

    def _until_due(self, plan: Plan, most: float) -> float:
        due = self.reconciler.next_due(plan)
        return most if due is None else min(most, max(0.0, (due - self.clock()).total_seconds()))

    def _push_seconds(self) -> float:
        if self.pace.push is not None:
            return self.pace.push
        return self.reconciler.push_seconds

    def _tell(self, outcome: Outcome) -> None:
        """The log, and the words of /healthz."""
        match outcome:
            case Wrote(plan, commit, subject):
                self._last_words = f"wrote {commit[:12]}"
                for change in plan.changes:
                    log.debug(
                        "change action=%s object=%s pool=%s reason=%s",
                        change.action.value,
                        str(change.key),
                        change.pool,
                        change.reason,
                    )
                log.info("wrote commit=%s changes=%d subject=%s", commit[:12], len(plan.changes), subject)
                self._tell_plan(plan)
            case Rested(plan):
                self._last_words = "nothing to write"
                self._tell_plan(plan)
            case Raced():
                log.info("somebody else wrote first, reading again")
            case Waiting(_, reason):
                self._last_words = reason
                self._trouble("waiting reason=%s", reason)
            case Failed(trouble, cause, cure):
                self._last_words = f"{trouble}: {cause}"
                self._trouble("cannot reconcile trouble=%s cause=%s cure=%s", trouble, cause, cure)
            case Moved() | Postponed():
                pass
            case _:
                assert_never(outcome)

    def _trouble(self, message: str, *words: str) -> None:
        """Once, until it is another."""
        if self._told.trouble != (told := "\n".join(words)):
            log.warning(message, *words)
        self._told.trouble = told

    def _tell_plan(self, plan: Plan) -> None:
        if self._told.trouble:
            log.info("reconciling again")
        problems = {str(problem): problem for problem in plan.problems}
        for text in sorted(problems.keys() - self._told.problems):
            found = problems[text]
            level = logging.WARNING if found.severity is not Severity.NOTICE else logging.INFO
            fields = {
                "file": found.file,
                "line": found.line,
                "code": found.code,
                "object": found.object,
                "cause": found.message,
            }
            message, words = worded("problem", fields)
            log.log(level, message, *words)
        held = {f"{each.reason}\n{each.trailer}": each for each in plan.pending_approvals}
        for text in sorted(held.keys() - self._told.held):
            found_held = held[text]
            fields = {
                "objects": len(found_held.keys),
                "reason": found_held.reason,
                "trailer": found_held.trailer,
            }
            message, words = worded("awaiting approval", fields)
            log.warning(message, *words)
        self._told = _Told(frozenset(problems), frozenset(held))
