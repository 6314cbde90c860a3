"""The report: the tree of a poollet's own ref. Its types, their JSON Schemas, and how the tree is read and written.

Readers do not trust a report to be well formed: an unreadable file becomes a Problem and counts as unknown, never as absent.
"""

from schemas.report.objects import (
    AttachedInterface,
    AttachedVolume,
    CandidateReport,
    EventList,
    MachineReport,
    ObjectRef,
    Orphan,
    OrphanList,
    PoolletReport,
    PoolReport,
    ReportedAddress,
    ReportedCondition,
    ReportedEvent,
    ReportedMachineStatus,
    ReportedPoolStatus,
    ReportedReason,
    ReportedSnapshotStatus,
    ReportedVolumeAccess,
    ReportedVolumePoolStatus,
    ReportedVolumeStatus,
    RuntimeReport,
    SnapshotReport,
    VolumePoolReport,
    VolumeReport,
)
from schemas.report.tree import Report, UnreadableFile, read, render
