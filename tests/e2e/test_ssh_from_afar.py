"""Ports of a machine and its sshd from afar: a host and a guest in network namespaces of their own, and the verbs as people call them.

The guest is simulated, and its address and MAC address are those of a namespace with real servers in it.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from iri.address import UnixAddress
from iri.client import Client
from iri.machine import RuntimeMachine
from tests.e2e.linked_fleet import MACHINE, LinkedFleet, linked_fleet
from tests.e2e.network import Place, do, network
from tests.e2e.process import environment
from tests.reconciler.link.client import list_client
from tests.servers.daemon import running
from tests.servers.link_certificates import make_certificate
from tests.servers.sshd import SshServer, ssh_server

ANN, BOB = make_certificate("ann"), make_certificate("bob")
NETWORK = "apiVersion: networking.ironcore.dev/v1alpha1\nkind: Network\nmetadata: {name: lan}\n"
INTERFACE = (
    "  networkInterfaces:\n  - name: eth\n    ephemeral:\n      networkInterfaceTemplate:\n"
    "        spec: {networkRef: {name: lan}, ipFamilies: [IPv4]}\n"
)
PAGES = 8080


@dataclass
class ReachedGuest:
    fleet: LinkedFleet
    ssh: SshServer

    def command(self, *words: str) -> list[str]:
        return [
            *self.fleet.inside,
            sys.executable,
            "-m",
            "reconciler",
            *words,
            "--repo",
            str(self.fleet.repo),
        ]

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            env=environment(self.find_environment()),
            cwd=self.fleet.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def find_environment(self) -> dict[str, str]:
        return {
            "XDG_CONFIG_HOME": str(self.fleet.folder / "config"),
            "GITVIRT_CACHE": str(self.fleet.folder / "cache-people"),
            "GITVIRT_CLIENT": "ann",
        }


def give_address(fleet: LinkedFleet, host: Place, guest: Place) -> str:
    """The guest's namespace becomes what the runtime says of the machine, and the host can reach it."""
    socket = UnixAddress(fleet.folder / "rack-1.sock")
    with Client(socket) as runtime:
        (machine,) = runtime.objects(RuntimeMachine).values()
    (interface,) = machine.detail.network_interfaces
    (address,) = interface.ips
    do(*guest.inside, "ip", "link", "set", "uplink", "down")
    do(*guest.inside, "ip", "link", "set", "uplink", "address", interface.mac)
    do(*guest.inside, "ip", "link", "set", "uplink", "up")
    do(*guest.inside, "ip", "address", "add", f"{address}/32", "dev", "uplink")
    do(*guest.inside, "ip", "route", "add", host.address, "dev", "uplink", "src", address)
    do(*host.inside, "ip", "route", "add", address, "dev", "uplink")
    return address


@pytest.fixture(scope="module")
def guest() -> Iterator[ReachedGuest]:
    with (
        tempfile.TemporaryDirectory(prefix="gv-") as folder,
        network() as net,
        linked_fleet(Path(folder), hosts=("rack-1",)) as made,
    ):
        host, place = net.machine(), net.machine()
        made.inside = host.inside
        entries = list_client("ann", ANN, ("forward",), ("default",)) + list_client(
            "bob", BOB, ("read",), ("*",)
        )
        made.commit({"gitvirt.yaml": made.settings() + "clients:\n" + entries, "net.yaml": NETWORK})
        for name, own in (("ann", ANN), ("bob", BOB)):
            own.write(made.folder / "config" / "gitvirt", name)
        made.run_reconciler("one")
        made.run_host("rack-1")
        made.commit({"machines/web.yaml": MACHINE.format(name="web") + INTERFACE})
        made.until(lambda: made.is_running("web"))
        made.until(lambda: "connected to the link" in made.processes["rack-1"].log_text)
        address = give_address(made, host, place)
        pages = made.folder / "pages"
        pages.mkdir()
        (pages / "index.html").write_text("it works\n")
        log = made.folder / "pages.log"
        serve = [*place.inside, sys.executable, "-um", "http.server", str(PAGES), "--directory", str(pages)]
        with (
            ssh_server(made.folder / "sshd", is_forced=False, address=address, inside=place.inside) as ssh,
            running(serve, lambda: "Serving HTTP" in log.read_text(), log),
        ):
            yield ReachedGuest(made, ssh)


def test_ssh_goes_through_the_link(guest: ReachedGuest) -> None:
    port = str(guest.ssh.port)
    printed = guest.run(
        *guest.command("ssh", "web", "--over-link", "--port", port, "--user", guest.ssh.user, "--print"),
    )
    assert printed.returncode == 0, printed.stderr
    program, *rest = shlex.split(printed.stdout)
    assert rest[-1] == "web.default"
    key = guest.ssh.allow("ann")
    known = guest.fleet.folder / "known_hosts"
    options = ("-F", "none", "-i", str(key), "-o", "StrictHostKeyChecking=accept-new", "-o", f"UserKnownHostsFile={known}")  # fmt: skip
    done = guest.run(*guest.fleet.inside, program, *options, *rest, "echo", "it-$((40 + 2))")
    assert (done.returncode, done.stdout) == (0, "it-42\n"), done.stderr + guest.fleet.logs()
    assert known.read_text().startswith("web.default ")


def test_ports_of_a_machine_are_ports_here(guest: ReachedGuest) -> None:
    log = guest.fleet.folder / "forward.log"
    command = guest.command("forward", "web", f"18080:{PAGES}", "18081:9")
    with running(
        command,
        lambda: log.read_text().count(" is port ") == 2,
        log,
        {**environment(guest.find_environment()), "PYTHONUNBUFFERED": "1"},
    ):
        assert f"127.0.0.1:18080 is port {PAGES} of default/web" in log.read_text()
        fetch = "import urllib.request as r, sys; print(r.urlopen(sys.argv[1], timeout=30).read().decode(), end='')"
        for _ in range(3):
            done = guest.run(*guest.fleet.inside, sys.executable, "-c", fetch, "http://127.0.0.1:18080/")
            assert done.stdout == "it works\n", done.stderr + log.read_text()
        done = guest.run(*guest.fleet.inside, sys.executable, "-c", fetch, "http://127.0.0.1:18081/")
        assert done.returncode != 0
        assert "Connection refused" in log.read_text()
    assert "forward opened client=ann right=forward machine=Machine/default/web" in guest.fleet.logs()


def test_a_client_without_the_right_reaches_nothing(guest: ReachedGuest) -> None:
    done = guest.run(*guest.command("forward", "--stdio", "web", "22", "--client", "bob"))
    assert done.returncode == 1
    assert "client bob does not have the right forward" in done.stderr
    assert "add forward to clients.bob.rights of gitvirt.yaml" in done.stderr
