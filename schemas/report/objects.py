"""The types of a report: what one poollet states about its pools and the objects on them. Frozen; msgspec (de)serializes them.

A type has one field for each property of its JSON Schema, in the schema's spelling. The schema sets the
limits of lengths and the words that are allowed; a type only gives the values a shape. A default is left
out of the file, so a field that is added later does not change the bytes of older reports.

    phase      the answer to an assignment
    ---------  ---------------------------------------------------------------------------------------
    present    accepted: it exists, or is to be created (then its status has no id)
    gone       does not exist on the host; final for the assignment
    unknown    the host cannot tell now; the last status may be repeated
    rejected   the host refuses it, with `reasons`; final for the assignment
"""

from __future__ import annotations

from typing import Literal

import msgspec

Phase = Literal["present", "gone", "unknown", "rejected"]


class ReportPart(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """Fields at their default are left out of the file, so equal states give equal bytes."""


class ReportedCondition(ReportPart, frozen=True):
    """One aspect of an object's state. The publisher of the report adds the times."""

    type: str
    status: Literal["True", "False", "Unknown"]
    reason: str = ""
    message: str = ""
    observed_generation: int | None = None
    last_update_time: str | None = None
    last_transition_time: str | None = None


class ReportedReason(ReportPart, frozen=True):
    """One reason of a no."""

    code: str
    message: str
    resource: str = ""
    need: str = ""
    have: str = ""


class RuntimeReport(ReportPart, frozen=True):
    """One runtime of the host, and whether it answers."""

    state: Literal["Ready", "Unreachable"]
    name: str = ""
    version: str = ""
    message: str = ""


class PoolletReport(ReportPart, frozen=True):
    """Who reports, and which commit of the target branch it has applied. Read first: it says which host and
    which run wrote the ref. `interval` is when the next heartbeat is due at the latest, and the heartbeat
    timeout follows from it."""

    fleet: str
    name: str
    host_id: str = msgspec.field(name="hostID")
    instance: str
    interval: str
    live_commit: str | None = None
    version: str = ""
    runtimes: dict[str, RuntimeReport] = {}
    leaving: Literal["stopping", "leaving"] | None = None
    hardware_id: str = msgspec.field(name="hardwareID", default="")
    boot_id: str = msgspec.field(name="bootID", default="")
    asks: str = (
        ""  # a host that lost its local state acts once `status.host.answered` of its pool says the same
    )


class HeldObject(ReportPart, frozen=True):
    """An object with our labels on a host that waits. No pool is charged for it. `handles` as those of an Orphan."""

    kind: Literal["Machine", "Volume", "VolumeSnapshot"]
    name: str
    namespace: str = ""
    uid: str | None = None
    handles: tuple[str, ...] = ()


class CandidateReport(ReportPart, frozen=True):
    """A host without the lease that could serve these pools, written beside the report of the host that has it. It is not a heartbeat."""

    name: str
    host_id: str = msgspec.field(name="hostID")
    instance: str
    pools: tuple[str, ...] = ()
    version: str = ""
    objects: tuple[HeldObject, ...] = ()


class ObjectRef(ReportPart, frozen=True):
    """A class, or an object in the same namespace, by name."""

    name: str


class ReportedAddress(ReportPart, frozen=True):
    """One address of the host."""

    type: str
    address: str


class ReportedPoolStatus(ReportPart, frozen=True):
    """Observed state of a machine pool."""

    state: Literal["Ready", "Pending", "Error", "Offline"]
    conditions: tuple[ReportedCondition, ...] = ()
    available_machine_classes: tuple[ObjectRef, ...] = ()
    addresses: tuple[ReportedAddress, ...] = ()
    capacity: dict[str, str | int] = {}
    allocatable: dict[str, str | int] = {}
    node_info: dict[str, str] = {}


class AnnouncedPool(ReportPart, frozen=True, kw_only=True):
    """What the host says of a pool of either kind, beside its status. `epoch` is the grant that the host acts
    under, or acted under last; a lost `live` continues above it."""

    uid: str | None = None
    labels: dict[str, str] = {}
    runtime: str = ""
    epoch: int = 0


class PoolReport(AnnouncedPool, frozen=True):
    """A machine pool that the host announces."""

    status: ReportedPoolStatus


class ReportedVolumePoolStatus(ReportPart, frozen=True):
    """Observed state of a volume pool."""

    state: Literal["Available", "Pending", "Unavailable"]
    conditions: tuple[ReportedCondition, ...] = ()
    available_volume_classes: tuple[ObjectRef, ...] = ()
    capacity: dict[str, str | int] = {}
    allocatable: dict[str, str | int] = {}
    reachable_from: tuple[str, ...] | None = None


class VolumePoolReport(AnnouncedPool, frozen=True):
    """A volume pool that the host announces."""

    status: ReportedVolumePoolStatus


class AttachedVolume(ReportPart, frozen=True):
    """Observed state of one disk of a machine."""

    name: str
    state: Literal["Pending", "Attached"]
    handle: str = ""
    volume_ref: ObjectRef | None = None


class AttachedInterface(ReportPart, frozen=True):
    """Observed state of one network interface of a machine."""

    name: str
    state: Literal["Pending", "Attached"]
    handle: str = ""
    ips: tuple[str, ...] = ()
    mac_address: str | None = None
    network_interface_ref: ObjectRef | None = None


class ReportedMachineStatus(ReportPart, frozen=True):
    """Observed state of a machine. `machine_class_ref` is the class that it has on its host, while that is not the ordered one."""

    machine_id: str = msgspec.field(name="machineID", default="")
    state: Literal["Pending", "Running", "Shutdown", "Terminated", "Terminating"] | None = None
    observed_revision: str = ""
    conditions: tuple[ReportedCondition, ...] = ()
    volumes: tuple[AttachedVolume, ...] = ()
    network_interfaces: tuple[AttachedInterface, ...] = ()
    restart: str = ""
    machine_class_ref: ObjectRef | None = None


class AssignmentReport(ReportPart, frozen=True):
    """What the host says of one assignment, beside the status of its object. `uid` and `assignment` name
    both: an entry about an older assignment of the same object does not answer the present one."""

    uid: str
    assignment: str
    phase: Phase
    pool: str = ""
    reasons: tuple[ReportedReason, ...] = ()


class MachineReport(AssignmentReport, frozen=True):
    """What the host reports about one assignment of a machine."""

    status: ReportedMachineStatus | None = None


class ReportedVolumeAccess(ReportPart, frozen=True):
    """How machines reach a volume. Never contains secrets."""

    driver: str = ""
    handle: str = ""
    volume_attributes: dict[str, str] = {}


class ReportedVolumeStatus(ReportPart, frozen=True):
    """Observed state of a volume."""

    volume_id: str = msgspec.field(name="volumeID", default="")
    state: Literal["Pending", "Available", "Error"] | None = None
    access: ReportedVolumeAccess | None = None
    resources: dict[str, str | int] = {}
    conditions: tuple[ReportedCondition, ...] = ()


class VolumeReport(AssignmentReport, frozen=True):
    """What the host reports about one assignment of a volume. `attached_to` holds uids of machines."""

    attached_to: tuple[str, ...] = ()
    status: ReportedVolumeStatus | None = None


class ReportedSnapshotStatus(ReportPart, frozen=True):
    """Observed state of a snapshot."""

    snapshot_id: str = msgspec.field(name="snapshotID", default="")
    state: Literal["Pending", "Ready", "Failed"] | None = None
    size: str | int | None = None
    conditions: tuple[ReportedCondition, ...] = ()


class SnapshotReport(AssignmentReport, frozen=True):
    """What the host reports about one snapshot."""

    status: ReportedSnapshotStatus | None = None


class Orphan(ReportPart, frozen=True):
    """An object with our labels that is not assigned here: charged to the pool, and not changed. `handles` are those of the disks that a
    machine has, or is to have: of a volume that machines on several hosts reach, no other record says so."""

    kind: Literal["Machine", "Volume", "VolumeSnapshot"]
    pool: str
    id: str
    uid: str | None = None
    namespace: str = ""
    name: str = ""
    charge: dict[str, str | int] = {}
    reason: str = ""
    handles: tuple[str, ...] = ()


class OrphanList(ReportPart, frozen=True, omit_defaults=False):
    """The content of orphans.json."""

    orphans: tuple[Orphan, ...] = ()


class EndedList(ReportPart, frozen=True, omit_defaults=False):
    """The content of ended.json: ids of assignments that this host reported as gone or rejected, the newest last."""

    assignments: tuple[str, ...] = ()


class ReportedEvent(ReportPart, frozen=True):
    """Something that happened to an object; equal events are counted."""

    kind: str
    name: str
    type: Literal["Normal", "Warning"]
    reason: str
    count: int
    last: str
    namespace: str = ""
    uid: str | None = None
    message: str = ""
    first: str | None = None


class EventList(ReportPart, frozen=True, omit_defaults=False):
    """The content of events.json."""

    events: tuple[ReportedEvent, ...] = ()
