"""Whether what a host has counts that has no grant: one that waits, or one that people declared destroyed. Pure.

A host that waits beside another one's report names what it has in candidate.json, and nothing of such a name is placed a second time.
"""

from __future__ import annotations

from reconciler.decide.pool_requests import status_of
from reconciler.world.reports.host_report import HostReport
from reconciler.world.view import View
from schemas.kinds import Key, Kind
from schemas.report import CandidateReport


def may_hold(view: View, waiting: CandidateReport, report: HostReport) -> bool:
    """Whether what a host says counts that waits without the lease of the report: also of the same host, after a crash and as a clone."""
    kinds = (Kind.MACHINE_POOL, Kind.VOLUME_POOL)
    pools = [Key(kind, "", pool) for pool in waiting.pools for kind in kinds]
    by = report.poollet
    is_reporter = by is not None and (by.host_id, by.instance) == (waiting.host_id, waiting.instance)
    return not is_reporter and not any(is_destroyed(view, pool, waiting.host_id) for pool in pools)


def removal(view: View, poollet: str) -> str:
    """The command that removes a report. A host that runs, and still has its key, writes it again."""
    return f"git push origin --delete {view.rules.settings.reports.ref}{poollet}"


def is_destroyed(view: View, pool: Key, host: str) -> bool:
    """Whether people declared that host of the pool destroyed."""
    status = status_of(view, pool)
    request = status.destroyed if status is not None else None
    return request is not None and request.state == "Followed" and request.host == host
