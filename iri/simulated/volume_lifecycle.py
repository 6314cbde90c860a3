"""One volume's life, and one snapshot's. Pure, as a machine's life in guest."""

from __future__ import annotations

import hashlib
from enum import IntEnum

import msgspec
from msgspec.structs import replace

from iri.errors import ImageNotResolvable
from iri.simulated.host_model import NEVER_NS, Happening, Nature
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


class Phase(IntEnum):
    PREPARING = 0
    READY = 1
    GROWING = 2
    FAILED = 3
    WAITING = 4  # to be removed, once no machine has it any more
    REMOVING = 5


class Stored(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    volume: RuntimeVolume
    phase: Phase = Phase.PREPARING
    due_ns: int = NEVER_NS
    size_bytes: int = 0  # what it is to have in the end; charged

    @property
    def told(self) -> RuntimeVolume:
        return self.volume


class Shot(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    snapshot: RuntimeSnapshot
    phase: Phase = Phase.PREPARING
    due_ns: int = NEVER_NS

    @property
    def told(self) -> RuntimeSnapshot:
        return self.snapshot


StoredStep = tuple[Stored | None, tuple[Happening, ...]]
ShotStep = tuple[Shot | None, tuple[Happening, ...]]


def size_bytes(wanted_bytes: int, nature: Nature) -> int:
    """What a volume really gets: whole MiB, or what the provider that the host resembles makes of it."""
    unit = GIB if nature.behaviour.rounds_to_gib and wanted_bytes >= GIB else MIB
    return -(-wanted_bytes // unit) * unit


def created(
    volume: RuntimeVolume, now_ns: int, data_ready_ns: int, nature: Nature
) -> tuple[Stored, tuple[Happening, ...]]:
    """A new volume, filled from its source once that is there."""
    asked = volume.spec.resources.storage_bytes if volume.spec.resources else 0
    stored = Stored(volume=volume, size_bytes=size_bytes(asked, nature))
    if data_ready_ns == NEVER_NS:
        failed = replace(
            volume, status=RuntimeVolumeStatus(state=VolumeState.ERROR), detail=without_image(volume, nature)
        )
        told = Happening("ImagePullFailed", "PullImage", "the image cannot be pulled", is_warning=True)
        return replace(stored, volume=failed, phase=Phase.FAILED), (told,)
    span = nature.times.clone if volume.spec.volume_data_source else nature.times.prepare
    due_ns = nature.after(max(now_ns, data_ready_ns), span, "prepare", volume.id)
    return replace(stored, due_ns=due_ns), ()


def without_image(volume: RuntimeVolume, nature: Nature) -> VolumeDetail:
    """Why it is not made, unless the provider that the host resembles says nothing."""
    source = volume.spec.volume_data_source
    image = source.image_data_source.image if source and source.image_data_source else ""
    if nature.behaviour.gives_no_reasons:
        return VolumeDetail()
    return VolumeDetail(
        reason=ImageNotResolvable.__name__,
        message=f"image {image} cannot be pulled: take it out of the profile's unavailable_images",
    )


def stepped(stored: Stored) -> StoredStep:
    """What was due has happened. None when the volume is gone."""
    match stored.phase:
        case Phase.PREPARING:
            return available(stored), (Happening("Available", "Create", "the volume can be used"),)
        case Phase.GROWING:
            return available(stored), (Happening("Expanded", "Expand", "the volume has grown"),)
        case Phase.REMOVING:
            return None, (Happening("Removed", "Remove", "the volume is gone"),)
        case Phase.READY | Phase.FAILED | Phase.WAITING:
            return replace(stored, due_ns=NEVER_NS), ()


def available(stored: Stored) -> Stored:
    status = RuntimeVolumeStatus(
        state=VolumeState.AVAILABLE,
        access=access(stored.volume),
        resources=Resources(storage_bytes=stored.size_bytes),
    )
    volume = replace(stored.volume, status=status)
    return replace(stored, volume=volume, phase=Phase.READY, due_ns=NEVER_NS)


def access(volume: RuntimeVolume) -> Access:
    return Access(
        driver=DRIVER,
        handle=handle_of(volume.id),
        attributes={"host": "localhost", "image": f"simulated/{volume.id}"},
    )


def handle_of(volume_id: str) -> str:
    """A world wide name, which a disk can have as its serial number. It depends on nothing but the id."""
    return hashlib.blake2b(volume_id.encode(), digest_size=8).hexdigest()


def grown(stored: Stored, now_ns: int, nature: Nature) -> Stored:
    """The volume's wish has a new size. One that is still being prepared comes into being with it."""
    asked = stored.volume.spec.resources.storage_bytes if stored.volume.spec.resources else 0
    stored = replace(stored, size_bytes=size_bytes(asked, nature))
    if stored.phase not in (Phase.READY, Phase.GROWING):
        return stored
    due_ns = nature.after(now_ns, nature.times.expand, "expand", stored.volume.id, stored.size_bytes)
    return replace(stored, phase=Phase.GROWING, due_ns=due_ns)


def removed(stored: Stored, now_ns: int, is_attached: bool, nature: Nature) -> Stored:
    if stored.phase in (Phase.WAITING, Phase.REMOVING):
        return stored
    stored = replace(stored, volume=replace(stored.volume, deleted_at=now_ns))
    if is_attached:
        return replace(stored, phase=Phase.WAITING, due_ns=NEVER_NS)
    return let_go(stored, now_ns, nature)


def let_go(stored: Stored, now_ns: int, nature: Nature) -> Stored:
    """Nobody holds it any more, so it can go."""
    due_ns = nature.after(now_ns, nature.times.remove, "remove", stored.volume.id)
    return replace(stored, phase=Phase.REMOVING, due_ns=due_ns)


def taken(snapshot: RuntimeSnapshot, source: Stored, now_ns: int, nature: Nature) -> Shot:
    due_ns = nature.after(now_ns, nature.times.snapshot, "snapshot", snapshot.id)
    status = SnapshotStatus(state=SnapshotState.PENDING, size=source.size_bytes)
    return Shot(snapshot=replace(snapshot, status=status), due_ns=due_ns)


def shot_stepped(shot: Shot) -> ShotStep:
    if shot.phase is Phase.REMOVING:
        return None, (Happening("Removed", "Remove", "the snapshot is gone"),)
    status = replace(shot.snapshot.status, state=SnapshotState.READY)
    ready = replace(shot, snapshot=replace(shot.snapshot, status=status), phase=Phase.READY, due_ns=NEVER_NS)
    return ready, (Happening("Ready", "Snapshot", "the snapshot can be used"),)


def shot_removed(shot: Shot, now_ns: int, nature: Nature) -> Shot:
    if shot.phase is Phase.REMOVING:
        return shot
    due_ns = nature.after(now_ns, nature.times.remove, "remove", shot.snapshot.id)
    snapshot = replace(shot.snapshot, deleted_at=now_ns)
    return replace(shot, snapshot=snapshot, phase=Phase.REMOVING, due_ns=due_ns)
