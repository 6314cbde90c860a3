"""Clients that die, servers that are killed and started again, sockets that are replaced: work goes on."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from iri.address import UnixAddress
from iri.client import Client
from iri.client.client import Deadlines
from iri.errors import TimedOut, Unavailable, Unimplemented
from iri.machine import RuntimeMachine, RuntimeMachineSpec
from iri.runtime import ChangeNotice, ChangeType
from iri.server import Server
from iri.server.server import THREADS
from iri.simulated.runtime import SimulatedRuntime
from iri.volume import RuntimeVolume
from tests.iri.client.server_process import end, spawn
from tests.iri.contract.subject import eventually
from tests.iri.quick_host import quick_host

WANTED = RuntimeMachine(spec=RuntimeMachineSpec(class_name="small"))
DEADLINE_SECONDS = 2.0


@pytest.fixture
def address(socket_directory: Path) -> UnixAddress:
    return UnixAddress(socket_directory / "s")


def new_runtime() -> SimulatedRuntime:
    return SimulatedRuntime(quick_host())


def test_client_reaches_a_server_that_was_killed_and_restarted(address: UnixAddress) -> None:
    first = spawn(address.path)
    with Client(address) as client:
        id = client.create(WANTED).id
        end(first)
        with pytest.raises(Unavailable, match=str(address.path)):
            client.create(WANTED)
        assert address.path.exists(), "a killed server leaves its socket"
        second = spawn(address.path)
        try:
            assert id not in client.objects(RuntimeMachine)
            assert client.create(WANTED).id in client.objects(RuntimeMachine)
        finally:
            end(second)


def test_reads_wait_out_a_restart(address: UnixAddress) -> None:
    first = Server(new_runtime(), [address])
    first.start()
    with Client(address) as client:
        client.about()
        first.stop()
        second = Server(new_runtime(), [address])
        starting = threading.Timer(0.5, second.start)
        starting.start()
        assert client.objects(RuntimeMachine) == {}
        starting.join()
        second.stop()


def test_reads_give_up_after_a_moment(address: UnixAddress) -> None:
    with Client(address) as client:
        start = time.monotonic()
        with pytest.raises(Unavailable):
            client.objects(RuntimeMachine)
        assert 0.5 < time.monotonic() - start < 10


def test_reads_are_repeated_and_writes_never(address: UnixAddress) -> None:
    made: list[str] = []

    @contextmanager
    def away(call: str) -> Iterator[None]:
        made.append(call)
        if len(made) < 4:
            raise Unavailable("later")
        yield

    with Server(new_runtime(), [address], wrapper=away), Client(address) as client:
        with pytest.raises(Unavailable, match="later"):
            client.create(WANTED)
        assert made == ["CreateMachine"]
        assert client.select(RuntimeMachine) == {}
        assert made == ["CreateMachine", "ListMachines", "ListMachines", "ListMachines"]


def test_client_leaves_an_old_server_for_the_one_that_replaced_its_socket(address: UnixAddress) -> None:
    old, new = Server(new_runtime(), [address]), Server(new_runtime(), [address])
    old.start()
    with Client(address) as client:
        id = client.create(WANTED).id
        address.path.unlink()
        new.start()
        assert id not in client.objects(RuntimeMachine), "that is the new one's list"
        old.stop()
        assert address.path.exists(), "which keeps its socket when the old one stops"
        assert client.create(WANTED).id in client.objects(RuntimeMachine)
    new.stop()


def test_call_that_takes_too_long_is_timed_out_and_the_next_one_works(address: UnixAddress) -> None:
    leave = threading.Event()

    @contextmanager
    def slow(call: str) -> Iterator[None]:
        if call == "CreateMachine":
            leave.wait(60)
        yield

    with (
        Server(new_runtime(), [address], wrapper=slow),
        Client(address, deadlines=Deadlines(other=DEADLINE_SECONDS)) as client,
    ):
        with pytest.raises(TimedOut, match="CreateMachine in time"):
            client.create(WANTED)
        assert client.objects(RuntimeMachine) == {}
        leave.set()
        eventually(lambda: client.objects(RuntimeMachine), bool, 60, "take effect after all")


def test_calls_of_clients_that_gave_up_waiting_are_not_made(address: UnixAddress) -> None:
    """Otherwise a server that was busy for a while would work on calls that no client waits for."""
    leave, made = threading.Event(), []

    @contextmanager
    def busy(call: str) -> Iterator[None]:
        made.append(call)
        leave.wait(60)
        yield

    with (
        Server(new_runtime(), [address], wrapper=busy),
        Client(address, deadlines=Deadlines(other=DEADLINE_SECONDS)) as client,
    ):

        def create() -> None:
            with pytest.raises(Unavailable):
                client.create(WANTED)

        callers = [threading.Thread(target=create) for _ in range(THREADS + 8)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        # The server's deadlines begin later than the client's, and it learns later that a caller has left.
        time.sleep(DEADLINE_SECONDS)
        leave.set()
        began = made.count("CreateMachine")
        assert 0 < began <= THREADS
        eventually(lambda: client.objects(RuntimeMachine), lambda found: len(found) == began, 60, "settle")
        assert made.count("CreateMachine") == began


CLIENT = """
import sys, time
from pathlib import Path
from iri.address import UnixAddress
from iri.client import Client
from iri.machine import RuntimeMachine, RuntimeMachineSpec
client = Client(UnixAddress(Path(sys.argv[1])))
watch = client.watch()
watch.next(5)
print("watching", flush=True)
while True:
    client.create(RuntimeMachine(spec=RuntimeMachineSpec(class_name="small", ignition_data=b"x" * 1_000_000)))
"""


def test_clients_that_die_at_work_leave_nothing_behind(address: UnixAddress) -> None:
    runtime = new_runtime()
    with Server(runtime, [address]), Client(address) as client:
        # More deaths than there may be watchers: each must have given its place back.
        for _ in range(3):
            dying = [
                subprocess.Popen(
                    [sys.executable, "-c", CLIENT, str(address.path)], stdout=subprocess.PIPE, text=True
                )
                for _ in range(2)
            ]
            for process in dying:
                assert process.stdout is not None
                assert process.stdout.readline() == "watching\n"
            for process in dying:
                process.kill()
                process.wait(60)
                assert process.stdout is not None
                process.stdout.close()
        eventually(
            lambda: len(runtime.host.journal._watchers), lambda count: count == 0, 60, "lose its watchers"
        )
        assert client.about().name


def test_watch_survives_a_restart_and_sends_a_resync(address: UnixAddress) -> None:
    first = Server(new_runtime(), [address])
    first.start()
    with Client(address) as client:
        watch = client.watch()
        assert watch.next(60) == (ChangeNotice(None, "", ChangeType.RESYNC),)
        first.stop(0)
        with Server(new_runtime(), [address]):
            assert watch.next(60) == (ChangeNotice(None, "", ChangeType.RESYNC),)
            id = client.create(WANTED).id
            notices = eventually(lambda: watch.next(0.2), bool, 60, "hear of it")
            assert id in {notice.id for notice in notices}
        watch.close()


def test_watch_without_a_server_times_out(address: UnixAddress) -> None:
    with Client(address, deadlines=Deadlines(other=0.5)) as client, pytest.raises(TimedOut):
        client.watch()


def test_client_without_a_volume_runtime_has_no_volumes(address: UnixAddress) -> None:
    with Server(new_runtime(), [address]), Client(address) as client:
        assert client.objects(RuntimeVolume) == {}
        with pytest.raises(Unimplemented):
            client.remove(RuntimeVolume, "x")
