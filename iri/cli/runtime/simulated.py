"""`gitvirt runtime simulated`: serves a simulated host, with its control service.

Without --state the host ends with the process. With it, one process at a time owns the state log in that directory, and the next start
goes on as if the host had run all the time. A seed counts only for a new host: a state log has its own. The profile is read again at each start.
"""

from __future__ import annotations

import argparse
import secrets
from pathlib import Path

from iri.cli.runtime.serve import add_server_arguments, parse_addresses, parse_streaming, serve
from iri.cli.runtime.settings_file import read_profile
from iri.errors import IRIError, StartupError
from iri.simulated import machine_calls
from iri.simulated.host import SimulatedHost
from iri.simulated.profile import Profile
from iri.simulated.server import SimulatedServer
from iri.simulated.state.state_log import StateLog, StateLogError
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.terminal import printable

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
    add_server_arguments(parser)
    parser.add_argument(
        "--seed", type=int, metavar="N", help="the same seed gives the same host (default: random)"
    )
    parser.add_argument(
        "--state", type=Path, metavar="DIR", help="store the state there (default: in memory only)"
    )
    parser.add_argument(
        "--boot", action="store_true", help="begin as after a boot of the host: no guest of --state runs"
    )
    parser.add_argument("--profile", metavar="FILE", help="what kind of host it is")


def run(arguments: argparse.Namespace) -> int:
    """Serves until a signal. An error of the start that reaches this function is that of an address."""
    try:
        serve(arguments, lambda: _server(arguments))
    except StartupError as error:
        raise CommandError(printable(str(error)), printable(error.cure)) from None
    except IRIError as error:
        raise CommandError(printable(str(error)), "choose another address with --listen") from None
    return Exit.OK


def boot(host: SimulatedHost) -> None:
    """The host has just booted, before anybody can ask: guests boot with it, or wait for their order."""
    with host.lock(even_when_down=True) as now_ns:
        machine_calls.restart_host(host, 0, now_ns)


def _server(arguments: argparse.Namespace) -> SimulatedServer:
    """Errors of the arguments, the profile and the state log end here, each with its cure."""
    profile = read_profile(arguments.profile) if arguments.profile else Profile()
    seed = secrets.randbits(63) if arguments.seed is None else arguments.seed
    if not 0 <= seed <= LARGEST_SEED:
        raise CommandError(f"a seed is between 0 and {LARGEST_SEED}", "", Exit.USAGE)
    addresses, streaming = parse_addresses(arguments), parse_streaming(arguments)
    try:
        log = StateLog(arguments.state) if arguments.state else None
        host = SimulatedHost(profile, seed, log=log)
        if arguments.boot:
            boot(host)
        return SimulatedServer(host, addresses, streaming)
    except StateLogError as error:
        raise CommandError(printable(str(error)), "another --state DIR starts an empty host") from None
    except IRIError as error:
        raise CommandError(printable(str(error)), "gitvirt runtime simulated --help", Exit.USAGE) from None
