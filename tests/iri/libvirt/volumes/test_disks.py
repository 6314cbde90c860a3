"""Disks for machines: what a spec may reach, what it may not, and local disks."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from msgspec.structs import replace

from iri.errors import FailedPrecondition, ImageNotResolvable, InvalidArgument, IRIError
from iri.libvirt.device_sources import FileSource, RbdSource
from iri.libvirt.images.qcow2 import virtual_bytes
from iri.machine import Disk, Image, RuntimeLocalDisk, VolumeConnection
from iri.volume import RuntimeVolume
from tests.iri.contract.subject import MIB, Subject
from tests.iri.libvirt.volumes.guests import DOMAIN, guest
from tests.iri.libvirt.volumes.stand import Stand
from tests.servers.libvirtd import Libvirtd

MACHINE = "11111111-0000-4000-8000-000000000001"
OTHER = "11111111-0000-4000-8000-000000000002"
CEPH = {"monitors": "10.0.0.1:6789,[fd00::1]:3300", "image": "pool/img_1"}
KEYS = {"userID": b"volumes", "userKey": b"QVFDeGFtcGxlS2V5"}


def connect(volume: RuntimeVolume, **changes: object) -> Disk:
    access = volume.status.access
    assert access is not None
    connection = VolumeConnection(driver=access.driver, handle=access.handle, attributes=access.attributes)
    return Disk(name="data", device="odb", connection=replace(connection, **changes))


def ceph(**changes: object) -> Disk:
    connection = VolumeConnection(driver="ceph", handle="h", attributes=CEPH, secret_data=KEYS)
    return Disk(name="data", connection=replace(connection, **changes))


def local(size: int, image: str = "", name: str = "root") -> Disk:
    return Disk(
        name=name, local_disk=RuntimeLocalDisk(size_bytes=size, image=Image(image=image) if image else None)
    )


def path(stand: Stand, disk: Disk, machine: str = MACHINE) -> Path:
    where = stand.disks.prepare(machine, disk).source.where
    assert isinstance(where, FileSource)
    return Path(where.path)


def test_volume_of_this_host_is_attached_by_its_access(stand: Stand, subject: Subject) -> None:
    wanted = subject.volume()
    volume = subject.available(replace(wanted, spec=replace(wanted.spec, class_name="limited")))
    prepared = stand.disks.prepare(MACHINE, connect(volume))
    assert prepared.source.where == FileSource(
        path=str(stand.data / f"volume-{volume.id}.qcow2"), format="qcow2"
    )
    assert (prepared.source.iops, prepared.source.bytes_per_second) == (500, 10 * MIB)
    assert prepared.source.luks_secret_id == ""


def test_spec_reaches_nothing_but_volumes(stand: Stand, subject: Subject) -> None:
    volume = subject.available()
    snapshot = subject.ready(volume.id)
    own = stand.data / f"volume-{volume.id}.qcow2"
    own.with_name(f"volume-{uuid.UUID(int=1)}.qcow2").symlink_to("/etc/passwd")
    for reached in (
        "/etc/passwd",
        "/dev/sda",
        "",
        f"{stand.data}/../volumes/{own.name}",
        f"{stand.data}/./../{own.name}",
        str(own.with_suffix(".json")),
        str(stand.data / f"snapshot-{snapshot.id}.qcow2"),
        str(own.with_name("volume-x.qcow2")),
        f"{own}\0",
        f"{own}'/><source file='/etc/passwd",
    ):
        with pytest.raises(InvalidArgument, match="a volume in one of this host's pools"):
            stand.disks.refuse(MACHINE, connect(volume, attributes={"path": reached}))
    linked = str(own.with_name(f"volume-{uuid.UUID(int=1)}.qcow2"))
    with pytest.raises(FailedPrecondition, match="has no volume"):
        stand.disks.refuse(MACHINE, connect(volume, attributes={"path": linked}))
    own.unlink()
    own.symlink_to("/etc/passwd")
    with pytest.raises(FailedPrecondition, match=r"data of volume .* is missing"):
        stand.disks.prepare(MACHINE, connect(volume))


REFUSED: list[tuple[str, Disk, type[IRIError], str]] = [
    ("nothing", Disk(name="d"), InvalidArgument, "neither a volume nor a local disk"),
    (
        "driver",
        Disk(name="d", connection=VolumeConnection(driver="host_device")),
        InvalidArgument,
        "file and ceph, not",
    ),
    ("no-image", ceph(attributes=CEPH | {"image": ""}), InvalidArgument, "image: pool/name"),
    (
        "image-options",
        ceph(attributes=CEPH | {"image": "pool/a:conf=/etc/x"}),
        InvalidArgument,
        "image: pool/name",
    ),
    ("image-snapshot", ceph(attributes=CEPH | {"image": "pool/a@b"}), InvalidArgument, "image: pool/name"),
    ("no-monitors", ceph(attributes={"image": "pool/a"}), InvalidArgument, "monitors"),
    ("monitors", ceph(attributes=CEPH | {"monitors": "a'b:1"}), InvalidArgument, "monitors"),
    ("no-key", ceph(secret_data={"userID": b"a"}), InvalidArgument, "userID and userKey"),
    ("user", ceph(secret_data=KEYS | {"userID": b"\xff"}), InvalidArgument, "userID and userKey"),
    ("key", ceph(secret_data=KEYS | {"userKey": b"?"}), InvalidArgument, "is not a Ceph key"),
    ("iops", ceph(attributes=CEPH | {"iops": "-1"}), InvalidArgument, "iops must be a whole number"),
    ("no-size", local(0), InvalidArgument, "needs a size or an image"),
    ("negative", local(-1), InvalidArgument, "needs a size or an image"),
    ("image", local(MIB, "/../a"), ImageNotResolvable, "invalid image path"),
]


@pytest.mark.parametrize(
    ("disk", "error", "reason"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_disk_that_this_host_never_attaches_is_refused(
    stand: Stand, disk: Disk, error: type[IRIError], reason: str
) -> None:
    with pytest.raises(error, match=reason):
        stand.disks.refuse(MACHINE, disk)


def test_ceph_image_is_attached_with_a_secret_of_its_own(stand: Stand, libvirtd: Libvirtd) -> None:
    disk = ceph(encryption_data={"encryptionKey": b"correct horse"})
    prepared = stand.disks.prepare(MACHINE, disk)
    where = prepared.source.where
    assert isinstance(where, RbdSource)
    assert where.image == "pool/img_1"
    assert where.monitors == (("10.0.0.1", 6789), ("fd00::1", 3300))
    assert where.user == "volumes"
    secrets = libvirtd.virsh("secret-list").stdout
    assert where.secret_id in secrets
    assert prepared.source.luks_secret_id in secrets
    assert stand.disks.prepare(MACHINE, disk) == prepared
    stand.restart()  # machines keep theirs
    assert where.secret_id in libvirtd.virsh("secret-list").stdout
    for is_detached in (True, False):
        assert stand.disks.prepare(MACHINE, disk) == prepared
        other = stand.disks.prepare(OTHER, disk).source.luks_secret_id
        if is_detached:
            stand.disks.release(MACHINE, "data")
        else:
            stand.disks.forget(MACHINE)
        secrets = libvirtd.virsh("secret-list").stdout
        assert where.secret_id not in secrets
        assert prepared.source.luks_secret_id not in secrets
        assert other in secrets
    stand.disks.forget(OTHER)


CEPH_DISK = """<disk type='network' device='disk'><source protocol='rbd' name='pool/img_1'>
<host name='10.0.0.1' port='6789'/></source><target dev='vdb' bus='virtio'/></disk>"""


def test_ceph_image_that_another_domain_has_is_refused(stand: Stand, libvirtd: Libvirtd) -> None:
    definition = stand.folder / "holder.xml"
    definition.write_text(DOMAIN.format(name=OTHER, disk=CEPH_DISK))
    libvirtd.virsh("define", str(definition))
    try:
        stand.disks.refuse(OTHER, ceph())
        stand.disks.refuse(MACHINE, ceph(attributes=CEPH | {"image": "pool/img_2"}))
        with pytest.raises(FailedPrecondition, match=f"attached to machine {OTHER}; detach it there first"):
            stand.disks.refuse(MACHINE, ceph())
    finally:
        libvirtd.virsh("undefine", OTHER)


def test_missing_volume_or_one_under_deletion_is_refused(
    stand: Stand, subject: Subject, libvirtd: Libvirtd
) -> None:
    volume = subject.available()
    disk = connect(volume)
    with guest(libvirtd, stand.folder, stand.data / f"volume-{volume.id}.qcow2") as running:
        stand.disks.refuse(running.name, disk)
        with pytest.raises(
            FailedPrecondition, match=f"attached to machine {running.name}; detach it there first"
        ):
            stand.disks.refuse(MACHINE, disk)
        stand.remove(RuntimeVolume, volume.id)
        with pytest.raises(FailedPrecondition, match="is not available"):
            stand.disks.refuse(running.name, disk)
    subject.remove_fully(RuntimeVolume, volume.id)
    with pytest.raises(FailedPrecondition, match="has no volume"):
        stand.disks.refuse(MACHINE, disk)


def test_local_disk_is_created_once_grows_and_is_deleted(stand: Stand) -> None:
    made = path(stand, local(5 * MIB - 1))
    assert virtual_bytes(made) == 5 * MIB
    inode = made.stat().st_ino
    assert path(stand, local(5 * MIB)) == made
    assert path(stand, local(8 * MIB)) == made
    assert virtual_bytes(made) == 8 * MIB
    assert made.stat().st_ino == inode
    other = path(stand, local(MIB, name="../../etc/passwd"))
    assert other.parent == stand.data
    assert path(stand, local(MIB), OTHER) not in (made, other)
    stand.disks.release(MACHINE, "root")
    stand.disks.release(MACHINE, "root")
    assert not made.exists()
    path(stand, local(MIB))
    assert len(stand.files()) == 3
    stand.disks.sweep({})  # libvirt may have lost its machines, which orders no deletion of their data
    assert len(stand.files()) == 3
    stand.disks.forget(MACHINE)
    assert stand.files() == [path(stand, local(MIB), OTHER).name]
    stand.disks.forget(OTHER)
    assert stand.files() == []


def test_local_disk_grows_under_its_guest(stand: Stand, libvirtd: Libvirtd) -> None:
    made = path(stand, local(2 * MIB))
    with guest(libvirtd, stand.folder, made) as running:
        path(stand, local(6 * MIB))
        assert running.capacity("vda") == 6 * MIB


def test_local_disk_is_at_least_as_large_as_its_image(stand: Stand) -> None:
    stand.image(b"image" * 700_000)
    image = str(stand.folder / "originals" / "a.img")
    prepared = stand.disks.prepare(MACHINE, local(0, image))
    assert prepared.image_ref.startswith(f"{image}#sha256:")
    assert prepared.boot is None
    assert virtual_bytes(path(stand, local(0, image))) == 4 * MIB
    with pytest.raises(InvalidArgument, match="the image needs a disk of at least 3500000 bytes"):
        stand.disks.prepare(MACHINE, local(MIB, image, "other"))
    assert [reason for _, reason, _ in stand.machine_events] == []


def test_damaged_local_disk_is_not_recreated(stand: Stand) -> None:
    made = path(stand, local(MIB))
    made.write_bytes(b"QFI")
    with pytest.raises(
        FailedPrecondition, match=r"disk-.* is not a qcow2 disk any more: it is cut off or overwritten"
    ):
        path(stand, local(MIB))
    assert made.read_bytes() == b"QFI"
    stand.disks.release(MACHINE, "root")


def test_incomplete_local_disk_is_created_again(stand: Stand) -> None:
    made = path(stand, local(MIB))
    stand.disks.release(MACHINE, "root")
    half = made.with_name(f"{made.name}.partial")
    half.write_bytes(b"half")
    assert path(stand, local(MIB)) == made
    assert not half.exists()
    half.write_bytes(b"half")
    stand.disks.sweep({MACHINE: (local(MIB),)})
    assert not half.exists()
    assert made.exists()
