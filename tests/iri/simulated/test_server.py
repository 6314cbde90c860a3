"""A simulated host behind a socket: its control service, its faults as a client sees them, and the delay of a watch."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from iri import errors
from iri.address import UnixAddress
from iri.change import SetPower
from iri.client import Client
from iri.client.client import Deadlines
from iri.host import RuntimeClasses
from iri.machine import MachineState, Power, RuntimeMachine
from iri.proto.gitvirt.sim.v1alpha1 import api_pb2 as pb
from iri.runtime import ChangeType
from iri.simulated.clock import SECOND_NS
from iri.simulated.control import HostAction
from iri.simulated.control_client import ControlClient
from iri.simulated.faults.fault_rules import FaultEffect, FaultRule
from iri.simulated.host import SimulatedHost
from iri.simulated.machine_calls import GuestAction
from iri.simulated.profile import Profile
from iri.simulated.server import SimulatedServer
from tests.iri.simulated.world import machine


@pytest.fixture
def simulated_server(socket_directory: Path) -> Iterator[SimulatedServer]:
    with SimulatedServer(SimulatedHost(Profile(), seed=1), [UnixAddress(socket_directory / "s")]) as server:
        yield server


@pytest.fixture
def client(simulated_server: SimulatedServer) -> Iterator[Client]:
    (address,) = simulated_server.addresses
    with Client(address, address, Deadlines(status=5, list=5, other=0.5)) as client:
        yield client


@pytest.fixture
def control(simulated_server: SimulatedServer) -> Iterator[ControlClient]:
    with ControlClient(simulated_server.addresses[0]) as control:
        yield control


def test_a_day_passes_in_a_moment(client: Client, control: ControlClient) -> None:
    control.stop_clock()
    made = client.create(machine("m1"))
    watch = client.watch()
    assert [notice.what for notice in watch.next(5)] == [ChangeType.RESYNC]
    control.advance(24 * 3600)
    assert [(notice.id, notice.what) for notice in watch.next(5)] == [(made.id, ChangeType.CHANGED)]
    assert client.objects(RuntimeMachine)[made.id].status.state is MachineState.RUNNING
    assert control.call(pb.GetClockRequest()).clock.mode == pb.CLOCK_MANUAL
    control.run_clock(3600)
    assert control.call(pb.GetClockRequest()).clock.rate == 3600
    watch.close()


def test_a_watcher_learns_at_once_that_a_guest_ended(client: Client, control: ControlClient) -> None:
    control.update_profile(b'{"times": {"boot": [0, 0, 0], "stop": [0.3, 0.3, 0.3]}}')
    made = client.create(machine("m1"))
    watch = client.watch()
    while client.objects(RuntimeMachine)[made.id].status.state is not MachineState.RUNNING:
        time.sleep(0.01)
    while watch.next(0.1):
        pass
    start = time.monotonic()
    control.act_on_guest(made.id, GuestAction.POWEROFF)
    while client.objects(RuntimeMachine)[made.id].status.state is not MachineState.TERMINATED:
        assert watch.next(5)
    # It takes 0.3 s to go down; a poll would need another second to see it.
    assert 0.3 <= time.monotonic() - start < 1.0
    watch.close()


def test_a_lost_answer_to_a_create_does_not_make_two(client: Client, control: ControlClient) -> None:
    fault_id = control.add_fault(
        FaultRule(call="CreateMachine", effect=FaultEffect.AFTER, code="UNAVAILABLE")
    )
    with pytest.raises(errors.Unavailable):
        client.create(machine("m1"))
    control.clear_faults(fault_id)
    made = client.create(machine("m1"))
    assert list(client.objects(RuntimeMachine)) == [made.id]
    assert control.count_calls()["CreateMachine"] == 2


def test_a_slow_answer_is_a_timeout(simulated_server: SimulatedServer, client: Client) -> None:
    made = client.create(machine("m1"))
    simulated_server.faults.add(
        FaultRule(call="UpdateMachinePower", effect=FaultEffect.AFTER, delay_nanoseconds=SECOND_NS, times=1)
    )
    with pytest.raises(errors.TimedOut):
        client.change(made.id, SetPower(Power.OFF))
    assert client.objects(RuntimeMachine)[made.id].spec.power is Power.OFF
    client.change(made.id, SetPower(Power.OFF))


def test_a_host_that_is_down_answers_only_control_calls(client: Client, control: ControlClient) -> None:
    made = client.create(machine("m1"))
    control.act_on_host(HostAction.CRASH, down_seconds=3600)
    with pytest.raises(errors.Unavailable, match="the host is restarting"):
        client.remove(RuntimeMachine, made.id)
    control.advance(3660)
    assert client.objects(RuntimeMachine)[made.id].status.state is MachineState.RUNNING


def test_a_stock_provider_has_no_host_service(client: Client, control: ControlClient) -> None:
    control.set_behavior("stock-libvirt")
    with pytest.raises(errors.Unimplemented):
        client.set_classes(RuntimeClasses())
    with pytest.raises(errors.Unimplemented):
        client.watch()
    first, second = client.create(machine("m1")), client.create(machine("m1"))
    assert set(client.objects(RuntimeMachine)) == {first.id, second.id}
    with pytest.raises(errors.InvalidArgument):
        control.set_behavior("stock-vmware")


def test_many_hosts_in_one_process_share_nothing(socket_directory: Path) -> None:
    servers = [
        SimulatedServer(SimulatedHost(Profile(), seed=number), [UnixAddress(socket_directory / str(number))])
        for number in range(10)
    ]
    for server in servers:
        server.start()
    try:
        for number, server in enumerate(servers):
            (address,) = server.addresses
            with Client(address, address) as client:
                client.create(machine(f"m{number}"))
                labels = [made.labels for made in client.objects(RuntimeMachine).values()]
                assert [list(each.values()) for each in labels] == [[f"m{number}"]]
    finally:
        for server in servers:
            server.stop()
