"""Simulated hosts on sockets in a folder, in a process of their own: `python -m bench.simulated_hosts FOLDER COUNT`.

Nothing takes any time on them and there is room for everything, so that what is measured is everybody else. Says "ready", and
serves until its standard input ends.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path

from iri.address import UnixAddress
from iri.host import Classes, MachineClass
from iri.simulated.chance import Span
from iri.simulated.host import Host
from iri.simulated.profile import Profile, Times
from iri.simulated.serving import SimulatedServer

AT_ONCE = Times(**dict.fromkeys(Times.__struct_fields__, Span(0, 0, 0)))
PLENTY = {"cpu": 1 << 20, "memory": 1 << 50, "storage": 1 << 50}
CLASSES = Classes(machines=(MachineClass(name="small", resources={"cpu": 1, "memory": 1 << 30}),))


def socket(folder: Path, number: int) -> Path:
    return folder / f"{number}.sock"


def main(folder: Path, count: int) -> None:
    profile = Profile(capacity=PLENTY, classes=CLASSES, times=AT_ONCE)
    with ExitStack() as stack:
        for number in range(count):
            server = SimulatedServer(Host(profile, number), [UnixAddress(socket(folder, number))])
            stack.enter_context(server)
        print("ready", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
