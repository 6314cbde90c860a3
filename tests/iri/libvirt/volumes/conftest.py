"""Volumes of the worker's libvirtd, each test with a pool of its own."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.iri.contract.subject import Subject
from tests.iri.libvirt.volumes.stand import Stand
from tests.servers.libvirtd import Libvirtd


@pytest.fixture
def folder(libvirtd: Libvirtd) -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="v-", dir=libvirtd.folder))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def stand(libvirtd: Libvirtd, folder: Path) -> Iterator[Stand]:
    stand = Stand(libvirtd.uri, folder).start()
    yield stand
    stand.stop()
    libvirtd.virsh("pool-destroy", stand.pool)
    libvirtd.virsh("pool-undefine", stand.pool)


@pytest.fixture
def subject(stand: Stand) -> Subject:
    return stand.subject()
