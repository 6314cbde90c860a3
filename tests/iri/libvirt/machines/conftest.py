from __future__ import annotations

import operator
from collections.abc import Iterator
from pathlib import Path

import pytest

from iri.libvirt.settings import Settings
from iri.machine import RuntimeMachine
from tests.iri.contract.subject import eventually
from tests.iri.libvirt.machines.lab import SECONDS, Lab
from tests.iri.libvirt.world import micro_settings, running_runtime, with_power
from tests.servers.leftovers import leftovers
from tests.servers.libvirtd import Libvirtd, libvirtd


@pytest.fixture(scope="module")
def daemon() -> Iterator[Libvirtd]:
    """One that may die."""
    with libvirtd() as made:
        yield made


@pytest.fixture
def settings(daemon: Libvirtd) -> Settings:
    return with_power(micro_settings(daemon), stop_timeout=1.5, first_restart=0.3, steady=1.0)


@pytest.fixture
def lab(daemon: Libvirtd, settings: Settings) -> Iterator[Lab]:
    with running_runtime(settings) as runtime:
        lab = Lab(daemon, settings, runtime)
        yield lab
        for id in runtime.objects(RuntimeMachine):
            lab.remove(id)
        eventually(lambda: leftovers(daemon, Path(settings.folder)), operator.not_, SECONDS, "leave nothing")
