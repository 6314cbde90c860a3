"""Publishes one poollet's report on its ref: only what differs, by compare-and-swap, and a heartbeat when nothing does.

Theory of operation. Three parties meet here. The Git thread fetches (`on_fetch`) and pushes (`draft`, `on_push_result`); the agent's thread
has the lease judged (`judge`) and offers what the ref shall hold (`offer`, or `stand_by` without the lease). A verdict counts for the
contents that it was given on: when the ref moves, nothing is pushed before the agent has judged it again.

    verdict      what is pushed
    none yet     nothing
    Acquire      the report; candidate.json of another host stays where it is on top of this run's last report. Any other one is dropped:
                 the host that wrote it may be gone. One that still waits writes it again
    Candidate,   candidate.json, in a commit on top of the host's own (report_author.py): where it is absent, where what this host has is
    Wait         another than it says, and once in a run where another host wrote it. At a clean end it is removed, unless it names objects
    StepDown     nothing, and the process ends

Must never happen: a report is pushed over contents on which the lease was not judged.
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from poollet.clock import Clock
from poollet.sync.report_essence import POOLLET, without_volatile_fields
from poollet.sync.report_lease import (
    Acquire,
    Candidate,
    Grants,
    LeaseVerdict,
    RefContents,
    ReportLease,
    StepDown,
    Wait,
)
from reconciler.gitstore.errors import DamageError, RepoError
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.remote.transport import PushConflict, PushRefused, RemoteUnavailable
from reconciler.gitstore.repo import Draft, Edit, Identity, Outcome, Pushed, Repo, Unchanged, Unfetched
from reconciler.gitstore.report_author import CANDIDATE, own_commit
from reconciler.gitstore.report_files import read_contents
from schemas.backoff import Backoff
from schemas.report import CandidateReport, PoolletReport, Report, read
from schemas.report.tree import read_file
from schemas.settings.duration import milliseconds

log = logging.getLogger(__name__)

# With the commit of a report that landed, and whether this run still asks if it may act.
OnLanded: TypeAlias = Callable[[ObjectId, str], None]

AUTHOR_MAIL = "poollet@gitvirt.dev"
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
# Of the interval that the report names, when a heartbeat is due: a late one counts as none.
HEARTBEAT_AT = 0.8


@dataclass(frozen=True)
class PendingReport:
    """What the ref shall hold, and the interval of heartbeats that it names. `essence` is what is worth a push of its own."""

    files: Mapping[str, bytes]
    interval_ms: int = 0
    essence: Mapping[str, bytes] = field(default_factory=dict)
    is_candidate: bool = False


class ReportPublisher:
    """`ended` says why it is over, `waiting` why there is no lease."""

    def __init__(self, lease: ReportLease, clock: Clock, chance: random.Random, least_ms: int = 0) -> None:
        self.lease = lease
        self.ref = lease.ref
        self.on_landed: OnLanded = lambda _commit, _asks: None
        self.asks = ""  # in the offered report
        self.ended = ""
        self.waiting = ""
        self._clock = clock
        self._least_ms = least_ms
        self._contents = RefContents()
        self.has_fetched = False
        self._verdict: LeaseVerdict | None = None  # on `_contents`
        self._offer: PendingReport | None = None
        self._candidate: bytes | None = None
        self._has_replaced = False  # a candidate.json that was there already
        self._own_commit: ObjectId | None = None  # the last one that this run wrote as its report
        self._essence: Mapping[str, bytes] | None = None  # of what this run has written
        self._backoff = Backoff(FIRST_PAUSE, LONGEST_PAUSE, chance=chance)
        self._written_ms = clock.moment_ms() - least_ms
        self._after_ms: int | None = None
        self._owed_ms: int | None = None  # since when the ref lacks what is to be reported
        self._lock = threading.Lock()

    @property
    def has_landed(self) -> bool:
        """A report of this run is on the ref: from then on the host may be changed."""
        return self.lease.has_landed

    @property
    def is_ready(self) -> bool:
        """It has told the fleet that it is here: by a report, or as a candidate beside another host's."""
        return self.has_landed or (isinstance(self._verdict, Candidate) and self.is_flushed)

    def own_report(self) -> Report:
        """The report on the ref if this host wrote it, else an empty one."""
        contents = self._contents
        by = name_reporter(contents)
        is_own = by is not None and by.host_id == self.lease.host_id
        return read(contents.report_files) if is_own else Report()

    def own_candidate(self) -> CandidateReport | None:
        """What this host wrote beside the report, if it did."""
        data = self._contents.files.get(CANDIDATE)
        found = read_file(CANDIDATE, data) if data is not None else None
        is_own = isinstance(found, CandidateReport) and found.host_id == self.lease.host_id
        return found if is_own and isinstance(found, CandidateReport) else None

    @property
    def own_commit(self) -> ObjectId | None:
        """Of the report on the ref, below what candidates wrote on it."""
        return self._contents.own_commit

    @property
    def position(self) -> tuple[bool, ObjectId | None]:
        """Whether the ref was read at all, and its commit."""
        return self.has_fetched, self._contents.commit

    @property
    def is_flushed(self) -> bool:
        """The ref holds what this run has to say there."""
        with self._lock:
            match self._verdict:
                case Acquire():
                    return self._offer is not None and self._offer.essence == self._essence
                case Candidate() | Wait():
                    return not self._owes_candidate()
                case None:
                    return bool(self.ended)
                case _:
                    return True

    # The agent's side

    def judge(
        self, grants: Grants, contains: Callable[[ObjectId | None], bool], *, lacks: bool = False
    ) -> LeaseVerdict | None:
        """Whether the ref may be written, by what it holds and by the grants on `live`; None before it was read. `lacks`: the report calls
        machines present that this host's runtimes do not list.

        `contains` says whether there is a `live` with that commit in it; of no commit, whether there is one at all.
        """
        with self._lock:
            contents, has_fetched = self._contents, self.has_fetched
        if self.ended or not has_fetched:
            return None
        by = name_reporter(contents)
        is_older = not grants and (by is None or by.live_commit is not None)
        is_older = is_older and not contains(by.live_commit if by is not None else None)
        moment_ms = self._clock.moment_ms()
        verdict = self.lease.judge(contents, by, grants, moment_ms, is_live_older=is_older, lacks=lacks)
        match verdict:
            case Acquire():
                self.waiting = ""
                if by is None or by.instance != self.lease.instance:
                    self._essence = None  # another run's report, or none
            case Wait(_, message) | Candidate(message):
                # The message of a Wait counts the seconds.
                if message != self.waiting and not (type(verdict) is type(self._verdict) is Wait):
                    role = "waiting" if isinstance(verdict, Wait) else "acting on no pool, as a candidate"
                    log.warning("%s ref=%s message=%s", role, self.ref, message)
                self.waiting, self._essence = message, None
            case StepDown(message):
                self.end(message)
            case _:
                assert_never(verdict)
        with self._lock:
            if contents is self._contents:
                self._verdict = verdict
        return verdict

    def offer(self, files: Mapping[str, bytes], interval: str, news: Mapping[str, bytes]) -> None:
        """What the ref shall hold. `news` are the same files without texts that may wait for the next heartbeat."""
        with self._lock:
            self._offer = PendingReport(files, milliseconds(interval), without_volatile_fields(news))
            if self._owed_ms is None and self._offer.essence != self._essence:
                self._owed_ms = self._clock.moment_ms()

    def find_heartbeat_commit(self, most_owed_ms: int) -> ObjectId | None:
        """The commit of this run's report, if the ref holds what is to be reported, or has lacked it for less than that: only then a heartbeat
        that takes another way than Git says what a heartbeat commit would say."""
        with self._lock:
            if self.ended or not isinstance(self._verdict, Acquire) or self._offer is None:
                return None
            if self._contents.own_commit != self._own_commit:
                return None
            is_late = self._owed_ms is not None and self._clock.moment_ms() - self._owed_ms > most_owed_ms
            return None if is_late else self._own_commit

    def stand_by(self, candidate: bytes) -> None:
        """What is written beside another host's report while there is no lease."""
        with self._lock:
            self._candidate = candidate

    def end(self, message: str) -> None:
        """Nothing is written any more."""
        log.error("ending ref=%s message=%s", self.ref, message)
        self.ended = message

    # The Git side

    def on_fetch(self, repo: Repo, commit: ObjectId | None, unfetched: Unfetched | None = None) -> None:
        """The commit of the ref, or why that could not be fetched. Raises DamageError when the mirror has to be repaired first."""
        commit = unfetched.id if unfetched is not None else commit
        if self.ended or (self.has_fetched and commit == self._contents.commit):
            return
        contents = (
            read_ref(repo, commit)
            if unfetched is None
            else RefContents(commit, own_commit=commit, fault=unfetched.cause)
        )
        if contents.fault:
            log.warning("report cannot be read ref=%s cause=%s", self.ref, contents.fault)
        with self._lock:
            self._contents, self.has_fetched, self._verdict = contents, True, None

    def reset_backoff(self) -> None:
        """The remote is back after it was away: what is due waits no longer for its pause."""
        self._after_ms = None
        self._backoff.reset()

    def draft(self, *, is_last: bool = False) -> tuple[Draft, PendingReport] | None:
        """What is to be written now, if anything is; the last report waits for no interval."""
        with self._lock:
            pending = self._pending(is_last=is_last)
            if pending is None:
                return None
            return self._draft(pending), pending

    def _pending(self, *, is_last: bool) -> PendingReport | None:
        """What is to be pushed now by the verdict; None while that is nothing, or not due yet."""
        now_ms = self._clock.moment_ms()
        match self._verdict:
            case Acquire() if self._offer is not None and not self.ended:
                is_news = self._offer.essence != self._essence
                is_due = now_ms >= self._due_ms(self._offer) or (is_last and is_news)
                return self._offer if is_due else None
            case Candidate() | Wait() if is_last:
                return self._without_candidate()
            case Candidate() | Wait() if self._owes_candidate() and (
                self._after_ms is None or now_ms >= self._after_ms
            ):
                assert self._candidate is not None, "it owes one"
                files = {**self._contents.report_files, CANDIDATE: self._candidate}
                return PendingReport(files, is_candidate=True)
            case _:
                return None

    def _owes_candidate(self) -> bool:
        """One of another host is replaced once in a run, so that two candidates do not overwrite each other for ever."""
        there = self._contents.files.get(CANDIDATE)
        if self._contents.fault:  # on top of what cannot be read there is no place for it
            return False
        if self._candidate is None or (there is not None and _is_same_candidate(there, self._candidate)):
            return False
        return there is None or not self._has_replaced or self.own_candidate() is not None

    def _without_candidate(self) -> PendingReport | None:
        """At a clean end: the report without this host's candidate.json. That of another host stays, and so does one that names objects:
        they are still there."""
        found = self.own_candidate()
        if found is None or found.objects:
            return None
        return PendingReport(self._contents.report_files, is_candidate=True)

    def _draft(self, pending: PendingReport) -> Draft:
        """The commit that makes the ref hold these files; with the same files, a heartbeat. It starts from an empty tree where
        the ref holds what no report has."""
        before, files = self._contents.files, dict(pending.files)
        is_new = bool(self._contents.fault) or (self._contents.has_others and not pending.is_candidate)
        is_on_own = self._contents.own_commit == self._own_commit
        if not pending.is_candidate and is_on_own and CANDIDATE in before and self.own_candidate() is None:
            files[CANDIDATE] = before[CANDIDATE]  # of another host; a clone of this one has ended by now
        edits: dict[str, Edit] = {
            path: data for path, data in files.items() if is_new or before.get(path) != data
        }
        edits |= {} if is_new else dict.fromkeys(before.keys() - files.keys())
        return Draft(
            ref=self.ref,
            expected=self._contents.commit,
            base=None if is_new else self._contents.commit,
            edits=edits,
            message=_message(edits),
            author=Identity(f"poollet {self.lease.name}", AUTHOR_MAIL),
            time=self._clock.now(),
            has_parents=pending.is_candidate,
            parent=self._contents.own_commit if CANDIDATE in files else None,
            even_if_unchanged=True,
        )

    def due_ms(self) -> int | None:
        """When there is something to write next, as a moment."""
        with self._lock:
            match self._verdict:
                case Acquire() if self._offer is not None and not self.ended:
                    return self._due_ms(self._offer)
                case Candidate() | Wait() if self._owes_candidate():
                    return self._clock.moment_ms() if self._after_ms is None else self._after_ms
                case _:
                    return None

    def _due_ms(self, offer: PendingReport) -> int:
        """News after the shortest pause between pushes, a heartbeat before its interval is over, neither before the pause after a failure."""
        is_news = offer.essence != self._essence
        pause_ms = self._least_ms if is_news else round(offer.interval_ms * HEARTBEAT_AT)
        due_ms = self._written_ms + pause_ms
        return due_ms if self._after_ms is None else max(due_ms, self._after_ms)

    def on_push_result(self, written: Draft, pending: PendingReport, outcome: Outcome) -> None:
        """How the push went."""
        match outcome:
            case Pushed(commits) if self.ref in commits:
                self._on_pushed(commits[self.ref], written, pending)
                self._after_ms = None
                self._backoff.reset()
                return
            case Pushed() | Unchanged():
                raise AssertionError("a heartbeat always makes a commit")
            case PushConflict(refs):
                # It is fetched and judged again before anything is written. The remote is well: a candidate that starts again and again
                # must not make the pauses grow until the heartbeat expires.
                log.warning("report ref moved ref=%s to=%s", self.ref, refs.get(self.ref))
                self._backoff.reset()
            case PushRefused(_, words):
                log.error("report refused ref=%s words=%s", self.ref, words)
            case RemoteUnavailable(kind, cause):
                log.warning("report not written ref=%s trouble=%s cause=%s", self.ref, kind, cause)
            case _:
                assert_never(outcome)
        self._after_ms = self._clock.moment_ms() + round(1000 * self._backoff.next())

    def _on_pushed(self, commit: ObjectId, written: Draft, pending: PendingReport) -> None:
        """The ref holds what was written. Known without a fetch, so that the next report is a difference from it."""
        files = {**self._contents.files, **written.edits}
        own = self._contents.own_commit if pending.is_candidate else commit
        contents = RefContents(
            commit, {path: data for path, data in files.items() if isinstance(data, bytes)}, own
        )
        with self._lock:
            self._contents = contents
            if pending.is_candidate:
                self._has_replaced = True
                log.info("candidate written ref=%s", self.ref)
                return
            self._essence, self._verdict, self._own_commit = pending.essence, Acquire(), commit
            is_complete = self._offer is None or self._offer.essence == pending.essence
            self._owed_ms = None if is_complete else self._clock.moment_ms()
        self.lease.has_landed = True
        self.on_landed(commit, self.asks)
        self._written_ms = self._clock.moment_ms()
        log.info("report written ref=%s files=%d", self.ref, len(written.edits))


def read_ref(repo: Repo, commit: ObjectId | None) -> RefContents:
    """Whatever the ref holds, which anybody with the right to push it may have written. Raises DamageError."""
    if commit is None:
        return RefContents()
    try:
        found = read_contents(repo, commit)
        own = own_commit(repo, commit)
    except DamageError:
        raise
    except RepoError as error:
        return RefContents(commit, own_commit=commit, fault=error.cause)
    return RefContents(commit, found.files, own, has_others=not found.is_all)


def _is_same_candidate(one: bytes, other: bytes) -> bool:
    """Whichever run of the host wrote it: a poollet that starts again and again writes it once."""
    found = [read_file(CANDIDATE, data) for data in (one, other)]
    hosts = [(each.host_id, each.pools, each.objects) for each in found if isinstance(each, CandidateReport)]
    return len(hosts) == 2 and hosts[0] == hosts[1]


def name_reporter(contents: RefContents) -> PoolletReport | None:
    """Who wrote the report; None where poollet.json is missing or unreadable, which counts as another host's."""
    data = contents.files.get(POOLLET)
    found = read_file(POOLLET, data) if data is not None else None
    return found if isinstance(found, PoolletReport) else None


def _message(edits: Mapping[str, Edit]) -> str:
    """The commit message of a report, for people who read the ref's log. No program reads it."""
    if not edits:
        return "heartbeat"
    named = sorted(edits)
    more = f" and {len(named) - 1} more" if len(named) > 1 else ""
    return f"report: {named[0]}{more}"
