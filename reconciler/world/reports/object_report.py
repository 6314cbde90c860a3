"""What one report says about one object. Values only; the files of all kinds become the same one."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from schemas.report import objects
from schemas.report.objects import (
    Phase,
    ReportedMachineStatus,
    ReportedReason,
    ReportedSnapshotStatus,
    ReportedVolumeStatus,
)

Reported: TypeAlias = ReportedMachineStatus | ReportedVolumeStatus | ReportedSnapshotStatus


class ObjectReport(msgspec.Struct, frozen=True, gc=False):
    """What one report says about one object. `host` is the hostID that wrote the report, `assignment` the order it is about.

    `phase`: present; gone (it is not there any more); rejected (the host refused the assignment); unknown (it cannot tell now).
    """

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
        """Whether the object is on the pool, or may be: an object that a poollet cannot judge is not gone."""
        return self.phase in ("present", "unknown")


def object_report(
    poollet: str, host: str, entry: objects.MachineReport | objects.VolumeReport | objects.SnapshotReport
) -> ObjectReport:
    attached = entry.attached_to if isinstance(entry, objects.VolumeReport) else ()
    return ObjectReport(
        poollet,
        host,
        entry.pool,
        entry.uid,
        entry.assignment,
        entry.phase,
        entry.reasons,
        attached,
        entry.status,
    )
