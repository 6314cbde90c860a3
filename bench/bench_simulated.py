"""The simulated host: machines brought to RUNNING through a socket, and what ten thousand of them take at rest."""

from __future__ import annotations

import gc
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.measure import figure, percentile
from iri.address import UnixAddress
from iri.client import Client
from iri.host import RuntimeClasses, RuntimeMachineClass
from iri.machine import (
    Disk,
    Image,
    MachineState,
    RuntimeLocalDisk,
    RuntimeMachine,
    RuntimeMachineSpec,
    RuntimeNetworkInterface,
)
from iri.simulated.clock import SimulatedClock
from iri.simulated.host import SimulatedHost
from iri.simulated.profile import Profile, Times
from iri.simulated.runtime import SimulatedRuntime
from iri.simulated.seeded_random import DurationRange
from iri.simulated.server import SimulatedServer
from iri.simulated.state.state_log import StateLog

LABEL = "machinepoollet.ironcore.dev/machine-"
AT_ONCE = Times(**dict.fromkeys(Times.__struct_fields__, DurationRange(0, 0, 0)))
PLENTY = {"cpu": 1 << 40, "memory": 1 << 60, "storage": 1 << 60}
CLASSES = RuntimeClasses(
    machines=(RuntimeMachineClass(name="small", resources={"cpu": 1, "memory": 1 << 30}),)
)
CALLERS = 4


def machine(number: int) -> RuntimeMachine:
    """As a poollet sends it: labels, annotations, a disk from an image, an interface."""
    name = f"web-{number}"
    return RuntimeMachine(
        labels={f"{LABEL}uid": f"uid-{number}", f"{LABEL}namespace": "default", f"{LABEL}name": name},
        annotations={f"{LABEL}generation": "1", "machinepoollet.ironcore.dev/irimachine-generation": "0"},
        spec=RuntimeMachineSpec(
            class_name="small",
            volumes=(
                Disk(
                    name="root",
                    device="oda",
                    local_disk=RuntimeLocalDisk(
                        size_bytes=10 << 30, image=Image(image="registry.example/debian:12")
                    ),
                ),
            ),
            network_interfaces=(
                RuntimeNetworkInterface(
                    name="eth0", network_id="lan", attributes={"mac": f"52:54:00:{number:06x}"}
                ),
            ),
        ),
    )


def host(log: StateLog | None = None, clock: SimulatedClock | None = None) -> SimulatedHost:
    return SimulatedHost(Profile(capacity=PLENTY, classes=CLASSES, times=AT_ONCE), 1, clock, log)


def through_a_socket(count: int) -> float:
    """Machines per second from CreateMachine until a list says RUNNING of all."""
    with tempfile.TemporaryDirectory(prefix="b") as directory:
        address = UnixAddress(Path(directory) / "s")
        with SimulatedServer(host(), [address]), Client(address, address) as client:
            start = time.perf_counter()
            with ThreadPoolExecutor(CALLERS) as pool:
                list(pool.map(lambda number: client.create(machine(number)), range(count)))
            while not all(
                made.status.state is MachineState.RUNNING for made in client.objects(RuntimeMachine).values()
            ):
                time.sleep(0.01)
            return count / (time.perf_counter() - start)


def until_noticed(count: int) -> list[float]:
    """Seconds from a change that is due until a watcher beyond the socket knows of it."""
    times = Times(**dict.fromkeys(Times.__struct_fields__, DurationRange(0.02, 0.02, 0.02)))
    seconds = []
    with tempfile.TemporaryDirectory(prefix="b") as directory:
        address = UnixAddress(Path(directory) / "s")
        quick = SimulatedHost(Profile(capacity=PLENTY, classes=CLASSES, times=times), 1)
        with SimulatedServer(quick, [address]), Client(address, address) as client:
            watch = client.watch()
            watch.next(5)
            for number in range(count):
                made = client.create(
                    RuntimeMachine(
                        labels={f"{LABEL}uid": f"n{number}"}, spec=RuntimeMachineSpec(class_name="small")
                    )
                )
                due = made.created_at / 1e9 + 0.02
                while not any(notice.what == "changed" for notice in watch.next(5)):
                    pass
                seconds.append(time.time() - due)
            watch.close()
    return seconds


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def at_rest(count: int) -> tuple[float, float, float]:
    """Bytes for each machine, machines created per second in process, and seconds of a look at all of them."""
    clock = SimulatedClock()
    runtime = SimulatedRuntime(host(clock=clock))
    gc.collect()
    before = resident_bytes()
    start = time.perf_counter()
    for number in range(count):
        runtime.create(machine(number))
    created = time.perf_counter() - start
    clock.advance(3600 * 10**9)
    assert all(made.status.state is MachineState.RUNNING for made in runtime.objects(RuntimeMachine).values())
    gc.collect()
    start = time.perf_counter()
    looks = 100
    for _ in range(looks):
        runtime.objects(RuntimeMachine)
    return (resident_bytes() - before) / count, count / created, (time.perf_counter() - start) / looks


def on_disk(count: int) -> tuple[float, float]:
    """Machines per second with every one on disk before the call returns, and seconds to read them again."""
    with tempfile.TemporaryDirectory(prefix="b") as directory:
        kept = host(StateLog(Path(directory)))
        runtime = SimulatedRuntime(kept)
        start = time.perf_counter()
        with ThreadPoolExecutor(CALLERS) as pool:
            list(pool.map(lambda number: runtime.create(machine(number)), range(count)))
        rate = count / (time.perf_counter() - start)
        kept.close()
        start = time.perf_counter()
        again = host(StateLog(Path(directory)))
        seconds = time.perf_counter() - start
        assert len(SimulatedRuntime(again).objects(RuntimeMachine)) == count
        again.close()
        return rate, seconds


def main(count: int) -> None:
    machine_bytes, rate, look = at_rest(count)  # first, while nothing else has used memory
    socket_rate = through_a_socket(count // 5)
    noticed = until_noticed(50)
    disk_rate, read = on_disk(count)
    figure("machines to RUNNING through a socket", f"{socket_rate:.0f}/s ({CALLERS} callers)")
    figure("from due to noticed over a socket", f"median {percentile(noticed, 50) * 1000:.1f} ms")
    figure("machines created in process", f"{rate:.0f}/s")
    figure("machines created with state on disk", f"{disk_rate:.0f}/s, {count} read again in {read:.2f} s")
    figure(f"memory per machine at {count}", f"{machine_bytes:.0f} bytes")
    figure(f"a look at {count} machines at rest", f"{look * 1e6:.1f} us")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
