"""`gitvirt iri create`: creates machines, volumes or snapshots from a file, one per document.

A document is the message of the interface with the metadata and the spec that a caller may set; id and status are the runtime's own.
With a uid label the call is idempotent: the runtime answers with the object that exists, unchanged. Documents are sent in order. The
first error ends the command, and what was created before it stays.
"""

from __future__ import annotations

import argparse

from iri.cli.iri.connection import connect_runtimes
from iri.cli.iri.nouns import KINDS, add_noun
from iri.cli.iri.output import FORMATS, show_object
from iri.cli.iri.spec_files import add_file, read_messages
from iri.wire.calls import OBJECT_CALLS
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_noun(parser, *KINDS)
    add_file(parser)
    parser.add_argument("-o", "--output", choices=FORMATS, help="show what was created, in that form")
    parser.add_argument(
        "--show-secrets", action="store_true", help="with -o: print keys and passwords as they are"
    )


def run(arguments: argparse.Namespace) -> int:
    """The whole file is read and checked before the first object is created."""
    kind, endpoint = KINDS[arguments.noun]
    messages = read_messages(arguments.filename, OBJECT_CALLS[kind].message)
    terminal = out()
    with connect_runtimes(arguments, endpoint) as client:
        for message in messages:
            created = client.create(freeze(kind, message))
            if arguments.output is None:
                terminal.line(f"Created {arguments.noun} {printable(created.id)}")
            else:
                show_object(terminal, arguments, created)
    return Exit.OK
