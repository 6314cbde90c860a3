"""What is known of an object that its changes have an effect on: where it runs, who uses it, what it holds. Pure.

Limits: it reads what the World has. What a host would answer now (room for a resize) is not asked: that is decided when the change is applied,
and conditions tell it.
"""

from __future__ import annotations

from reconciler.decide.eviction import consents_to_move, find_bound_volume, is_order_to_move, why_pool_rejects
from reconciler.decide.machine import class_not_offered
from reconciler.world.objects.object_state import ObjectState
from reconciler.world.objects.relations import pin_of
from reconciler.world.view import View
from schemas import live_layout
from schemas.effects.context import EffectContext, VolumeClassPolicy
from schemas.effects.removal import list_local_disks, losses_of_machine
from schemas.kinds import Key, Kind
from schemas.model import Machine, MachineStatus, Object, Volume, VolumeClass, VolumeStatus
from schemas.validate.finding import shorten_list

PLACED = (Kind.MACHINE, Kind.VOLUME)


def find_context(view: View, key: Key, before: Object) -> EffectContext:
    """Of an object as it was `before` the change. What people accept is in the object as it is now."""
    known = view.objects.get(key)
    pool = known.record.pool if known is not None else ""
    now = known.object if known is not None else before
    is_paused = now.metadata.annotations.get(live_layout.PAUSED) == "true"
    if key.kind in PLACED and not pool:
        return EffectContext(key.name, is_created=False)
    match before:
        case Machine():
            return find_machine_context(view, before, known, now)
        case Volume():
            name = before.spec.volume_class_ref.name if before.spec.volume_class_ref else ""
            classes = find_volume_classes(view)
            size = find_actual_bytes(known)
            return EffectContext(
                key.name,
                pool,
                is_paused=is_paused,
                volume_class=name,
                volume_classes=classes,
                actual_bytes=size,
            )
        case _:
            users = [str(user) for user in sorted(view.relations.users.get(key)) if is_placed(view, user)]
            return EffectContext(key.name, is_used=bool(users), users=shorten_list(users))


def find_machine_context(
    view: View, before: Machine, known: ObjectState | None, now: Object
) -> EffectContext:
    """Of a placed machine."""
    key, pool = before.key, known.record.pool if known is not None else ""
    status = known.record.status if known is not None else None
    is_off = before.spec.power == "Off" or (isinstance(status, MachineStatus) and status.state == "Shutdown")
    return EffectContext(
        name=key.name,
        pool=pool,
        assignment=find_assignment(known),
        is_running=not is_off,
        is_paused=now.metadata.annotations.get(live_layout.PAUSED) == "true",
        losses=losses_of_machine(before),
        local_disks=list_local_disks(before),
        volume_classes=find_volume_classes(view),
        leaves_data=bool(find_bound_volume(view, pool, before)),
        accepts_data_loss=isinstance(now, Machine)
        and (now.spec.on_pool_lost == "Replace" or consents_to_move(now, find_assignment(known))),
        pin_obstacle=find_pin_obstacle(view, key, pool, now),
        class_obstacle=find_class_obstacle(view, pool, now),
        actual_class=has.name if (has := getattr(status, "machine_class_ref", None)) is not None else "",
    )


def find_assignment(known: ObjectState | None) -> str:
    """Its id; empty for what is not placed."""
    assignment = known.record.assignment if known is not None else None
    return assignment.id if assignment is not None else ""


def find_actual_bytes(known: ObjectState | None) -> int | None:
    """The size of a volume that its host reported last."""
    status = known.record.status if known is not None else None
    size = status.resources.get("storage") if isinstance(status, VolumeStatus) else None
    return None if size is None else size.ceil()


def find_pin_obstacle(view: View, key: Key, pool: str, now: Object) -> str:
    """Why the pool that the machine is pinned to cannot take it at this moment; empty for one that stays or may go."""
    pin = pin_of(now) if isinstance(now, Machine) else ""
    if not isinstance(now, Machine) or not is_order_to_move(pool, pin):
        return ""
    return why_pool_rejects(view, key, now, pin)


def find_class_obstacle(view: View, pool: str, now: Object) -> str:
    """Why the pool of a machine cannot give it the class that it has now; empty where it offers the class."""
    state = view.find_pool(Key(Kind.MACHINE_POOL, "", pool))
    return class_not_offered(now, state) if isinstance(now, Machine) and state is not None else ""


def find_volume_classes(view: View) -> dict[str, VolumeClassPolicy]:
    """All that are known; a fleet has few."""
    names = view.offers[Kind.VOLUME_POOL].classes
    return {
        name: VolumeClassPolicy(found.object.resize_policy, found.source.path if found.source else "")
        for name in names
        if (found := view.objects.get(Key(Kind.VOLUME_CLASS, "", name))) is not None
        and isinstance(found.object, VolumeClass)
    }


def is_placed(view: View, key: Key) -> bool:
    """Whether something may exist on a host that was made with it: a placed object, or an interface of a placed machine."""
    known = view.objects.get(key)
    if known is None:
        return False
    if key.kind is Kind.NETWORK_INTERFACE:
        return any(
            is_placed(view, user) for user in view.relations.users.get(key) if user.kind is Kind.MACHINE
        )
    return bool(known.record.pool)
