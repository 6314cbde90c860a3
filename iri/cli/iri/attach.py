"""`gitvirt iri attach`: attaches volumes or network interfaces to a machine, one per document of a file."""

from __future__ import annotations

import argparse

from iri.change import AttachInterface, AttachVolume
from iri.cli.iri.connection import connect_runtimes
from iri.cli.iri.nouns import Noun, noun_type
from iri.cli.iri.spec_files import read_messages
from iri.client import MACHINE
from iri.machine import Disk, RuntimeNetworkInterface
from iri.proto.machine.v1alpha1 import api_pb2 as pb
from iri.wire.message_codec import freeze
from reconciler.cli.exits import Exit
from reconciler.cli.terminal import out, printable

EXAMPLES = """examples:
  gitvirt iri attach volume --machine-id 3f2c9a1e-... -f volume.yaml
  gitvirt iri attach networkinterface --machine-id 3f2c9a1e-... -f nic.yaml

a volume:
  name: data
  device: odb
  connection: {driver: simulated, handle: "0011223344556677"}

a network interface:
  name: eth1
  network_id: lan
  ips: [10.0.0.5]"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    nouns = (Noun.VOLUME, Noun.INTERFACE)
    parser.add_argument("noun", type=noun_type(*nouns), metavar="KIND", help=", ".join(nouns))
    parser.add_argument("--machine-id", required=True, metavar="ID")
    parser.add_argument(
        "-f", "--filename", required=True, metavar="FILE", help="YAML or JSON; - reads standard input"
    )


def run(arguments: argparse.Namespace) -> int:
    """The whole file is read and checked before the first call."""
    terminal = out()
    changes = read_changes(arguments.noun, arguments.filename)
    with connect_runtimes(arguments, MACHINE) as client:
        for name, change in changes:
            client.change(arguments.machine_id, change)
            terminal.line(
                f"Attached {arguments.noun} {printable(name)} to machine {printable(arguments.machine_id)}"
            )
    return Exit.OK


def read_changes(noun: Noun, path: str) -> list[tuple[str, AttachVolume | AttachInterface]]:
    """The name and the change of each document."""
    if noun is Noun.VOLUME:
        return [(disk.name, AttachVolume(freeze(Disk, disk))) for disk in read_messages(path, pb.Volume)]
    return [
        (nic.name, AttachInterface(freeze(RuntimeNetworkInterface, nic)))
        for nic in read_messages(path, pb.NetworkInterface)
    ]
