"""Volumes in a real Ceph. Everything here is marked `ceph` and runs in a network of its own: see tools/test-ceph."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from iri.libvirt.volumes.settings import RbdPool
from tests.iri.contract.subject import Subject
from tests.iri.libvirt.volumes.stand import Stand
from tests.servers.ceph import Ceph, ceph
from tests.servers.libvirtd import Libvirtd, libvirtd

CAPACITY = 1 << 30
POOL = "vms"
PATIENCE = 90.0  # seconds; a cluster in one process has slow moments


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Only who asks for them: libvirtd is in the tests' own network here."""
    return None if config.option.markexpr == "ceph" else True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.ceph)
            item.add_marker(pytest.mark.timeout(3 * PATIENCE))


@dataclass(frozen=True)
class Cluster:
    ceph: Ceph
    libvirtd: Libvirtd
    key: Path

    def images(self) -> list[str]:
        return self.ceph.images(POOL)

    def rbd(self, *arguments: str) -> str:
        return self.ceph.run("rbd", *arguments)

    def wipe(self) -> None:
        """Whatever a test has left, clones before what they were cloned from."""
        while images := self.images():
            for image in images:
                if self.ceph.run("rbd", "children", "--all", f"{POOL}/{image}"):
                    continue
                for line in self.rbd("snap", "ls", f"{POOL}/{image}").splitlines()[1:]:
                    snapshot = f"{POOL}/{image}@{line.split()[1]}"
                    if "yes" in line.split():
                        self.rbd("snap", "unprotect", snapshot)
                    self.rbd("snap", "rm", snapshot, "--no-progress")
                self.rbd("rm", f"{POOL}/{image}", "--no-progress")


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    with ceph() as running, libvirtd(has_own_network=False) as daemon:
        yield Cluster(running, daemon, running.pool(POOL))


@pytest.fixture
def pool(cluster: Cluster) -> RbdPool:
    return RbdPool(
        name="shared",
        ceph_pool=POOL,
        monitors=(cluster.ceph.monitor,),
        user=POOL,
        key_file=str(cluster.key),
        capacity_bytes=CAPACITY,
    )


@pytest.fixture
def stand(cluster: Cluster, pool: RbdPool) -> Iterator[Stand]:
    folder = Path(tempfile.mkdtemp(prefix="v-", dir=cluster.libvirtd.folder))
    stand = Stand(cluster.libvirtd.uri, folder, (pool,)).start()
    yield stand
    stand.stop()
    shutil.rmtree(folder)
    cluster.wipe()


@pytest.fixture
def subject(stand: Stand) -> Subject:
    return replace(stand.subject(), seconds=PATIENCE)
