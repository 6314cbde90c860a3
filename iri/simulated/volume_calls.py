"""What calls about volumes and snapshots do to the host, as machine_calls does for machines.

Every function is called with the host locked. A volume is removed once no machine has it: see volume_lifecycle.

Refusals come in this order: class, source, room on the host. A call that is refused has changed nothing.
"""

from __future__ import annotations

from msgspec.structs import replace

from iri.change import ExpandVolume, expand_volume
from iri.errors import FailedPrecondition, InvalidArgument
from iri.simulated import unavailable, volume_lifecycle
from iri.simulated.host import SimulatedHost
from iri.simulated.host_model import ObjectEvent
from iri.simulated.state.records import HostRecord
from iri.simulated.volume_lifecycle import AnyStored, SimulatedSnapshot, SimulatedVolume
from iri.volume import RuntimeSnapshot, RuntimeVolume, SnapshotState, VolumeDataSource, VolumeState


def create(host: SimulatedHost, desired: RuntimeVolume, now_ns: int) -> RuntimeVolume:
    """The volume with its id; the existing one, unchanged, when its uid label exists already."""
    host_record, volume = host.identify(desired, now_ns)
    existing = host.state.get(SimulatedVolume, volume.id)
    if existing is not None:
        return existing.object
    host.ended.refuse(desired.labels)
    host.find_class("volume", host.classes.volumes, volume.spec.class_name)
    host_record, ready_ns = _prepare_source(host, volume, host_record, now_ns)
    created, events = volume_lifecycle.create(volume, now_ns, ready_ns, host.model)
    host.state.usage.require_room(host.profile.limit, None, created)
    host.commit(created, host_record=host_record)
    host.add_events(created.object, (ObjectEvent("Created", "Create", "the volume is defined"), *events))
    return created.object


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
    snapshot = host.find(SimulatedSnapshot, source.snapshot_data_source.snapshot_id).object
    if snapshot.status.state is not SnapshotState.READY:
        raise FailedPrecondition(f"snapshot {snapshot.id} is not ready")
    if volume_lifecycle.round_size(desired.spec.desired_bytes, host.model) < snapshot.status.size:
        raise InvalidArgument(
            f"snapshot {snapshot.id} needs a volume of {snapshot.status.size} bytes or more"
        )
    return host_record, now_ns


def expand(host: SimulatedHost, stored: SimulatedVolume, desired: ExpandVolume, now_ns: int) -> None:
    """Charges the new size at once: the host must have room before the volume grows."""
    volume = expand_volume(stored.object, desired)
    if volume is stored.object:
        return
    if host.model.quirks.has_no_generations:
        volume = replace(volume, generation=0)
    after = volume_lifecycle.expand(replace(stored, object=volume), now_ns, host.model)
    host.state.usage.require_room(host.profile.limit, stored, after)
    host.commit(after)


def create_snapshot(host: SimulatedHost, desired: RuntimeSnapshot, now_ns: int) -> RuntimeSnapshot:
    """As `create`. FailedPrecondition unless the volume is available."""
    host_record, snapshot = host.identify(desired, now_ns)
    existing = host.state.get(SimulatedSnapshot, snapshot.id)
    if existing is not None:
        return existing.object
    host.ended.refuse(desired.labels)
    source = host.find(SimulatedVolume, desired.spec.volume_id)
    if source.object.status.state is not VolumeState.AVAILABLE or source.object.deleted_at:
        raise FailedPrecondition(f"volume {source.object.id} is not available")
    taken = volume_lifecycle.take_snapshot(snapshot, source, now_ns, host.model)
    host.commit(taken, host_record=host_record)
    return taken.object


def remove(host: SimulatedHost, stored: AnyStored, now_ns: int) -> None:
    """Starts the removal; a volume that a machine has waits until that machine has released it."""
    is_attached = host.state.attachments.is_attached(stored.object.id)
    after = volume_lifecycle.remove(stored, now_ns, is_attached, host.model)
    if after is not stored:
        host.commit(after)
