"""The runtime interface over a unix socket: calls per second, and what it costs to list many machines.

The runtime behind it answers from memory, so the figures are those of the interface.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

from bench.measure import figure, percentile, seconds
from iri.address import UnixAddress
from iri.client import Client
from iri.machine import Disk, RuntimeMachine, RuntimeMachineSpec, RuntimeNetworkInterface, VolumeConnection
from iri.server import Server
from iri.simulated.host import SimulatedHost
from iri.simulated.profile import Profile, Times
from iri.simulated.runtime import SimulatedRuntime
from iri.simulated.seeded_random import DurationRange
from iri.wire.calls import MACHINE_CALLS
from iri.wire.connection import ServerConnection

CALLS = 2000
CALLERS = 16
COUNTS = (1000, 10_000)
PREFIX = "machinepoollet.ironcore.dev/"


def machine(number: int) -> RuntimeMachine:
    """As a poollet makes it: a root disk in Ceph, an interface, labels and annotations."""
    connection = VolumeConnection(
        driver="ceph",
        handle=f"{number:016x}",
        attributes={"monitors": "10.0.0.1:6789,10.0.0.2:6789", "image": f"pool/img_{number:016x}"},
        secret_data={"userID": b"client", "userKey": b"k" * 40},
        effective_storage_bytes=10 << 30,
    )
    return RuntimeMachine(
        labels={PREFIX + "machine-uid": str(uuid.UUID(int=number)), PREFIX + "machine-name": f"web-{number}"},
        annotations={
            PREFIX + "machine-generation": "1",
            PREFIX + "networkinterfacemapping": '{"primary":{}}',
        },
        spec=RuntimeMachineSpec(
            class_name="small",
            ignition_data=b"i" * 1024,
            volumes=(Disk(name="root", device="oda", connection=connection),),
            network_interfaces=(
                RuntimeNetworkInterface(name="primary", network_id="net", ips=("10.0.0.9",)),
            ),
        ),
    )


def serve(socket: str, count: int) -> None:
    room = {"cpu": 1 << 20, "memory": 1 << 50, "storage": 1 << 60}
    times = Times(**dict.fromkeys(Times.__struct_fields__, DurationRange(0, 0, 0)))
    runtime = SimulatedRuntime(SimulatedHost(Profile(capacity=room, times=times), seed=1))
    for number in range(count):
        runtime.create(machine(number))
    runtime.objects(RuntimeMachine)
    server = Server(runtime, [UnixAddress(Path(socket))])
    server.start()
    print("serving", flush=True)
    sys.stdin.read()
    server.stop(0)


class Served:
    """A server with so many machines, in a process of its own."""

    def __init__(self, count: int) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="iri")
        self.address = UnixAddress(Path(self._directory.name) / "s")
        command = [sys.executable, "-m", "bench.bench_iri", str(self.address.path), str(count)]
        root = Path(__file__).resolve().parent.parent
        environment = os.environ | {"PYTHONPATH": str(root)}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root, env=environment
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "serving\n"

    def __enter__(self) -> UnixAddress:
        return self.address

    def __exit__(self, *_: object) -> None:
        self._process.communicate("")
        self._directory.cleanup()


def unary(address: UnixAddress) -> None:
    with Client(address) as client:
        client.about()
        times = []
        for _ in range(CALLS):
            start = time.perf_counter()
            client.select(RuntimeMachine, "no-such-id")
            times.append(time.perf_counter() - start)
        figure(
            "unary calls, one caller",
            f"{CALLS / sum(times):,.0f}/s (p50 {percentile(times, 50) * 1e3:.2f} ms,"
            f" p99 {percentile(times, 99) * 1e3:.2f} ms)",
        )

        def call() -> None:
            for _ in range(CALLS // CALLERS):
                client.select(RuntimeMachine, "no-such-id")

        callers = [threading.Thread(target=call) for _ in range(CALLERS)]
        start = time.perf_counter()
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        figure(f"unary calls, {CALLERS} callers", f"{CALLS / (time.perf_counter() - start):,.0f}/s")


def lists(count: int) -> None:
    with Served(count) as address:
        link = ServerConnection(address)
        request = MACHINE_CALLS.list_request("", {})
        start = time.perf_counter()
        data = link.fetch(MACHINE_CALLS.list, request, 60)
        first_fetch = time.perf_counter() - start
        fetch = seconds(lambda: link.fetch(MACHINE_CALLS.list, request, 60))
        link.close()
        with Client(address) as client:
            start = time.perf_counter()
            found = client.select(RuntimeMachine)
            first = time.perf_counter() - start
            again = seconds(lambda: client.select(RuntimeMachine))
            assert len(found) == count
            uid = {PREFIX + "machine-uid": str(uuid.UUID(int=7))}
            by_uid = seconds(lambda: client.select(RuntimeMachine, labels=uid), 9)
    name = f"ListMachines of {count:,}"
    figure(f"{name}, size", f"{len(data) / 2**20:.1f} MiB, {len(data) / count:,.0f} bytes a machine")
    figure(
        f"{name}, encoded on the wire",
        f"{first_fetch * 1e3:.0f} ms the first time, {fetch * 1e3:.0f} ms unchanged",
    )
    figure(
        f"{name}, decoded in the client",
        f"{first * 1e3:.0f} ms the first time, {again * 1e3:.0f} ms unchanged",
    )
    figure(f"{name}, one by its uid label", f"{by_uid * 1e3:.1f} ms")


def main() -> None:
    if len(sys.argv) == 3:
        serve(sys.argv[1], int(sys.argv[2]))
        return
    with Served(1) as address:
        unary(address)
    for count in COUNTS:
        lists(count)


if __name__ == "__main__":
    main()
