"""Who uses what: machines their volumes and interfaces, all kinds their classes, secrets and networks. Pure look-ups.

By the indexes of `View.relations`, never by a walk over all objects: what a look-up costs depends on the object's own users.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from reconciler.world.objects.object_state import ObjectState
from reconciler.world.objects.relations import generated_of, pool_of, uses
from reconciler.world.view import View
from schemas.kinds import Key, Kind
from schemas.model import Machine
from schemas.validate.tree import derived_name


def volumes_of(machine: Machine) -> Iterator[Key]:
    """Volumes that its entries name or generate, in the order of the entries, whether or not they exist. A local disk is not a volume."""
    for disk in machine.spec.volumes:
        if disk.volume_ref is not None:
            yield Key(Kind.VOLUME, machine.namespace, disk.volume_ref.name)
        elif disk.ephemeral is not None:
            yield Key(Kind.VOLUME, machine.namespace, derived_name(machine, disk.name))


def interfaces_of(machine: Machine) -> Iterator[Key]:
    """Network interfaces that its entries name or generate, in the order of the entries."""
    for port in machine.spec.network_interfaces:
        name = (
            port.network_interface_ref.name
            if port.network_interface_ref
            else derived_name(machine, port.name)
        )
        yield Key(Kind.NETWORK_INTERFACE, machine.namespace, name)


def owner_of(known: ObjectState) -> Key | None:
    """The machine that a generated object belongs to; None for a declared object."""
    for owner in known.record.owners:
        return Key(Kind(owner.kind), known.key.namespace, owner.name)
    return None


def machines_of(view: View, used: ObjectState) -> tuple[ObjectState, ...]:
    """Those that name the volume or interface, and its owner; sorted by key."""
    keys = {key for key in view.relations.users.get(used.key) if key.kind is Kind.MACHINE}
    if (owner := owner_of(used)) is not None:
        keys.add(owner)
    found = (view.objects.get(key) for key in sorted(keys))
    return tuple(each for each in found if each is not None)


def blocking_users(view: View, known: ObjectState) -> tuple[ObjectState, ...]:
    """All objects that refer to this one, and so keep its document: for a pool, also what is assigned to it.

    A snapshot may outlive its volume, so it is not one of them. An owner is one while an entry of it still generates the object.
    """
    keys = {key for key in view.relations.users.get(known.key) if key.kind is not Kind.VOLUME_SNAPSHOT}
    if known.key.kind in (Kind.MACHINE_POOL, Kind.VOLUME_POOL):
        keys |= set(view.relations.on_pool.get(known.key))
    if (owner := owner_of(known)) is not None:
        keys.add(owner)
    found = (view.objects.get(key) for key in sorted(keys - {known.key}))
    return tuple(
        each for each in found if each is not None and (each.key != owner or has_entry(each, known.key))
    )


def has_entry(owner: ObjectState, generated: Key) -> bool:
    """Whether an entry of the machine is that object."""
    return isinstance(owner.object, Machine) and generated in generated_of(owner.object)


def find_needed(view: View, staying: Collection[Key]) -> Mapping[Key, Key]:
    """What else is absent and needed by what stays on `live` for now, with the object that needs it."""
    needed: dict[Key, Key] = {}
    waiting = [(key, key) for key in sorted(staying, reverse=True)]
    while waiting:
        key, user = waiting.pop()
        for each in used_by(view, view.objects[key]):
            if each in view.relations.absent and each not in needed and each not in staying:
                needed[each] = user
                waiting.append((each, user))
    return needed


def used_by(view: View, known: ObjectState) -> Iterator[Key]:
    """What it refers to, the pool that it is on, and the objects that it generated, with what those use."""
    yield from uses(known)
    pool = pool_of(known)
    if pool is not None:
        yield pool
    for each in view.relations.owned.get(known.key):
        yield from used_by(view, view.objects[each])


def list_users(users: tuple[ObjectState, ...]) -> str:
    """For a message: the first three, and how many more there are."""
    first = ", ".join(str(each.key) for each in users[:3])
    return first if len(users) <= 3 else f"{first} and {len(users) - 3} more"
