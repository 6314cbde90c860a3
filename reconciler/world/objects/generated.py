"""Generated objects live as long as their owner has an entry for them. Keeps `absent` true of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from reconciler.world.objects.object_state import ObjectState, Origin
from reconciler.world.objects.relations import Relations, owners, uses
from schemas.kinds import Key


def absences(changed: Iterable[Key], known: Mapping[Key, ObjectState], relations: Relations) -> None:
    keys = set()
    for key in changed:
        keys.add(key)
        keys.update(relations.owned.get(key))
    for key in keys:
        one = known.get(key)
        if one is None or one.origin is not Origin.GENERATED or one.record.is_deleting:
            continue
        if any(_has(known.get(owner), one) for owner in owners(one)):
            relations.absent.discard(key)
        else:
            relations.absent.add(key)


def _has(owner: ObjectState | None, one: ObjectState) -> bool:
    """An owner of the same name that was created again is another one."""
    if owner is None or owner.record.is_deleting or one.key not in uses(owner):
        return False
    return any(each.uid == owner.record.uid for each in one.record.owners if each.name == owner.key.name)
