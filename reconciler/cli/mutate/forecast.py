"""What the reconciler would do about a commit that a verb is about to make: its own plan, of the fleet with that commit laid over it in memory.

Nothing is pushed, and nothing is decided here: a verb that guessed by itself which guards apply would promise what they prevent.

Limits: a forecast of this moment. Other commits may come before the next tick.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from reconciler.cli.fleet_repo import FleetRepo
from reconciler.cli.mutate.output import FileEdit
from reconciler.cli.plans.plan_input import PlanInput
from reconciler.decide.decide import make_plan
from reconciler.decide.deletion import IN_USE
from reconciler.gitstore.approval import approve_command
from reconciler.gitstore.memory import MemoryObjects, MemoryRemote, MemoryTransport
from reconciler.gitstore.repo import Draft, Identity, Snapshot
from reconciler.gitstore.store import Store
from reconciler.plan.types import PendingApproval, Plan
from reconciler.world.world import World
from schemas.kinds import Key

PLANNER = Identity("gitvirt", "")


def forecast_plan(fleet: FleetRepo, edits: Sequence[FileEdit], now: datetime) -> Plan | None:
    """The plan of the next tick if these edits were on the source branch. None before there is a target branch."""
    seen = forecast(fleet, edits, now)
    return make_plan(seen.world, seen.advance, now) if seen is not None else None


def forecast(fleet: FleetRepo, edits: Sequence[FileEdit], now: datetime) -> PlanInput | None:
    """What the next tick would see. The fleet was opened with all reports."""
    if fleet.snapshot.source is None or fleet.snapshot.target is None:
        return None
    repo, after = lay_over(fleet, edits, now)
    world = World(os.environ)
    world.assumes_signed = True  # who merges it signs it
    return PlanInput(repo, world, world.advance(repo, after, now), now)


def lay_over(fleet: FleetRepo, edits: Sequence[FileEdit], now: datetime) -> tuple[Store, Snapshot]:
    """The fleet in memory, with a commit of these edits on its source branch."""
    snapshot = fleet.snapshot
    source, reports = fleet.refs.source or "", fleet.refs.reports
    assert isinstance(fleet.repo, Store), "a fleet that is named is read through a mirror"
    assert isinstance(reports, str), "the fleet was opened with all reports"
    remote = MemoryRemote(source, fallback=fleet.repo.look_up)
    heads = {source: snapshot.source, fleet.refs.target or "": snapshot.target}
    remote.refs = {ref: head for ref, head in heads.items() if head is not None}
    remote.refs |= {reports + name: commit for name, commit in snapshot.reports.items()}
    objects = MemoryObjects(remote)
    repo = Store(objects, MemoryTransport(objects), fleet.refs)
    repo.snapshot()
    changed = {each.path: each.after for each in edits}
    repo.write(
        [
            Draft(
                ref=source,
                expected=snapshot.source,
                base=snapshot.source,
                edits=changed,
                message="forecast",
                author=PLANNER,
                time=now,
            )
        ]
    )
    after = repo.snapshot()
    assert isinstance(after, Snapshot), "memory always answers"
    return repo, after


def find_held(fleet: FleetRepo, edits: Sequence[FileEdit], keys: Sequence[Key]) -> Mapping[Key, str]:
    """Which of these objects would not be deleted by these edits, with what holds each and what frees it."""
    plan = forecast_plan(fleet, edits, datetime.now(UTC))
    pending = plan.pending_approvals if plan is not None else ()
    return {key: describe_hold(each, key) for each in pending for key in each.keys if key in keys}


def describe_hold(pending: PendingApproval, key: Key) -> str:
    if pending.digest:
        return f"awaits approval: {pending.reason}; `{approve_command(pending.digest)}` approves it"
    if pending.cause == IN_USE:
        return (
            f"stays for now: {pending.reason}; it is deleted once they are deleted, or use another {key.kind}"
        )
    return f"stays for now: {pending.reason}"
