"""What all runtimes on the command line share: where a server listens, what it logs, and when it stops."""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Callable

from iri.address import Address, parse
from iri.errors import IRIError
from iri.server import Server
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.sd_notify import ServiceNotifier
from reconciler.cli.stop_signal import StopSignal
from reconciler.cli.terminal import out, printable

# IronCore's well-known paths, where clients look when they are given no address.
DEFAULT_SOCKETS = ("/var/run/iri-machineprovider.sock", "/var/run/iri-volumeprovider.sock")


def add_server_arguments(parser: argparse.ArgumentParser) -> None:
    """--listen and --verbose, which every runtime has."""
    parser.add_argument(
        "--listen",
        action="append",
        metavar="ADDR",
        help=f"/path/to/socket or 127.0.0.1:PORT; can be repeated (default: {' and '.join(DEFAULT_SOCKETS)})",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="log what happens to standard error")


def parse_addresses(arguments: argparse.Namespace) -> list[Address]:
    """Those of --listen, else the well-known sockets. Every service is served at each address."""
    try:
        return [parse(address) for address in arguments.listen or DEFAULT_SOCKETS]
    except IRIError as error:
        cure = f"gitvirt runtime {arguments.action} --help"
        raise CommandError(printable(str(error)), cure, Exit.USAGE) from None


def serve(arguments: argparse.Namespace, build: Callable[[], Server]) -> None:
    """Serves until a signal. The sockets are announced only once they accept connections.

    The signal handlers are installed before the server is built, so a signal during a slow start stops it in order too. `ready` on
    standard output and the word to systemd mean the same: from now on calls are answered.
    """
    if arguments.verbose:
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    stop, supervisor = StopSignal(), ServiceNotifier.of(os.environ)
    with build() as server:
        terminal = out()
        terminal.line(f"ready {' '.join(map(str, server.addresses))}")
        terminal.stream.flush()
        supervisor.ready()
        stop.wait()
        supervisor.stopping()
