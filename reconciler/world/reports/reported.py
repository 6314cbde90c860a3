"""What poollets say about one object, taken out of their reports. Values only."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from schemas.report.objects import (
    Phase,
    ReportedMachineStatus,
    ReportedReason,
    ReportedSnapshotStatus,
    ReportedVolumeStatus,
)

Reported: TypeAlias = ReportedMachineStatus | ReportedVolumeStatus | ReportedSnapshotStatus


class ObjectReport(msgspec.Struct, frozen=True, gc=False):
    """What one report says about one object. `host` is the hostID that wrote the report, `assignment` the order it is about."""

    poollet: str
    host: str
    pool: str
    uid: str
    assignment: str
    phase: Phase
    reasons: tuple[ReportedReason, ...] = ()
    attached_to: tuple[str, ...] = ()  # uids of machines; volumes only
    status: Reported | None = None

    @property
    def is_there(self) -> bool:
        """It is on the pool, or may be: what a poollet cannot tell is not gone."""
        return self.phase in ("present", "unknown")
