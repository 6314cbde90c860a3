"""`gitvirt iri detach`: detaches volumes or network interfaces. A device that is not attached is not an error.

The call records the order and returns. A running guest releases a device in its own time, or never; the machine's status lists the
device until then. Names are handled in order. Any error but "not found" ends the command, and the names after it keep their devices.
"""

from __future__ import annotations

import argparse

from iri.cli.iri.attach import DEVICES
from iri.cli.iri.connection import connect_runtimes
from iri.cli.iri.nouns import add_noun
from iri.client import MACHINE
from iri.errors import NotFound
from reconciler.cli.exits import Exit
from reconciler.cli.terminal import out, printable

EXAMPLES = """examples:
  gitvirt iri detach volume --machine-id 3f2c9a1e-... data
  gitvirt iri detach nic --machine-id 3f2c9a1e-... eth1 eth2"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_noun(parser, *DEVICES)
    parser.add_argument("names", nargs="+", metavar="NAME", help="of the attachment")
    parser.add_argument("--machine-id", required=True, metavar="ID")


def run(arguments: argparse.Namespace) -> int:
    """One call for each name, in the order given."""
    terminal, noun = out(), arguments.noun
    machine_id = printable(arguments.machine_id)
    with connect_runtimes(arguments, MACHINE) as client:
        for name in arguments.names:
            try:
                client.change(arguments.machine_id, DEVICES[noun].detach(name))
            except NotFound:
                terminal.line(f"{noun.capitalize()} {printable(name)} of machine {machine_id} not found")
            else:
                terminal.line(f"Detached {noun} {printable(name)} from machine {machine_id}")
    return Exit.OK
