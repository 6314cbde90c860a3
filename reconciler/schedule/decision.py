"""What the scheduler answers: a place with its score, or every reason against every pool.

A refusal is data: `reconciler.plan.suggestion` computes from its fields what would make the object fit, the condition of the object
shows them, and `gitvirt plan` prints them. So a predicate is part of the public contract (`docs/plan.md` lists all), and a message is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from schemas.kinds import Key


class Predicate(StrEnum):
    """Why a pool is refused. Words for conditions and reports: one in CamelCase each.

    QUOTA and NO_POOLS concern the request as such, and every other one a pool.
    VOLUME is about volumes that have a pool already, VOLUME_CAPACITY about those that are to be placed together with the machine.
    """

    READY = "PoolNotReady"
    DESTROYED = "HostDestroyed"
    LINK = "LinkLost"
    CORDON = "PoolCordoned"
    TAINT = "TaintNotTolerated"
    SELECTOR = "SelectorMismatch"
    CLASS = "ClassNotOffered"
    CAPACITY = "InsufficientCapacity"
    VOLUME = "VolumeNotReachable"
    VOLUME_CAPACITY = "VolumeDoesNotFit"
    SNAPSHOT = "SnapshotElsewhere"
    ANTI_AFFINITY = "AntiAffinity"
    SPREAD = "TopologySpread"
    REJECTED = "RejectedByPool"
    PINNED = "PinnedElsewhere"
    SECRET = "SecretNotReadable"
    QUOTA = "QuotaExceeded"
    NO_POOLS = "NoPools"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a pool is refused. Whoever acts on a reason reads its fields; `message` is for people alone.

    `taint` is the one that is not tolerated, as `key=value:effect`. `volume` is the machine's entry (`spec.volumes[].name`) that keeps it
    away, and `volume_pool` the pool that refused it; the message is then about that volume pool.
    """

    predicate: Predicate
    message: str
    resource: str = ""
    need: str = ""
    have: str = ""
    taint: str = ""
    volume: str = ""
    volume_pool: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """One row: a pool and everything that speaks against it. Without a pool it concerns the request as such (quota)."""

    pool: str
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """Points and their parts, in millionths of what a whole free pool is worth."""

    points: int
    parts: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """The request was charged to the cluster state. `volumes` has a pool for each volume that came with it, by key."""

    key: Key
    pool: str  # empty for a volume alone
    volumes: tuple[tuple[Key, str], ...]
    score: Score


@dataclass(frozen=True, slots=True)
class Unschedulable:
    """Nothing was charged. The refusals are of the moment of decision: a request decided later in the pass may find other ones."""

    key: Key
    refusals: tuple[Refusal, ...]


Decision = Placed | Unschedulable
