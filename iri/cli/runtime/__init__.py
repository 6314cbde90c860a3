"""`gitvirt runtime`: serves the runtime interface in the foreground until a signal stops it.

settings_file reads what the operator wrote; libvirt and simulated build a server each, and serve runs it. When the server listens, it prints
`ready ADDRESS ...` and tells systemd; SIGTERM or Ctrl-C stops it in order.
"""

from __future__ import annotations

import argparse

from iri.cli.actions import add_actions, run_action

EXAMPLES = """examples:
  gitvirt runtime libvirt --settings /etc/gitvirt/libvirt.yaml
  gitvirt runtime simulated --listen /tmp/host-1.sock
  gitvirt runtime simulated --help"""

KINDS = {
    "libvirt": "this host's machines and volumes, with libvirt and QEMU",
    "simulated": "a host that exists as numbers only: for experiments, demos and tests",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Neither module loads libvirt's library."""
    add_actions(parser, __name__, KINDS, "KIND")


run = run_action
