"""The life of one simulated volume, and of one snapshot. Pure, as machine_lifecycle.

Theory of operation, for volumes:

    phase       state       leaves by
    PREPARING   PENDING     due -> READY
    READY       AVAILABLE   expand -> GROWING
    GROWING     AVAILABLE   due -> READY, with the new size
    FAILED      ERROR       its image cannot be pulled: only a removal ends it
    WAITING     as before   removal was ordered, and a machine still has it: released -> REMOVING
    REMOVING    as before   due -> the record is gone

A volume that is still PREPARING simply comes into being with its new size. Snapshots know PREPARING, READY, REMOVING.
Must never happen: a volume is removed while a machine has it; a volume becomes smaller.
"""

from __future__ import annotations

import hashlib
from enum import IntEnum
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from iri.errors import ImageNotResolvable
from iri.simulated.host_model import NEVER_NS, HostModel, ObjectEvent
from iri.volume import (
    Access,
    Resources,
    RuntimeSnapshot,
    RuntimeVolume,
    RuntimeVolumeStatus,
    SnapshotState,
    SnapshotStatus,
    VolumeDetail,
    VolumeState,
)

DRIVER = "simulated"
MIB, GIB = 1 << 20, 1 << 30


class VolumePhase(IntEnum):
    """The numbers are in the state log."""

    PREPARING = 0
    READY = 1
    GROWING = 2
    FAILED = 3
    WAITING = 4  # to be removed once no machine has it
    REMOVING = 5


class SimulatedVolume(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`object` is what callers see."""

    object: RuntimeVolume
    phase: VolumePhase = VolumePhase.PREPARING
    due_ns: int = NEVER_NS
    size_bytes: int = 0  # the desired size, rounded; charged


class SimulatedSnapshot(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`object` is what callers see. Of the phases it knows PREPARING, READY and REMOVING."""

    object: RuntimeSnapshot
    phase: VolumePhase = VolumePhase.PREPARING
    due_ns: int = NEVER_NS


AnyStored = TypeVar("AnyStored", SimulatedVolume, SimulatedSnapshot)
VolumeStep = tuple[SimulatedVolume | None, tuple[ObjectEvent, ...]]
SnapshotStep = tuple[SimulatedSnapshot | None, tuple[ObjectEvent, ...]]


def round_size(desired_bytes: int, model: HostModel) -> int:
    """The size that a volume really gets: whole MiB, or whole GiB with some providers."""
    unit = GIB if model.quirks.rounds_to_gib and desired_bytes >= GIB else MIB
    return -(-desired_bytes // unit) * unit


def create(
    volume: RuntimeVolume, now_ns: int, data_ready_ns: int, model: HostModel
) -> tuple[SimulatedVolume, tuple[ObjectEvent, ...]]:
    """A new volume, filled from its source once that is available."""
    stored = SimulatedVolume(object=volume, size_bytes=round_size(volume.spec.desired_bytes, model))
    if data_ready_ns == NEVER_NS:
        failed = replace(
            volume,
            status=RuntimeVolumeStatus(state=VolumeState.ERROR),
            detail=describe_missing_image(volume, model),
        )
        event = ObjectEvent("ImagePullFailed", "PullImage", "the image cannot be pulled", is_warning=True)
        return replace(stored, object=failed, phase=VolumePhase.FAILED), (event,)
    duration = model.times.clone if volume.spec.volume_data_source else model.times.prepare
    due_ns = model.after(max(now_ns, data_ready_ns), duration, "prepare", volume.id)
    return replace(stored, due_ns=due_ns), ()


def describe_missing_image(volume: RuntimeVolume, model: HostModel) -> VolumeDetail:
    """Why it cannot be created, unless the imitated provider gives no reasons."""
    source = volume.spec.volume_data_source
    image = source.image_data_source.image if source and source.image_data_source else ""
    if model.quirks.gives_no_reasons:
        return VolumeDetail()
    return VolumeDetail(
        reason=ImageNotResolvable.__name__,
        message=f"image {image} cannot be pulled: take it out of the profile's unavailable_images",
    )


def step(stored: SimulatedVolume) -> VolumeStep:
    """What was due has happened. None when the volume is gone."""
    match stored.phase:
        case VolumePhase.PREPARING:
            return make_available(stored), (ObjectEvent("Available", "Create", "the volume can be used"),)
        case VolumePhase.GROWING:
            return make_available(stored), (ObjectEvent("Expanded", "Expand", "the volume has grown"),)
        case VolumePhase.REMOVING:
            return None, (ObjectEvent("Removed", "Remove", "the volume is gone"),)
        case VolumePhase.READY | VolumePhase.FAILED | VolumePhase.WAITING:
            return replace(stored, due_ns=NEVER_NS), ()


def make_available(stored: SimulatedVolume) -> SimulatedVolume:
    """With access data, and all of the desired size."""
    status = RuntimeVolumeStatus(
        state=VolumeState.AVAILABLE,
        access=describe_access(stored.object),
        resources=Resources(storage_bytes=stored.size_bytes),
    )
    volume = replace(stored.object, status=status)
    return replace(stored, object=volume, phase=VolumePhase.READY, due_ns=NEVER_NS)


def describe_access(volume: RuntimeVolume) -> Access:
    """What a machine needs to attach the volume."""
    return Access(
        driver=DRIVER,
        handle=volume_handle(volume.id),
        attributes={"host": "localhost", "image": f"simulated/{volume.id}"},
    )


def volume_handle(volume_id: str) -> str:
    """A world wide name, which a disk can have as its serial number. Depends on the id alone."""
    return hashlib.blake2b(volume_id.encode(), digest_size=8).hexdigest()


def expand(stored: SimulatedVolume, now_ns: int, model: HostModel) -> SimulatedVolume:
    """Spec has a new size: starts to grow a volume that is ready."""
    stored = replace(stored, size_bytes=round_size(stored.object.spec.desired_bytes, model))
    if stored.phase not in (VolumePhase.READY, VolumePhase.GROWING):
        return stored
    due_ns = model.after(now_ns, model.times.expand, "expand", stored.object.id, stored.size_bytes)
    return replace(stored, phase=VolumePhase.GROWING, due_ns=due_ns)


def remove(stored: AnyStored, now_ns: int, is_attached: bool, model: HostModel) -> AnyStored:
    """Orders the removal; a second order changes nothing."""
    if stored.phase in (VolumePhase.WAITING, VolumePhase.REMOVING):
        return stored
    stored = replace(stored, object=replace(stored.object, deleted_at=now_ns))
    if is_attached:
        return replace(stored, phase=VolumePhase.WAITING, due_ns=NEVER_NS)
    return start_removal(stored, now_ns, model)


def start_removal(stored: AnyStored, now_ns: int, model: HostModel) -> AnyStored:
    """No machine has it any more, so the removal can begin."""
    due_ns = model.after(now_ns, model.times.remove, "remove", stored.object.id)
    return replace(stored, phase=VolumePhase.REMOVING, due_ns=due_ns)


def take_snapshot(
    snapshot: RuntimeSnapshot, source: SimulatedVolume, now_ns: int, model: HostModel
) -> SimulatedSnapshot:
    """The size is that of the volume now."""
    due_ns = model.after(now_ns, model.times.snapshot, "snapshot", snapshot.id)
    status = SnapshotStatus(state=SnapshotState.PENDING, size=source.size_bytes)
    return SimulatedSnapshot(object=replace(snapshot, status=status), due_ns=due_ns)


def step_snapshot(stored: SimulatedSnapshot) -> SnapshotStep:
    """As `step`: a snapshot is ready, or gone."""
    if stored.phase is VolumePhase.REMOVING:
        return None, (ObjectEvent("Removed", "Remove", "the snapshot is gone"),)
    ready = replace(stored.object, status=replace(stored.object.status, state=SnapshotState.READY))
    after = replace(stored, object=ready, phase=VolumePhase.READY, due_ns=NEVER_NS)
    return after, (ObjectEvent("Ready", "Snapshot", "the snapshot can be used"),)
