"""Whether what a host has counts that has no grant: one that waits, or one that people declared destroyed. Pure.

A host that waits beside another one's report names what it has in candidate.json, and nothing of such a name is placed a second time.
"""

from __future__ import annotations

from reconciler.decide.pool_requests import status_of
from reconciler.world.view import View
from schemas.kinds import Key, Kind
from schemas.report import CandidateReport


def may_hold(view: View, waiting: CandidateReport, reporter: str) -> bool:
    """Whether what a host says counts that waits without the grant. `reporter` is the host that has the lease."""
    kinds = (Kind.MACHINE_POOL, Kind.VOLUME_POOL)
    pools = [Key(kind, "", pool) for pool in waiting.pools for kind in kinds]
    return waiting.host_id != reporter and not any(
        is_destroyed(view, pool, waiting.host_id) for pool in pools
    )


def is_destroyed(view: View, pool: Key, host: str) -> bool:
    """Whether people declared that host of the pool destroyed."""
    status = status_of(view, pool)
    request = status.destroyed if status is not None else None
    return request is not None and request.state == "Followed" and request.host == host
