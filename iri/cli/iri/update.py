"""`gitvirt iri update`: changes the power of a machine, or the connection of one of its volumes.

Both are desired state: the call records it, and the machine follows later. A volume's document replaces device and connection of the
attachment that has its name; so a volume that was resized or got another key stays attached.
"""

from __future__ import annotations

import argparse

from iri.change import SetPower, UpdateVolume
from iri.cli.iri.connection import connect_runtimes
from iri.cli.iri.nouns import Noun, add_noun
from iri.cli.iri.spec_files import add_file, read_message
from iri.client import MACHINE
from iri.machine import Disk, Power
from iri.proto.machine.v1alpha1 import api_pb2 as pb
from iri.wire.message_codec import freeze
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.terminal import out, printable

EXAMPLES = """examples:
  gitvirt iri update power --machine-id 3f2c9a1e-... --power off
  gitvirt iri update volume --machine-id 3f2c9a1e-... -f volume.yaml"""
# Words for people; the numbers are those of the enum, which irictl takes.
POWERS = {"on": Power.ON, "0": Power.ON, "off": Power.OFF, "1": Power.OFF}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_noun(parser, Noun.POWER, Noun.VOLUME, metavar="WHAT")
    parser.add_argument("--machine-id", required=True, metavar="ID")
    parser.add_argument("--power", choices=tuple(POWERS), help="of the machine")
    add_file(parser, is_required=False)


def run(arguments: argparse.Namespace) -> int:
    """Exactly one of --power and -f, whichever fits the noun."""
    is_power = arguments.noun is Noun.POWER
    if (arguments.power is not None) != is_power or (arguments.filename is not None) == is_power:
        usage = "update power takes --power on|off, update volume takes -f FILE"
        raise CommandError(usage, "gitvirt iri update --help", Exit.USAGE)
    machine_id = printable(arguments.machine_id)
    change: SetPower | UpdateVolume
    if is_power:
        change = SetPower(POWERS[arguments.power])
        done = f"Power of machine {machine_id} will be {change.power.name.lower()}"
    else:
        change = UpdateVolume(freeze(Disk, read_message(arguments.filename, pb.Volume)))
        done = f"Updated volume {printable(change.disk.name)} of machine {machine_id}"
    with connect_runtimes(arguments, MACHINE) as client:
        client.change(arguments.machine_id, change)
    out().line(done)
    return Exit.OK
