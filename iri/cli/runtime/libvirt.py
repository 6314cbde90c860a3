"""`gitvirt runtime libvirt`: serves this host's machines and volumes.

libvirt's Python library is imported only when the server is built: hosts without libvirt have no such library.

    what fails at the start                              the cure that the command prints
    libvirt does not answer                              start libvirtd, or another `uri`
    another runtime has the folder or this libvirtd      that of the StartupError, which names the other runtime
    an address is in use                                 another --listen, or another --streaming-address
    the runtime's folder cannot be written               root, or another `folder`
    the settings contradict each other                   docs/libvirt.md
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from iri.address import Address
from iri.cli.runtime.serve import add_server_arguments, parse_addresses, parse_streaming, serve
from iri.cli.runtime.settings_file import (
    DEFAULT_SETTINGS,
    SETTINGS_EXAMPLE,
    parse_ignition_yaml,
    read_libvirt_settings,
)
from iri.errors import IRIError, StartupError, Unavailable
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.terminal import printable

if TYPE_CHECKING:
    from iri.exec.streaming_address import StreamingAddress
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
    add_server_arguments(parser)
    parser.add_argument("--settings", metavar="FILE", help="the operator's settings for this host")
    parser.add_argument(
        "--socket-mode",
        choices=("0600", "0660"),
        default="0600",
        help="0660 lets the group of this process use its sockets too (default: 0600, its account alone)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Reads the settings and the addresses, then serves. Each error of the start has its cure in the table above."""
    settings, addresses = read_libvirt_settings(arguments.settings), parse_addresses(arguments)
    streaming = parse_streaming(arguments)
    try:
        serve(arguments, lambda: _build_server(settings, addresses, int(arguments.socket_mode, 8), streaming))
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


def _build_server(
    settings: Settings, addresses: list[Address], socket_mode: int, streaming: StreamingAddress
) -> LibvirtServer:
    """The runtime and its server, not started yet; the caller starts and closes it. Nothing else in `iri` may import YAML, so its
    reader is an argument. Raises CommandError for a missing library and for wrong settings; errors of the start are those of `run`.
    """
    try:
        # Loads libvirt, which only hosts with libvirt have.
        from iri.libvirt.runtime import LibvirtRuntime
        from iri.libvirt.server import LibvirtServer
    except ImportError as error:
        cure = "pip install 'gitvirt[libvirt]', which needs libvirt-dev, gcc and pkg-config"
        raise CommandError(f"libvirt's Python library cannot be loaded: {error}", cure) from None
    try:
        return LibvirtServer(LibvirtRuntime(settings, parse_ignition_yaml), addresses, socket_mode, streaming)
    except IRIError as error:
        raise CommandError(printable(str(error)), SETTINGS_EXAMPLE, Exit.PROBLEMS) from None
