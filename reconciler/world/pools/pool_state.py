"""A pool as the world knows it: what people declare and what its poollet announces, in one. Values only.

Made by `announcement.pool_state`, again whenever anything in it may have changed, and compared with the one before: what is
equal makes nothing dirty. So everything that a decision may read of a pool is in here, and nothing that changes with each
heartbeat (a time, a commit) may be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reconciler.world.pools.grants import NO_GRANT, Grant
from reconciler.world.reports.heartbeat import Heartbeat
from schemas.kinds import Key
from schemas.model.capacity import Vector
from schemas.model.part import Taint
from schemas.report import objects as report


@dataclass(frozen=True, slots=True)
class PoolState:
    """`why_not_ready` is empty when new objects may go there.

    `allocatable` is in vectors of schemas.model.capacity; with `shares` the pool tells counts of classes alone, and is one
    whole host to be shared. `classes` are those it offers, by name or because they are equal.

    `grant` is what it is when this tick has written; `heartbeat` and `announced` are those of the host that has it.
    `other_host` is the hostID of another host that reports as this pool, or waits to. `asks` is what the host with the grant
    asks for.
    """

    key: Key
    is_declared: bool
    poollet: str = ""  # whose report announces it
    host: str = ""  # of that report
    grant: Grant = NO_GRANT
    other_host: str = ""
    asks: str = ""
    heartbeat: Heartbeat | None = None  # None: no poollet announces it
    announced: report.PoolReport | report.VolumePoolReport | None = None
    is_remembered: bool = False  # `announced` is what live says, because its host cannot be asked
    why_not_ready: str = ""
    is_destroyed: bool = (
        False  # people stated that its host is gone with all it had, and no other host has the grant
    )
    report_fault: str = ""  # why the report of its poollet cannot be read
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    is_cordoned: bool = False
    classes: frozenset[str] = frozenset()
    allocatable: Vector = field(default_factory=dict)
    shares: Mapping[str, int] | None = None
    reachable_from: frozenset[str] | None = None
    machine_pool_selector: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        return self.key.name

    def speaker(self, *, is_live_lost: bool) -> str:
        """The host that alone may speak of objects on the pool: the one with the grant. While `live` is lost, a pool that no host has now
        also has the one that announces it and is alive: what runs there must not be started elsewhere before that host has the grant."""
        if self.grant.host or not is_live_lost or self.heartbeat is not Heartbeat.ALIVE:
            return self.grant.host
        return self.host

    @property
    def is_lost(self) -> bool:
        """Whether the last report of its host says nothing about the present: objects on the pool may still run, or be gone.

        A host that said that it leaves is not lost: its last report is its last word.
        """
        return self.heartbeat in (None, Heartbeat.EXPIRED)
