"""Who refers to whom, and which objects are placed or wait for something: kept up object by object, never by a walk.

Each relation is a function of single ObjectStates (`uses`, `owners`, `pool_of`, `holder_of`, `is_waiting`, ...), turned around
into an index. `Relations.replace` takes out what the old state says and puts in what the new one says, so both must be given
exactly as they were: a state that was changed meanwhile would leave its old entries behind for ever.

One relation depends on two objects: a generated object is absent when its *owner* no longer has the entry. `absences` says
that, after all objects of an update are replaced.

Must never happen: an object is in `absent` whose deletion is ordered already (it would be counted, and approved, twice); one
is missing from `on_pool` that live assigns there (its pool's change would not reach it).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping

from reconciler.world.objects.object_state import ObjectState, Origin
from reconciler.world.record import ASSIGNABLE, DESTROYED, HOST_MOVED, OPEN_REQUEST, PLACED, state_of
from schemas.kinds import Key, Kind
from schemas.model import Machine, MachinePoolStatus, MachineStatus, Object, Volume, VolumePoolStatus
from schemas.validate import Declaration
from schemas.validate.network import canonical_address
from schemas.validate.references import references
from schemas.validate.tree import derived_name, interfaces_of

# The kinds that hosts report, and the kind of pool that has them. A snapshot is on the pool of its volume.
POOL_OF = {
    Kind.MACHINE: Kind.MACHINE_POOL,
    Kind.VOLUME: Kind.VOLUME_POOL,
    Kind.VOLUME_SNAPSHOT: Kind.VOLUME_POOL,
}


class Index:
    """A map from a key, or something else that objects share, to some keys. It costs little where most have one only: a single value is kept without a set around it."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held: dict[Hashable, Key | set[Key]] = {}

    def add(self, at: Hashable, value: Key) -> None:
        found = self._held.get(at)
        if found is None:
            self._held[at] = value
        elif isinstance(found, set):
            found.add(value)
        elif found != value:
            self._held[at] = {found, value}

    def discard(self, at: Hashable, value: Key) -> None:
        found = self._held.get(at)
        if isinstance(found, set):
            found.discard(value)
            if not found:
                del self._held[at]
        elif found == value:
            del self._held[at]

    def get(self, at: Hashable) -> Collection[Key]:
        found = self._held.get(at)
        if found is None:
            return ()
        return found if isinstance(found, set) else (found,)


class Relations:
    """Read by the rules of `decide`; changed by `replace` alone, but for `absent`, which `absences` changes too.

    An index may name keys that are in no document: a reference to what does not exist is in `users` until it does.
    """

    def __init__(self) -> None:
        self.uses: dict[Key, tuple[Key, ...]] = {}
        # Whose documents refer to an object.
        self.users = Index()
        # Whose own text names a pool.
        self.pinned = Index()
        # Interfaces with the same fixed address, and machines whose ephemeral ones have it: see `addresses`.
        self.at_address = Index()
        # Generated objects of an owner.
        self.owned = Index()
        # What live assigns to a pool.
        self.on_pool = Index()
        # Volumes by the machine that their claim names, also when that machine does not ask for them any more.
        self.held = Index()
        # To be placed, and assigned to no pool, or to come back after an undo; `rejected` are those of them that some pool refused.
        self.waiting: set[Key] = set()
        self.rejected: set[Key] = set()
        # With an eviction order on live.
        self.evicting: set[Key] = set()
        # With an assignment that ended, and none that its pool has confirmed since.
        self.unconfirmed: set[Key] = set()
        # Machines with the order to stop, also those that are declared again and wait.
        self.kept: set[Key] = set()
        # On live, gone from the source or from their owner, and their deletion is not ordered yet.
        self.absent: set[Key] = set()
        # Those of each kind whose deletion live orders.
        self.leaving: dict[Kind, set[Key]] = {kind: set() for kind in Kind}
        # Pools with a request of people that still waits, or with a condition that answers one.
        self.pool_requests: set[Key] = set()
        # Machines that people pin to another pool than theirs.
        self.astray: set[Key] = set()
        # Objects of each kind on live.
        self.live_counts: Counter[Kind] = Counter()
        # The same by state, for kinds that have one.
        self.state_counts: Counter[tuple[Kind, str]] = Counter()

    def replace(self, before: ObjectState | None, after: ObjectState | None) -> None:
        if before is not None:
            self._take_out(before)
        if after is not None:
            self._put_in(after)

    def _take_out(self, known: ObjectState) -> None:
        key = known.key
        for used in self.uses.pop(key, ()):
            self.users.discard(used, key)
        for index, at in self._entries(known):
            index.discard(at, key)
        self.waiting.discard(key)
        self.evicting.discard(key)
        self.unconfirmed.discard(key)
        self.kept.discard(key)
        self.absent.discard(key)
        self.astray.discard(key)
        self.pool_requests.discard(key)
        self.rejected.discard(key)
        self.leaving[key.kind].discard(key)
        self._count(known, -1)

    def _put_in(self, known: ObjectState) -> None:
        key, record = known.key, known.record
        self.uses[key] = tuple(uses(known))
        for used in self.uses[key]:
            self.users.add(used, key)
        for index, at in self._entries(known):
            index.add(at, key)
        if is_waiting(known):
            self.waiting.add(key)
            if isinstance(record.status, PLACED) and record.status.rejections:
                self.rejected.add(key)
        if has_open_request(known):
            self.pool_requests.add(key)
        if is_astray(known):
            self.astray.add(key)
        if isinstance(record.status, PLACED) and record.status.evict is not None:
            self.evicting.add(key)
        if isinstance(record.status, MachineStatus) and record.status.previous_assignment is not None:
            self.unconfirmed.add(key)
        if record.undo is not None:
            self.kept.add(key)
        if record.is_deleting:
            self.leaving[key.kind].add(key)
        elif known.origin is Origin.LEAVING:
            self.absent.add(key)
        self._count(known, 1)

    def _count(self, known: ObjectState, by: int) -> None:
        if known.live is None:
            return
        self.live_counts[known.key.kind] += by
        if state := state_of(known.record):
            self.state_counts[known.key.kind, state] += by

    def _entries(self, known: ObjectState) -> Iterator[tuple[Index, Hashable]]:
        """The indexes that contain the object, besides those of its references."""
        if pin := pinned_pool(known):
            yield self.pinned, pin
        for address in addresses(known):
            yield self.at_address, address
        for owner in owners(known):
            yield self.owned, owner
        if pool := pool_of(known):
            yield self.on_pool, pool
        if holder := holder_of(known):
            yield self.held, holder


def uses(known: ObjectState) -> set[Key]:
    """What the object refers to, and the generated objects that its ephemeral entries become, whether or not these exist."""
    key, object = known.key, known.object
    place = known.source or known.live
    entry = Declaration(place.path if place else "", 0, key, object)
    found = {Key(each.kind, each.namespace, each.name) for each in references(entry)}
    if isinstance(object, Machine):
        found.update(generated_of(object))
    return found


def generated_of(machine: Machine) -> Iterator[Key]:
    """The keys of the objects that a machine's ephemeral entries generate."""
    namespace = machine.namespace
    for volume in machine.spec.volumes:
        if volume.ephemeral:
            yield Key(Kind.VOLUME, namespace, derived_name(machine, volume.name))
    for interface in machine.spec.network_interfaces:
        if interface.ephemeral:
            yield Key(Kind.NETWORK_INTERFACE, namespace, derived_name(machine, interface.name))


def owners(known: ObjectState) -> Iterator[Key]:
    """The keys that an object's owner references name, in its own namespace. `_has` tells whether an owner is the same object."""
    for owner in known.record.owners:
        if owner.kind in Kind._value2member_map_:
            kind = Kind(owner.kind)
            yield Key(kind, known.key.namespace if kind.is_namespaced else "", owner.name)


def pool_of(known: ObjectState) -> Key | None:
    """The pool that live assigns it to; for a snapshot that of its volume, which it keeps when the volume goes."""
    kind = POOL_OF.get(known.key.kind)
    return Key(kind, "", known.record.pool) if kind is not None and known.record.pool else None


def holder_of(known: ObjectState) -> Key | None:
    """The machine that holds the volume, even if that machine no longer names it."""
    claim = known.record.claim
    return None if claim is None else Key(Kind.MACHINE, known.key.namespace, claim.name)


def is_waiting(known: ObjectState) -> bool:
    """Whether the object waits for a pool, or for room on its own one to come back. A volume that is provided from outside has no pool."""
    if known.record.undo is not None:
        return known.is_active
    if known.key.kind not in ASSIGNABLE or known.record.pool or not known.is_active:
        return False
    object = known.object
    return not isinstance(object, Volume) or object.spec.volume_class_ref is not None


def is_astray(known: ObjectState) -> bool:
    """Whether people pin a machine to a pool that it is not assigned to, which asks for a move.

    Only a declared object can be: in a text of live the reference is the reconciler's own.
    """
    if known.origin is not Origin.DECLARED or known.key.kind is not Kind.MACHINE or not known.record.pool:
        return False
    return pin_of(known.object) not in ("", known.record.pool)


def pin_of(object: Object) -> str:
    """The pool that the text of a machine or a volume names, or nothing. A pin only in a text of the source."""
    match object:
        case Machine():
            pin = object.spec.machine_pool_ref
        case Volume():
            pin = object.spec.volume_pool_ref
        case _:
            return ""
    return pin.name if pin is not None else ""


def declared_pin(known: ObjectState) -> str:
    """The pool that people pin it to. In a text of live the reference is the reconciler's own while anything is assigned."""
    if known.origin is not Origin.DECLARED and known.record.pool:
        return ""
    return pin_of(known.object)


def pinned_pool(known: ObjectState) -> Key | None:
    """The pool that the object's text names, whether or not that pool is declared."""
    pin = pin_of(known.object)
    return Key(POOL_OF[known.key.kind], "", pin) if pin else None


def addresses(known: ObjectState) -> Iterator[tuple[str, ...]]:
    """The fixed addresses of an interface, or of a machine's ephemeral ones. A MAC address counts in the whole fleet, any other
    one in its network."""
    if known.key.kind not in (Kind.MACHINE, Kind.NETWORK_INTERFACE):
        return
    for source in interfaces_of(Declaration("", 0, known.key, known.object)):
        network = known.key.namespace, source.spec.network_ref.name
        yield from ((*network, canonical_address(ip.value)) for ip in source.spec.ips if ip.value)
        if source.spec.mac_address:
            yield (source.spec.mac_address.lower(),)


def has_open_request(known: ObjectState) -> bool:
    """Whether a pool's status has a request (Pool-Destroyed, Pool-Host) that waits until its host's heartbeat expires, or a condition that
    says why one had no effect."""
    status = known.record.status
    if not isinstance(status, MachinePoolStatus | VolumePoolStatus):
        return False
    shown = (known.record.condition(type) for type in (DESTROYED, HOST_MOVED))
    return any(
        each is not None and each.state in OPEN_REQUEST for each in (status.destroyed, status.move)
    ) or any(each is not None and each.status == "False" for each in shown)


def keys_related_to(known: ObjectState, relations: Relations) -> Iterator[Collection[Key]]:
    """The keys to decide again when the object changed: its users, objects that it alone uses, its owner, and objects that it owns.

    Its class and its network are not among them. They have very many users, and do not depend on them.
    """
    key = known.key
    yield relations.users.get(key)
    yield relations.owned.get(key)
    yield relations.held.get(key)
    yield tuple(owners(known))
    yield [used for used in uses(known) if used.kind in (Kind.VOLUME, Kind.NETWORK_INTERFACE, Kind.SECRET)]


def absences(changed: Iterable[Key], known: Mapping[Key, ObjectState], relations: Relations) -> None:
    """Decides which generated objects are absent: those that changed, and those whose owner changed.

    Absent is one of which no owner that stays has the entry. An owner that cannot be read is frozen and still has it.
    """
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
    """Whether the owner still has the entry and is still the same object: an owner that was recreated is another one."""
    if owner is None or owner.record.is_deleting or one.key not in uses(owner):
        return False
    return any(each.uid == owner.record.uid for each in one.record.owners if each.name == owner.key.name)
