"""`gitvirt runtime`: serves the runtime interface in the foreground until a signal stops it.

settings_file reads what the operator wrote; libvirt and simulated build a server each, and serve runs it. When the server listens, it prints
`ready ADDRESS ...` and tells systemd; SIGTERM or Ctrl-C stops it in order.
"""

from __future__ import annotations

import argparse
import importlib

EXAMPLES = """examples:
  gitvirt runtime libvirt --settings /etc/gitvirt/libvirt.yaml
  gitvirt runtime simulated --listen /tmp/host-1.sock
  gitvirt runtime simulated --help"""

KINDS = {
    "libvirt": "this host's machines and volumes, with libvirt and QEMU",
    "simulated": "a host that exists as numbers only: for experiments, demos and tests",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Loads both modules; neither loads libvirt's library."""
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
    for name, summary in KINDS.items():
        module = importlib.import_module(f"iri.cli.runtime.{name}")
        kind = kinds.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            epilog=module.EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        module.add_arguments(kind)
        kind.set_defaults(run_kind=module.run)


def run(arguments: argparse.Namespace) -> int:
    code: int = arguments.run_kind(arguments)
    return code
