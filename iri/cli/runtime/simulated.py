"""`gitvirt runtime simulated`: serves a simulated host, with its control service."""

from __future__ import annotations

import argparse
import logging
import os
import secrets
from pathlib import Path

from iri.address import Address, parse
from iri.cli.runtime.settings_file import read_profile
from iri.errors import IRIError
from iri.simulated.host import SimulatedHost
from iri.simulated.profile import Profile
from iri.simulated.server import SimulatedServer
from iri.simulated.state.state_log import StateLog, StateLogError
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.sd_notify import ServiceNotifier
from reconciler.cli.stop_signal import StopSignal
from reconciler.cli.terminal import Terminal, out, printable

DEFAULT_SOCKETS = ("/var/run/iri-machineprovider.sock", "/var/run/iri-volumeprovider.sock")
LARGEST_SEED = (1 << 63) - 1
EXAMPLES = """examples:
  gitvirt runtime simulated --listen /tmp/host-1.sock
  gitvirt runtime simulated --listen /tmp/host-1.sock --state /var/tmp/host-1 --seed 7
  gitvirt runtime simulated --listen 127.0.0.1:8080 --profile big-host.yaml

a profile (YAML or JSON; every key is optional):
  host: rack-1
  capacity: {cpu: 64, memory: 256Gi, storage: 4Ti, nvidia.com/gpu: 4}
  overcommit: {cpu: 4}
  times: {boot: [0.5, 1, 3], stop: [0.2, 0.5, 1]}   # seconds: least, usual, most
  classes:
    machines: [{name: small, resources: {cpu: 1, memory: 1Gi}}]
    volumes: [{name: fast, tps: 100Mi, iops: 1000}]
  behavior: stock-libvirt                           # or stock-ceph, stock-cloud-hypervisor, gitvirt

It serves the machine, volume and host services, and gitvirt.sim.v1alpha1.Control, which moves its clock, crashes
guests and makes calls fail. SIGTERM or Ctrl-C stops it; with --state the next start continues where it was."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--listen",
        action="append",
        metavar="ADDR",
        help=f"/path/to/socket or 127.0.0.1:PORT; can be repeated (default: {' and '.join(DEFAULT_SOCKETS)})",
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help="the same seed gives the same host (default: random)"
    )
    parser.add_argument(
        "--state", type=Path, metavar="DIR", help="store the state there (default: in memory only)"
    )
    parser.add_argument("--profile", metavar="FILE", help="what kind of host it is")
    parser.add_argument("-v", "--verbose", action="store_true", help="log what happens to standard error")


def run(arguments: argparse.Namespace) -> int:
    """Announces the sockets only once they accept connections."""
    if arguments.verbose:
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    stop, supervisor = StopSignal(), ServiceNotifier.of(os.environ)
    server = _server(arguments)
    try:
        with server:
            _announce(out(), server.addresses)
            supervisor.ready()
            stop.wait()
            supervisor.stopping()
    except IRIError as error:
        raise CommandError(printable(str(error)), "choose another address with --listen") from None
    return Exit.OK


def _server(arguments: argparse.Namespace) -> SimulatedServer:
    """Errors of the arguments, the profile and the state log end here, each with its cure."""
    profile = read_profile(arguments.profile) if arguments.profile else Profile()
    seed = secrets.randbits(63) if arguments.seed is None else arguments.seed
    if not 0 <= seed <= LARGEST_SEED:
        raise CommandError(f"a seed is between 0 and {LARGEST_SEED}", "", Exit.USAGE)
    try:
        addresses = [parse(address) for address in arguments.listen or DEFAULT_SOCKETS]
        log = StateLog(arguments.state) if arguments.state else None
        return SimulatedServer(SimulatedHost(profile, seed, log=log), addresses)
    except StateLogError as error:
        raise CommandError(printable(str(error)), "another --state DIR starts an empty host") from None
    except IRIError as error:
        raise CommandError(printable(str(error)), "gitvirt runtime simulated --help", Exit.USAGE) from None


def _announce(terminal: Terminal, addresses: tuple[Address, ...]) -> None:
    terminal.line(f"ready {' '.join(map(str, addresses))}")
    terminal.stream.flush()
