"""What the scheduler is asked: machines with the volumes that must be placed along with them, and the pools there are.

Light, frozen, hashable where it counts: requests that ask for the same are one group.

`reconciler.decide.placement` makes these of the World: `requests` of objects that need a pool, `schedule_input` of pools. Everything that a
placement may depend on is in these fields. A field that is added here and decides something must also be added to the signature of a
request (`scheduler.shape_of`) and, if a static filter reads it, to its sort (`EligibleCache.sort_of`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from schemas.encryption.locks import Lock
from schemas.kinds import Key
from schemas.model.capacity import Vector
from schemas.model.part import Selector, Taint, Toleration

Labels = tuple[tuple[str, str], ...]  # sorted


@dataclass(frozen=True, slots=True)
class AntiAffinityRule:
    """Apart from the machines that `selector` names. Without a topology key: pool by pool."""

    selector: Selector
    topology_key: str = ""
    is_required: bool = True


@dataclass(frozen=True, slots=True)
class SpreadRule:
    """Evenly over the values of a pool label. Required: no value may have more than `max_skew` machines more than the emptiest.
    Else values with fewer machines are preferred, and `max_skew` does not matter."""

    selector: Selector
    topology_key: str
    max_skew: int = 1
    is_required: bool = True


@dataclass(frozen=True, slots=True)
class PastRejection:
    """A pool said no to this object; it is asked again when its backoff is over and the caller leaves this out.

    Requests that differ in the words of a rejection alone are equal: no message decides who is placed first.
    """

    pool: str
    reason: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class SecretNeed:
    """An encrypted Secret that the pool's host has to open. `name` is its namespace and name."""

    name: str
    locks: tuple[Lock, ...]

    def is_open_to(self, recipients: Collection[str]) -> bool:
        """Whether a host with these keys may be able to open it; what a text does not say counts as yes."""
        return all(lock.opens_any(recipients) is not False for lock in self.locks)


@dataclass(frozen=True, slots=True)
class VolumeRequest:
    """A volume that has no pool yet. Its volume class, not its machine, decides which volume pools offer it.

    `entry` is its name in the machine that it is placed with. With a `snapshot`, its data is copied from that, which only the pool that has
    the snapshot can do; a snapshot without a pool is not taken yet.
    """

    key: Key
    volume_class: str
    charge: Vector
    selector: Labels = ()
    tolerations: tuple[Toleration, ...] = ()
    rejections: tuple[PastRejection, ...] = ()
    pinned: str = ""
    snapshot: str = ""
    snapshot_pool: str = ""
    entry: str = ""
    secrets: tuple[SecretNeed, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """One decision: a machine and its unplaced volumes land together or not at all; without `machine_class`, one volume alone.

    `volume_pools` are the pools of its volumes that are placed already. `near_pool` is the pool of the machine that a volume
    alone is for, when that is placed already: only what is reached from there will do.
    """

    key: Key
    machine_class: str = ""
    charge: Vector = field(default_factory=dict)
    priority: int = 0
    labels: Labels = ()
    selector: Labels = ()
    tolerations: tuple[Toleration, ...] = ()
    anti_affinity: AntiAffinityRule | None = None
    spread: SpreadRule | None = None
    volumes: tuple[VolumeRequest, ...] = ()
    volume_pools: tuple[str, ...] = ()
    near_pool: str = ""
    rejections: tuple[PastRejection, ...] = ()
    pinned: str = ""
    quota: Vector = field(default_factory=dict)  # what it takes of its namespace's quota
    secrets: tuple[SecretNeed, ...] = ()


@dataclass(frozen=True, slots=True)
class PoolView:
    """A pool as the scheduler sees it. `why_not_ready` is empty when it is Ready.

    Of a pool that is not known, which is never Ready, it is unknown what it offers or has.
    """

    name: str
    allocatable: Vector
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    is_cordoned: bool = False
    why_not_ready: str = ""
    is_destroyed: bool = False  # people said so of its host; it is not Ready either
    has_lost_link: bool = False  # its host was connected a moment ago; whether it still runs shows soon
    is_known: bool = True
    classes: frozenset[str] = frozenset()
    recipients: frozenset[str] = frozenset()  # what its host opens Secrets with
    shares: Mapping[str, int] | None = (
        None  # what a machine of each class takes, where a pool tells class counts only
    )


@dataclass(frozen=True, slots=True)
class VolumePoolView(PoolView):
    """`reachable_from` names the machine pools that can attach its volumes; None means all. With a selector the names do not count."""

    reachable_from: frozenset[str] | None = None
    machine_pool_selector: Labels = ()

    def reaches(self, pool: PoolView) -> bool:
        if self.machine_pool_selector:
            return all(pool.labels.get(key) == value for key, value in self.machine_pool_selector)
        return self.reachable_from is None or pool.name in self.reachable_from
