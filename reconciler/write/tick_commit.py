"""From an updated World to its Plan and its Draft: what a tick writes, and what it would have written when it is computed again.

A tick and a replay call the same two functions. What differs between them is in the World (`world.verdicts`) and in the arguments.

Limits: decides nothing of its own, and does not push.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import datetime

from reconciler.decide.decide import make_plan
from reconciler.decide.placement.offers import NO_OFFERS, OfferDesk
from reconciler.gitstore.live_recovery import RECOVERED_TRAILER
from reconciler.gitstore.objects.commit import RECONCILER_TRAILER
from reconciler.gitstore.repo import Identity, Repo
from reconciler.plan.types import Plan
from reconciler.world.changes import WorldChanges
from reconciler.world.world import World
from reconciler.write.drafting import Signing, Written, draft, draft_void
from reconciler.write.source_documents import read_source_changes


@dataclass(frozen=True, slots=True)
class CommitIdentity:
    """Who reconciles, as the commits say it.

    `name` goes into a trailer of each commit, so that people see which of several reconcilers wrote it. No decision reads it."""

    name: str = ""
    author: Identity = field(default_factory=lambda: Identity("gitvirt", "gitvirt@localhost"))


@dataclass(frozen=True, slots=True)
class CommitInputs:
    """What a commit is made of besides the World and the Plan. `target` is the full name of the ref. `is_unanswered`: an earlier push may
    still land, so live must move."""

    who: CommitIdentity
    target: str
    now: datetime
    paths: Collection[str] = ()
    is_unanswered: bool = False


def plan_commit(
    repo: Repo, world: World, changes: WorldChanges, now: datetime, desk: OfferDesk = NO_OFFERS
) -> Plan:
    """The plan, with what people changed since the last one."""
    plan = make_plan(world, changes, now, desk)
    if world.is_news and world.last is not None:
        plan = replace(plan, source_changes=read_source_changes(repo, world))
    return plan


def draft_commit(repo: Repo, world: World, plan: Plan, of: CommitInputs) -> Written:
    """The one commit of the plan."""
    signing = Signing(
        of.who.author,
        of.now,
        world.rules.settings.branches.source,
        of.target,
        (*((RECONCILER_TRAILER, of.who.name),) * bool(of.who.name), *_recovered_trailers(world)),
    )
    written = draft(plan, world, of.paths, repo.read, signing)
    if written.draft is None and of.is_unanswered and world.live_commit is not None:
        return Written(draft_void(world, signing), written.problems)
    return written


def _recovered_trailers(world: World) -> tuple[tuple[str, str], ...]:
    """Makes the commit that ends a lost or rewound `live` its recovery: each missing commit that was applied."""
    commits = world.rewind.commits if world.is_live_lost else frozenset[str]()
    return tuple((RECOVERED_TRAILER, commit) for commit in sorted(commits))
