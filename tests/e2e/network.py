"""A network of its own, and machines on it: each a network namespace with one address, reached through a switch.

Needs root. What it makes is gone with the processes that hold the namespaces, and those end with the test process.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.servers.daemon import bare

SWITCH = "switch"


@dataclass(frozen=True)
class Place:
    """A machine on the network, and the words that take a command there."""

    address: str
    pid: int

    @property
    def inside(self) -> tuple[str, ...]:
        return ("nsenter", f"--net=/proc/{self.pid}/ns/net")


@dataclass
class Network:
    """It is private, so its addresses mean nothing elsewhere."""

    switch: int
    ended: contextlib.ExitStack
    ports: dict[str, str] = field(
        default_factory=dict
    )  # of the switch, by the address at the other end of the line

    def machine(self) -> Place:
        return self.join(self.ended.enter_context(namespace()))

    def join(self, pid: int) -> Place:
        """Gives the network namespace of that process a line to the switch."""
        number = len(self.ports) + 1
        port, place = f"port{number}", Place(f"10.77.0.{number}", pid)
        self.ports[place.address] = port
        inside = Place("", self.switch).inside
        do("ip", "link", "add", port, "netns", str(self.switch), "type", "veth", "peer", "name", "uplink", "netns", str(pid))  # fmt: skip
        do(*inside, "ip", "link", "set", port, "master", SWITCH, "up")
        do(*place.inside, "ip", "address", "add", f"{place.address}/24", "dev", "uplink")
        do(*place.inside, "ip", "link", "set", "uplink", "up")
        return place

    def cut(self, place: Place) -> None:
        """Cuts its line without closing connections; it reaches no other host either."""
        self._turn(place, "down")

    def restore(self, place: Place) -> None:
        self._turn(place, "up")

    def _turn(self, place: Place, state: str) -> None:
        do(*Place("", self.switch).inside, "ip", "link", "set", self.ports[place.address], state)


@contextlib.contextmanager
def network() -> Iterator[Network]:
    with contextlib.ExitStack() as ended:
        switch = ended.enter_context(namespace())
        do(*Place("", switch).inside, "ip", "link", "add", SWITCH, "type", "bridge")
        do(*Place("", switch).inside, "ip", "link", "set", SWITCH, "up")
        yield Network(switch, ended)


@contextlib.contextmanager
def namespace() -> Iterator[int]:
    """The process that holds a new network namespace; it ends with its standard input, so with whoever holds that."""
    command = ("unshare", "--net", "sh", "-c", "ip link set lo up && echo ready && exec cat")
    holder = subprocess.Popen(
        command, env=bare(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == "ready\n", "no network namespace can be made: the tests need root"
        yield holder.pid
    finally:
        holder.stdin.close()
        holder.stdout.close()
        holder.wait(60)


def do(*command: str) -> None:
    done = subprocess.run(command, env=bare(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
