"""A simulated host that keeps its state on disk makes the same promises as any runtime."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from iri.simulated.host import SimulatedHost
from iri.simulated.runtime import SimulatedRuntime
from iri.simulated.state.state_log import StateLog
from tests.iri.contract.devices import DevicePromises
from tests.iri.contract.machines import MachinePromises
from tests.iri.contract.subject import Subject
from tests.iri.contract.volumes import VolumePromises
from tests.iri.quick_host import PROFILE
from tests.iri.test_contract import subject_of


class TestSimulatedOnDisk(MachinePromises, DevicePromises, VolumePromises):
    @pytest.fixture
    def subject(self, tmp_path: Path) -> Iterator[Subject]:
        host = SimulatedHost(PROFILE, seed=7, log=StateLog(tmp_path))
        yield subject_of(host, SimulatedRuntime(host))
        host.close()
