"""Tick after tick until told to stop. Owns when the next one comes: woken, due, after the least interval between pushes, or
less and less often while something is wrong.

Theory of operation
-------------------
A tick never raises and never waits; its outcome says how long to rest. A wake (a ref moved, a webhook) ends every rest early.

    outcome       rest until the next tick                                          counts as success
    Committed     the interval between pushes if the fleet has one, else none:      yes
                  what was written is read back, and the next tick finds no change
    NoChange      `interval` give or take a fifth, or until something is due        yes
    Conflict      0 to 50 ms, doubling up to 5 s, drawn at random from 0 on         no
    Failed        1 s, doubling up to 5 min, drawn from the upper half              no
    TickBlocked   `interval` give or take a fifth                                   no
    RefsChanged   none: the loop opens the other refs first                         no

The two backoffs differ in purpose. After a conflict another reconciler has just won, and rivals must not meet again, so the wait may be
zero. After a failure the remote is in trouble, and a fleet that comes back at once would keep it there. A success resets both.

Settings may name other refs than those that are read. The loop then opens those, and goes on there. Branches whose settings name each other
would switch for ever, so after MAX_SWITCHES without a tick that ended the loop reports it as a failure. If the source that settings
name does not exist, the loop goes back to the refs it was started with, since the settings there may be fixed by then.

Must never happen: two ticks at once; a tick while the waker has said STOPPED; a log line for a tick that changed nothing.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import assert_never

from reconciler.gitstore.errors import RepoError
from reconciler.gitstore.repo import Refs
from reconciler.gitstore.waker import Waker, WakeReason
from reconciler.loop.health import Health, HealthCause, HealthProblem
from reconciler.loop.logs import log_event
from reconciler.loop.outcome import (
    Committed,
    Conflict,
    Failed,
    NoChange,
    Outcome,
    RefsChanged,
    TickBlocked,
)
from reconciler.loop.tick import Reconciler
from reconciler.plan.types import Plan
from schemas.backoff import Backoff, jitter
from schemas.problem import Severity
from schemas.settings.duration import format_duration

log = logging.getLogger(__name__)

FIRST_CONFLICT_SECONDS = 0.05
MAX_CONFLICT_SECONDS = 5.0
MAX_BACKOFF_SECONDS = 300.0
LEAST_UNWELL_SECONDS = 60.0
MAX_SWITCHES = 5
POSTPONED_SECONDS = 1.0
STALLED_SECONDS = 900.0  # more than the longest rest after failures, and any tick
STEADY_ZERO = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class LoopIntervals:
    """Seconds. `interval` is how long a tick may be away when nothing wakes; `push` overrides the settings of the fleet.

    `interval` bounds how late a moved ref is seen where no watch and no webhook works: the loop must be right with it alone."""

    interval: float = 10.0
    push: float | None = None


def read_steady_clock() -> datetime:
    """A time that is never set, for heartbeats: only its differences mean anything. It does not go on while this host is suspended, so
    hosts that were suspended together with it have their whole timeout afterwards."""
    return STEADY_ZERO + timedelta(seconds=time.monotonic())


@dataclass
class Loop:
    """`opened` gives the reconciler that reads other refs, in place of one that is over; it may raise RepoError or OSError.
    `clock` dates what is written, `steady` measures heartbeats. `on_success` is called after each tick that ended well."""

    reconciler: Reconciler
    opened: Callable[[Refs, Reconciler], Reconciler]
    waker: Waker
    pace: LoopIntervals = field(default_factory=LoopIntervals)
    chance: random.Random = field(default_factory=random.Random)
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    steady: Callable[[], datetime] = read_steady_clock
    on_success: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self._conflicts = Backoff(
            FIRST_CONFLICT_SECONDS, MAX_CONFLICT_SECONDS, least_share=0.0, chance=self.chance
        )
        self._failures = Backoff(1.0, MAX_BACKOFF_SECONDS, chance=self.chance)
        self._switches = 0
        self._first_refs = self.reconciler.refs
        self._next_refs: Refs | None = None
        # What was logged already, so that a tick without a change logs nothing.
        self._logged_problems = self._logged_pending = frozenset[str]()
        self._logged_trouble = ""
        self._logged_wait = False
        self._last_end: datetime | None = None
        self._last_tick = self.steady()
        self._last_result = "no tick has ended yet"

    def run(self) -> None:
        """Returns once stopped, after the tick that is under way."""
        while True:
            pause = self.step()
            if self.waker.wait(pause) is WakeReason.STOPPED:
                return

    def run_once(self) -> Outcome:
        """Until there is nothing left to write, or it cannot be done: what then is wrong is for the caller to say.

        What is postponed after a start is waited for: for one heartbeat timeout at most."""
        while True:
            outcome = self._tick(is_once=True)
            pause = self._pause(outcome)
            match outcome:
                case NoChange(plan) if plan.postponed:
                    if self.waker.wait(min(pause, POSTPONED_SECONDS)) is WakeReason.STOPPED:
                        return outcome
                case NoChange() | TickBlocked() | Failed():
                    return outcome
                case Committed() | Conflict() | RefsChanged():
                    if self.waker.wait(pause) is WakeReason.STOPPED:
                        return outcome
                case _:
                    assert_never(outcome)

    def step(self) -> float:
        """One tick; how long to rest after it."""
        return self._pause(self._tick())

    def health(self) -> Health:
        """Unwell when no tick has ended well for several intervals, or while a person has something to do (loop/health.py)."""
        problems = self.reconciler.health_problems
        if self._last_end is None:
            none = HealthProblem(HealthCause.NO_SUCCESS, self._last_result)
            return Health(False, self._last_result, problems or (none,))
        seconds = (self.clock() - self._last_end).total_seconds()
        most = max(LEAST_UNWELL_SECONDS, 5 * self.pace.interval, 3 * self._push_seconds())
        if seconds > most and not problems:
            problems = (HealthProblem(HealthCause.NO_SUCCESS, self._last_result),)
        cause = problems[0].message if problems else self._last_result
        return Health(not problems, f"{cause}; last success {format_duration(int(seconds))} ago", problems)

    def is_live(self) -> bool:
        """Whether ticks end, well or not. A tick that never ends is a defect that a restart may cure."""
        return (self.steady() - self._last_tick).total_seconds() <= STALLED_SECONDS

    def _tick(self, *, is_once: bool = False) -> Outcome:
        outcome = self._switch_refs() or self.reconciler.tick(self.clock, self.steady)
        self._last_tick = self.steady()
        if isinstance(outcome, RefsChanged):
            self._switches += 1
            self._next_refs = outcome.refs
            log.info("reading other refs source=%s target=%s", outcome.refs.source, outcome.refs.target)
            if self._switches > MAX_SWITCHES:
                cause = "the settings of each branch name another branch as the source"
                outcome = Failed(
                    "settings",
                    cause,
                    "set branches.source of gitvirt.yaml to the same branch on each of them",
                )
        elif not isinstance(outcome, Failed):
            self._switches = 0
        if (
            isinstance(outcome, TickBlocked)
            and outcome.has_no_source
            and self.reconciler.refs != self._first_refs
        ):
            self._next_refs = self._first_refs  # which may be there by then
        if not (is_once and isinstance(outcome, Failed | TickBlocked)):
            self._log_outcome(outcome)
        return outcome

    def _switch_refs(self) -> Failed | None:
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
            case RefsChanged():
                return 0.0
            case Conflict():
                return self._conflicts.next()
            case Failed():
                return self._failures.next()
            case TickBlocked():
                return jitter(self.pace.interval, self.chance)
            case Committed(plan, _, _):
                self._mark_success()
                # What was written is read back at once, unless pushes are to be few.
                return max(self._push_seconds(), 0.0) or self._until_due(plan, 0.0)
            case NoChange(plan):
                self._mark_success()
                return self._until_due(plan, jitter(self.pace.interval, self.chance))
            case _:
                assert_never(outcome)

    def _mark_success(self) -> None:
        """A tick ended well, whether it wrote or not. This is what health counts from."""
        self._conflicts.reset()
        self._failures.reset()
        self._last_end = self.clock()
        self.on_success()

    def _until_due(self, plan: Plan, most: float) -> float:
        """Seconds to the earliest moment at which something happens by time alone (a timeout, a backoff), and `most` at most."""
        due = self.reconciler.next_due(plan)
        return most if due is None else min(most, max(0.0, (due - self.clock()).total_seconds()))

    def _push_seconds(self) -> float:
        """The least interval between two pushes; 0 means as soon as there is something to write."""
        return self.reconciler.push_seconds if self.pace.push is None else self.pace.push

    def _log_outcome(self, outcome: Outcome) -> None:
        """The log, and the words of /healthz."""
        match outcome:
            case Committed(plan, commit, subject):
                self._last_result = f"committed {commit[:12]}"
                for change in plan.changes:
                    log.debug(
                        "change action=%s object=%s pool=%s reason=%s",
                        change.action.value,
                        str(change.key),
                        change.pool,
                        change.reason,
                    )
                log.info("committed commit=%s changes=%d subject=%s", commit[:12], len(plan.changes), subject)
                self._log_plan(plan)
            case NoChange(plan):
                self._last_result = "nothing to write"
                self._log_plan(plan)
            case Conflict():
                log.info("another reconciler wrote first, reading again")
            case TickBlocked(_, reason, _, ends):
                self._last_result = reason
                message = "blocked reason=%s waits_for=%s" if ends else "blocked reason=%s"
                self._log_trouble(message, reason, beside=(ends,) if ends else ())
            case Failed(trouble, cause, cure):
                self._last_result = f"{trouble}: {cause}"
                self._log_trouble("cannot reconcile trouble=%s cause=%s cure=%s", trouble, cause, cure)
            case RefsChanged():
                pass
            case _:
                assert_never(outcome)

    def _log_trouble(self, message: str, *words: str, beside: tuple[str, ...] = ()) -> None:
        """Once, until it is another. `beside` is logged with it, and makes it no other."""
        if self._logged_trouble != (text := "\n".join(words)):
            log.warning(message, *words, *beside)
        self._logged_trouble = text

    def _log_start_wait(self, plan: Plan) -> None:
        """Once when something waits for hosts, and once when it does so no longer."""
        if plan.postponed and not self._logged_wait:
            log.info("nothing is placed yet objects=%d cause=%s", len(plan.postponed), plan.awaited)
        elif self._logged_wait and not plan.awaited:
            log.info("known hosts have reported, or their timeouts are over")
        self._logged_wait = bool(plan.postponed or (self._logged_wait and plan.awaited))

    def _log_plan(self, plan: Plan) -> None:
        """Problems and approvals that the last plan did not have. What is still so is not logged again; /metrics has the counts."""
        if self._logged_trouble:
            log.info("reconciling again")
        self._log_start_wait(plan)
        problems = {str(problem): problem for problem in plan.problems}
        for text in sorted(problems.keys() - self._logged_problems):
            found = problems[text]
            level = logging.INFO if found.severity is Severity.NOTICE else logging.WARNING
            where = {"file": found.file, "line": found.line, "code": found.code, "object": found.object}
            log_event(log, level, "problem", {**where, "cause": found.message})
        pending = {f"{each.reason}\n{each.trailer}": each for each in plan.pending_approvals}
        for text in sorted(pending.keys() - self._logged_pending):
            approval = pending[text]
            fields = {"objects": len(approval.keys), "reason": approval.reason, "trailer": approval.trailer}
            log_event(log, logging.WARNING, "awaiting approval" if approval.trailer else "held", fields)
        for answer in plan.pool_requests:
            if answer not in self._logged_pending:
                log_event(log, logging.WARNING, "pool request", {"answer": answer})
        self._logged_problems = frozenset(problems)
        self._logged_pending = frozenset((*pending, *plan.pool_requests))
        self._logged_trouble = ""
