"""One update of the World, from one snapshot to the next, at the cost of what changed.

Theory of operation
-------------------
The State is changed in place, in five steps whose order matters. Each returns a Delta of what it changed.

    step              reads                                      changes in the State               needs before it
    load_files        commits, blobs that differ                 head, rules, source, live          -
    load_reports      report refs that moved, the clock          reports, heartbeats                rules: whose reports count
    resolve_objects   documents of the touched keys              known, relations, frozen files     both loads
    account_changes   changed objects, announcements, orphans    ledger, offers, pools, orphans     known: grants are on pools
    validate_changes  changed objects and who refers to them     errors by object                   known, relations

A freeze feeds back once: resolve, judge the files that may change immutable fields, freeze those that do, resolve the keys
in them again. What is dirty after all five is what a decision may come out differently for; on the first update that is
everything.

Must never happen: a step reads what a later step is about to change; an update fails halfway and its State is used on (the
World drops it then); the State after many small updates differs from that of one update from nothing (a law of the tests).
"""

from __future__ import annotations

from reconciler.world.state import State
from reconciler.world.update.account import account_changes
from reconciler.world.update.delta import Delta, UpdateInputs
from reconciler.world.update.load_files import load_files
from reconciler.world.update.load_reports import load_reports
from reconciler.world.update.resolve import resolve_objects
from reconciler.world.update.validate import spread_changes, validate_changes

__all__ = ["Delta", "UpdateInputs", "update_world"]


def update_world(state: State, inputs: UpdateInputs) -> Delta:
    delta = load_files(state, inputs)
    delta.add(load_reports(state, inputs, delta.has_new_rules))
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
