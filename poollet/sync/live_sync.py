"""What one poollet makes of `live`: which commit it applies, for which fleet, and what its pools' conditions say when it does not.

Theory of operation. `read` gives the agent one reading of `live`, `mark_applied` notes after the decision
that its commit was applied, and the report carries that commit (`liveCommit`) over a restart. `holds` asks
the newest fetched `live`, not that of the pass: an action may have waited for minutes.

Others may write to `live`, and the reconciler's next commit puts back what they changed. Meanwhile the last good
commit stays applied, as it was. So a pool says LiveForeign only after FOREIGN_MS: a reconciler that lives has ended it
by then, and no pool was in trouble.

A host belongs to the fleet whose id its last report names. When gitvirt.yaml names another id, nothing is
applied: all objects here would count as foreign, and would be created a second time.

Owns the last applied commit and the fleet whose objects are on this host. It decides nothing about
objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from poollet.clock import Clock
from poollet.sync.git_sync import GitSync
from poollet.sync.live_policy import LiveRejection, LiveVerdict
from poollet.sync.live_view import LiveView, PoolId
from poollet.sync.report_lease import Grants
from reconciler.gitstore.objects.tree import ObjectId
from schemas.report import Report
from schemas.settings.fleet import FleetSettings

FOREIGN_MS = 30_000  # three times what a reconciler may be away from the remote


@dataclass(frozen=True, slots=True)
class LiveProblem:
    """Why `live` is not applied as its head is; not `is_held`: it is applied all the same."""

    reason: str
    message: str
    is_held: bool


@dataclass(frozen=True, slots=True)
class LiveState:
    """One reading of `live`. No `view`: it is not applied. `problem` says what is wrong, also where it is applied all the same.
    At `recheck_at_ms` it may be another problem although nothing changed."""

    verdict: LiveVerdict
    settings: FleetSettings
    view: LiveView | None
    is_own_fleet: bool
    problem: LiveProblem | None
    recheck_at_ms: int | None = None

    @property
    def is_applied(self) -> bool:
        """Whether orders of this reading may be carried out, and its commit counts as applied."""
        return self.view is not None and self.is_own_fleet

    @property
    def grants(self) -> Grants:
        """Without a `live` nothing is granted. While there is one that is not applied, or has files that cannot be read and may
        grant what no other file does, that is not known."""
        if self.view is not None:
            return self.view.grants if self.view.grants or not self.view.unread else None
        is_first = (
            self.verdict.hold is LiveRejection.MISSING
            and self.problem is not None
            and not self.problem.is_held
        )
        return {} if is_first else None


class LiveSync:
    """Call `holds` from any thread, the rest from the agent's."""

    def __init__(self, git: GitSync, pools: Iterable[PoolId], report_ref: str, clock: Clock) -> None:
        self.git = git
        self.last_applied: ObjectId | None = None
        self.fleet = ""  # whose the objects on this host are
        self._pools = frozenset(pools)
        self._report_ref, self._clock = report_ref, clock
        self._foreign_until_ms: int | None = None  # until then a foreign head is not reported
        self._uids: frozenset[str] = frozenset()
        self._orders: LiveView | None = None  # the newest that was read: preconditions are asked of it

    def start(self, last: Report) -> None:
        """From the last report of this host; an empty one the first time."""
        self.last_applied = last.poollet.live_commit if last.poollet else None
        self.fleet = last.poollet.fleet if last.poollet else ""

    def read(self, uids: frozenset[str]) -> LiveState | None:
        """`uids` of the objects that are on this host. None before the remote was seen, and without settings. Call it with the lock."""
        self._uids = uids
        verdict = self.git.follow(self.last_applied)
        if verdict is None:
            return None
        view = self._view(verdict)
        if view is not None:
            self._orders = view
        settings = self.git.live.settings
        if settings is None:
            return None
        self.fleet = self.fleet or settings.fleet.id
        is_own = settings.fleet.id == self.fleet
        problem = _problem(verdict, self.last_applied) if is_own else self._other_fleet(settings)
        recheck_at_ms = self._time_foreign(verdict)
        if is_own and recheck_at_ms is not None:
            problem = None
        return LiveState(verdict, settings, view, is_own, problem, recheck_at_ms)

    def _time_foreign(self, verdict: LiveVerdict) -> int | None:
        """Until when a foreign head is not reported; None where it is reported, or is not foreign. Without a good commit nothing is applied,
        which is reported at once."""
        if verdict.hold is not LiveRejection.FOREIGN:
            self._foreign_until_ms = None
            return None
        now = self._clock.moment_ms()
        if self._foreign_until_ms is None:
            self._foreign_until_ms = now + FOREIGN_MS if verdict.use is not None else now
        return self._foreign_until_ms if now < self._foreign_until_ms else None

    def contains(self, state: LiveState, commit: ObjectId | None) -> bool:
        """Whether `live` has that commit; of no commit, whether there is a `live`. A commit that the mirror
        lacks is not in it."""
        head = state.verdict.use
        return head is not None and (commit is None or self.git.repo.is_descendant(head, commit))

    def mark_applied(self, state: LiveState) -> None:
        """Only a commit that may be applied becomes the one that later heads have to contain."""
        if state.is_applied:
            self.last_applied = state.verdict.use

    def holds(self, check: Callable[[LiveView], bool]) -> bool:
        """Whether it holds on the newest `live` that was fetched; asked in the thread that is about to make a call."""
        known, orders = self.git.cached_verdict(self.last_applied), self._orders
        if known is not None and orders is not None and known.use == orders.commit:
            # Without the lock, which a decision may hold for long.
            return self._holds(check, known, orders)
        with self.git.live_lock:
            verdict = self.git.follow(self.last_applied)
            if verdict is None or verdict.use is None:
                return False
            if self._orders is None or verdict.use != self._orders.commit:
                self._orders = self._view(verdict) or self._orders
            return self._holds(check, verdict, self._orders)

    def _holds(
        self, check: Callable[[LiveView], bool], verdict: LiveVerdict, orders: LiveView | None
    ) -> bool:
        """The verdict may be newer than the view: then the view says nothing about what `live` orders now,
        and the answer is no."""
        settings = self.git.live.settings
        is_own = settings is not None and settings.fleet.id == self.fleet
        if not verdict.may_apply or not is_own:
            return False
        return orders is not None and orders.commit == verdict.use and check(orders)

    def _view(self, verdict: LiveVerdict) -> LiveView | None:
        """What may be read of `live`; None of one that may not be applied."""
        if verdict.use is None or not verdict.may_apply or not self.git.advance(verdict.use):
            return None
        return self.git.live.view(self._pools, self._uids)

    def _other_fleet(self, settings: FleetSettings) -> LiveProblem:
        """Under another fleet's id all that is here would be foreign, thus missing, and created a second time."""
        return LiveProblem(
            "FleetChanged",
            f"gitvirt.yaml now has fleet.id {settings.fleet.id}, but the objects on this host belong to fleet {self.fleet}. Restore "
            f"fleet.id, or, if the change is intended, stop this poollet, delete {self._report_ref} and start it again.",
            True,
        )


def _problem(verdict: LiveVerdict, last_applied: ObjectId | None) -> LiveProblem | None:
    """None while all is well. Before the first `live` a missing one is a problem that holds nothing back: the
    host may report."""
    if not verdict.message:
        return None
    is_first = verdict.hold is LiveRejection.MISSING and last_applied is None
    reason = verdict.hold or LiveRejection.UNTRUSTED
    return LiveProblem(reason, verdict.message, verdict.hold is not None and not is_first)
