"""Machines' data on real libvirt: deleted by order alone, and never shared by two machines."""

from __future__ import annotations

import operator
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from iri.errors import FailedPrecondition, Unavailable
from iri.libvirt.domain.record import NAMESPACE, PREFIX
from iri.libvirt.runtime import LibvirtRuntime
from iri.libvirt.volumes import names
from iri.machine import (
    Disk,
    MachineState,
    Power,
    RuntimeLocalDisk,
    RuntimeMachine,
    RuntimeMachineSpec,
    VolumeConnection,
)
from iri.volume import Resources, RuntimeVolume, RuntimeVolumeSpec, VolumeState
from tests.iri.contract.subject import eventually, uid_labels
from tests.iri.libvirt.world import local_disk, micro_settings, running_runtime
from tests.servers.leftovers import leftovers
from tests.servers.libvirtd import Libvirtd, libvirtd

MIB = 1 << 20
ROOT = Disk(name="root", device="oda", local_disk=RuntimeLocalDisk(size_bytes=MIB))
TRIES = 5


@pytest.fixture(scope="module")
def daemon() -> Iterator[Libvirtd]:
    """A libvirtd without leftovers of other tests."""
    with libvirtd() as made:
        yield made


def make_machine(*volumes: Disk, power: Power = Power.ON) -> RuntimeMachine:
    spec = RuntimeMachineSpec(class_name="small", power=power, volumes=volumes, ignition_data=b"hush")
    return RuntimeMachine(labels=uid_labels(RuntimeMachine), spec=spec)


def state(runtime: LibvirtRuntime, id: str) -> MachineState | None:
    machine = runtime.objects(RuntimeMachine).get(id)
    return machine.status.state if machine is not None else None


def remove_all(runtime: LibvirtRuntime, *ids: str) -> None:
    for id in ids:
        runtime.remove(RuntimeMachine, id)
    eventually(lambda: runtime.objects(RuntimeMachine).keys() & set(ids), operator.not_, 60, "be removed")


def describe(daemon: Libvirtd, id: str, metadata: str) -> None:
    output = daemon.virsh("metadata", id, "--uri", NAMESPACE, "--key", PREFIX, "--set", metadata, "--config")
    assert output.returncode == 0


def test_machine_with_unreadable_metadata_is_left_alone_with_its_data(daemon: Libvirtd) -> None:
    settings = micro_settings(daemon)
    folder = Path(settings.folder)
    machine = make_machine(ROOT)
    with running_runtime(settings) as runtime:
        id = runtime.create(machine).id
        eventually(lambda: state(runtime, id), lambda now: now is MachineState.RUNNING, 60, "run")
    disk = local_disk(daemon, id)
    inode, pid = disk.stat().st_ino, daemon.guests()[id]
    metadata = daemon.virsh("metadata", id, "--uri", NAMESPACE, "--config").stdout.strip()
    describe(daemon, id, "<machine>of another version</machine>")
    with running_runtime(settings) as runtime:
        assert id not in runtime.objects(RuntimeMachine)
        with pytest.raises(FailedPrecondition, match="its metadata cannot be read"):
            runtime.create(machine)
        assert disk.stat().st_ino == inode
        assert (folder / "machines" / id / "console.sock").exists()
    describe(daemon, id, metadata)
    with running_runtime(settings) as runtime:
        assert runtime.objects(RuntimeMachine)[id].spec == machine.spec  # its secrets too
        assert daemon.guests()[id] == pid
        remove_all(runtime, id)
    assert not leftovers(daemon, folder)


def test_recreated_machine_gets_back_the_data_of_a_lost_domain(
    daemon: Libvirtd,
) -> None:
    settings = micro_settings(daemon)
    machine = make_machine(ROOT, power=Power.OFF)
    with running_runtime(settings) as runtime:
        id = runtime.create(machine).id
        eventually(lambda: state(runtime, id), lambda now: now is MachineState.SUSPENDED, 60, "be made")
    disk = local_disk(daemon, id)
    inode = disk.stat().st_ino
    assert daemon.virsh("undefine", id).returncode == 0
    with running_runtime(settings) as runtime:
        assert runtime.create(machine).id == id
        eventually(lambda: state(runtime, id), lambda now: now is MachineState.SUSPENDED, 60, "be made")
        assert disk.stat().st_ino == inode
        remove_all(runtime, id)
    assert not leftovers(daemon, Path(settings.folder))


def test_one_of_two_machines_created_at_once_gets_the_volume(daemon: Libvirtd) -> None:
    settings = micro_settings(daemon)
    with running_runtime(settings) as runtime, ThreadPoolExecutor(2) as threads:
        volume = runtime.create(
            RuntimeVolume(
                labels=uid_labels(RuntimeVolume),
                spec=RuntimeVolumeSpec(class_name="plain", resources=Resources(storage_bytes=MIB)),
            )
        ).id
        available = eventually(
            lambda: runtime.objects(RuntimeVolume)[volume],
            lambda now: now.status.state is VolumeState.AVAILABLE,
            15,
            "be made",
        )
        access = available.status.access
        assert access is not None
        for number in range(TRIES):
            # What a poollet calls it says nothing: where it lies does.
            disks = [
                Disk(
                    name="data",
                    device="odb",
                    connection=VolumeConnection(
                        driver=access.driver, handle=f"{number}-{handle}", attributes=access.attributes
                    ),
                )
                for handle in "ab"
            ]
            together = threading.Barrier(2)

            def create(disk: Disk, together: threading.Barrier = together) -> str:
                together.wait()
                try:
                    return runtime.create(make_machine(disk, power=Power.OFF)).id
                except FailedPrecondition:
                    return ""

            made = [id for id in threads.map(create, disks) if id]
            assert len(made) == 1
            remove_all(runtime, *made)
        runtime.remove(RuntimeVolume, volume)
        eventually(lambda: runtime.objects(RuntimeVolume), operator.not_, 60, "be removed")


def test_machine_gets_no_empty_disk_while_its_pool_is_not_mounted(
    daemon: Libvirtd,
) -> None:
    settings = micro_settings(daemon)
    machine, other = make_machine(ROOT), make_machine(ROOT)
    with running_runtime(settings) as runtime:
        id = runtime.create(machine).id
        eventually(lambda: state(runtime, id), lambda now: now is MachineState.RUNNING, 60, "run")
    disk = local_disk(daemon, id)
    inode = disk.stat().st_ino
    daemon.virsh("destroy", id)
    away = disk.parent.rename(disk.parent.with_name("away"))
    disk.parent.mkdir(mode=0o711)
    with running_runtime(settings) as runtime:
        with pytest.raises(Unavailable, match="storage pool gitvirt cannot be reached"):
            runtime.objects(RuntimeVolume)
        eventually(lambda: trouble(runtime, id), bool, 60, "be in trouble")
        waiting = runtime.create(other).id
        output = eventually(lambda: trouble(runtime, waiting), bool, 60, "be in trouble")
        assert "storage pool gitvirt cannot be reached" in output
        runtime.remove(RuntimeMachine, waiting)
    with running_runtime(settings) as runtime:
        eventually(lambda: trouble(runtime, waiting), bool, 60, "be in trouble")
        assert list(disk.parent.iterdir()) == []
    disk.parent.rmdir()
    away.rename(disk.parent)
    with running_runtime(settings) as runtime:
        eventually(lambda: state(runtime, id), lambda now: now is MachineState.RUNNING, 60, "run")
        assert disk.stat().st_ino == inode
        eventually(lambda: waiting in runtime.objects(RuntimeMachine), operator.not_, 60, "be removed")
        assert runtime.objects(RuntimeVolume) == {}
        remove_all(runtime, id)
    assert not leftovers(daemon, Path(settings.folder))


def trouble(runtime: LibvirtRuntime, id: str) -> str:
    conditions = runtime.objects(RuntimeMachine)[id].status.conditions
    return next((one.message for one in conditions if one.type == "Ready" and one.status == "False"), "")


def test_start_deletes_detached_disks_and_no_other_data(daemon: Libvirtd, tmp_path: Path) -> None:
    settings = micro_settings(daemon)
    with running_runtime(settings) as runtime:
        id = runtime.create(make_machine(ROOT, power=Power.OFF)).id
        eventually(lambda: state(runtime, id), lambda now: now is MachineState.SUSPENDED, 60, "be made")
        unreadable = runtime.create(make_machine(power=Power.OFF)).id
        eventually(
            lambda: state(runtime, unreadable), lambda now: now is MachineState.SUSPENDED, 60, "be made"
        )
    root = local_disk(daemon, id)
    # As the crash leaves them between the domain's letting go of a disk and its deletion.
    detached, referred = (root.with_name(names.local_disk(id, name)) for name in ("detached", "referred"))
    of_no_machine = root.with_name(names.local_disk(str(uuid.uuid4()), "root"))
    unknown = root.with_name(names.local_disk(unreadable, "data"))
    half = root.with_name(f"{names.local_disk(id, 'half')}.partial")
    foreign = root.with_name(f"disk-{id}.qcow2")
    for path in (detached, referred, of_no_machine, unknown, half, foreign):
        path.write_bytes(root.read_bytes())
    definition = tmp_path / "keeper.xml"
    definition.write_text(
        "<domain type='qemu'><name>keeper</name><memory unit='MiB'>4</memory><os><type>hvm</type></os><devices>"
        f"<disk type='file'><source file='{referred}'/><target dev='vda'/></disk></devices></domain>"
    )
    daemon.virsh("define", str(definition))
    metadata = daemon.virsh("metadata", unreadable, "--uri", NAMESPACE, "--config").stdout.strip()
    describe(daemon, unreadable, "<machine>of another version</machine>")
    with running_runtime(settings):
        assert not detached.exists()
        assert not half.exists()
        for path in (root, referred, of_no_machine, unknown, foreign):
            assert path.exists(), path
    daemon.virsh("undefine", "keeper")
    describe(daemon, unreadable, metadata)
    with running_runtime(settings) as runtime:
        assert not referred.exists()
        assert not unknown.exists()
        assert of_no_machine.exists()
        remove_all(runtime, id, unreadable)
    for path in (of_no_machine, foreign):
        path.unlink()
    assert not leftovers(daemon, Path(settings.folder))
