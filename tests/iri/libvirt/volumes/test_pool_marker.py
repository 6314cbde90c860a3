"""A pool whose disk is not mounted counts as frozen, not as empty: nothing is listed, created or deleted until it is mounted."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from iri.change import ExpandVolume
from iri.errors import IRIError, Unavailable
from iri.libvirt.volumes import pool_marker
from iri.libvirt.volumes.settings import DirPool
from iri.machine import Disk, RuntimeLocalDisk
from iri.volume import Resources, RuntimeSnapshot, RuntimeVolume
from tests.iri.contract.subject import MIB, eventually
from tests.iri.libvirt.volumes.stand import Stand
from tests.servers.libvirtd import Libvirtd, libvirtd

MACHINE = "11111111-0000-4000-8000-000000000001"
ROOT = Disk(name="root", local_disk=RuntimeLocalDisk(size_bytes=MIB))


class Host:
    """With a disk that is mounted where the pool `far` has its folder, for libvirtd and for us, and a pool `near`."""

    def __init__(self, daemon: Libvirtd) -> None:
        self.daemon = daemon
        self.disk = daemon.folder / "disk"
        self.mountpoint = daemon.folder / "mnt"
        self.pools = (
            DirPool(name="far", path=str(self.mountpoint)),
            DirPool(name="near", path=str(daemon.folder / "near")),
        )
        self.stand = self.new_stand()
        for folder in (self.disk, self.mountpoint):
            folder.mkdir(mode=0o711)

    def new_stand(self, *pools: DirPool) -> Stand:
        return Stand(self.daemon.uri, self.daemon.folder, pools or self.pools)

    def mount(self) -> None:
        command = ("mount", "--bind", str(self.disk), str(self.mountpoint))
        subprocess.run(command, check=True)
        self.daemon.inside(*command)

    def unmount(self, *options: str) -> None:
        command = ("umount", *options, str(self.mountpoint))
        subprocess.run(command, check=True)
        self.daemon.inside(*command)

    def boot(self) -> None:
        """The runtime and libvirtd are new; what was mounted by hand is not there."""
        self.stand.stop()
        self.unmount()
        self.daemon.kill()
        self.daemon.start()
        self.stand = self.new_stand().start()


@pytest.fixture
def host() -> Iterator[Host]:
    with libvirtd() as daemon:
        host = Host(daemon)
        host.mount()
        try:
            host.stand.start()
            yield host
        finally:
            host.stand.stop()
            while subprocess.run(["umount", "-l", str(host.mountpoint)], capture_output=True).returncode == 0:
                pass


def refusals(stand: Stand, volume: RuntimeVolume) -> list[Callable[[], object]]:
    """What says of a pool that is not there what is in it, or would change it."""
    subject = stand.subject()
    return [
        lambda: stand.objects(RuntimeVolume),
        lambda: stand.objects(RuntimeSnapshot),
        lambda: stand.create(subject.volume()),
        lambda: stand.create(volume),
        lambda: stand.remove(RuntimeVolume, volume.id),
        lambda: stand.change(volume.id, ExpandVolume(Resources(storage_bytes=64 * MIB))),
        lambda: stand.disks.prepare(MACHINE, ROOT),
        lambda: stand.disks.release(MACHINE, "root"),
        lambda: stand.disks.forget(MACHINE),
    ]


def test_pool_whose_disk_is_not_mounted_is_frozen_until_it_is(host: Host) -> None:
    volume = host.stand.subject().available()
    host.stand.disks.prepare(MACHINE, ROOT)
    there = files(host.disk)
    assert len(there) == 3
    host.boot()
    host.stand.disks.sweep({})
    for refusal in refusals(host.stand, volume):
        with pytest.raises(Unavailable, match="storage pool far cannot be reached"):
            refusal()
    host.stand.volumes.wake_waiting()
    host.stand.volumes.collect_images()
    with pytest.raises(Unavailable, match=r"mount it; if its data .* `virsh pool-undefine far`"):
        host.stand.objects(RuntimeVolume)
    assert list(host.mountpoint.iterdir()) == [], "nothing is made in its place"
    assert [offer.volume_class.name for offer in host.stand.offers().volumes] == []

    host.mount()
    host.stand.volumes.wake_waiting()
    eventually(lambda: is_known(host.stand), bool, 60, "be reached")
    assert set(host.stand.objects(RuntimeVolume)) == {volume.id}
    assert files(host.disk) == there
    assert host.stand.create(volume).id == volume.id, "it is that one"
    host.stand.remove(RuntimeVolume, volume.id)
    eventually(lambda: host.stand.objects(RuntimeVolume), lambda found: found == {}, 60, "be gone")


def test_pool_is_frozen_when_its_disk_disappears_at_runtime(host: Host) -> None:
    volume = host.stand.subject().available()
    there = files(host.disk)
    host.unmount("-l")
    for refusal in refusals(host.stand, volume)[2:3] + refusals(host.stand, volume)[6:]:
        with pytest.raises(Unavailable, match=r"storage pool far cannot be reached: .* lacks the mark"):
            refusal()
    assert set(host.stand.objects(RuntimeVolume)) == {volume.id}, "what lies there is known"
    assert host.stand.volumes.collect_images() == 0
    with pytest.raises(Unavailable, match="storage pool far cannot be reached"):
        host.stand.remove(RuntimeVolume, volume.id)
    assert list(host.mountpoint.iterdir()) == []
    host.mount()
    assert files(host.disk) == there
    host.stand.remove(RuntimeVolume, volume.id)
    eventually(lambda: host.stand.objects(RuntimeVolume), lambda found: found == {}, 60, "be gone")


def test_pool_that_a_person_gives_up_starts_empty(host: Host) -> None:
    host.stand.subject().available()
    host.boot()
    with pytest.raises(Unavailable):
        host.stand.objects(RuntimeVolume)
    host.daemon.virsh("pool-destroy", "far")
    host.daemon.virsh("pool-undefine", "far")
    host.stand.volumes.wake_waiting()
    eventually(lambda: is_known(host.stand), bool, 60, "be reached")
    assert host.stand.objects(RuntimeVolume) == {}
    host.stand.subject().available()
    # What was mounted too late is another pool's now: it is not taken for this one.
    host.stand.stop()
    host.mount()
    host.stand = host.new_stand().start()
    with pytest.raises(Unavailable, match="has the marker of another pool"):
        host.stand.objects(RuntimeVolume)


def test_marker_is_recognized_after_a_crash_or_a_new_libvirt(host: Host) -> None:
    volume = host.stand.subject().available()
    mark = pool_marker.read_marker(host.disk)
    assert len(mark) == 32
    host.stand.stop()
    for id in [line.split()[0] for line in host.daemon.virsh("secret-list").stdout.splitlines()]:
        host.daemon.virsh("secret-undefine", id)  # as when it was not yet noted
    host.stand.start()
    assert pool_marker.read_marker(host.disk) == mark
    assert set(host.stand.objects(RuntimeVolume)) == {volume.id}
    host.boot()
    with pytest.raises(Unavailable, match="far"):
        host.stand.objects(RuntimeVolume)


@pytest.mark.parametrize("has_pool", [True, False], ids=["its pools are there", "all is gone"])
def test_pool_stays_frozen_when_libvirt_has_lost_its_note(host: Host, *, has_pool: bool) -> None:
    volume = host.stand.subject().available()
    host.stand.stop()
    for id in [line.split()[0] for line in host.daemon.virsh("secret-list").stdout.splitlines()]:
        host.daemon.virsh("secret-undefine", id)
    host.boot()
    if not has_pool:
        host.stand.stop()
        for pool in ("far", "near"):
            host.daemon.virsh("pool-destroy", pool, check=False)
            host.daemon.virsh("pool-undefine", pool)
        host.stand.start()
    note = host.daemon.folder / "pools" / "far"
    with pytest.raises(Unavailable, match=rf"lacks the marker .* `rm {note}`"):
        host.stand.objects(RuntimeVolume)
    assert host.stand.volumes.collect_images() == 0
    assert list(host.mountpoint.iterdir()) == [], "nothing is made in its place"
    host.mount()
    host.stand.volumes.wake_waiting()
    eventually(lambda: is_known(host.stand), bool, 60, "be reached")
    assert set(host.stand.objects(RuntimeVolume)) == {volume.id}
    assert "mark-far" in host.daemon.virsh("secret-list").stdout, "it is noted again"


def test_removing_the_note_gives_up_a_pool_that_libvirt_has_lost(host: Host) -> None:
    host.stand.subject().available()
    host.boot()
    for id in [line.split()[0] for line in host.daemon.virsh("secret-list").stdout.splitlines()]:
        host.daemon.virsh("secret-undefine", id)
    with pytest.raises(Unavailable):
        host.stand.objects(RuntimeVolume)
    host.daemon.virsh("pool-destroy", "far")
    host.daemon.virsh("pool-undefine", "far")
    (host.daemon.folder / "pools" / "far").unlink()
    host.stand.volumes.wake_waiting()
    eventually(lambda: is_known(host.stand), bool, 60, "be reached")
    assert host.stand.objects(RuntimeVolume) == {}


def test_link_in_place_of_the_marker_is_refused(host: Host) -> None:
    host.stand.stop()
    mark = host.disk / pool_marker.MARKER_FILE
    mark.rename(host.disk / "elsewhere")
    mark.symlink_to("elsewhere")
    host.stand.start()
    with pytest.raises(Unavailable, match=r"reading the marker of .*symbolic link"):
        host.stand.objects(RuntimeVolume)


def test_backing_images_of_a_pool_removed_from_the_settings_stay(host: Host) -> None:
    subject = host.stand.subject()
    volume = subject.available(subject.volume(host.stand.image()))
    host.stand.stop()
    host.stand = host.new_stand(host.pools[1]).start()
    (image,) = host.stand.volumes.images.folder.iterdir()
    os.utime(image, (0, 0))
    assert host.stand.volumes.collect_images() == 0
    host.unmount()
    assert host.stand.volumes.collect_images() == 0
    assert image.exists(), "it may be a backing file"
    host.mount()
    path = host.disk / f"volume-{volume.id}.qcow2"
    subprocess.run(["qemu-img", "check", "-q", path], check=True)
    host.daemon.virsh("pool-destroy", "far")
    host.daemon.virsh("pool-undefine", "far")
    assert host.stand.volumes.collect_images() > 0
    assert not image.exists()
    assert "mark-far" not in host.daemon.virsh("secret-list").stdout
    assert files(host.daemon.folder / "pools") == ["near"]


def test_kernel_that_a_domain_boots_from_stays(host: Host) -> None:
    folder = host.stand.volumes.images.folder
    for name in ("kernel", "initrd", "neither"):
        (folder / name).write_bytes(b"x" * 5000)
        os.utime(folder / name, (0, 0))
    definition = host.daemon.folder / "domain.xml"
    definition.write_text(
        "<domain type='qemu'><name>booted</name><memory unit='MiB'>4</memory><os><type>hvm</type>"
        f"<kernel>{folder / 'kernel'}</kernel><initrd>{folder / 'initrd'}</initrd></os></domain>"
    )
    host.daemon.virsh("define", str(definition))
    assert host.stand.volumes.collect_images() > 0
    assert files(folder) == ["initrd", "kernel"]
    host.daemon.virsh("undefine", "booted")
    assert host.stand.volumes.collect_images() > 0
    assert files(folder) == []


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def is_known(stand: Stand) -> bool:
    try:
        stand.objects(RuntimeVolume)
    except IRIError:
        return False
    return True
