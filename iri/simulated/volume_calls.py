"""What calls about volumes and snapshots do to the host, as machine_calls does for machines.

Every function is called with the host locked. A volume is removed once no machine has it: see volume_lifecycle.
"""

from __future__ import annotations

from msgspec.structs import replace

from iri.change import ExpandVolume, expand_volume
from iri.errors import FailedPrecondition, InvalidArgument
from iri.simulated import unavailable, volume_lifecycle
from iri.simulated.host import SimulatedHost
from iri.simulated.host_model import ObjectEvent
from iri.simulated.state.records import HostRecord, RecordChange
from iri.simulated.volume_lifecycle import SimulatedSnapshot, SimulatedVolume
from iri.volume import RuntimeSnapshot, RuntimeVolume, SnapshotState, VolumeDataSource, VolumeState


def create(host: SimulatedHost, desired: RuntimeVolume, now_ns: int) -> RuntimeVolume:
    """The volume with its id; the existing one, unchanged, when its uid label exists already."""
    host_record, id = host.assign_id(RuntimeVolume, desired.labels)
    existing = host.state.get(SimulatedVolume, id)
    if existing is not None:
        return existing.volume
    host.find_class("volume", host.classes.volumes, desired.spec.class_name)
    host_record, ready_ns = _prepare_source(host, desired, host_record, now_ns)
    volume = RuntimeVolume(
        id=id, labels=desired.labels, annotations=desired.annotations, created_at=now_ns, spec=desired.spec
    )
    created, events = volume_lifecycle.create(volume, now_ns, ready_ns, host.model)
    host.state.usage.require_room(host.profile.limit, None, created)
    host.commit(RecordChange(SimulatedVolume, id, created), host_record=host_record)
    host.add_events(created.volume, (ObjectEvent("Created", "Create", "the volume is defined"), *events))
    return created.volume


def _prepare_source(
    host: SimulatedHost, desired: RuntimeVolume, host_record: HostRecord, now_ns: int
) -> tuple[HostRecord, int]:
    """When the data that fills the volume is available; refuses a source that cannot fill it."""
    source = desired.spec.volume_data_source or VolumeDataSource()
    if source.image_data_source is not None:
        unavailable.refuse_images(host, (source.image_data_source.image,))
        return host.pull_images(host_record, (source.image_data_source.image,), now_ns)
    if source.snapshot_data_source is None:
        return host_record, now_ns
    snapshot_record = host.find(SimulatedSnapshot, source.snapshot_data_source.snapshot_id)
    if snapshot_record.snapshot.status.state is not SnapshotState.READY:
        raise FailedPrecondition(f"snapshot {snapshot_record.snapshot.id} is not ready")
    desired_bytes = desired.spec.resources.storage_bytes if desired.spec.resources else 0
    if volume_lifecycle.round_size(desired_bytes, host.model) < snapshot_record.snapshot.status.size:
        size = snapshot_record.snapshot.status.size
        raise InvalidArgument(
            f"snapshot {snapshot_record.snapshot.id} needs a volume of {size} bytes or more"
        )
    return host_record, now_ns


def expand(host: SimulatedHost, stored: SimulatedVolume, desired: ExpandVolume, now_ns: int) -> None:
    """Charges the new size at once: the host must have room before the volume grows."""
    volume = expand_volume(stored.volume, desired)
    if volume is stored.volume:
        return
    if host.model.quirks.has_no_generations:
        volume = replace(volume, generation=0)
    after = volume_lifecycle.expand(replace(stored, volume=volume), now_ns, host.model)
    host.state.usage.require_room(host.profile.limit, stored, after)
    host.commit(RecordChange(SimulatedVolume, volume.id, after))


def remove(host: SimulatedHost, stored: SimulatedVolume, now_ns: int) -> None:
    """Starts the removal; a volume that a machine has waits until that machine has released it."""
    is_attached = host.state.attachments.is_attached(stored.volume.id)
    after = volume_lifecycle.remove(stored, now_ns, is_attached, host.model)
    if after is not stored:
        host.commit(RecordChange(SimulatedVolume, stored.volume.id, after))


def create_snapshot(host: SimulatedHost, desired: RuntimeSnapshot, now_ns: int) -> RuntimeSnapshot:
    """As `create`. FailedPrecondition unless the volume is available."""
    host_record, id = host.assign_id(RuntimeSnapshot, desired.labels)
    existing = host.state.get(SimulatedSnapshot, id)
    if existing is not None:
        return existing.snapshot
    source = host.find(SimulatedVolume, desired.spec.volume_id)
    if source.volume.status.state is not VolumeState.AVAILABLE or source.volume.deleted_at:
        raise FailedPrecondition(f"volume {source.volume.id} is not available")
    snapshot = RuntimeSnapshot(
        id=id, labels=desired.labels, annotations=desired.annotations, created_at=now_ns, spec=desired.spec
    )
    snapshot_record = volume_lifecycle.take_snapshot(snapshot, source, now_ns, host.model)
    host.commit(RecordChange(SimulatedSnapshot, id, snapshot_record), host_record=host_record)
    return snapshot_record.snapshot


def remove_snapshot(host: SimulatedHost, snapshot_record: SimulatedSnapshot, now_ns: int) -> None:
    after = volume_lifecycle.remove_snapshot(snapshot_record, now_ns, host.model)
    if after is not snapshot_record:
        host.commit(RecordChange(SimulatedSnapshot, snapshot_record.snapshot.id, after))
