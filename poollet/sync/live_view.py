"""The target branch as the poollet looks at it: the documents that concern its own pools, and those that they refer to.

Says which document is which; reads no repository and decides nothing about the objects.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from poollet.sync.volume_users import VolumeUsers
from schemas import live_layout
from schemas.kinds import Key, Kind
from schemas.model import Machine, MachinePool, Object, Volume, VolumePool, VolumeSnapshot

PoolId = tuple[Kind, str]
Pools = Collection[PoolId]


@dataclass(frozen=True, slots=True)
class PoolGrant:
    """The only host that may act on a pool's assignments, and the number of that grant: it grows with each. `answered` is what that host
    asked for last."""

    host: str
    epoch: int
    answered: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class LiveDocument:
    """One document and where it is: its path says whether it is current, deleting, or retained."""

    path: str
    object: Object

    @property
    def is_retained(self) -> bool:
        """Kept although it left the source: it is not removed."""
        return self.path.startswith(live_layout.RETAINED)


@dataclass(frozen=True, slots=True)
class OrphanOrder:
    """An order by people to remove an orphan: `.gitvirt/orphans/<uid>.yaml`, which names the pool that reported it."""

    uid: str
    pool: str


class Lookup(Protocol):
    """What references lead to; a dict is one."""

    def get(self, key: Key, /) -> Object | None: ...


@dataclass(frozen=True)
class LiveView:
    """`objects` is what references lead to. `mine` are the documents that are assigned to this poollet's pools, several of one name
    included, and those of objects that are on this host, wherever they are assigned. `grants` are those of its pools that
    `live` grants to a host.

    `unread` names paths that are there and cannot be read: what they say is unknown, so nothing counts as unordered.
    """

    commit: str
    objects: Lookup = field(default_factory=dict[Key, Object])
    mine: tuple[LiveDocument, ...] = ()
    grants: Mapping[PoolId, PoolGrant] = field(default_factory=dict)
    orphan_orders: tuple[OrphanOrder, ...] = ()
    unread: tuple[str, ...] = ()
    volume_users: VolumeUsers = field(default_factory=VolumeUsers)

    @cached_property
    def by_uid(self) -> Mapping[str, tuple[LiveDocument, ...]]:
        """`mine`; several documents of one uid contradict each other."""
        found: dict[str, tuple[LiveDocument, ...]] = {}
        for document in self.mine:
            uid = document.object.metadata.uid
            found[uid] = (*found.get(uid, ()), document)
        return found


def is_current(path: str, object: Object) -> bool:
    """Whether a document at this path may be the one that its name refers to. One in `deleting/` may until its deletion is ordered: while
    that is held, machines still use the volume, the class or the network."""
    if path.startswith(live_layout.DELETING):
        return not object.metadata.is_deleting
    return not path.startswith(live_layout.RETAINED)


def assigned_pool(object: Object) -> PoolId | None:
    """The pool that the object is assigned to."""
    if not isinstance(object, Machine | Volume | VolumeSnapshot) or object.status.assignment is None:
        return None
    kind = Kind.MACHINE_POOL if isinstance(object, Machine) else Kind.VOLUME_POOL
    return kind, object.status.assignment.pool


def grants_of(objects: Lookup, pools: Pools) -> dict[PoolId, PoolGrant]:
    """The grants of these pools. A pool without a document or without a host has none: nothing of it is acted
    on. One whose deletion is ordered still has its grant, or what is to be deleted on it would stay for ever."""
    found: dict[PoolId, PoolGrant] = {}
    for kind, name in pools:
        pool = objects.get(Key(kind, "", name))
        if isinstance(pool, MachinePool | VolumePool) and pool.status.host is not None:
            found[kind, name] = PoolGrant(pool.status.host.id, pool.status.epoch, pool.status.host.answered)
    return found
