"""What all runtimes on the command line share: where a server listens, what it logs, and when it stops."""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Callable

from iri.address import Address, parse
from iri.errors import IRIError
from iri.exec.streaming_address import StreamingAddress, parse_streaming_address
from iri.server import Server
from reconciler.cli.core_dumps import refuse_core_dumps
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.sd_notify import ServiceNotifier
from reconciler.cli.stop_signal import StopSignal
from reconciler.cli.terminal import TextStyle, err, out, printable

# IronCore's well-known paths, where clients look when they are given no address.
DEFAULT_SOCKETS = ("/var/run/iri-machineprovider.sock", "/var/run/iri-volumeprovider.sock")
# A free port: the URL of a console names it.
STREAMING_ADDRESS = "127.0.0.1:0"


def add_server_arguments(parser: argparse.ArgumentParser) -> None:
    """--listen, --streaming-... and --verbose, which every runtime has."""
    parser.add_argument(
        "--listen",
        action="append",
        metavar="ADDR",
        help=f"/path/to/socket or 127.0.0.1:PORT; can be repeated (default: {' and '.join(DEFAULT_SOCKETS)})",
    )
    parser.add_argument(
        "--streaming-address",
        default=STREAMING_ADDRESS,
        metavar="ADDR",
        help="IP:PORT at which consoles are served; port 0 is a free one (default: %(default)s)",
    )
    parser.add_argument(
        "--streaming-base-url",
        default="",
        metavar="URL",
        help="what console URLs begin with, behind a proxy with TLS (default: http:// and the address)",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="log what happens to standard error")


def parse_addresses(arguments: argparse.Namespace) -> list[Address]:
    """Those of --listen, else the well-known sockets. Every service is served at each address."""
    try:
        return [parse(address) for address in arguments.listen or DEFAULT_SOCKETS]
    except IRIError as error:
        cure = f"gitvirt runtime {arguments.action} --help"
        raise CommandError(printable(str(error)), cure, Exit.USAGE) from None


def parse_streaming(arguments: argparse.Namespace) -> StreamingAddress:
    """Where consoles are served. Warns when other hosts can connect there: URLs and consoles travel in clear text."""
    try:
        streaming = parse_streaming_address(arguments.streaming_address, arguments.streaming_base_url)
    except IRIError as error:
        cure = "give --streaming-address IP:PORT, and --streaming-base-url where clients use another URL"
        raise CommandError(printable(str(error)), cure, Exit.USAGE) from None
    if streaming.is_exposed:
        terminal = err()
        warning = terminal.paint("warning:", TextStyle.YELLOW)
        terminal.line(
            f"{warning} other hosts can connect to {streaming.host}, where consoles and their keys travel in clear text; "
            "let a proxy with TLS connect to the loopback address"
        )
    return streaming


def serve(arguments: argparse.Namespace, build: Callable[[], Server]) -> None:
    """Serves until a signal. The sockets are announced only once they accept connections.

    The signal handlers are installed before the server is built, so a signal during a slow start stops it in order too. `ready` on
    standard output and the word to systemd mean the same: from now on calls are answered.
    """
    refuse_core_dumps()
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
