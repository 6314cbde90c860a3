"""Ports of guests, on real networks: a host and two guests, each in a network namespace, and what the host's kernel knows of its neighbors."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from poollet.runtimes import neighbors
from tests.e2e.network import Place, network
from tests.servers.daemon import bare

ROOT = Path(__file__).parents[3]
PORT = 7070
V6 = "fd00:77::"
# Says who it is to whoever connects.
SERVER = """
import socket, sys
server = socket.create_server(("::", int(sys.argv[1])), family=socket.AF_INET6, dualstack_ipv6=True)
print("ready", flush=True)
while True:
    line, _ = server.accept()
    line.sendall(sys.argv[2].encode() + b"\\n")
    line.close()
"""


@dataclass
class GuestPlace:
    place: Place
    mac: str
    v6: str


@dataclass
class Wire:
    """One switch with a host and two guests; both guests and the host serve PORT, and say who they are."""

    host: Place
    web: GuestPlace
    db: GuestPlace

    def reach(self, port: int, mac: str, *addresses: str) -> str:
        command = (sys.executable, "-m", "tests.poollet.runtimes.forwarder", str(port), mac, *addresses)
        environment = {**bare(), "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            (*self.host.inside, *command),
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


def run_inside(place: Place, *command: str) -> str:
    done = subprocess.run(
        (*place.inside, *command), env=bare(), capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    with network() as net, ExitStack() as ended:
        places = [net.machine() for _ in range(3)]
        found = []
        for number, (place, name) in enumerate(zip(places, ("host", "web", "db"), strict=True), start=1):
            v6 = f"{V6}{number}"
            run_inside(place, "ip", "address", "add", f"{v6}/64", "dev", "uplink", "nodad")
            server = ended.enter_context(
                subprocess.Popen(
                    (*place.inside, sys.executable, "-c", SERVER, str(PORT), name),
                    env=bare(),
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            ended.callback(server.kill)
            assert server.stdout is not None
            assert server.stdout.readline() == "ready\n"
            mac = re.search(r"link/ether (\S+)", run_inside(place, "ip", "link", "show", "uplink"))
            assert mac is not None
            found.append(GuestPlace(place, mac[1], v6))
        yield Wire(places[0], found[1], found[2])


def test_the_machine_that_has_the_mac_address_is_reached(wire: Wire) -> None:
    assert wire.reach(PORT, wire.web.mac, wire.web.place.address) == "connected to web"
    assert wire.reach(PORT, wire.db.mac.upper(), wire.db.place.address) == "connected to db"


def test_over_ipv6_as_well(wire: Wire) -> None:
    assert wire.reach(PORT, wire.web.mac, wire.web.v6) == "connected to web"


def test_an_address_of_another_machine_that_a_guest_claims_is_not_used(wire: Wire) -> None:
    for claimed in (wire.db.place.address, wire.db.v6):
        answer = wire.reach(PORT, wire.web.mac, claimed)
        assert (
            answer
            == f"port {PORT} of the machine cannot be reached: {claimed}: another machine answers there"
        )
    assert wire.reach(PORT, wire.web.mac, wire.db.place.address, wire.web.place.address) == "connected to web"


@pytest.mark.parametrize("claimed", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "169.254.169.254", "fe80::1", "0.0.0.0", "ff02::1", "x"])  # fmt: skip
def test_an_address_that_is_never_a_guests_is_not_even_tried(wire: Wire, claimed: str) -> None:
    assert wire.reach(PORT, wire.web.mac, claimed).endswith(
        ("its host knows no address of it", "not on a network of the host")
    )


def test_an_address_of_the_host_itself_is_not_used(wire: Wire) -> None:
    answer = wire.reach(PORT, wire.web.mac, wire.host.address)
    assert answer.endswith(f"{wire.host.address}: it is not on a network of the host")


def test_a_port_that_is_closed_and_an_address_that_does_not_answer_are_named(wire: Wire) -> None:
    answer = wire.reach(PORT + 1, wire.web.mac, wire.web.place.address, "10.77.0.99")
    assert f"{wire.web.place.address}: Connection refused" in answer
    assert "10.77.0.99: " in answer


def test_only_a_few_of_the_addresses_that_a_guest_claims_are_tried(wire: Wire) -> None:
    claimed = [f"10.77.0.{number}" for number in range(100, 120)]
    assert wire.reach(PORT, wire.web.mac, *claimed).count("10.77.0.") == 4


@pytest.mark.parametrize(
    "data", [b"", b"\x10", b"\x00" * 16, b"\xff" * 64, b"\x10\x00\x00\x00" + b"\x00" * 12]
)
def test_messages_that_are_cut_off_end_the_list(data: bytes) -> None:
    assert all(neighbors.parse_neighbor(body) is None for _, body in neighbors.parse_messages(data))
