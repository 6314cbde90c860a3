"""What the calls about volumes and snapshots do to the host, as machines does for machines."""

from __future__ import annotations

from msgspec.structs import replace

from iri.change import ExpandVolume, expand_volume
from iri.errors import FailedPrecondition, Internal, InvalidArgument, NotFound
from iri.simulated import unavailable, volume_lifecycle
from iri.simulated.host import SimulatedHost
from iri.simulated.host_model import LifecycleEvent
from iri.simulated.state.records import HostRecord, RecordChange
from iri.simulated.volume_lifecycle import SimulatedSnapshot, SimulatedVolume
from iri.volume import RuntimeSnapshot, RuntimeVolume, SnapshotState, VolumeDataSource, VolumeState


def create(host: SimulatedHost, wanted: RuntimeVolume, now_ns: int) -> RuntimeVolume:
    facts, id = host.identified(RuntimeVolume, wanted.labels)
    existing = host.state.get(SimulatedVolume, id)
    if existing is not None:
        return existing.volume
    refuse_unknown_class(host, wanted.spec.class_name)
    facts, ready_ns = _source_ready(host, wanted, facts, now_ns)
    volume = RuntimeVolume(
        id=id, labels=wanted.labels, annotations=wanted.annotations, created_at=now_ns, spec=wanted.spec
    )
    created, told = volume_lifecycle.create(volume, now_ns, ready_ns, host.nature)
    host.state.usage.refuse(host.profile.limit, None, created)
    host.commit(RecordChange(SimulatedVolume, id, created), facts=facts)
    host.tell(created.volume, (LifecycleEvent("Created", "Create", "the volume is defined"), *told))
    return created.volume


def _source_ready(
    host: SimulatedHost, wanted: RuntimeVolume, facts: HostRecord, now_ns: int
) -> tuple[HostRecord, int]:
    """When the data is there that the volume is to be filled with."""
    source = wanted.spec.volume_data_source or VolumeDataSource()
    if source.image_data_source is not None:
        unavailable.refuse_images(host, (source.image_data_source.image,))
        return host.pulled(facts, (source.image_data_source.image,), now_ns)
    if source.snapshot_data_source is None:
        return facts, now_ns
    shot = find_snapshot(host, source.snapshot_data_source.snapshot_id)
    if shot.snapshot.status.state is not SnapshotState.READY:
        raise FailedPrecondition(f"snapshot {shot.snapshot.id} is not ready")
    asked = wanted.spec.resources.storage_bytes if wanted.spec.resources else 0
    if volume_lifecycle.round_size(asked, host.nature) < shot.snapshot.status.size:
        size = shot.snapshot.status.size
        raise InvalidArgument(f"snapshot {shot.snapshot.id} needs a volume of {size} bytes or more")
    return facts, now_ns


def expand(host: SimulatedHost, stored: SimulatedVolume, wanted: ExpandVolume, now_ns: int) -> None:
    volume = expand_volume(stored.volume, wanted)
    if volume is stored.volume:
        return
    if host.nature.behaviour.counts_no_generations:
        volume = replace(volume, generation=0)
    after = volume_lifecycle.expand(replace(stored, volume=volume), now_ns, host.nature)
    host.state.usage.refuse(host.profile.limit, stored, after)
    host.commit(RecordChange(SimulatedVolume, volume.id, after))


def remove(host: SimulatedHost, stored: SimulatedVolume, now_ns: int) -> None:
    """One that a machine holds goes when that lets it go."""
    is_held = host.state.attachments.is_held(stored.volume.id)
    after = volume_lifecycle.remove(stored, now_ns, is_held, host.nature)
    if after is not stored:
        host.commit(RecordChange(SimulatedVolume, stored.volume.id, after))


def create_snapshot(host: SimulatedHost, wanted: RuntimeSnapshot, now_ns: int) -> RuntimeSnapshot:
    facts, id = host.identified(RuntimeSnapshot, wanted.labels)
    existing = host.state.get(SimulatedSnapshot, id)
    if existing is not None:
        return existing.snapshot
    source = find_volume(host, wanted.spec.volume_id)
    if source.volume.status.state is not VolumeState.AVAILABLE or source.volume.deleted_at:
        raise FailedPrecondition(f"volume {source.volume.id} is not available")
    snapshot = RuntimeSnapshot(
        id=id, labels=wanted.labels, annotations=wanted.annotations, created_at=now_ns, spec=wanted.spec
    )
    shot = volume_lifecycle.take_snapshot(snapshot, source, now_ns, host.nature)
    host.commit(RecordChange(SimulatedSnapshot, id, shot), facts=facts)
    return shot.snapshot


def remove_snapshot(host: SimulatedHost, shot: SimulatedSnapshot, now_ns: int) -> None:
    after = volume_lifecycle.remove_snapshot(shot, now_ns, host.nature)
    if after is not shot:
        host.commit(RecordChange(SimulatedSnapshot, shot.snapshot.id, after))


def find_volume(host: SimulatedHost, id: str) -> SimulatedVolume:
    stored = host.state.get(SimulatedVolume, id)
    if stored is None:
        raise _unknown(host)(f"there is no volume {id}")
    return stored


def find_snapshot(host: SimulatedHost, id: str) -> SimulatedSnapshot:
    shot = host.state.get(SimulatedSnapshot, id)
    if shot is None:
        raise _unknown(host)(f"there is no snapshot {id}")
    return shot


def _unknown(host: SimulatedHost) -> type[NotFound] | type[Internal]:
    return Internal if host.nature.behaviour.says_internal_for_unknown_ids else NotFound


def refuse_unknown_class(host: SimulatedHost, name: str) -> None:
    if any(offered.name == name for offered in host.classes.volumes):
        return
    error = Internal if host.nature.behaviour.says_internal_for_unknown_classes else InvalidArgument
    known = ", ".join(offered.name for offered in host.classes.volumes) or "none"
    raise error(f"there is no volume class {name!r} here; there are: {known}")
