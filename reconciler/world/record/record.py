"""The record of one object, and which kinds have what status."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from schemas.kinds import Kind
from schemas.model import (
    Assignment,
    ClaimRef,
    MachinePoolStatus,
    MachineStatus,
    NetworkInterfaceStatus,
    NetworkStatus,
    OwnerReference,
    ResourceQuotaStatus,
    VolumePoolStatus,
    VolumeSnapshotStatus,
    VolumeStatus,
)

Status: TypeAlias = (
    MachineStatus
    | MachinePoolStatus
    | VolumeStatus
    | VolumePoolStatus
    | VolumeSnapshotStatus
    | NetworkStatus
    | NetworkInterfaceStatus
    | ResourceQuotaStatus
)

STATUS: dict[Kind, type[Status]] = {
    Kind.MACHINE: MachineStatus,
    Kind.MACHINE_POOL: MachinePoolStatus,
    Kind.VOLUME: VolumeStatus,
    Kind.VOLUME_POOL: VolumePoolStatus,
    Kind.VOLUME_SNAPSHOT: VolumeSnapshotStatus,
    Kind.NETWORK: NetworkStatus,
    Kind.NETWORK_INTERFACE: NetworkInterfaceStatus,
    Kind.RESOURCE_QUOTA: ResourceQuotaStatus,
}

ASSIGNABLE = frozenset({Kind.MACHINE, Kind.VOLUME})
PLACED = (
    MachineStatus,
    VolumeStatus,
)  # the same by status; a union in its place would be built at every check

ASSIGNED = (*PLACED, VolumeSnapshotStatus)  # a snapshot is not placed: it has the assignment of its volume

_EMPTY: dict[Kind, Status] = {kind: status() for kind, status in STATUS.items()}


class Record(msgspec.Struct, frozen=True, gc=False):
    """`pool` is the one that the reconciler assigned; empty, nothing of ours binds the object, and a pin by people applies.

    `status` is None for the kinds that have none. `owners` come with the document of a generated object and are read only.
    """

    uid: str = ""
    deletion_timestamp: str = ""
    pool: str = ""
    claim: ClaimRef | None = None
    owners: tuple[OwnerReference, ...] = ()
    status: Status | None = None

    @property
    def is_deleting(self) -> bool:
        return self.deletion_timestamp != ""

    @property
    def assignment(self) -> Assignment | None:
        return assignment_of(self.status)


NOTHING = Record()


def empty_status(kind: Kind) -> Status | None:
    """The status of an object about which nothing is known yet."""
    return _EMPTY.get(kind)


def assignment_of(status: Status | None) -> Assignment | None:
    return status.assignment if isinstance(status, ASSIGNED) else None
