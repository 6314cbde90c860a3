"""Last step of an update: errors that validation finds, and further objects that the changes concern.

Comes last because it only reads. A fault never changes an object or a relation; it makes the object dirty, and `decide` then
does not act on what the source newly says of it.

The second half says how far a change spreads: one step along references, in both directions. `decide.affected_keys` adds what
is decided together with it; what is further away becomes dirty when an object between them changes in turn.
"""

from __future__ import annotations

from reconciler.world.objects.object_state import ObjectState
from reconciler.world.objects.relations import keys_related_to
from reconciler.world.objects.validation import find_concerned_keys, find_errors
from reconciler.world.state import State
from reconciler.world.update.delta import POOL_OF_CLASS, Changed, Delta
from schemas.kinds import Key, Kind
from schemas.model import Machine

WIDELY_USED = frozenset({*POOL_OF_CLASS, Kind.NETWORK, Kind.SECRET})


def validate_changes(state: State, touched: set[Key], changed: Changed, has_new_rules: bool) -> Delta:
    """Finds errors of what is touched again, and notes those that changed. Touched, not only changed: a second document of a
    key leaves the object as it is, and is an error of it all the same.
    """
    delta = Delta()
    if state.is_fresh or has_new_rules:
        keys = {*state.objects, *state.faults}
    else:
        keys = find_concerned_keys(touched, changed, state.relations)
    found = find_errors(keys, state.objects, state.relations, state.source, state.stopped)
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
    """The changed objects, and further objects that the changes concern.

    What very many refer to (classes, networks, secrets) spreads only when its content changed or it came or went, not when
    its status did: else each status of a network would make every machine dirty.
    """
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
