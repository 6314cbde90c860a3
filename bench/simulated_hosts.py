"""Simulated hosts behind sockets in one process, for benchmarks of what drives them: `python -m bench.simulated_hosts FOLDER COUNT`.

Guests boot in milliseconds and a host has room for thousands: what is measured is the way to it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from iri.address import UnixAddress
from iri.host import RuntimeClasses, RuntimeMachineClass, RuntimeVolumeClass
from iri.simulated.host import SimulatedHost
from iri.simulated.profile import GIB, Profile, Times
from iri.simulated.seeded_random import DurationRange
from iri.simulated.server import SimulatedServer

AT_ONCE = DurationRange(0.001, 0.002, 0.005)
PROFILE = Profile(
    capacity={"cpu": 4096, "memory": 16384 * GIB, "storage": 65536 * GIB},
    classes=RuntimeClasses(
        machines=(RuntimeMachineClass(name="small", resources={"cpu": 1, "memory": GIB}),),
        volumes=(RuntimeVolumeClass(name="standard", tps=100 << 20, iops=1000),),
    ),
    times=Times(**dict.fromkeys(Times.__struct_fields__, AT_ONCE)),
)


def main(folder: Path, first: int, count: int) -> None:
    servers = [
        SimulatedServer(SimulatedHost(PROFILE, number), [UnixAddress(folder / f"{number}.sock")])
        for number in range(first, first + count)
    ]
    for server in servers:
        server.start()
    print("serving", flush=True)
    sys.stdin.read()  # until whoever started this goes
    for server in servers:
        server.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
