"""A reconciler that computes each of its commits again before it pushes it: from its verdicts alone, in Worlds that know nothing else.

Two Worlds do so. One is new for each commit, and one goes from commit to commit, as `gitvirt audit verify` does. Both must draft the same
commit, byte for byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from reconciler.decide.placement.offers import RecordedOffers
from reconciler.gitstore.repo import Draft
from reconciler.loop.outcome import Outcome
from reconciler.loop.tick import Reconciler
from reconciler.loop.tick_offers import TickOffers
from reconciler.plan.types import Plan
from reconciler.world.changes import WorldChanges
from reconciler.world.replay_world import ReplayWorld
from reconciler.world.tick_verdicts import collect_verdicts
from reconciler.world.verdicts import Verdicts
from reconciler.write.drafting import Written
from reconciler.write.tick_commit import CommitInputs, draft_commit, plan_commit


class ReplayedReconciler(Reconciler):
    """`replays` counts the commits."""

    replays = 0
    stepwise: ReplayWorld | None = None

    def _plan(self, advance: WorldChanges, now: datetime, offers: TickOffers) -> Plan:
        self.planned, self.offers = (advance, now), offers
        return super()._plan(advance, now, offers)

    def _write(self, plan: Plan, written: Written, drafts: Sequence[Draft]) -> Outcome:
        if written.draft is not None:
            advance, now = self.planned
            given = collect_verdicts(self.world)
            self.stepwise = self.stepwise or ReplayWorld()
            for world in (ReplayWorld(), self.stepwise):
                again = self._compute(world, given, advance, now)
                assert again == written.draft
            self.replays += 1
        return super()._write(plan, written, drafts)

    def _compute(
        self, world: ReplayWorld, given: Verdicts, advance: WorldChanges, now: datetime
    ) -> Draft | None:
        changes = world.replay(self.repo, self.world.heads, now, given)
        again = RecordedOffers(self.offers.rounds)
        plan = plan_commit(self.repo, world, replace(changes, dirty=advance.dirty), now, again)
        of = CommitInputs(
            self.who,
            self.refs.target or "",
            now,
            advance.source_paths | advance.live_paths,
            self._unanswered is not None,
        )
        return draft_commit(self.repo, world, plan, of).draft
