"""`gitvirt runtime libvirt`: serves this host's machines and volumes.

libvirt's Python library is imported only when the server is built: hosts without libvirt have no such library.
"""

from __future__ import annotations

import argparse
import logging
import os
from typing import TYPE_CHECKING

from iri.address import Address, parse
from iri.cli.runtime.settings_file import (
    DEFAULT_SETTINGS,
    SETTINGS_EXAMPLE,
    parse_ignition_yaml,
    read_libvirt_settings,
)
from iri.cli.runtime.simulated import DEFAULT_SOCKETS
from iri.errors import IRIError, StartupError, Unavailable
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.sd_notify import ServiceNotifier
from reconciler.cli.stop_signal import StopSignal
from reconciler.cli.terminal import Terminal, out, printable

if TYPE_CHECKING:
    from iri.libvirt.server import LibvirtServer
    from iri.libvirt.settings import Settings

EXAMPLES = f"""examples:
  gitvirt runtime libvirt
  gitvirt runtime libvirt --settings host.yaml --listen /run/gitvirt/runtime.sock

settings (YAML or JSON; docs/libvirt.md shows all; default: {DEFAULT_SETTINGS}, where there is one):
  uri: qemu:///system
  folder: /var/lib/gitvirt
  host: {{accelerator: auto, reserved: {{cpu: 1, memory: 2Gi}}, overcommit: {{cpu: 4}}}}
  networks: {{bridges: {{br0: {{}}}}}}

It serves the machine, volume and host services. SIGTERM or Ctrl-C stops it; machines go on, and the next start finds them."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--listen",
        action="append",
        metavar="ADDR",
        help=f"/path/to/socket or 127.0.0.1:PORT; can be repeated (default: {' and '.join(DEFAULT_SOCKETS)})",
    )
    parser.add_argument("--settings", metavar="FILE", help="the operator's settings for this host")
    parser.add_argument(
        "--socket-mode",
        choices=("0600", "0660"),
        default="0600",
        help="0660 lets the group of this process use its sockets too (default: 0600, its account alone)",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="log what happens to standard error")


def run(arguments: argparse.Namespace) -> int:
    if arguments.verbose:
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    stop, supervisor = StopSignal(), ServiceNotifier.of(os.environ)
    settings, addresses = read_libvirt_settings(arguments.settings), _addresses(arguments)
    try:
        with _server(settings, addresses, int(arguments.socket_mode, 8)) as server:
            _announce(out(), server.addresses)
            supervisor.ready()
            stop.wait()
            supervisor.stopping()
    except Unavailable as error:
        cure = "start libvirtd, or set its `uri` in the settings"
        raise CommandError(printable(str(error)), cure) from None
    except StartupError as error:
        raise CommandError(printable(str(error)), printable(error.cure)) from None
    except IRIError as error:
        raise CommandError(printable(str(error)), "choose another address with --listen") from None
    except OSError as error:
        cure = f"run it as root, or set another `folder` in the settings (now: {settings.folder})"
        raise CommandError(printable(f"{error.filename}: {error.strerror}"), cure) from None
    return Exit.OK


def _addresses(arguments: argparse.Namespace) -> list[Address]:
    try:
        return [parse(address) for address in arguments.listen or DEFAULT_SOCKETS]
    except IRIError as error:
        raise CommandError(printable(str(error)), "gitvirt runtime libvirt --help", Exit.USAGE) from None


def _server(settings: Settings, addresses: list[Address], socket_mode: int) -> LibvirtServer:
    try:
        # Loads libvirt, which only hosts with libvirt have.
        from iri.libvirt.runtime import LibvirtRuntime
        from iri.libvirt.server import LibvirtServer
    except ImportError as error:
        cure = "pip install 'gitvirt[libvirt]', which needs libvirt-dev, gcc and pkg-config"
        raise CommandError(f"libvirt's Python library cannot be loaded: {error}", cure) from None
    try:
        return LibvirtServer(LibvirtRuntime(settings, parse_ignition_yaml), addresses, socket_mode)
    except IRIError as error:
        raise CommandError(printable(str(error)), SETTINGS_EXAMPLE, Exit.PROBLEMS) from None


def _announce(terminal: Terminal, addresses: tuple[Address, ...]) -> None:
    terminal.line(f"ready {' '.join(map(str, addresses))}")
    terminal.stream.flush()
