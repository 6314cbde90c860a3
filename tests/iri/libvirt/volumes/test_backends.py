"""A pool that does not answer: the rest goes on, and nothing of it is taken to be absent."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from iri.change import ExpandVolume
from iri.errors import Unavailable
from iri.libvirt.connect.storage import LibvirtSecrets, SecretType
from iri.libvirt.volumes.secrets import Passphrases
from iri.libvirt.volumes.settings import DirPool, NetfsPool, RbdPool
from iri.machine import Disk, RuntimeLocalDisk
from iri.volume import Resources, RuntimeSnapshot, RuntimeVolume
from tests.iri.contract.subject import MIB, eventually
from tests.iri.libvirt.volumes.stand import Stand
from tests.iri.libvirt.volumes.test_encryption import encrypt_spec
from tests.servers.libvirtd import Libvirtd


@pytest.fixture
def stand(libvirtd: Libvirtd, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stand]:
    """Two pools. The `rbd` of the second one is a script that finds no cluster until `there` is written."""
    command = folder / "bin" / "rbd"
    command.parent.mkdir()
    command.write_text(
        f"#!/bin/sh\n[ -e {folder}/there ] && echo '[]' && exit 0\necho 'rbd: listing images failed: (110) Connection timed out' >&2\nexit 110\n"
    )
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}:/usr/sbin:/usr/bin:/sbin:/bin")
    (folder / "key").write_text("QVFEeGFtcGxlS2V5")
    # libvirt has a pool of that name, so that its own connection to Ceph is not asked for.
    definition = folder / "pool.xml"
    target = folder / "target"
    target.mkdir()
    far, near = f"far-{folder.name}", f"near-{folder.name}"
    definition.write_text(f"<pool type='dir'><name>{far}</name><target><path>{target}</path></target></pool>")
    libvirtd.virsh("pool-define", str(definition))
    away = RbdPool(
        name=far, ceph_pool="vms", monitors=("127.0.0.1:1",), user="u", key_file=str(folder / "key")
    )
    stand = Stand(libvirtd.uri, folder, (DirPool(name=near, path=str(folder / "v")), away)).start()
    yield stand
    stand.stop()
    for name in (far, near):
        libvirtd.virsh("pool-destroy", name)
        libvirtd.virsh("pool-undefine", name)


def test_pool_that_does_not_answer_holds_up_nothing_but_itself(stand: Stand) -> None:
    subject = stand.subject()
    machine = "11111111-0000-4000-8000-000000000001"
    stand.disks.prepare(machine, Disk(name="root", local_disk=RuntimeLocalDisk(size_bytes=MIB)))
    id = stand.create(subject.volume()).id
    assert stand.offers().volumes
    assert stand.volumes.total_bytes() > 0
    for ask in (
        lambda: stand.objects(RuntimeVolume),
        lambda: stand.objects(RuntimeSnapshot),
        lambda: stand.remove(RuntimeVolume, "11111111-0000-4000-8000-00000000000f"),
        lambda: stand.change("unknown", ExpandVolume(Resources(storage_bytes=1))),
    ):
        with pytest.raises(
            Unavailable, match=r"storage pool far-.* cannot be reached: .*Connection timed out"
        ):
            ask()
    used = unused_image(stand)
    assert stand.volumes.collect_images() == 0
    assert used.exists()  # a disk of the pool that cannot be read may have it as its backing file
    (stand.folder / "there").touch()
    stand.volumes.wake_waiting()
    eventually(lambda: is_known(stand), bool, 60, "be reached")
    assert set(stand.objects(RuntimeVolume)) == {id}
    assert stand.volumes.collect_images() > 0
    assert not used.exists()
    subject.remove_fully(RuntimeVolume, id)


class HeldPassphrases(Passphrases):
    """Stops a create between its passphrase and its record until `go` is set."""

    def __init__(self, secrets: LibvirtSecrets) -> None:
        super().__init__(secrets)
        self.stored, self.go, self.dropped = threading.Event(), threading.Event(), threading.Event()

    def put(self, name: str, value: bytes, type: SecretType = "volume", *, is_private: bool = True) -> str:
        id = super().put(name, value, type, is_private=is_private)
        self.stored.set()
        assert self.go.wait(60)
        return id

    def drop_unused(self, is_used: Callable[[str], bool]) -> None:
        super().drop_unused(is_used)
        self.dropped.set()


def test_passphrase_of_a_new_volume_stays_while_another_pool_opens(stand: Stand) -> None:
    secrets = LibvirtSecrets(stand.link)
    held = stand.volumes.passphrases = HeldPassphrases(secrets)
    subject = stand.subject()
    with ThreadPoolExecutor(1) as workers:
        creating = workers.submit(stand.create, encrypt_spec(subject.volume()))
        assert held.stored.wait(60)
        (stand.folder / "there").touch()
        stand.volumes.wake_waiting()
        eventually(stand.volumes.backends.unopened_names, lambda names: not names, 60, "be open")
        held.go.set()
        id = creating.result(60).id
    assert held.dropped.wait(60)
    assert f"gitvirt/volume-{id}" in secrets.usages().values()
    subject.remove_fully(RuntimeVolume, id)


def test_netfs_pool_opens_once_its_server_answers(libvirtd: Libvirtd, folder: Path) -> None:
    far = NetfsPool(name=f"far-{folder.name}", path=str(folder / "far"), host="127.0.0.1", export="/none")
    near = DirPool(name=f"near-{folder.name}", path=str(folder / "v"))
    stand = Stand(libvirtd.uri, folder, (near, far)).start()
    try:
        assert stand.create(stand.subject().volume()).id
        with pytest.raises(Unavailable, match=f"storage pool {far.name} cannot be reached"):
            stand.objects(RuntimeVolume)
    finally:
        stand.stop()
        libvirtd.virsh("pool-undefine", far.name)
        libvirtd.virsh("pool-destroy", near.name)
        libvirtd.virsh("pool-undefine", near.name)


def unused_image(stand: Stand) -> Path:
    """One that no disk rests on here, for longer than it need be kept."""
    source = stand.image().image_data_source
    assert source is not None
    path = stand.volumes.images.ensure(source.image, "amd64", lambda *_: None).path
    os.utime(path, (0, 0))
    return path


def is_known(stand: Stand) -> bool:
    try:
        stand.objects(RuntimeVolume)
    except Unavailable:
        return False
    return True
