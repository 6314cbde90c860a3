"""Volumes on real libvirt: what lies where, what is refused, and what is left when things break."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from iri.change import ExpandVolume
from iri.errors import (
    FailedPrecondition,
    ImageNotResolvable,
    InvalidArgument,
    NotFound,
    ResourceExhausted,
)
from iri.host import VolumeOffer
from iri.libvirt.folder_lock import LockHeldError
from iri.libvirt.images.images import CURE
from iri.libvirt.images.settings import ImageSettings
from iri.libvirt.volumes.settings import DirPool
from iri.volume import (
    ImageSource,
    Resources,
    RuntimeSnapshot,
    RuntimeVolume,
    SnapshotSource,
    SnapshotState,
    VolumeDataSource,
    VolumeEncryption,
    VolumeState,
)
from tests.iri.contract.subject import MIB, Subject, eventually
from tests.iri.libvirt.volumes.guests import guest
from tests.iri.libvirt.volumes.stand import CLASSES, Stand, with_size
from tests.servers.depot import depot_server
from tests.servers.libvirtd import Libvirtd, libvirtd
from tests.servers.mounts import small_filesystem

BODY = bytes(range(256)) * 8192  # 2 MiB


def info(path: Path) -> dict[str, object]:
    found = subprocess.run(["qemu-img", "info", "-U", "--output=json", path], check=True, capture_output=True)
    output: dict[str, object] = json.loads(found.stdout)
    return output


def content(path: Path, size: int) -> bytes:
    """What a guest would read."""
    raw = path.with_name("raw")
    subprocess.run(["qemu-img", "convert", "-U", "-f", "qcow2", "-O", "raw", path, raw], check=True)
    with raw.open("rb") as file:
        found = file.read(size)
    raw.unlink()
    return found


def write(path: Path, body: bytes, at: int = 0) -> None:
    """As a guest would."""
    source = path.with_name("source")
    source.write_bytes(body)
    command = ["qemu-io", "-f", "qcow2", "-c", f"write -s {source} {at} {len(body)}", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    source.unlink()


def data(stand: Stand, volume: RuntimeVolume | RuntimeSnapshot) -> Path:
    kind = "volume" if isinstance(volume, RuntimeVolume) else "snapshot"
    return stand.data / f"{kind}-{volume.id}.qcow2"


def from_snapshot(subject: Subject, snapshot: RuntimeSnapshot) -> RuntimeVolume:
    return subject.volume(VolumeDataSource(snapshot_data_source=SnapshotSource(snapshot_id=snapshot.id)))


def failure_of(subject: Subject, wanted: RuntimeVolume) -> RuntimeVolume:
    id = subject.runtime.create(wanted).id
    return subject.until_volume(id, lambda volume: volume.status.state is VolumeState.ERROR, "fail")


def test_volume_is_a_sparse_qcow2_file_that_access_names(stand: Stand, subject: Subject) -> None:
    volume = subject.available()
    access = volume.status.access
    assert access is not None
    assert access.driver == "file"
    assert access.attributes == {"path": str(data(stand, volume)), "format": "qcow2"}
    assert info(data(stand, volume))["virtual-size"] == subject.volume_bytes
    assert data(stand, volume).stat().st_blocks * 512 < MIB


def test_limits_of_the_class_are_in_the_access(stand: Stand, subject: Subject) -> None:
    wanted = subject.volume()
    volume = subject.available(replace(wanted, spec=replace(wanted.spec, class_name="limited")))
    assert volume.status.access is not None
    assert volume.status.access.attributes["iops"] == "500"
    assert volume.status.access.attributes["tps"] == str(10 * MIB)


def test_volume_from_an_image_has_its_content(stand: Stand, subject: Subject) -> None:
    volume = subject.available(subject.volume(stand.image(BODY)))
    assert content(data(stand, volume), len(BODY)) == BODY
    output = info(data(stand, volume))
    assert output["virtual-size"] == subject.volume_bytes
    assert output["backing-filename-format"] == "raw"
    assert Path(str(output["backing-filename"])).parent == stand.volumes.images.folder
    reasons = [event.reason for event in stand.events() if event.id == volume.id]
    assert reasons == ["Available"]


def test_unused_images_are_removed_and_others_stay(stand: Stand, subject: Subject) -> None:
    kept = subject.available(subject.volume(stand.image(BODY)))
    gone = subject.available(subject.volume(stand.image(BODY[::-1])))
    subject.remove_fully(RuntimeVolume, gone.id)
    assert stand.volumes.collect_images() == 0
    for path in stand.volumes.images.folder.iterdir():
        os.utime(path, (1, 1))
    assert stand.volumes.collect_images() > 0
    assert len(list(stand.volumes.images.folder.iterdir())) == 1
    assert content(data(stand, kept), len(BODY)) == BODY


def test_fetching_an_image_is_an_event_of_the_volume(stand: Stand, subject: Subject, folder: Path) -> None:
    with depot_server() as depot:
        url = depot.put("/a.img", BODY)
        digest = hashlib.sha256(BODY).hexdigest()
        depot.answer = 503
        source = VolumeDataSource(image_data_source=ImageSource(image=f"{url}#sha256={digest}"))
        volume = failure_of(subject, subject.volume(source))
        assert stand.warnings()[0][1] == (
            f"image {url}#sha256={digest}: {depot.host} answers 503 Service Unavailable for {url}; {CURE}"
        )
        depot.answer = 0
        subject.until_volume(
            volume.id, lambda there: there.status.state is VolumeState.AVAILABLE, "be available"
        )
    events = [event.reason for event in stand.events() if event.id == volume.id]
    assert events == ["PullingImage", "ImageNotResolvable", "PullingImage", "ImagePullSucceeded", "Available"]
    assert content(data(stand, volume), len(BODY)) == BODY


def test_image_that_does_not_fit_is_an_error_with_the_cause(stand: Stand, subject: Subject) -> None:
    volume = failure_of(subject, with_size(subject.volume(stand.image(BODY)), MIB))
    assert stand.warnings()[0] == (
        "CreateVolumeFailed",
        f"the image needs a volume of at least {len(BODY)} bytes, not {MIB}",
    )
    assert f"volume-{volume.id}.qcow2" not in stand.files()
    subject.remove_fully(RuntimeVolume, volume.id)
    assert stand.files() == []


def test_missing_image_is_refused_before_anything_is_created(stand: Stand, subject: Subject) -> None:
    original = stand.folder / "originals" / "late.img"
    wanted = subject.volume(VolumeDataSource(image_data_source=ImageSource(image=str(original))))
    with pytest.raises(ImageNotResolvable, match="or is not in a folder that this host allows"):
        subject.runtime.create(wanted)
    assert not stand.objects(RuntimeVolume)
    stand.image(BODY, "late.img")
    subject.available(wanted)


def test_invalid_image_is_tried_again(stand: Stand, subject: Subject) -> None:
    original = stand.folder / "originals" / "late.img"
    stand.image(b"QFI\xfb cut off", "late.img")
    wanted = subject.volume(VolumeDataSource(image_data_source=ImageSource(image=str(original))))
    volume = failure_of(subject, wanted)
    assert stand.warnings()[0][0] == "ImageNotResolvable"
    assert f"image {original}: " in stand.warnings()[0][1]
    stand.image(BODY, "late.img")
    assert subject.available(wanted).id == volume.id


def test_all_objects_are_listed_again_after_a_restart(stand: Stand, subject: Subject) -> None:
    """Nothing is left of the runtime but what lies in the pool."""
    first = subject.available(replace(subject.volume(), annotations={"note": "ü\n"}))
    second = subject.available(subject.volume(stand.image(BODY)))
    snapshot = subject.ready(first.id)
    third = subject.available(from_snapshot(subject, snapshot))
    before = stand.objects(RuntimeVolume), stand.objects(RuntimeSnapshot)
    stand.restart()
    assert (stand.objects(RuntimeVolume), stand.objects(RuntimeSnapshot)) == before
    assert set(before[0]) == {first.id, second.id, third.id}


def test_snapshot_has_the_content_of_its_moment(stand: Stand, subject: Subject) -> None:
    volume = subject.available(subject.volume(stand.image(BODY)))
    write(data(stand, volume), b"before" * 1000)
    snapshot = subject.ready(volume.id)
    write(data(stand, volume), b"after!" * 1000)
    restored = subject.available(from_snapshot(subject, snapshot))
    assert content(data(stand, restored), 6000) == b"before" * 1000
    assert content(data(stand, restored), len(BODY))[6000:] == BODY[6000:]
    assert content(data(stand, volume), 6000) == b"after!" * 1000
    subject.remove_fully(RuntimeVolume, volume.id)
    assert content(data(stand, restored), 6000) == b"before" * 1000


def test_data_of_a_deleted_snapshot_stays_until_its_last_volume_is_deleted(
    stand: Stand, subject: Subject
) -> None:
    volume = subject.available()
    write(data(stand, volume), b"kept" * 1000)
    snapshot = subject.ready(volume.id)
    restored = subject.available(from_snapshot(subject, snapshot))
    subject.remove_fully(RuntimeSnapshot, snapshot.id)
    stand.restart()
    assert snapshot.id not in stand.objects(RuntimeSnapshot)
    assert content(data(stand, restored), 4000) == b"kept" * 1000
    subject.remove_fully(RuntimeVolume, restored.id)
    subject.remove_fully(RuntimeVolume, volume.id)
    eventually(stand.files, lambda files: files == [], 60, "be empty")


def test_deletion_waits_for_copies_under_way(stand: Stand, subject: Subject) -> None:
    """Ordered at once, one after the other: nothing of it is lost."""
    volume = subject.available()
    write(data(stand, volume), b"kept" * 1000)
    snapshot = stand.create(subject.snapshot(volume.id))
    stand.remove(RuntimeVolume, volume.id)
    ready = eventually(
        lambda: stand.objects(RuntimeSnapshot)[snapshot.id],
        lambda there: there.status.state is SnapshotState.READY,
        30,
        "be ready",
    )
    restored = stand.create(from_snapshot(subject, ready))
    stand.remove(RuntimeSnapshot, snapshot.id)
    subject.until_volume(
        restored.id, lambda there: there.status.state is VolumeState.AVAILABLE, "be available"
    )
    assert content(data(stand, restored), 4000) == b"kept" * 1000
    eventually(lambda: set(stand.objects(RuntimeVolume)), lambda there: there == {restored.id}, 60, "go")
    assert stand.warnings() == []


def test_volume_from_a_snapshot_must_not_be_smaller(stand: Stand, subject: Subject) -> None:
    snapshot = subject.ready(subject.available().id)
    with pytest.raises(InvalidArgument, match="needs a volume of at least 16777216 bytes"):
        stand.create(with_size(from_snapshot(subject, snapshot), MIB))


def test_full_pool_refuses_volumes(stand: Stand, subject: Subject) -> None:
    offers = {offer.volume_class.name: offer.quantity for offer in stand.offers().volumes}
    total = offers["standard"]
    assert stand.offers().volumes == tuple(
        VolumeOffer(volume_class=offered, quantity=total) for offered in CLASSES
    )
    with pytest.raises(
        ResourceExhausted, match=rf"pool {stand.pool} is full: \d+ bytes needed, {total} of {total}"
    ):
        stand.create(with_size(subject.volume(), total + 1))
    volume = subject.available(with_size(subject.volume(), total // MIB * MIB - 8 * MIB))
    with pytest.raises(ResourceExhausted, match=r"bytes needed, .* free"):
        stand.create(subject.volume())
    with pytest.raises(ResourceExhausted, match=r"bytes needed, .* free"):
        stand.change(volume.id, ExpandVolume(Resources(storage_bytes=total + 1)))
    subject.remove_fully(RuntimeVolume, volume.id)
    assert stand.files() == []


def test_overcommit_and_reserve_set_the_limit(libvirtd: Libvirtd, folder: Path) -> None:
    stand = Stand(libvirtd.uri, folder)
    reserved = replace(stand.pools[0], overcommit=3.0, reserved_bytes=MIB)
    stand.pools = (reserved,)
    stand.start()
    try:
        capacity = stand.volumes.backends.by_name(stand.pool).space().capacity
        assert stand.offers().volumes[0].quantity == 3 * (capacity - MIB)
        subject = stand.subject()
        subject.available(with_size(subject.volume(), 2 * capacity))
    finally:
        stand.stop()


REFUSED = [
    ("no-size", {"resources": None}, InvalidArgument, "needs a size"),
    ("negative", {"resources": Resources(storage_bytes=-1)}, InvalidArgument, "needs a size"),
    ("two-sources", {"volume_data_source": VolumeDataSource(image_data_source=ImageSource(image="/a"), snapshot_data_source=SnapshotSource(snapshot_id="b"))}, NotFound, "snapshot b does not exist"),
    ("no-image", {"volume_data_source": VolumeDataSource(image_data_source=ImageSource(image="../a"))}, ImageNotResolvable, "invalid image"),
    ("no-passphrase", {"encryption": VolumeEncryption(secret_data={"key": b"x"})}, InvalidArgument, "'encryptionKey'"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "error", "reason"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_impossible_request_is_refused_at_once(
    stand: Stand, subject: Subject, spec: dict[str, object], error: type[Exception], reason: str
) -> None:
    wanted = subject.volume()
    with pytest.raises(error, match=reason):
        stand.create(replace(wanted, spec=replace(wanted.spec, **spec)))
    assert stand.files() == []


def test_wiped_volume_leaves_no_data_on_the_disk(stand: Stand, subject: Subject) -> None:
    wiped = subject.available(replace(subject.volume(), annotations={"gitvirt.dev/wipe": "true"}))
    plain = subject.available()
    for volume in (wiped, plain):
        write(data(stand, volume), b"secret" * 1000)
        (stand.folder / volume.id).hardlink_to(data(stand, volume))  # the blocks, once the name is gone
        subject.remove_fully(RuntimeVolume, volume.id)
    assert b"secret" not in (stand.folder / wiped.id).read_bytes()
    assert b"secret" in (stand.folder / plain.id).read_bytes()
    assert stand.files() == []


# Interrupted and damaged


def test_interrupted_creation_starts_again(stand: Stand, subject: Subject) -> None:
    volume = subject.available(subject.volume(stand.image(BODY)))
    stand.stop()
    record = stand.data / f"volume-{volume.id}.json"
    record.write_bytes(record.read_bytes().replace(b'"state":1', b'"state":0'))
    data(stand, volume).write_bytes(b"half of a header")
    (stand.data / f"volume-{volume.id}.json.partial").write_bytes(b"{")
    stand.start()
    again = subject.until_volume(
        volume.id, lambda there: there.status.state is VolumeState.AVAILABLE, "be available"
    )
    assert again == volume
    assert content(data(stand, volume), len(BODY)) == BODY
    assert stand.files() == [f"volume-{volume.id}.json", f"volume-{volume.id}.qcow2"]


def test_interrupted_deletion_is_finished(stand: Stand, subject: Subject) -> None:
    volume, other = subject.available(), subject.available()
    stand.stop()
    record = stand.data / f"volume-{volume.id}.json"
    record.write_bytes(record.read_bytes().replace(b'"deleted_at":0', b'"deleted_at":7'))
    data(stand, volume).unlink()
    stand.start()
    eventually(lambda: stand.objects(RuntimeVolume), lambda there: list(there) == [other.id], 60, "go")
    assert stand.files() == [f"volume-{other.id}.json", f"volume-{other.id}.qcow2"]


def test_unreadable_record_freezes_its_volume_and_no_other(stand: Stand, subject: Subject) -> None:
    wanted = subject.volume()
    damaged, other = subject.available(wanted), subject.available()
    stand.stop()
    (stand.data / f"volume-{damaged.id}.json").write_bytes(b"\xff{")
    stand.start()
    assert list(stand.objects(RuntimeVolume)) == [other.id]
    with pytest.raises(FailedPrecondition, match=f"cannot read the record of volume-{damaged.id}"):
        stand.create(wanted)
    assert data(stand, damaged).exists()


def test_data_without_a_record_is_never_overwritten(stand: Stand, subject: Subject) -> None:
    wanted = subject.volume()
    volume = subject.available(wanted)
    write(data(stand, volume), b"precious" * 100)
    stand.stop()
    (stand.data / f"volume-{volume.id}.json").unlink()
    stand.start()
    with pytest.raises(FailedPrecondition, match="without a record"):
        stand.create(wanted)
    assert content(data(stand, volume), 800) == b"precious" * 100


def test_record_of_another_volume_or_of_a_later_version_is_refused(stand: Stand, subject: Subject) -> None:
    first, second = subject.available(), subject.available()
    stand.stop()
    record = stand.data / f"volume-{first.id}.json"
    record.write_bytes((stand.data / f"volume-{second.id}.json").read_bytes())
    later = stand.data / f"volume-{second.id}.json"
    later.write_bytes(later.read_bytes().replace(b'"format":1', b'"format":2'))
    stand.start()
    assert stand.objects(RuntimeVolume) == {}


def test_link_out_of_the_pool_is_not_followed(stand: Stand, subject: Subject) -> None:
    volume = subject.available(replace(subject.volume(), annotations={"gitvirt.dev/wipe": "true"}))
    target = stand.folder / "elsewhere"
    target.write_bytes(b"not ours" * 100)
    data(stand, volume).unlink()
    data(stand, volume).symlink_to(target)
    snapshot = subject.runtime.create(subject.snapshot(volume.id))
    eventually(lambda: stand.warnings(), lambda output: bool(output), 60, "be refused")
    subject.remove_fully(RuntimeSnapshot, snapshot.id)
    subject.remove_fully(RuntimeVolume, volume.id)
    assert target.read_bytes() == b"not ours" * 100


def test_two_runtimes_do_not_share_a_pool(stand: Stand) -> None:
    other = Stand(stand.uri, stand.folder)
    other.image_settings = ImageSettings(folder=str(stand.folder / "other"))
    with pytest.raises(
        LockHeldError, match=rf"storage pool .* is in use by another runtime \(pid {os.getpid()}\)"
    ):
        other.start()
    other.volumes.close()
    other.link.close()
    stand.stop()
    other.start()
    other.stop()


def test_two_runtimes_do_not_share_an_image_cache(stand: Stand) -> None:
    other = Stand(stand.uri, stand.folder, (DirPool(name="other", path=str(stand.folder / "o")),))
    with pytest.raises(LockHeldError, match=rf"the image cache at .* \(pid {os.getpid()}\)"):
        other.start()
    other.link.close()


def test_full_filesystem_is_an_error_with_its_cause_until_there_is_space(tmp_path: Path) -> None:
    with small_filesystem(tmp_path / "small", 512 << 10) as small, libvirtd() as daemon:
        stand = Stand(
            daemon.uri, tmp_path, (DirPool(name="small", path=str(small / "v"), overcommit=1000),)
        ).start()
        try:
            subject = stand.subject()
            filler = small / "filler"
            filler.write_bytes(bytes(shutil.disk_usage(small).free - (16 << 10)))
            volume = failure_of(subject, subject.volume())
            assert stand.warnings()[0][0] == "CreateVolumeFailed"
            assert "No space left" in stand.warnings()[0][1]
            assert f"volume-{volume.id}.qcow2" not in stand.files()
            filler.unlink()
            subject.until_volume(
                volume.id, lambda there: there.status.state is VolumeState.AVAILABLE, "be available"
            )
        finally:
            stand.stop()


def test_volumes_continue_after_libvirt_was_away(tmp_path: Path) -> None:
    with libvirtd() as daemon:
        stand = Stand(daemon.uri, tmp_path).start()
        try:
            subject = stand.subject()
            volume = subject.available()
            daemon.kill()
            stand.change(volume.id, ExpandVolume(Resources(storage_bytes=32 * MIB)))
            stand.remove(RuntimeVolume, subject.runtime.create(subject.volume()).id)
            daemon.start()
            grown = subject.until_volume(
                volume.id, lambda there: there.status.resources == Resources(storage_bytes=32 * MIB), "grow"
            )
            assert grown.status.state is VolumeState.AVAILABLE
            eventually(
                lambda: stand.objects(RuntimeVolume), lambda there: list(there) == [volume.id], 60, "go"
            )
        finally:
            stand.stop()


# In use by a guest


def test_volume_in_use_grows_under_its_guest(stand: Stand, subject: Subject, libvirtd: Libvirtd) -> None:
    volume = subject.available()
    with guest(libvirtd, stand.folder, data(stand, volume)) as running:
        stand.change(volume.id, ExpandVolume(Resources(storage_bytes=48 * MIB)))
        subject.until_volume(
            volume.id, lambda there: there.status.resources == Resources(storage_bytes=48 * MIB), "grow"
        )
        assert running.capacity("vda") == 48 * MIB
    assert info(data(stand, volume))["virtual-size"] == 48 * MIB


def test_volume_in_use_is_deleted_once_its_guest_releases_it(
    stand: Stand, subject: Subject, libvirtd: Libvirtd
) -> None:
    volume = subject.available()
    with guest(libvirtd, stand.folder, data(stand, volume)):
        stand.remove(RuntimeVolume, volume.id)
        stand.volumes.wake_waiting()
        assert stand.objects(RuntimeVolume)[volume.id].deleted_at > 0
        stand.restart()
        assert data(stand, volume).exists()
        assert stand.objects(RuntimeVolume)[volume.id].deleted_at > 0
    stand.volumes.wake_waiting()
    eventually(stand.files, lambda files: files == [], 60, "be empty")


def test_snapshot_of_a_volume_in_use_has_the_content_of_one_moment(
    stand: Stand, subject: Subject, libvirtd: Libvirtd
) -> None:
    volume = subject.available(subject.volume(stand.image(BODY)))
    write(data(stand, volume), b"before" * 1000)
    with guest(libvirtd, stand.folder, data(stand, volume)):
        snapshot = subject.ready(volume.id)
        assert content(data(stand, snapshot), len(BODY)) == b"before" * 1000 + BODY[6000:]
    restored = subject.available(from_snapshot(subject, snapshot))
    assert content(data(stand, restored), 6000) == b"before" * 1000


def test_volume_that_an_unknown_qemu_writes_to_is_not_copied(stand: Stand, subject: Subject) -> None:
    """A QEMU that libvirt does not know of: the image's own locks tell."""
    volume = subject.available()
    command = ["qemu-io", "-f", "qcow2", str(data(stand, volume))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as user:
        assert user.stdin is not None
        assert user.stdout is not None
        user.stdin.write("write 0 4096\n")
        user.stdin.flush()
        while "wrote" not in user.stdout.readline():
            pass
        snapshot = stand.create(subject.snapshot(volume.id))
        eventually(lambda: stand.warnings(), lambda output: bool(output), 60, "be refused")
        assert "is in use by a running guest" in stand.warnings()[0][1]
        assert stand.objects(RuntimeSnapshot)[snapshot.id].status.state is SnapshotState.FAILED
        user.stdin.close()
    eventually(
        lambda: stand.objects(RuntimeSnapshot)[snapshot.id],
        lambda there: there.status.state is SnapshotState.READY,
        30,
        "be ready",
    )
