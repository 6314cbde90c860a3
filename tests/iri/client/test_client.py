"""What the client adds to the calls: filters, identical objects while unchanged, and two sockets as one runtime."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import pytest

from iri.address import UnixAddress
from iri.change import AttachVolume
from iri.client import Client
from iri.errors import Unimplemented
from iri.machine import Disk, MachineState, RuntimeLocalDisk, RuntimeMachine, RuntimeMachineSpec
from iri.server import Server
from iri.simulated.runtime import SimulatedRuntime
from iri.volume import Resources, RuntimeVolume, RuntimeVolumeSpec
from iri.wire.calls import MACHINE_SERVICE, VOLUME_SERVICE
from tests.iri.contract.subject import eventually
from tests.iri.quick_host import quick_host

WANTED = RuntimeMachine(labels={"app": "web"}, spec=RuntimeMachineSpec(class_name="small"))


@pytest.fixture
def address(socket_directory: Path) -> UnixAddress:
    return UnixAddress(socket_directory / "s")


@pytest.fixture
def client(address: UnixAddress) -> Iterator[Client]:
    with Server(SimulatedRuntime(quick_host()), [address]), Client(address, address) as connected:
        yield connected


def running(client: Client, id: str) -> RuntimeMachine:
    return eventually(
        lambda: client.objects(RuntimeMachine)[id],
        lambda machine: machine.status.state is MachineState.RUNNING,
        10,
        "run",
    )


def test_objects_are_selected_by_id_or_labels(client: Client) -> None:
    web = client.create(WANTED).id
    other = client.create(RuntimeMachine(spec=RuntimeMachineSpec(class_name="small"))).id
    assert set(client.select(RuntimeMachine)) == {web, other}
    assert set(client.select(RuntimeMachine, labels={"app": "web"})) == {web}
    assert set(client.select(RuntimeMachine, other, {"app": "web"})) == {other}
    assert client.select(RuntimeMachine, "no-such-id") == {}


def test_an_unchanged_object_is_the_identical_object(client: Client) -> None:
    still, moving = client.create(WANTED).id, client.create(WANTED).id
    before = {id: running(client, id) for id in (still, moving)}
    client.change(moving, AttachVolume(Disk(name="a", device="oda", local_disk=RuntimeLocalDisk())))
    after = client.objects(RuntimeMachine)
    assert after[still] is before[still]
    assert after[moving] is not before[moving]
    assert after[still].detail.boots == 1


def test_events_are_selected_by_a_time_window(client: Client) -> None:
    machine = running(client, client.create(WANTED).id)
    born = machine.created_at // 10**9
    assert client.events_between(born - 60, born + 60, {"app": "web"})
    assert not client.events_between(born - 60, born + 60, {"app": "other"})
    assert not client.events_between(1, 2)
    assert client.events_between(1, 0), "a window needs both ends"
    assert client.events(born - 60)
    assert not client.events(born + 60)


def test_a_runtime_without_events_differs_from_one_without_news(client: Client, address: UnixAddress) -> None:
    def refuse(call: str) -> AbstractContextManager[None]:
        if call == "ListEvents":
            raise Unimplemented(call)
        return nullcontext()

    assert client.about().has_host_service
    assert client.events(1 << 39) == []
    nowhere = address.path.with_name("without-events")
    with (
        Server(SimulatedRuntime(quick_host()), [UnixAddress(nowhere)], wrapper=refuse),
        Client(UnixAddress(nowhere)) as other,
    ):
        assert other.events_between(0, 0) == ()
        with pytest.raises(Unimplemented):
            other.events()


def test_machines_and_volumes_of_different_processes(socket_directory: Path) -> None:
    machines, volumes = UnixAddress(socket_directory / "m"), UnixAddress(socket_directory / "v")
    with (
        Server(SimulatedRuntime(quick_host()), [machines], services=[MACHINE_SERVICE]),
        Server(SimulatedRuntime(quick_host()), [volumes], services=[VOLUME_SERVICE]),
        Client(machines, volumes) as client,
    ):
        id = client.create(WANTED).id
        wanted = RuntimeVolume(
            spec=RuntimeVolumeSpec(class_name="standard", resources=Resources(storage_bytes=1 << 20))
        )
        volume = client.create(wanted).id
        assert set(client.objects(RuntimeMachine)) == {id}
        assert set(client.objects(RuntimeVolume)) == {volume}
        assert client.offers().machines
        assert client.offers().volumes
        assert client.about().host.id == "", "no host service answers"
        with pytest.raises(Unimplemented):
            client.watch()


def test_runtime_without_details_is_listed_without(address: UnixAddress) -> None:
    @contextmanager
    def stock(call: str) -> Iterator[None]:
        if call in ("DescribeMachines", "DescribeVolumes", "GetHost"):
            raise Unimplemented("not here")
        yield

    with Server(SimulatedRuntime(quick_host()), [address], wrapper=stock), Client(address) as client:
        id = client.create(WANTED).id
        assert running(client, id).detail.boots == 0
        assert client.about().host.capacity == {}


def test_nothing_is_written_to_the_terminal_when_a_server_stops(address: UnixAddress) -> None:
    program = """
import sys
from pathlib import Path
from iri.address import UnixAddress
from iri.client import Client
from iri.server import Server
from iri.simulated.runtime import SimulatedRuntime
from tests.iri.quick_host import quick_host
address = UnixAddress(Path(sys.argv[1]))
server = Server(SimulatedRuntime(quick_host()), [address])
server.start()
client = Client(address)
watch = client.watch()
watch.next(5)
server.stop(0)
watch.close()
"""
    result = subprocess.run(
        [sys.executable, "-c", program, str(address.path)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).resolve().parents[3],
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
