"""Volumes in a real Ceph: what lies there, what stays after a crash, and what is told when it is not reached."""

from __future__ import annotations

import contextlib
import subprocess
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from iri.change import ExpandVolume
from iri.errors import FailedPrecondition, InvalidArgument, ResourceExhausted, Unavailable
from iri.libvirt.domain.devices import disk_element
from iri.libvirt.domain.names import alias_of
from iri.libvirt.volumes import storage_xml
from iri.libvirt.volumes.settings import RbdPool
from iri.libvirt.xml import parse, text
from iri.machine import Disk, VolumeConnection
from iri.volume import (
    Access,
    Resources,
    RuntimeSnapshot,
    RuntimeVolume,
    SnapshotSource,
    VolumeDataSource,
    VolumeEncryption,
    VolumeState,
)
from tests.iri.contract.subject import MIB, Subject, eventually
from tests.iri.libvirt.ceph.conftest import CAPACITY, PATIENCE, POOL, Cluster
from tests.iri.libvirt.volumes.stand import Stand, with_size
from tests.servers.daemon import bare

BODY = bytes(range(256)) * 8192  # 2 MiB
MACHINE = "11111111-0000-4000-8000-000000000001"
DOMAIN = f"""
<domain type='qemu'><name>{MACHINE}</name><uuid>{MACHINE}</uuid><memory unit='MiB'>2</memory>
<os><type machine='pc'>hvm</type></os><features><acpi/></features>
<devices><controller type='usb' model='none'/><memballoon model='none'/></devices></domain>
"""
Virsh = Callable[..., "subprocess.CompletedProcess[str]"]


def name(thing: RuntimeVolume | RuntimeSnapshot) -> str:
    return f"{'volume' if isinstance(thing, RuntimeVolume) else 'snapshot'}-{thing.id}"


def content(cluster: Cluster, image: str, size: int) -> bytes:
    command = [
        "rbd",
        "-c",
        str(cluster.ceph.folder / "ceph.conf"),
        "export",
        f"{POOL}/{image}",
        "-",
        "--no-progress",
    ]
    return subprocess.run(command, check=True, capture_output=True, env=bare()).stdout[:size]


def open_image(cluster: Cluster, image: str) -> str:
    return f"rbd:{POOL}/{image}:conf={cluster.ceph.folder}/ceph.conf:id=admin"


def write(cluster: Cluster, image: str, pattern: int) -> None:
    command = ["qemu-io", "-f", "raw", "-c", f"write -P {pattern} 0 65536", open_image(cluster, image)]
    subprocess.run(command, check=True, capture_output=True, env=bare())


def access(volume: RuntimeVolume) -> Access:
    assert volume.status.access is not None
    return volume.status.access


def from_snapshot(subject: Subject, snapshot: RuntimeSnapshot) -> RuntimeVolume:
    return subject.volume(VolumeDataSource(snapshot_data_source=SnapshotSource(snapshot_id=snapshot.id)))


def test_access_is_what_stock_machine_runtimes_understand(
    stand: Stand, subject: Subject, cluster: Cluster
) -> None:
    volume = subject.available()
    assert access(volume).driver == "ceph"
    assert access(volume).attributes == {"monitors": cluster.ceph.monitor, "image": f"{POOL}/{name(volume)}"}
    assert access(volume).secret_data == {
        "userID": POOL.encode(),
        "userKey": cluster.key.read_bytes().strip(),
    }
    assert f'"size":{subject.volume_bytes}' in cluster.rbd(
        "info", f"{POOL}/{name(volume)}", "--format", "json"
    )


def test_limits_of_the_class_apply_on_every_host(stand: Stand, subject: Subject, cluster: Cluster) -> None:
    wanted = subject.volume()
    volume = subject.available(replace(wanted, spec=replace(wanted.spec, class_name="limited")))
    output = cluster.rbd("image-meta", "list", f"{POOL}/{name(volume)}", "--format", "json")
    assert '"conf_rbd_qos_iops_limit":"500"' in output
    assert f'"conf_rbd_qos_bps_limit":"{10 * MIB}"' in output


def test_image_is_copied_into_ceph_once_and_deleted_with_its_last_volume(
    stand: Stand, subject: Subject, cluster: Cluster
) -> None:
    source = stand.image(BODY)
    ids = [stand.create(subject.volume(source)).id for _ in range(4)]
    for id in ids:
        subject.until_volume(id, lambda there: there.status.state is VolumeState.AVAILABLE, "be available")
        assert content(cluster, f"volume-{id}", len(BODY)) == BODY
    imports = [event for event in stand.events() if event.reason == "ImportingImage"]
    assert len(imports) == 1
    assert len([image for image in cluster.images() if image.startswith("image-")]) == 1
    for id in ids:
        subject.remove_fully(RuntimeVolume, id)
    assert cluster.images() == []


def test_all_objects_are_listed_again_after_a_restart(stand: Stand, subject: Subject) -> None:
    first = subject.available(replace(subject.volume(), annotations={"note": 'ü "quoted"'}))
    snapshot = subject.ready(first.id)
    second = subject.available(from_snapshot(subject, snapshot))
    before = stand.objects(RuntimeVolume), stand.objects(RuntimeSnapshot)
    stand.restart()
    assert (stand.objects(RuntimeVolume), stand.objects(RuntimeSnapshot)) == before
    assert set(before[0]) == {first.id, second.id}


def test_snapshot_is_of_one_moment_and_outlives_its_volume(
    stand: Stand, subject: Subject, cluster: Cluster
) -> None:
    volume = subject.available()
    write(cluster, name(volume), 1)
    snapshot = subject.ready(volume.id)
    write(cluster, name(volume), 2)
    restored = subject.available(with_size(from_snapshot(subject, snapshot), 24 * MIB))
    subject.remove_fully(RuntimeVolume, volume.id)
    assert content(cluster, name(snapshot), 65536) == b"\1" * 65536
    again = subject.available(from_snapshot(subject, snapshot))
    subject.remove_fully(RuntimeSnapshot, snapshot.id)
    for there in (restored, again):
        assert content(cluster, name(there), 65536) == b"\1" * 65536
        subject.remove_fully(RuntimeVolume, there.id)
    assert cluster.images() == []


def test_encrypted_volume_starts_as_its_image_and_can_be_copied(
    stand: Stand, subject: Subject, cluster: Cluster, tmp_path: Path
) -> None:
    wanted = subject.volume(stand.image(BODY))
    secret = VolumeEncryption(secret_data={"encryptionKey": b"correct horse"})
    volume = subject.available(replace(wanted, spec=replace(wanted.spec, encryption=secret)))
    assert volume.status.resources == Resources(storage_bytes=subject.volume_bytes)
    assert BODY[:4096] not in content(cluster, name(volume), 64 * MIB)
    snapshot = subject.ready(volume.id)
    restored = subject.available(with_size(from_snapshot(subject, snapshot), 32 * MIB))
    disk = disk_of_access(restored, {"encryptionKey": b"correct horse"})
    with guest(stand, cluster, disk) as virsh:
        assert str(32 * MIB) in virsh("domblkinfo", MACHINE, "vda").stdout
    passphrase = tmp_path / "passphrase"
    passphrase.write_bytes(b"correct horse")
    options = f"driver=rbd,pool={POOL},image={name(restored)},conf={cluster.ceph.folder}/ceph.conf,user=admin"
    encrypted = f"{options},encrypt.format=luks2,encrypt.key-secret=s"
    raw = tmp_path / "raw"
    command = ["qemu-img", "convert", "--object", f"secret,id=s,file={passphrase}", "--image-opts", encrypted]
    subprocess.run([*command, "-O", "raw", str(raw)], check=True, capture_output=True, env=bare())
    assert raw.read_bytes()[: len(BODY)] == BODY
    assert raw.stat().st_size == 32 * MIB


def disk_of_access(volume: RuntimeVolume, encryption: dict[str, bytes]) -> Disk:
    there = access(volume)
    connection = VolumeConnection(
        driver=there.driver,
        handle=there.handle,
        attributes=there.attributes,
        secret_data=there.secret_data,
        encryption_data=encryption,
    )
    return Disk(name="data", device="oda", connection=connection)


@contextlib.contextmanager
def guest(stand: Stand, cluster: Cluster, disk: Disk) -> Iterator[Virsh]:
    """Defined and started with that disk, and paused: QEMU has it open."""
    source = stand.disks.prepare(MACHINE, disk).source
    domain = parse(DOMAIN)
    devices = domain.find("devices")
    assert devices is not None
    devices.append(disk_element(alias_of(disk), disk.device, "vda", source))
    file = stand.folder / "domain.xml"
    file.write_text(text(domain))
    virsh = cluster.libvirtd.virsh
    virsh("define", str(file))
    virsh("start", MACHINE, "--paused")
    try:
        yield virsh
    finally:
        virsh("destroy", MACHINE)
        virsh("undefine", MACHINE)
        stand.disks.release(MACHINE, disk.name)


def test_full_ceph_pool_refuses_volumes(stand: Stand, subject: Subject) -> None:
    assert {offer.quantity for offer in stand.offers().volumes} == {CAPACITY}
    with pytest.raises(ResourceExhausted, match="storage pool shared is full"):
        stand.create(with_size(subject.volume(), CAPACITY + 1))


def test_image_that_does_not_fit_leaves_nothing(stand: Stand, subject: Subject, cluster: Cluster) -> None:
    id = stand.create(with_size(subject.volume(stand.image(BODY)), MIB)).id
    subject.until_volume(id, lambda there: there.status.state is VolumeState.ERROR, "fail")
    assert "the image needs a volume of" in stand.warnings()[0][1]
    subject.remove_fully(RuntimeVolume, id)
    assert cluster.images() == []


def test_wiped_volume_is_overwritten_first(stand: Stand, subject: Subject, cluster: Cluster) -> None:
    volume = subject.available(replace(subject.volume(), annotations={"gitvirt.dev/wipe": "true"}))
    write(cluster, name(volume), 7)
    subject.remove_fully(RuntimeVolume, volume.id)
    assert cluster.images() == []


# Interrupted


def test_interrupted_work_is_finished_or_removed(stand: Stand, subject: Subject, cluster: Cluster) -> None:
    """Each state in which a crash can leave images, made by hand."""
    placed, waiting, going = subject.available(), subject.available(), subject.available()
    stand.stop()
    # Its new image was whole, and it had been removed to make room.
    cluster.rbd("mv", f"{POOL}/{name(placed)}", f"{POOL}/new-{name(placed)}")
    # Its new image was begun, and has no record; or has one, and what it would replace is there.
    cluster.rbd("create", f"{POOL}/new-{name(waiting)}", "--size", "8")
    cluster.rbd("create", f"{POOL}/new-image-sha256-00", "--size", "8")
    cluster.rbd("create", f"{POOL}/new-volume-{uuid.uuid4()}", "--size", "8")
    # Its deletion was ordered.
    record = cluster.rbd("image-meta", "get", f"{POOL}/{name(going)}", "gitvirt.record").strip()
    ordered = record.replace('"deleted_at":0', '"deleted_at":7')
    cluster.rbd("image-meta", "set", f"{POOL}/{name(going)}", "gitvirt.record", ordered)
    # It was never made.
    record = cluster.rbd("image-meta", "get", f"{POOL}/{name(waiting)}", "gitvirt.record").strip()
    unmade = record.replace('"state":1', '"state":0')
    cluster.rbd("image-meta", "set", f"{POOL}/{name(waiting)}", "gitvirt.record", unmade)
    cluster.rbd("resize", f"{POOL}/{name(waiting)}", "--size", "1", "--allow-shrink", "--no-progress")
    stand.start()
    eventually(
        lambda: set(stand.objects(RuntimeVolume)),
        lambda there: there == {placed.id, waiting.id},
        PATIENCE,
        "go",
    )
    for volume in (placed, waiting):
        assert (
            subject.until_volume(
                volume.id, lambda there: there.status.state is VolumeState.AVAILABLE, "be available"
            )
            == volume
        )
    eventually(
        cluster.images, lambda images: images == sorted([name(placed), name(waiting)]), PATIENCE, "be tidy"
    )


def test_foreign_images_and_those_without_a_record_are_left_alone(
    stand: Stand, subject: Subject, cluster: Cluster
) -> None:
    wanted = subject.volume()
    volume = subject.available(wanted)
    stand.stop()
    cluster.rbd("image-meta", "remove", f"{POOL}/{name(volume)}", "gitvirt.record")
    cluster.rbd("create", f"{POOL}/img_foreign", "--size", "8")
    stand.start()
    assert stand.objects(RuntimeVolume) == {}
    with pytest.raises(FailedPrecondition, match="has no record"):
        stand.create(wanted)
    assert cluster.images() == ["img_foreign", name(volume)]


# In use


@contextlib.contextmanager
def watching(cluster: Cluster, image: str) -> Iterator[None]:
    """As a guest of another host would."""
    command = ["qemu-io", "-f", "raw", open_image(cluster, image)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=bare()
    ) as user:
        assert user.stdin is not None
        assert user.stdout is not None
        user.stdin.write("write 0 512\n")
        user.stdin.flush()
        while "wrote" not in user.stdout.readline():
            pass
        yield
        user.stdin.close()


def test_volume_open_on_another_host_is_deleted_once_that_closes_it(
    stand: Stand, subject: Subject, cluster: Cluster
) -> None:
    volume, unused = subject.available(), subject.available()
    with watching(cluster, name(volume)):
        stand.remove(RuntimeVolume, volume.id)
        subject.remove_fully(RuntimeVolume, unused.id)
        assert stand.objects(RuntimeVolume)[volume.id].deleted_at > 0, "deleted before the unused one"
        assert cluster.images() == [name(volume)]
    stand.volumes.wake_waiting()
    eventually(cluster.images, lambda images: images == [], PATIENCE, "go")


def test_guest_attaches_the_volume_by_its_access_and_sees_it_grow(
    stand: Stand, subject: Subject, cluster: Cluster
) -> None:
    volume = subject.available()
    with guest(stand, cluster, disk_of_access(volume, {})) as virsh:
        stand.change(volume.id, ExpandVolume(Resources(storage_bytes=24 * MIB)))
        subject.until_volume(
            volume.id, lambda now: now.status.resources == Resources(storage_bytes=24 * MIB), "grow"
        )
        assert str(24 * MIB) in virsh("domblkinfo", MACHINE, "vda").stdout
        snapshot = subject.ready(volume.id)
        stand.remove(RuntimeVolume, volume.id)
        assert volume.id in stand.objects(RuntimeVolume)
    stand.volumes.wake_waiting()
    eventually(
        lambda: volume.id in stand.objects(RuntimeVolume), lambda is_there: not is_there, PATIENCE, "go"
    )
    subject.remove_fully(RuntimeSnapshot, snapshot.id)
    assert cluster.images() == []


# Not reached


def test_wrong_key_is_refused_with_the_cause(cluster: Cluster, pool: RbdPool, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("QVFEeGFtcGxlS2V5")
    stand = Stand(cluster.libvirtd.uri, tmp_path, (replace(pool, name="wrong", key_file=str(key)),))
    with pytest.raises((FailedPrecondition, Unavailable), match=r"wrong|vms"):
        stand.start()
    stand.link.close()


@pytest.mark.parametrize(
    ("written", "reason"), [(None, "cannot read the key file: No such file"), ("?", "invalid Ceph key")]
)
def test_invalid_key_file_is_refused(
    cluster: Cluster, pool: RbdPool, tmp_path: Path, written: str | None, reason: str
) -> None:
    key = tmp_path / "key"
    if written is not None:
        key.write_text(written)
    stand = Stand(cluster.libvirtd.uri, tmp_path, (replace(pool, key_file=str(key)),))
    with pytest.raises((FailedPrecondition, InvalidArgument), match=reason):
        stand.start()
    stand.link.close()


def test_calls_wait_for_a_cluster_that_stops(stand: Stand, subject: Subject, cluster: Cluster) -> None:
    """Its OSD does not answer for a while: calls wait, and go on when it is back."""
    volume = subject.available()
    done: list[str] = []
    with cluster.ceph.osd_stopped():
        caller = threading.Thread(target=lambda: done.append(stand.create(subject.volume()).id))
        caller.start()
        caller.join(1)
        assert list(stand.objects(RuntimeVolume)) == [volume.id]
        assert done == []
    caller.join(60)
    subject.until_volume(done[0], lambda there: there.status.state is VolumeState.AVAILABLE, "be available")


def test_libvirt_accepts_the_pool_by_its_schema(cluster: Cluster, pool: RbdPool, tmp_path: Path) -> None:
    file = tmp_path / "pool.xml"
    file.write_text(storage_xml.pool(replace(pool, name="schema"), MACHINE))
    cluster.libvirtd.virsh("pool-define", "--validate", str(file))
    cluster.libvirtd.virsh("pool-undefine", "schema")
