"""`gitvirt iri create`: creates machines, volumes or snapshots from a file, one per document."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any, NamedTuple

from google.protobuf.message import Message

from iri.cli.iri.connection import connect_runtimes
from iri.cli.iri.nouns import Noun, noun_type
from iri.cli.iri.output import FORMATS, show_object
from iri.cli.iri.spec_files import read_messages
from iri.client import MACHINE, VOLUME, Endpoint
from iri.machine import RuntimeMachine
from iri.proto.machine.v1alpha1 import api_pb2 as machine_pb
from iri.proto.volume.v1alpha1 import api_pb2 as volume_pb
from iri.volume import RuntimeSnapshot, RuntimeVolume
from iri.wire.message_codec import freeze
from reconciler.cli.exits import Exit
from reconciler.cli.terminal import out, printable

EXAMPLES = """examples:
  gitvirt iri create machine -f machine.yaml
  gitvirt iri create volume -f - < volume.json
  gitvirt iri create machine -f machine.yaml -o yaml

a machine:
  metadata:
    labels: {machinepoollet.ironcore.dev/machine-uid: web-1}
  spec:
    class: small
    power: on                     # or 0; off is 1
    guest_config: {hostname: web-1}
    volumes:
      - {name: root, device: oda, local_disk: {size_bytes: 10737418240, image: {image: debian}}}
    network_interfaces:
      - {name: eth0, network_id: lan}

a volume:
  metadata: {labels: {volumepoollet.ironcore.dev/volume-uid: data-1}}
  spec: {class: standard, resources: {storage_bytes: 1073741824}}

a volumesnapshot:
  metadata: {labels: {volumepoollet.ironcore.dev/volume-snapshot-uid: data-1-monday}}
  spec: {volume_id: VOLUME-ID}"""


class Form(NamedTuple):
    """Where a kind is created, and what its spec file is decoded into."""

    endpoint: Endpoint
    message: type[Message]
    struct: type[Any]


FORMS: Mapping[Noun, Form] = {
    Noun.MACHINE: Form(MACHINE, machine_pb.Machine, RuntimeMachine),
    Noun.VOLUME: Form(VOLUME, volume_pb.Volume, RuntimeVolume),
    Noun.SNAPSHOT: Form(VOLUME, volume_pb.VolumeSnapshot, RuntimeSnapshot),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("noun", type=noun_type(*FORMS), metavar="KIND", help=", ".join(FORMS))
    parser.add_argument(
        "-f",
        "--filename",
        required=True,
        metavar="FILE",
        help="YAML or JSON, a document each; - reads standard input",
    )
    parser.add_argument("-o", "--output", choices=FORMATS, help="show what was created, in that form")
    parser.add_argument(
        "--show-secrets", action="store_true", help="with -o: print keys and passwords as they are"
    )


def run(arguments: argparse.Namespace) -> int:
    """The whole file is read and checked before the first object is created."""
    form = FORMS[arguments.noun]
    desired = [freeze(form.struct, message) for message in read_messages(arguments.filename, form.message)]
    terminal = out()
    with connect_runtimes(arguments, form.endpoint) as client:
        for item in desired:
            created = client.create(item)
            if arguments.output is None:
                terminal.line(f"Created {arguments.noun} {printable(created.id)}")
            else:
                show_object(terminal, arguments, created)
    return Exit.OK
