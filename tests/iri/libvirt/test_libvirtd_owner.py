"""A libvirtd is one runtime's: another with a folder of its own is told whose, and takes over only where nothing is left."""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from iri.errors import StartupError
from iri.libvirt.connect.link import LibvirtLink
from iri.libvirt.connect.storage import LibvirtSecrets
from iri.libvirt.folder_lock import FolderLock, LockHeldError
from iri.libvirt.libvirtd_owner import USAGE, LibvirtdOwner
from iri.libvirt.runtime import LibvirtRuntime
from iri.machine import Power, RuntimeMachine, RuntimeMachineSpec
from tests.iri.libvirt.world import micro_settings, running_runtime
from tests.servers.libvirtd import Libvirtd, libvirtd


@pytest.fixture(scope="module")
def daemon() -> Iterator[Libvirtd]:
    with libvirtd() as made:
        yield made


@pytest.fixture
def secrets(daemon: Libvirtd) -> Iterator[LibvirtSecrets]:
    link = LibvirtLink(daemon.uri)
    link.open()
    found = LibvirtSecrets(link)
    yield found
    if (noted := found.find_by_usage(USAGE)) is not None:
        found.drop(noted[0])
    link.close()


def test_second_runtime_is_refused_while_the_owner_runs(daemon: Libvirtd, secrets: LibvirtSecrets) -> None:
    first, second = micro_settings(daemon), micro_settings(daemon)
    with running_runtime(first):
        with pytest.raises(
            LockHeldError, match=rf"the runtime at {first.folder} \(pid {os.getpid()}\)"
        ) as refused:
            LibvirtRuntime(second).start()
        assert "stop that runtime first" in refused.value.cure
    with running_runtime(second):
        noted = secrets.find_by_usage(USAGE)
        assert noted is not None
        assert noted[1].endswith(second.folder)


def test_machines_of_another_owner_keep_a_runtime_from_starting(
    daemon: Libvirtd, secrets: LibvirtSecrets
) -> None:
    first, second = micro_settings(daemon), micro_settings(daemon)
    with running_runtime(first) as runtime:
        labels = {"machinepoollet.ironcore.dev/machine-uid": str(uuid.uuid4())}
        made = runtime.create(
            RuntimeMachine(labels=labels, spec=RuntimeMachineSpec(class_name="small", power=Power.OFF))
        )
    with pytest.raises(
        StartupError, match=rf"1 machine of the runtime at {first.folder}, not of the one at {second.folder}"
    ) as refused:
        LibvirtRuntime(second).start()
    noted = secrets.find_by_usage(USAGE)
    assert noted is not None
    assert f"virsh secret-undefine {noted[0]}" in refused.value.cure
    with running_runtime(first) as runtime:
        assert set(runtime.objects(RuntimeMachine)) == {made.id}
    daemon.virsh("secret-undefine", noted[0])
    with running_runtime(second) as runtime:
        assert set(runtime.objects(RuntimeMachine)) == {made.id}


def test_one_of_many_runtimes_that_start_at_once_becomes_the_owner(
    secrets: LibvirtSecrets, tmp_path: Path
) -> None:
    folders = [tmp_path / str(number) for number in range(6)]
    claims, let_in, refused = [], [], []
    for folder in folders:
        folder.mkdir()
        claims.append(FolderLock("a folder"))
        claims[-1].acquire(folder)
    start = threading.Barrier(len(folders))

    def come(folder: Path) -> None:
        start.wait(60)
        try:
            LibvirtdOwner(secrets, folder, lambda: ()).acquire()
        except LockHeldError:
            refused.append(folder)
        else:
            let_in.append(folder)

    threads = [threading.Thread(target=come, args=(folder,)) for folder in folders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for claim in claims:
        claim.release()
    assert (len(let_in), len(refused)) == (1, 5)
