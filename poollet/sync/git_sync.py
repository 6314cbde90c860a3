"""Fetches and pushes for all poollets of a process that share a repo: one snapshot, one push of all due reports, one index of `live`.

Theory of operation. `fetch` and `push` are called by the Git thread alone and may hang with the network;
the agents never wait for them. The agents call `follow` and `advance`, which read the mirror only.

    live_lock    held by whoever reads the index of `live`, or makes it advance
    no lock      cached_verdict: a verdict on the present head, for the threads that are about to make a call

A verdict is kept for VERDICT_KEPT_MS, by head and last applied commit, because agents of one process may
have applied different commits, and because a signer's key may expire while no ref moves.

Owns the repo and the index.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import TypeAlias

from poollet.clock import Clock
from poollet.sync.live_index import LiveIndex
from poollet.sync.live_policy import LiveVerdict, Trust, follow
from poollet.sync.report_publisher import PendingReport, ReportPublisher
from reconciler.gitstore.errors import RepoError
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.remote.transport import PushConflict, PushRefused, RemoteUnavailable
from reconciler.gitstore.repo import Draft, Repo, Snapshot
from schemas.settings.fleet import FleetSettings

log = logging.getLogger(__name__)

# Signers' keys expire while nothing moves.
VERDICT_KEPT_MS = 60_000

Due: TypeAlias = tuple[ReportPublisher, Draft, PendingReport]


class GitSync:
    """`settings` apply until `live` brings its own. `moved` is called when an agent has something new to decide."""

    def __init__(
        self,
        repo: Repo,
        trust: Trust,
        settings: FleetSettings | None,
        clock: Clock,
        moved: Callable[[], None],
    ) -> None:
        self.repo = repo
        self.publishers: list[ReportPublisher] = []
        self.live_lock = threading.Lock()  # held while `live` is read or advances
        self.live = LiveIndex(settings=settings)
        self.last_error = ""
        self._trust, self._clock, self._moved = trust, clock, moved
        self._head: ObjectId | None = None
        self._has_seen = False
        self._verdicts: dict[tuple[ObjectId | None, ObjectId | None], tuple[int, LiveVerdict]] = {}

    @property
    def head(self) -> ObjectId | None:
        """Of `live`, as it was fetched last."""
        return self._head

    def fetch(self) -> bool:
        """Fetch all refs; False when the remote could not be used."""
        snapshot = self.repo.snapshot()
        if isinstance(snapshot, RemoteUnavailable):
            if self.last_error != snapshot.cause:
                log.warning(
                    "remote unavailable trouble=%s cause=%s cure=%s",
                    snapshot.kind,
                    snapshot.cause,
                    snapshot.cure,
                )
            self.last_error = snapshot.cause
            return False
        if self.last_error:
            log.info("remote is back")
            for publisher in self.publishers:
                publisher.reset_backoff()
        self.last_error = ""
        fetched = [one.position for one in self.publishers]
        self._read_reports(snapshot)
        was = (self._has_seen, self._head)
        self._head, self._has_seen = snapshot.target, True
        if was != (True, self._head) or fetched != [one.position for one in self.publishers]:
            self._moved()
        return True

    def push(self, *, is_last: bool = False) -> None:
        """Write all reports that are due, in one push where possible."""
        due: list[Due] = [
            (one, *found) for one in self.publishers if (found := one.draft(is_last=is_last)) is not None
        ]
        while due:
            outcome = self.repo.write([draft for _, draft, _ in due])
            concerned = self._select_met(due, outcome)
            for publisher, draft, pending in concerned:
                is_first = not publisher.has_landed
                publisher.on_push_result(draft, pending, outcome)
                if is_first and publisher.has_landed:
                    self._moved()
            due = [one for one in due if one not in concerned]

    def follow(self, good: ObjectId | None) -> LiveVerdict | None:
        """The verdict on the head of `live` after `good`, the last applied commit; None before the first fetch. Call it with `live_lock`."""
        cached = self.cached_verdict(good)
        if cached is not None or not self._has_seen:
            return cached
        now_ms, head = self._clock.moment_ms(), self._head
        key, known = (head, good), self._verdicts.get((head, good))
        try:
            fleet = self.live.settings.fleet.id if self.live.settings is not None else ""
            found = follow(self.repo, head, good, self._trust, self._clock.now(), fleet)
        except RepoError as error:
            log.warning("live cannot be judged head=%s cause=%s", head, error.cause)
            return known[1] if known else None
        if found.message and (known is None or known[1] != found):
            log.warning("live is not applied as it is hold=%s message=%s", found.hold, found.message)
        of_head = {other: verdict for other, verdict in self._verdicts.items() if other[0] == head}
        self._verdicts = of_head | {key: (now_ms, found)}
        return found

    def cached_verdict(self, good: ObjectId | None) -> LiveVerdict | None:
        """The verdict where it is known already, without a lock: for any thread."""
        known = self._verdicts.get((self._head, good))
        if not self._has_seen or known is None or self._clock.moment_ms() - known[0] > VERDICT_KEPT_MS:
            return None
        return known[1]

    def advance(self, commit: ObjectId) -> bool:
        """Advance the index to that commit; False when that is not possible now. Call it with `live_lock`."""
        try:
            self.live.advance(self.repo, commit)
        except RepoError as error:
            log.warning("live cannot be read commit=%s cause=%s", commit, error.cause)
            return False
        return True

    def _read_reports(self, snapshot: Snapshot) -> None:
        """Hands each publisher the commit of its ref. One that cannot be read leaves its publisher as it was:
        the others are not held up."""
        for publisher in self.publishers:
            try:
                name = publisher.ref.rpartition("/")[2]
                publisher.on_fetch(self.repo, snapshot.reports.get(name), snapshot.unfetched.get(name))
            except RepoError as error:
                log.warning("report cannot be read ref=%s cause=%s", publisher.ref, error.cause)

    def _select_met(self, due: Sequence[Due], outcome: object) -> list[Due]:
        """The reports that the outcome is about: a push of several fails as a whole when one ref conflicts.
        The rest is pushed again without those; where the outcome names none of them, or all, it is about
        all."""
        match outcome:
            case PushConflict(refs):
                met = [one for one in due if refs.get(one[0].ref, one[1].expected) != one[1].expected]
            case PushRefused(refs, _):
                met = [one for one in due if one[0].ref in refs]
            case _:
                met = []
        return met if 0 < len(met) < len(due) else list(due)
