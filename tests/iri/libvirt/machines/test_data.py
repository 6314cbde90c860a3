"""Machines' data on real libvirt: it goes by order and for no other reason, and two machines never have the same."""

from __future__ import annotations

import operator
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from iri.errors import FailedPrecondition
from iri.libvirt.domain.record import NAMESPACE, PREFIX
from iri.libvirt.runtime import LibvirtRuntime
from iri.machine import Connection, Disk, LocalDisk, Machine, MachineSpec, MachineState, Power
from iri.volume import Resources, Volume, VolumeSpec, VolumeState
from tests.iri.contract.subject import eventually, uid_labels
from tests.iri.libvirt.world import local_disk, micro_settings, running_runtime
from tests.servers.leftovers import leftovers
from tests.servers.libvirtd import Libvirtd, libvirtd

MIB = 1 << 20
ROOT = Disk(name="root", device="oda", local_disk=LocalDisk(size_bytes=MIB))
TRIES = 5


@pytest.fixture(scope="module")
def daemon() -> Iterator[Libvirtd]:
    """One that nobody else leaves anything in."""
    with libvirtd() as made:
        yield made


def wanted(*volumes: Disk, power: Power = Power.ON) -> Machine:
    spec = MachineSpec(class_name="small", power=power, volumes=volumes, ignition_data=b"hush")
    return Machine(labels=uid_labels(Machine), spec=spec)


def state(runtime: LibvirtRuntime, id: str) -> MachineState | None:
    machine = runtime.objects(Machine).get(id)
    return machine.status.state if machine is not None else None


def removed(runtime: LibvirtRuntime, *ids: str) -> None:
    for id in ids:
        runtime.remove(Machine, id)
    eventually(lambda: runtime.objects(Machine).keys() & set(ids), operator.not_, 15, "be removed")


def described(daemon: Libvirtd, id: str, metadata: str) -> None:
    said = daemon.virsh("metadata", id, "--uri", NAMESPACE, "--key", PREFIX, "--set", metadata, "--config")
    assert said.returncode == 0


def test_machine_that_nobody_can_read_is_left_alone_with_all_that_is_its(daemon: Libvirtd) -> None:
    settings = micro_settings(daemon)
    folder = Path(settings.folder)
    machine = wanted(ROOT)
    with running_runtime(settings) as runtime:
        id = runtime.create(machine).id
        eventually(lambda: state(runtime, id), lambda now: now is MachineState.RUNNING, 15, "run")
    disk = local_disk(daemon, id)
    inode, pid = disk.stat().st_ino, daemon.guests()[id]
    metadata = daemon.virsh("metadata", id, "--uri", NAMESPACE, "--config").stdout.strip()
    described(daemon, id, "<machine>of another version</machine>")
    with running_runtime(settings) as runtime:
        assert id not in runtime.objects(Machine)
        with pytest.raises(FailedPrecondition, match="nobody can read what it is to be"):
            runtime.create(machine)
        assert disk.stat().st_ino == inode
        assert (folder / "machines" / id / "console.sock").exists()
    described(daemon, id, metadata)
    with running_runtime(settings) as runtime:
        assert runtime.objects(Machine)[id].spec == machine.spec  # its secrets too
        assert daemon.guests()[id] == pid
        removed(runtime, id)
    assert not leftovers(daemon, folder)


def test_machine_that_libvirt_lost_while_nobody_looked_has_its_data_when_it_is_made_again(
    daemon: Libvirtd,
) -> None:
    settings = micro_settings(daemon)
    machine = wanted(ROOT, power=Power.OFF)
    with running_runtime(settings) as runtime:
        id = runtime.create(machine).id
        eventually(lambda: state(runtime, id), lambda now: now is MachineState.SUSPENDED, 15, "be made")
    disk = local_disk(daemon, id)
    inode = disk.stat().st_ino
    assert daemon.virsh("undefine", id).returncode == 0
    with running_runtime(settings) as runtime:
        assert runtime.create(machine).id == id
        eventually(lambda: state(runtime, id), lambda now: now is MachineState.SUSPENDED, 15, "be made")
        assert disk.stat().st_ino == inode
        removed(runtime, id)
    assert not leftovers(daemon, Path(settings.folder))


def test_of_two_machines_that_want_a_volume_at_once_one_gets_it(daemon: Libvirtd) -> None:
    settings = micro_settings(daemon)
    with running_runtime(settings) as runtime, ThreadPoolExecutor(2) as threads:
        volume = runtime.create(
            Volume(
                labels=uid_labels(Volume),
                spec=VolumeSpec(class_name="plain", resources=Resources(storage_bytes=MIB)),
            )
        ).id
        available = eventually(
            lambda: runtime.objects(Volume)[volume],
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
                    connection=Connection(
                        driver=access.driver, handle=f"{number}-{handle}", attributes=access.attributes
                    ),
                )
                for handle in "ab"
            ]
            together = threading.Barrier(2)

            def create(disk: Disk, together: threading.Barrier = together) -> str:
                together.wait()
                try:
                    return runtime.create(wanted(disk, power=Power.OFF)).id
                except FailedPrecondition:
                    return ""

            made = [id for id in threads.map(create, disks) if id]
            assert len(made) == 1
            removed(runtime, *made)
        runtime.remove(Volume, volume)
        eventually(lambda: runtime.objects(Volume), operator.not_, 15, "be removed")
