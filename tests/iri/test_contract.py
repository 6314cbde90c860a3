"""The simulated runtime keeps every promise, called directly and over a socket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from iri.address import UnixAddress
from iri.client import Client
from iri.server import Server
from iri.simulated import machine_calls
from iri.simulated.host import SimulatedHost
from iri.simulated.machine_calls import GuestAction
from iri.simulated.machine_lifecycle import SimulatedMachine
from iri.simulated.runtime import SimulatedRuntime
from tests.iri.contract.devices import DevicePromises
from tests.iri.contract.host import HostPromises
from tests.iri.contract.logs import LogPromises
from tests.iri.contract.machines import MachinePromises
from tests.iri.contract.subject import Subject
from tests.iri.contract.unavailable import UnavailablePromises
from tests.iri.contract.usage import UsagePromises
from tests.iri.contract.volumes import VolumePromises
from tests.iri.quick_host import PROFILE, quick_host


@pytest.fixture
def host() -> SimulatedHost:
    limits = replace(
        PROFILE,
        unavailable_networks=("libvirt:gone",),
        unavailable_images=("/images/no-such.qcow2", "registry.example.org/no-such:1"),
    )
    return quick_host(limits)


def subject_of(host: SimulatedHost, runtime: SimulatedRuntime | Client) -> Subject:
    def powers_itself_off(id: str) -> None:
        with host.lock() as now_ns:
            machine_calls.act(host, host.find(SimulatedMachine, id), GuestAction.POWEROFF, now_ns)

    return Subject(
        runtime=runtime,
        machine_class="small",
        larger_class="large",
        volume_class="standard",
        network_id="net-1",
        missing_network_id="libvirt:gone",
        missing_image="/images/no-such.qcow2",
        unreachable_image="registry.example.org/no-such:1",
        guest_powers_itself_off=powers_itself_off,
    )


class EveryPromise(
    MachinePromises,
    DevicePromises,
    UnavailablePromises,
    VolumePromises,
    HostPromises,
    LogPromises,
    UsagePromises,
):
    pass


class TestSimulated(EveryPromise):
    @pytest.fixture
    def subject(self, host: SimulatedHost) -> Subject:
        return subject_of(host, SimulatedRuntime(host))


class TestSimulatedOverASocket(EveryPromise):
    @pytest.fixture
    def subject(self, host: SimulatedHost, socket_directory: Path) -> Iterator[Subject]:
        address = UnixAddress(socket_directory / "s")
        with Server(SimulatedRuntime(host), [address]), Client(address, address) as client:
            yield subject_of(host, client)
