"""The report: the tree of a poollet's own ref. Its types, their JSON Schemas, and how the tree is read and written.

    objects   the types of the files: what a host states of itself, its pools, its assignments, and candidates
    tree      paths and bytes <-> Report

The poollet renders a Report, the reconciler reads it; both use the JSON Schemas in this folder. Readers do
not trust a report to be well formed: an unreadable file becomes a Problem and counts as unknown, never as
absent.

Limits: nothing here decides what a report means, and no text of a report is read back into state.
"""

from schemas.report.objects import (
    AttachedInterface,
    AttachedVolume,
    CandidateReport,
    EndedList,
    EventList,
    HeldObject,
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
