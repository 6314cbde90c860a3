"""Last step of an update: what validation finds, and whom else all these changes concern."""

from __future__ import annotations

from reconciler.world.objects.object_state import ObjectState
from reconciler.world.objects.relations import keys_related_to
from reconciler.world.objects.validation import find_errors, keys_concerned
from reconciler.world.state import State
from reconciler.world.update.delta import POOL_OF_CLASS, Changed, Delta
from schemas.kinds import Key, Kind
from schemas.model import Machine

WIDELY_USED = frozenset({*POOL_OF_CLASS, Kind.NETWORK, Kind.SECRET})


def validate_changes(state: State, touched: set[Key], changed: Changed, has_new_rules: bool) -> Delta:
    """A second document of an identity changes nothing that is known of the object, and is held against it."""
    delta = Delta()
    if state.is_fresh or has_new_rules:
        keys = {*state.objects, *state.faults}
    else:
        keys = keys_concerned({*touched, *changed}, state.objects, state.relations)
    found = find_errors(keys, state.objects, state.relations, state.source)
    for key in keys:
        before, after = state.faults.get(key, ()), found.get(key, ())
        if before == after:
            continue
        delta.dirty.add(key)
        state.problems = None
        if after:
            state.faults[key] = after
        else:
            del state.faults[key]
    return delta


def spread_changes(state: State, changed: Changed, frees_room: bool) -> set[Key]:
    """Whom the changes concern besides the objects themselves."""
    dirty: set[Key] = set()
    for key, (before, after) in changed.items():
        if before is after:
            continue
        dirty.add(key)
        frees_room |= makes_way(before, after)
        is_same_to_users = before is not None and after is not None and before.object == after.object
        if key.kind in WIDELY_USED and is_same_to_users and before.origin is after.origin:  # type: ignore[union-attr]
            continue
        for known in (before, after):
            if known is not None:
                for keys in keys_related_to(known, state.relations):
                    dirty.update(keys)
    if frees_room:
        dirty |= state.relations.waiting
    # Few, and whether they may go to their pool depends on which other machines go there.
    return dirty | state.relations.astray


def makes_way(before: ObjectState | None, after: ObjectState | None) -> bool:
    """Whether a placed machine may hinder fewer than it did of those that ask for distance or an even spread."""
    if before is None or not before.record.pool or not isinstance(before.object, Machine):
        return False
    if after is None or not isinstance(after.object, Machine):
        return True
    is_same = before.object.metadata.labels == after.object.metadata.labels
    return not is_same or before.object.spec.anti_affinity != after.object.spec.anti_affinity
