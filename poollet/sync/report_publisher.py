"""The way of one poollet's reports to their ref: claimed first, then kept as the host side wants it, with heartbeats.

Owns what the ref holds. One thread sees and writes; the host's thread offers what shall stand there.
"""

from __future__ import annotations

import json
import logging
import random
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from poollet.clock import Clock
from poollet.sync.publish import Held, draft, held
from poollet.sync.report_lease import Claimant, Found, Take, Wait, Yield
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.remote.transport import PushConflict, PushRefused, RemoteUnavailable
from reconciler.gitstore.repo import Draft, Outcome, Pushed, Repo, Unchanged
from schemas.backoff import Backoff
from schemas.report import Report, read
from schemas.settings.duration import milliseconds

log = logging.getLogger(__name__)

POOLLET, EVENTS = "poollet.json", "events.json"
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
# Of the interval that the report names, when a heartbeat is due: late ones count as silence.
EARLY = 0.8


@dataclass(frozen=True)
class Offer:
    """What the ref shall hold, and the longest silence that it names."""

    files: Mapping[str, bytes]
    interval_ms: int
    essence: Mapping[str, bytes] = field(default_factory=dict)


class Post:
    """`last` is the report that was there when the ref was claimed, from which everything begins. `ended` says why it is over,
    `waits` why there is nothing to write."""

    def __init__(
        self, claimant: Claimant, ref: str, clock: Clock, chance: random.Random, least_ms: int = 0
    ) -> None:
        self.claimant = claimant
        self.ref = ref
        self.last: Report | None = None
        self.ended = ""
        self.waits = ""
        self._clock = clock
        self._least_ms = least_ms
        self._held = Held()
        self._essence: Mapping[str, bytes] | None = None  # of what this run has written
        self._offer: Offer | None = None
        self._backoff = Backoff(FIRST_PAUSE, LONGEST_PAUSE, chance=chance)
        self._written_ms = clock.moment_ms() - least_ms
        self._after_ms: int | None = None
        self._lock = threading.Lock()

    @property
    def has_landed(self) -> bool:
        """A report of this run stands, or stood, on the ref: from then on the host may be changed."""
        return self.claimant.has_landed

    def offer(self, files: Mapping[str, bytes], interval: str) -> bool:
        """What shall stand on the ref; whether that is news worth a push of its own."""
        offer = Offer(files, milliseconds(interval), essence(files))
        with self._lock:
            self._offer = offer
            return offer.essence != self._essence

    @property
    def is_settled(self) -> bool:
        """The ref holds what was offered, or this poollet is not to write it."""
        with self._lock:
            return bool(self.ended) or (self._offer is not None and self._offer.essence == self._essence)

    def see(self, repo: Repo, commit: ObjectId | None) -> None:
        """Where the ref stands. Raises what the repo raises when a report there cannot be read."""
        if self.ended or (self.last is not None and commit == self._held.commit):
            return
        found = held(repo, commit)
        report = read(found.files)
        claim = self.claimant.judge(Found(commit, report.poollet), self._clock.moment_ms())
        match claim:
            case Take():
                self.waits = ""
                self._held = found
                self.last = self.last or report
                if report.poollet is None or report.poollet.instance != self.claimant.instance:
                    self._essence = None  # somebody else's words, or none
            case Wait(_, message):
                if not self.waits:
                    log.warning("waiting for the report ref ref=%s message=%s", self.ref, message)
                self.waits = message
            case Yield(message):
                self.end(message)
            case _:
                assert_never(claim)

    def hurry(self) -> None:
        """The remote is back after it was away: what is due waits no longer for its pause."""
        self._after_ms = None
        self._backoff.reset()

    def wait(self, message: str) -> None:
        """From the host's side: why there is nothing to write yet, or nothing."""
        if message and message != self.waits:
            log.warning("waiting with the first report ref=%s message=%s", self.ref, message)
        self.waits = message

    def end(self, message: str) -> None:
        """From the host's side: nothing is written any more."""
        log.error("ending ref=%s message=%s", self.ref, message)
        self.ended = message

    def draft(self, *, is_last: bool = False) -> tuple[Draft, Offer] | None:
        """What is to be written now, if anything is; the last words wait for no interval."""
        with self._lock:
            offer = self._offer
        if offer is None or self.last is None or self.ended:
            return None
        if self._clock.moment_ms() < self._due_ms(offer) and not (is_last and offer.essence != self._essence):
            return None
        return draft(self.ref, self.claimant.name, self._held, offer.files, self._clock.now()), offer

    def due_ms(self) -> int | None:
        """When there is something to write next, as a moment."""
        with self._lock:
            offer = self._offer
        if offer is None or self.last is None or self.ended:
            return None
        return self._due_ms(offer)

    def settle(self, written: Draft, offer: Offer, outcome: Outcome) -> None:
        """How the writing went."""
        now_ms = self._clock.moment_ms()
        match outcome:
            case Pushed(commits) if self.ref in commits:
                self._held = Held(commits[self.ref], dict(offer.files))
                with self._lock:
                    self._essence = offer.essence
                self.claimant.has_landed = True
                self._written_ms, self._after_ms = now_ms, None
                self._backoff.reset()
                log.info("report written ref=%s files=%d", self.ref, len(written.edits))
            case Pushed() | Unchanged():
                raise AssertionError("a heartbeat always makes a commit")
            case PushConflict(refs):
                # Looked at anew before anything is written again.
                log.warning("report ref moved ref=%s to=%s", self.ref, refs.get(self.ref))
                self._after_ms = now_ms + round(1000 * self._backoff.next())
            case PushRefused(_, words):
                log.error("report refused ref=%s words=%s", self.ref, words)
                self._after_ms = now_ms + round(1000 * self._backoff.next())
            case RemoteUnavailable(trouble, cause):
                log.warning("report not written ref=%s trouble=%s cause=%s", self.ref, trouble, cause)
                self._after_ms = now_ms + round(1000 * self._backoff.next())
            case _:
                assert_never(outcome)

    def _due_ms(self, offer: Offer) -> int:
        pause_ms = self._least_ms if offer.essence != self._essence else round(offer.interval_ms * EARLY)
        due_ms = self._written_ms + pause_ms
        return due_ms if self._after_ms is None else max(due_ms, self._after_ms)


def essence(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The report without what may wait for the next push: up to which commit `live` was followed, and how often something
    has happened again that was told before."""
    found = dict(files)
    if POOLLET in found:
        by = json.loads(found[POOLLET])
        by.pop("liveCommit", None)
        found[POOLLET] = json.dumps(by, sort_keys=True).encode()
    if EVENTS in found:
        told = [{**one, "count": 0, "last": ""} for one in json.loads(found[EVENTS]).get("events", ())]
        found[EVENTS] = "\n".join(sorted(json.dumps(one, sort_keys=True) for one in told)).encode()
    return found
