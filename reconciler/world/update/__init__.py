"""One update of the World, from one snapshot to the next, at the cost of what changed.

Theory of operation
-------------------
The State is changed in place, in six steps whose order matters. Each returns a Delta of what it changed.

    step              reads                                    changes in the State                     needs before it
    load_files        commits, blobs that differ               head, rules, source, news, live,         -
                                                               retained_volumes and their charges
    load_reports      report refs that moved, `now`            reports, heartbeats                      rules: whose reports count
    judge_live        history of live                          rewind, recoveries, live_seen            both loads
    resolve_objects   documents of the touched keys            objects, relations, population, held     both loads
    account_changes   changed objects, announcements,          offers, quotas, ledger, pools_by_kind,   objects: a pool's document
                      orphans                                  orphaned                                 has its grant
    validate_changes  changed objects, who refers to them      faults                                   objects, relations

Keys go through the steps in three sets. *Touched* are those with another document or report. *Changed* are the touched ones
whose ObjectState is not as it was. *Dirty* is everything that a decision may come out differently for: what changed, what
refers to it or waits for room that it gave back, and what is reported about differently. On the first update all is dirty.

A freeze feeds back once: resolve, judge the files that may change immutable fields, freeze those that do, resolve the keys
in them again. A second time would change nothing, because a file is judged against `live`, which a freeze does not change.

Must never happen: a step decides by what a later step is about to change (the loads look into the pools of the last update
only to name keys, which are then resolved again); an update fails halfway and its State is used on (the World drops it
then); the State after many small updates differs from that of one update from nothing (a law of the tests).

Limits: writes into the State and into nothing else. Only the first three steps read blobs; the last two compute from the
State alone. No step knows the plan that the last tick made.
"""

from __future__ import annotations

from reconciler.world.state import State
from reconciler.world.update.account import account_changes
from reconciler.world.update.delta import Delta, UpdateInputs
from reconciler.world.update.judge_live import judge_live
from reconciler.world.update.load_files import load_files
from reconciler.world.update.load_reports import load_reports
from reconciler.world.update.resolve import resolve_objects
from reconciler.world.update.validate import spread_changes, validate_changes

__all__ = ["Delta", "UpdateInputs", "update_world"]


def update_world(state: State, inputs: UpdateInputs) -> Delta:
    """Brings the State to `inputs.snapshot`. When it raises, the State is in between two snapshots and must be dropped."""
    delta = load_files(state, inputs)
    delta.add(load_reports(state, inputs, delta.has_new_rules))
    delta.add(judge_live(state, inputs))
    changed, resolved = resolve_objects(state, inputs.repo, delta)
    delta.add(resolved)
    delta.add(account_changes(state, changed))
    delta.add(validate_changes(state, delta.touched, changed, delta.has_new_rules))
    if state.is_fresh:
        delta.dirty = set(state.objects)
    else:
        delta.dirty |= spread_changes(state, changed, delta.frees_room)
    state.is_fresh = False
    return delta
