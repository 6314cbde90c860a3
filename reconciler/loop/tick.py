"""One tick: one read, pure decisions, one write. Owns the order of the steps and what is carried from tick to tick, which is
nothing but caches: a new Reconciler does the same on the same repo.

Theory of operation
-------------------
The steps, and the outcome with which each may end the tick:

    1. snapshot of all refs                                  Failed (the remote cannot be used)
    2. is there anything to reconcile (`gitstore.guards`)    TickBlocked, RefsChanged to the default branch
    3. first tick only: which settings are effective         RefsChanged
    4. World.advance: what changed since the last snapshot   TickBlocked (the source is unfit)
    5. the refs that the settings name; commits of others    RefsChanged, TickBlocked (`reconciler.audit.live_check`; a lost or
       on live; lost reports                                 rewound live waits for reports)
    6. make_plan: decide and schedule. Pure, but that hosts    -
       may be asked over the link (tick_offers.py)
    7. draft: text edits and a message                       NoChange (also where only progress would be written)
    8. where the settings ask for it, the inputs of that,    -
       as a draft of their own ref (inputs_recorder.py)
    9. push of both by one compare-and-swap                  Committed, NoChange, Conflict, Failed

A push without an answer (`is_unknown`) may land at any later time, as long as live stays at the commit that it was made for. So it counts as
neither landed nor lost. The process remembers that commit, and while live is there, the next tick writes for sure: what it decides then, or an
empty commit when there is nothing to write. Either moves live, and the late push fails its compare-and-swap. A process that ends before that
leaves a push that may still land; decide/handover.py says why that does no harm.

Nothing after step 1 asks the remote again before the push, so all decisions of a tick are about one moment. `World.acknowledge` is called only
when live is known to be as planned: after a conflict or a failed push the changes stay dirty, and the next tick decides them again.

A defect in the code, or an object that cannot be read, ends the tick as Failed, and the World is built again from nothing. What it knew of
heartbeats is kept: no host appears expired, or alive, because a tick failed. So is the newest `live` that it saw: one without it was rewound.

Must never happen: a second read within a tick; a push of a plan that was made for another head of live; an exception out of `tick`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from reconciler.audit.live_check import LiveCheck
from reconciler.audit.tick_inputs import inputs_of
from reconciler.decide.compose import describe_wait
from reconciler.gitstore import guards
from reconciler.gitstore.effective_settings import read_effective_settings
from reconciler.gitstore.errors import DamageError
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.remote.git_errors import NOT_BARE_CURE, RIGHTS_CURE
from reconciler.gitstore.remote.transport import PushConflict, PushRefused, RemoteUnavailable
from reconciler.gitstore.repo import Draft, Pushed, Refs, Repo, Snapshot, Unchanged
from reconciler.gitstore.signatures.signers import Signers
from reconciler.loop.health import HealthProblem
from reconciler.loop.health_problems import find_health_problems
from reconciler.loop.inputs_recorder import InputsRecorder
from reconciler.loop.link_port import LinkFeed, LinkPort, NoLink
from reconciler.loop.metrics import Metrics
from reconciler.loop.outcome import (
    Committed,
    Conflict,
    Failed,
    NoChange,
    Outcome,
    RefsChanged,
    TickBlocked,
)
from reconciler.loop.tick_offers import OFFER_SECONDS, TickOffers
from reconciler.loop.tracing import Tracer, Untraced
from reconciler.plan.significance import is_progress
from reconciler.plan.types import Plan
from reconciler.world.changes import WorldChanges
from reconciler.world.reports.heartbeat import HeartbeatSeen, ReadTimes, Writer
from reconciler.world.reports.recovery_wait import describe_ends
from reconciler.world.reports.rewind import LiveSeen
from reconciler.world.reports.start_wait import StartWait
from reconciler.world.source.parse_cache.cache import ParseCache
from reconciler.world.world import World
from reconciler.write.drafting import Written
from reconciler.write.tick_commit import CommitIdentity, CommitInputs, draft_commit, plan_commit
from schemas.kinds import Key, Kind
from schemas.problem import Problem
from schemas.settings.fleet import FleetSettings

log = logging.getLogger(__name__)

LATE = "no host is judged as lost in this tick: the Git server was slow, or this process did not run; an answer took %.0fs"


@dataclass(frozen=True, slots=True)
class ProcessInputs:
    """What the process gives: the environment that signatures are checked in, and what was read before it.

    `readings` is a cache of parsed files that may be on disk. Without it a start reads every file again, and decides the same.
    `start_wait` begins with the first tick; None places at once, for those who know that all hosts are there. `link` says which hosts are
    connected, and tells them what was written; `offer_seconds` is how long a tick waits for their answers to offers. `signers` are the keys
    that the process signs with; None: it signs nothing."""

    ambient: Mapping[str, str] = field(default_factory=dict)
    readings: ParseCache = field(default_factory=ParseCache)
    start_wait: StartWait | None = field(default_factory=StartWait)
    link: LinkPort = field(default_factory=NoLink)
    signers: Signers | None = None
    offer_seconds: float = OFFER_SECONDS


@dataclass(frozen=True, slots=True)
class UnansweredPush:
    """A push of this process whose outcome is unknown, by the head of live that it was made for."""

    expected: ObjectId | None


class Reconciler:
    """Not for two threads at once. `repo` is read at `refs`."""

    def __init__(
        self,
        repo: Repo,
        refs: Refs,
        who: CommitIdentity,
        metrics: Metrics | None = None,
        tracer: Tracer | None = None,
        around: ProcessInputs | None = None,
    ) -> None:
        self.repo = repo
        self.refs = refs
        self.who = who
        self._around = around or ProcessInputs()
        self.world = self._new_world()
        self._metrics = metrics or Metrics()
        self._tracer = tracer or Untraced()
        self._due: datetime | None = None
        self._failed: datetime | None = None  # when the server was first asked in vain since its last answer
        self._unanswered: UnansweredPush | None = None
        self._check = LiveCheck(repo, self._around.signers, self._around.ambient)
        self._inputs = InputsRecorder(repo, refs.inputs)
        self._has_begun = False
        self._feed = LinkFeed(self._around.link)
        self._dirty: frozenset[Key] = frozenset()  # what the tick looked at
        self.health_problems: tuple[HealthProblem, ...] = ()

    def close(self) -> None:
        self._around.readings.close()
        self.repo.close()

    @property
    def push_seconds(self) -> float:
        """The least interval between pushes that the fleet asks for."""
        return self.world.rules.settings.limits.push_interval_milliseconds / 1000

    def next_due(self, plan: Plan) -> datetime | None:
        """When something happens although nothing changes in the repo."""
        return min((due for due in (plan.next_due, self._due) if due is not None), default=None)

    def tick(self, clock: Callable[[], datetime], steady: Callable[[], datetime] | None = None) -> Outcome:
        """Never raises for anything that a repo can hold or a remote can do.

        `clock` dates what is written. `steady` measures heartbeats and is never set; without it `clock` does."""
        start = time.monotonic()
        with self._tracer.span("tick") as note:
            outcome = self._tick_or_fail(clock, steady or clock)
            note("outcome", outcome.label)
        self._metrics.count_tick(outcome.label, time.monotonic() - start)
        if isinstance(outcome, Committed | NoChange):
            relations = self.world.relations
            objects = {kind.value: relations.live_counts[kind] for kind in Kind}
            self._metrics.set_success(clock().timestamp(), objects)
            self._metrics.set_states(relations.state_counts)
            self._feed.tell(self.world, outcome, self._dirty)
        if (problems := find_health_problems(self.world, outcome)) is not None:
            self.health_problems = problems
            self._metrics.set_health(each.cause for each in problems)
        return outcome

    def _tick_or_fail(self, clock: Callable[[], datetime], steady: Callable[[], datetime]) -> Outcome:
        try:
            return self._tick(clock, steady)
        except DamageError as error:
            failed = Failed("damage", error.cause, error.cure)
        except Exception as error:
            log.exception("a tick failed")
            failed = Failed("error", f"{type(error).__name__}: {error}", "see the log for details")
        # What was read halfway is worth nothing.
        self.world = self._new_world(self.world.reports.heartbeats_seen, self.world.live_seen)
        return failed

    def _new_world(
        self,
        heartbeats_seen: Mapping[Writer, HeartbeatSeen] | None = None,
        live_seen: LiveSeen | None = None,
    ) -> World:
        return World(
            self._around.ambient,
            heartbeats_seen,
            live_seen=live_seen,
            readings=self._around.readings,
            start_wait=self._around.start_wait,
        )

    def _tick(self, clock: Callable[[], datetime], steady: Callable[[], datetime]) -> Outcome:
        start = steady()
        snapshot = self._read()
        if isinstance(snapshot, RemoteUnavailable):
            self._failed = self._failed or start
            return Failed(snapshot.kind.value, snapshot.cause, snapshot.cure)
        if problems := guards.of_refs(self.refs, snapshot):
            return self._look_for_source(snapshot, problems)
        if (refs := self._effective_refs(snapshot)) != self.refs:
            return RefsChanged(refs)
        now, read_times = clock(), ReadTimes(start, steady(), self._around.link.read(), self._failed)
        self._failed = None
        if read_times.is_late:
            log.warning(
                LATE, (read_times.end - start).total_seconds()
            )  # the clock cannot tell the two causes
        with self._tracer.span("advance") as note:
            advance = self.world.advance(self.repo, snapshot, now, read_times)
            note("dirty", len(advance.dirty))
            note("blobs", advance.blobs_read)
        if unfit := self.world.unfit:
            return TickBlocked(unfit, unfit[0].message)
        refs = refs_in_settings(self.world.rules.settings, self.refs)
        if refs != self.refs:
            return RefsChanged(refs)
        if unproven := self._check.look(self.world, snapshot, now):
            return TickBlocked(unproven, unproven[0].message)
        if self.world.missing_hosts:
            missing = self.world.missing_hosts
            return TickBlocked(advance.problems, describe_wait(self.world), ends=describe_ends(missing))
        return self._decide(advance, snapshot, now)

    def _decide(self, advance: WorldChanges, snapshot: Snapshot, now: datetime) -> Outcome:
        """Steps 6 to 9."""
        offers = TickOffers(self._around.link, self._around.offer_seconds)
        plan = self._plan(advance, now, offers)
        paths = advance.source_paths | advance.live_paths
        if not self._has_outcome(plan, paths, now):
            self.world.defer(change.key for change in plan.changes)
            return NoChange(plan)
        if waiting := self.world.deferred - advance.dirty:
            advance = replace(advance, dirty=advance.dirty | waiting)
            plan = self._plan(advance, now, offers)
        with self._tracer.span("draft"):
            written = self._draft(plan, paths, now)
        drafts: tuple[Draft, ...] = ()
        if written.draft is not None:
            with self._tracer.span("inputs"):
                is_unanswered = self._unanswered is not None
                drafts = self._inputs.add_inputs(
                    written.draft,
                    self.world,
                    snapshot,
                    lambda: inputs_of(self.world, advance, now, offers.rounds, is_unanswered=is_unanswered),
                )
        outcome = self._write(plan, written, drafts)
        if isinstance(outcome, Committed) and len(drafts) > 1:
            self._inputs.remove_old_lines(self.world, snapshot.inputs)
        return outcome

    def _has_outcome(self, plan: Plan, paths: frozenset[str], now: datetime) -> bool:
        """Whether there is more to write than progress."""
        if self._unanswered is not None or self.world.is_live_lost:
            return True
        if any(not is_progress(change, self.world) for change in plan.changes):
            return True
        return self._draft(replace(plan, changes=()), paths, now).draft is not None

    def _plan(self, advance: WorldChanges, now: datetime, offers: TickOffers) -> Plan:
        """Decides, and notes what is to be looked at again."""
        offers.begin_plan()
        with self._tracer.span("plan") as note:
            plan = plan_commit(self.repo, self.world, advance, now, offers)
            note("changes", len(plan.changes))
            note("offered", offers.count())
        self._due, self._dirty = advance.due, advance.dirty
        for key, when in plan.due:
            self.world.remind(key, when)
        self.world.postpone(plan.postponed)
        self._metrics.set_plan(plan, len(self.world.relations.waiting))
        return plan

    def _read(self) -> Snapshot | RemoteUnavailable:
        with self._tracer.span("read"):
            snapshot = self.repo.snapshot()
        if isinstance(snapshot, Snapshot) and self._unanswered is not None:
            # Once live has moved, the push landed or never will.
            self._unanswered = self._unanswered if snapshot.target == self._unanswered.expected else None
        return snapshot

    def _effective_refs(self, snapshot: Snapshot) -> Refs:
        """Where the head's gitvirt.yaml cannot be used, live may be a branch that only an earlier one names: a start must find it.
        Later the world knows which settings were effective."""
        if self._has_begun:
            return self.refs
        found = read_effective_settings(self.repo, snapshot.source)
        self._has_begun = True
        if found.settings is None or found.is_of_head:
            return self.refs
        refs = refs_in_settings(found.settings, self.refs)
        if refs == self.refs:  # else whoever reads the others says it
            branch = (refs.source or "").removeprefix("refs/heads/")
            log.warning("settings cannot be used cause=%s", found.note(branch))
        return refs

    def _look_for_source(self, snapshot: Snapshot, problems: tuple[Problem, ...]) -> Outcome:
        """Where the source does not exist: the one that the settings on `live` name, which are those of the last source that could be used.
        Without a `live`, the default branch takes the place of a source that no setting names."""
        found = read_effective_settings(self.repo, snapshot.target).settings
        if found is not None and (refs := refs_in_settings(found, self.refs)).source != self.refs.source:
            return RefsChanged(refs)
        default = snapshot.default_branch
        if snapshot.target is None and default not in (None, self.refs.source):
            return RefsChanged(replace(self.refs, source=default))
        return TickBlocked(problems, problems[0].message, has_no_source=True)

    def _draft(self, plan: Plan, paths: frozenset[str], now: datetime) -> Written:
        of = CommitInputs(self.who, self.refs.target or "", now, paths, self._unanswered is not None)
        return draft_commit(self.repo, self.world, plan, of)

    def _write(self, plan: Plan, written: Written, drafts: Sequence[Draft]) -> Outcome:
        """The one push of a tick. Without an answer the outcome is Failed, though the push may have landed: the next snapshot shows it."""
        for problem in written.problems:
            text = "cannot write into a file file=%s code=%s cause=%s"
            log.warning(text, problem.file, problem.code, problem.message)
        if written.draft is None:
            self.world.acknowledge()
            return NoChange(plan)
        with self._tracer.span("write") as note:
            outcome = self._inputs.push(drafts, written.draft.time)
            note("result", type(outcome).__name__)
        match outcome:
            case Pushed(commits):
                self._unanswered = None
                commit = commits[written.draft.ref]
                self.world.acknowledge(commit)
                self._check.note_written(commit)
                self._metrics.count_changes(plan)
                return Committed(plan, commit, written.draft.message.partition("\n")[0])
            case Unchanged():
                self.world.acknowledge()
                return NoChange(plan)
            case PushConflict():
                return Conflict()
            case PushRefused(_, words, is_checked_out):
                return Failed("refused", words, NOT_BARE_CURE if is_checked_out else RIGHTS_CURE)
            case RemoteUnavailable(trouble, cause, cure, is_unknown):
                if is_unknown:
                    self._unanswered = UnansweredPush(written.draft.expected)
                return Failed(trouble.value, cause, cure)


def refs_in_settings(settings: FleetSettings, refs: Refs) -> Refs:
    """Those that the settings name. Where they name no inputs, a folder that is read already does no harm: nothing is written there."""
    return Refs(
        f"refs/heads/{settings.branches.source}" if refs.source is not None else None,
        f"refs/heads/{settings.branches.target}",
        settings.reports.ref,
        settings.audit.ref or refs.inputs,
    )
