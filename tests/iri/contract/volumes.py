"""Promises about volumes and snapshots."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from iri.change import ExpandVolume
from iri.errors import FailedPrecondition, InvalidArgument, NotFound
from iri.volume import (
    Resources,
    RuntimeSnapshot,
    RuntimeVolume,
    RuntimeVolumeSpec,
    SnapshotSource,
    VolumeDataSource,
    VolumeState,
)
from tests.iri.contract.subject import Subject


class VolumePromises:
    def test_5_same_uid_is_the_same_volume(self, subject: Subject) -> None:
        wanted = subject.volume()
        assert subject.runtime.create(wanted).id == subject.runtime.create(wanted).id

    def test_5_same_uid_is_the_same_snapshot(self, subject: Subject) -> None:
        wanted = subject.snapshot(subject.available().id)
        assert subject.runtime.create(wanted).id == subject.runtime.create(wanted).id

    def test_8_spec_is_the_desired_size_and_status_the_actual_one(self, subject: Subject) -> None:
        wanted = subject.volume()
        uneven = replace(
            wanted, spec=replace(wanted.spec, resources=Resources(storage_bytes=subject.volume_bytes + 1))
        )
        volume = subject.available(uneven)
        assert volume.spec == uneven.spec
        assert volume.labels == uneven.labels
        assert volume.status.resources is not None
        assert volume.status.resources.storage_bytes >= subject.volume_bytes + 1

    def test_8_access_is_published_only_while_the_volume_is_available(self, subject: Subject) -> None:
        id = subject.runtime.create(subject.volume()).id

        def has_access_rightly(volume: RuntimeVolume) -> bool:
            is_available = volume.status.state is VolumeState.AVAILABLE
            assert (volume.status.access is not None) == is_available
            return is_available

        volume = subject.until_volume(id, has_access_rightly, "be available")
        assert volume.status.access is not None
        assert volume.status.access.driver
        assert volume.status.access.handle

    def test_8_volume_grows_and_keeps_its_handle(self, subject: Subject) -> None:
        volume = subject.available()
        size = 2 * subject.volume_bytes
        subject.runtime.change(volume.id, ExpandVolume(Resources(storage_bytes=size)))
        assert subject.get(volume.id, RuntimeVolume).spec.resources == Resources(storage_bytes=size)
        grown = subject.until_volume(
            volume.id,
            lambda found: found.status.resources is not None and found.status.resources.storage_bytes >= size,
            "have grown",
        )
        assert grown.status.access is not None
        assert volume.status.access is not None
        assert grown.status.access.handle == volume.status.access.handle
        subject.runtime.change(volume.id, ExpandVolume(Resources(storage_bytes=size)))

    def test_8_volume_never_shrinks(self, subject: Subject) -> None:
        volume = subject.available()
        with pytest.raises(FailedPrecondition, match="shrink"):
            subject.runtime.change(volume.id, ExpandVolume(Resources(storage_bytes=1)))
        assert subject.get(volume.id, RuntimeVolume).spec == volume.spec

    def test_4_volume_is_deleted_and_then_not_found(self, subject: Subject) -> None:
        volume = subject.available()
        subject.runtime.remove(RuntimeVolume, volume.id)
        going = subject.runtime.objects(RuntimeVolume).get(volume.id)
        assert going is None or going.deleted_at > 0
        subject.remove_fully(RuntimeVolume, volume.id)

    def test_snapshot_is_taken_and_restored(self, subject: Subject) -> None:
        volume = subject.available()
        snapshot = subject.ready(volume.id)
        assert snapshot.spec.volume_id == volume.id
        assert snapshot.status.size > 0
        source = VolumeDataSource(snapshot_data_source=SnapshotSource(snapshot_id=snapshot.id))
        restored = subject.available(subject.volume(source))
        assert restored.spec.volume_data_source == source
        assert restored.status.access is not None
        assert volume.status.access is not None
        assert restored.status.access.handle != volume.status.access.handle
        subject.remove_fully(RuntimeSnapshot, snapshot.id)
        assert restored.id in subject.runtime.objects(RuntimeVolume)

    def test_7_unknown_id_is_not_found(self, subject: Subject) -> None:
        with pytest.raises(NotFound):
            subject.runtime.remove(RuntimeVolume, "no-such-id")
        with pytest.raises(NotFound):
            subject.runtime.remove(RuntimeSnapshot, "no-such-id")

    def test_7_expansion_of_an_unknown_volume_is_not_found(self, subject: Subject) -> None:
        with pytest.raises(NotFound):
            subject.runtime.change("no-such-id", ExpandVolume(Resources(storage_bytes=1)))

    def test_7_snapshot_of_an_unknown_volume_is_not_found(self, subject: Subject) -> None:
        with pytest.raises(NotFound):
            subject.runtime.create(subject.snapshot("no-such-id"))

    def test_7_volume_from_an_unknown_snapshot_is_not_found(self, subject: Subject) -> None:
        source = VolumeDataSource(snapshot_data_source=SnapshotSource(snapshot_id="no-such-id"))
        with pytest.raises(NotFound):
            subject.runtime.create(subject.volume(source))

    def test_7_unknown_volume_class_is_an_invalid_argument(self, subject: Subject) -> None:
        spec = RuntimeVolumeSpec(
            class_name="no-such-class", resources=Resources(storage_bytes=subject.volume_bytes)
        )
        with pytest.raises(InvalidArgument, match="no-such-class"):
            subject.runtime.create(RuntimeVolume(spec=spec))
