"""`gitvirt iri attach`: attaches volumes or network interfaces to a machine, one per document of a file.

Documents are attached in order, one call each. The first error ends the command, and what was attached before it stays. `Attached`
means that the order is recorded: the machine's status says ATTACHED once the guest has the device.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from google.protobuf.message import Message

from iri.change import AttachInterface, AttachVolume, DetachInterface, DetachVolume, MachineChange
from iri.cli.iri.connection import connect_runtimes
from iri.cli.iri.nouns import Noun, add_noun
from iri.cli.iri.spec_files import add_file, read_messages
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


class Device(NamedTuple):
    """How devices of a noun are written, attached and detached."""

    message: type[Message]
    attach: Callable[[Any], MachineChange]  # with a message
    detach: Callable[[str], MachineChange]  # with a name


# Both directions in one table, because `detach` accepts exactly the nouns that can be attached.
DEVICES: Mapping[Noun, Device] = {
    Noun.VOLUME: Device(pb.Volume, lambda disk: AttachVolume(freeze(Disk, disk)), DetachVolume),
    Noun.INTERFACE: Device(
        pb.NetworkInterface,
        lambda nic: AttachInterface(freeze(RuntimeNetworkInterface, nic)),
        DetachInterface,
    ),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_noun(parser, *DEVICES)
    parser.add_argument("--machine-id", required=True, metavar="ID")
    add_file(parser)


def run(arguments: argparse.Namespace) -> int:
    """The whole file is read and checked before the first call."""
    terminal, device = out(), DEVICES[arguments.noun]
    machine_id = printable(arguments.machine_id)
    messages: list[Any] = read_messages(arguments.filename, device.message)
    with connect_runtimes(arguments, MACHINE) as client:
        for message in messages:
            client.change(arguments.machine_id, device.attach(message))
            terminal.line(f"Attached {arguments.noun} {printable(message.name)} to machine {machine_id}")
    return Exit.OK
