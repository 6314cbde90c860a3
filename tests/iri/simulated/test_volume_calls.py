"""Volumes and snapshots as a caller sees them, on a clock that the test controls."""

from __future__ import annotations

import pytest

from iri import errors
from iri.change import AttachVolume, DetachVolume, ExpandVolume
from iri.machine import Disk, RuntimeMachine, VolumeConnection
from iri.simulated.profile import Profile
from iri.volume import Resources, RuntimeSnapshot, RuntimeVolume, SnapshotState, VolumeState
from tests.iri.simulated.world import GIB, World, connect_disk, machine, snapshot, volume, with_capacity

MIB = 1 << 20


@pytest.fixture
def world() -> World:
    return World()


def test_a_volume_can_be_used_once_it_is_prepared(world: World) -> None:
    made = world.runtime.create(volume("v1", size_bytes=GIB + 1))
    assert made.status.state is VolumeState.PENDING
    assert made.status.access is None
    world.pass_seconds(1)
    there = world.volume(made.id)
    assert there.status.state is VolumeState.AVAILABLE
    assert there.status.access is not None
    assert there.status.access.handle
    assert there.spec == made.spec
    assert there.status.resources == Resources(storage_bytes=GIB + MIB)
    assert world.runtime.create(volume("v1")) is there


def test_a_volume_from_an_image_waits_for_the_image(world: World) -> None:
    made = world.runtime.create(volume("v1", image="os"))
    world.pass_seconds(world.profile.times.pull.least)
    assert world.volume(made.id).status.state is VolumeState.PENDING
    world.pass_seconds(world.profile.times.pull.most + world.profile.times.clone.most)
    assert world.volume(made.id).status.state is VolumeState.AVAILABLE
    second = world.runtime.create(volume("v2", image="os"))
    world.pass_seconds(world.profile.times.clone.most)
    assert world.volume(second.id).status.state is VolumeState.AVAILABLE


def test_a_volume_whose_image_is_missing_is_in_error() -> None:
    world = World(Profile(unavailable_images=("no-such",)))
    made = world.runtime.create(volume("v1", image="no-such"))
    assert made.status.state is VolumeState.ERROR
    assert "ImagePullFailed" in world.reasons(made.id)
    world.runtime.remove(RuntimeVolume, made.id)
    world.pass_seconds(1)
    assert world.runtime.objects(RuntimeVolume) == {}
    assert world.host.state.usage.totals() == {}


def test_a_volume_reports_its_new_size_once_it_has_grown(world: World) -> None:
    made = world.available(volume("v1"))
    world.runtime.change(made.id, ExpandVolume(Resources(storage_bytes=3 * GIB)))
    growing = world.volume(made.id)
    assert growing.spec.resources == Resources(storage_bytes=3 * GIB)
    assert growing.status == made.status
    world.pass_seconds(1)
    grown = world.volume(made.id).status
    assert grown.resources == Resources(storage_bytes=3 * GIB)
    assert grown.access == made.status.access
    with pytest.raises(errors.FailedPrecondition):
        world.runtime.change(made.id, ExpandVolume(Resources(storage_bytes=GIB)))


def test_a_full_store_takes_no_volume_and_lets_none_grow() -> None:
    world = World(with_capacity(storage=3 * GIB))
    made = world.available(volume("v1", size_bytes=2 * GIB))
    with pytest.raises(errors.ResourceExhausted):
        world.runtime.create(volume("v2", size_bytes=2 * GIB))
    with pytest.raises(errors.ResourceExhausted):
        world.runtime.change(made.id, ExpandVolume(Resources(storage_bytes=4 * GIB)))
    world.runtime.change(made.id, ExpandVolume(Resources(storage_bytes=3 * GIB)))
    assert world.runtime.offers().volumes[0].quantity == 3 * GIB


def test_a_snapshot_becomes_a_volume(world: World) -> None:
    source = world.available(volume("v1", size_bytes=2 * GIB))
    shot = world.runtime.create(snapshot(source.id))
    assert shot.status.state is SnapshotState.PENDING
    with pytest.raises(errors.FailedPrecondition, match="is not ready"):
        world.runtime.create(volume("v2", size_bytes=2 * GIB, snapshot_id=shot.id))
    world.pass_seconds(2)
    assert world.snapshot(shot.id).status.state is SnapshotState.READY
    assert world.snapshot(shot.id).status.size == 2 * GIB
    assert world.runtime.create(snapshot(source.id)).id == shot.id
    with pytest.raises(errors.InvalidArgument, match="or more"):
        world.runtime.create(volume("v2", size_bytes=GIB, snapshot_id=shot.id))
    copy = world.available(volume("v2", size_bytes=2 * GIB, snapshot_id=shot.id))
    assert copy.status.state is VolumeState.AVAILABLE


def test_a_snapshot_outlives_its_volume_until_it_is_removed(world: World) -> None:
    source = world.available(volume("v1"))
    shot = world.runtime.create(snapshot(source.id))
    world.pass_seconds(2)
    world.runtime.remove(RuntimeVolume, source.id)
    world.pass_seconds(1)
    assert world.runtime.objects(RuntimeVolume) == {}
    world.runtime.remove(RuntimeSnapshot, shot.id)
    assert world.snapshot(shot.id).deleted_at
    world.runtime.remove(RuntimeSnapshot, shot.id)
    world.pass_seconds(1)
    with pytest.raises(errors.NotFound):
        world.runtime.remove(RuntimeSnapshot, shot.id)


def test_a_snapshot_of_an_unavailable_volume_is_refused(world: World) -> None:
    pending = world.runtime.create(volume("v1"))
    with pytest.raises(errors.FailedPrecondition, match="is not available"):
        world.runtime.create(snapshot(pending.id))
    with pytest.raises(errors.NotFound):
        world.runtime.create(snapshot("nope"))


def test_a_volume_is_attached_to_one_machine_at_a_time(world: World) -> None:
    made = world.available(volume("v1"))
    first = world.running(machine("m1", connect_disk(made)))
    with pytest.raises(errors.FailedPrecondition, match=f"attached to machine {first.id}"):
        world.runtime.create(machine("m2", connect_disk(made)))
    second = world.running(machine("m2"))
    world.runtime.change(first.id, DetachVolume("data"))
    with pytest.raises(errors.FailedPrecondition):
        world.runtime.change(second.id, AttachVolume(connect_disk(made)))
    world.pass_seconds(1)
    world.runtime.change(second.id, AttachVolume(connect_disk(made)))
    world.pass_seconds(1)
    status = world.machine(second.id).status.volumes[0]
    access = made.status.access
    assert access is not None
    assert status.handle == access.handle


def test_a_volume_in_use_is_removed_once_it_is_released(world: World) -> None:
    made = world.available(volume("v1"))
    holder = world.running(machine("m1", connect_disk(made)))
    world.runtime.remove(RuntimeVolume, made.id)
    world.pass_seconds(60)
    assert world.volume(made.id).deleted_at
    world.runtime.remove(RuntimeMachine, holder.id)
    world.pass_seconds(60)
    assert world.runtime.objects(RuntimeMachine) == {}
    assert world.runtime.objects(RuntimeVolume) == {}


def test_an_unknown_handle_is_refused_but_not_one_of_another_driver(world: World) -> None:
    wrong = Disk(name="data", connection=VolumeConnection(driver="simulated", handle="no-such"))
    with pytest.raises(errors.FailedPrecondition, match="no volume with handle 'no-such'"):
        world.runtime.create(machine("m1", wrong))
    ceph = Disk(name="data", connection=VolumeConnection(driver="ceph", handle="no-such"))
    assert world.running(machine("m1", ceph)).status.volumes[0].handle == "no-such"


def test_unknown_classes_and_volumes_are_named(world: World) -> None:
    with pytest.raises(errors.InvalidArgument, match="'fast' does not exist here; there are: standard"):
        world.runtime.create(volume("v1", class_name="fast"))
    with pytest.raises(errors.NotFound, match="volume nope does not exist"):
        world.runtime.remove(RuntimeVolume, "nope")
