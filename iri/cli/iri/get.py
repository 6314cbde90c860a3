"""`gitvirt iri get`: the objects of a runtime, the classes that it offers, its recent events, its version.

    noun                     answered by                                   -o json and yaml show
    machine, volume, ...     List; details from the host service           messages, without the details
    status                   Status of every runtime of this host          the two Status responses
    events                   ListEvents of every runtime of this host      Event messages
    version                  Version                                       name and version

A field that is 0 or empty is left out of JSON and YAML, as irictl leaves it out. Nothing here changes an object.
"""

from __future__ import annotations

import argparse
import time

from iri.cli.iri.connection import connect_runtimes
from iri.cli.iri.messages import render_message
from iri.cli.iri.nouns import KINDS, Noun, add_noun, parse_label
from iri.cli.iri.output import add_output, show_object, show_objects
from iri.cli.iri.selection import select_objects
from iri.cli.iri.watch import watch
from iri.client import Endpoint
from iri.host import Offers
from iri.proto.machine.v1alpha1 import api_pb2 as machine_pb
from iri.proto.volume.v1alpha1 import api_pb2 as volume_pb
from iri.runtime import KIND_NAMES, EventType, RuntimeEvent, RuntimeKind
from iri.wire.message_codec import encode
from reconciler.cli.duration import parse_duration
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.output import Column, is_value, show_table, show_value
from reconciler.cli.terminal import Terminal, TextStyle, out, printable
from schemas.model.quantity import units
from schemas.settings.duration import format_duration

EVENTS_SECONDS = 3600
EVENT_STYLES = {EventType.WARNING: TextStyle.YELLOW}
EXAMPLES = """examples:
  gitvirt iri get machine
  gitvirt iri get machine -l machinepoollet.ironcore.dev/machine-namespace=default -o wide
  gitvirt iri get machine 3f2c9a1e-... -o yaml
  gitvirt iri get machine --watch
  gitvirt iri get status
  gitvirt iri get events -d 10m"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_noun(parser, *KINDS, Noun.STATUS, Noun.EVENTS, Noun.VERSION)
    parser.add_argument("id", nargs="?", metavar="ID", help="only that object")
    parser.add_argument(
        "-l",
        "--label",
        action="append",
        type=parse_label,
        default=[],
        metavar="KEY=VALUE",
        help="only with this label",
    )
    parser.add_argument("-w", "--watch", action="store_true", help="print every change until Ctrl-C")
    parser.add_argument(
        "-d",
        "--duration",
        type=parse_duration,
        default=EVENTS_SECONDS,
        metavar="TIME",
        help="events of the last TIME, such as 10m (default: 60m)",
    )
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Checks the arguments before it connects: a wrong option never waits for a runtime."""
    noun: Noun = arguments.noun
    terminal = out()
    _check_arguments(arguments)
    match noun:
        case Noun.STATUS:
            _status(terminal, arguments)
        case Noun.EVENTS:
            _events(terminal, arguments)
        case Noun.VERSION:
            _version(terminal, arguments)
        case _:
            _objects(terminal, arguments, *KINDS[noun])
    return Exit.OK


def _check_arguments(arguments: argparse.Namespace) -> None:
    """Refuses options that have no meaning for the noun."""
    is_object = arguments.noun in KINDS
    if arguments.id and not is_object:
        raise CommandError(f"{arguments.noun} takes no ID", "leave the ID out", Exit.USAGE)
    if arguments.watch and (not is_object or is_value(arguments.output)):
        raise CommandError(
            "--watch shows lines of machines, volumes or volumesnapshots",
            "leave out --watch, or -o json|yaml",
            Exit.USAGE,
        )
    if arguments.label and not is_object and arguments.noun is not Noun.EVENTS:
        raise CommandError(f"{arguments.noun} takes no labels", "leave -l out", Exit.USAGE)


def _objects(
    terminal: Terminal, arguments: argparse.Namespace, kind: RuntimeKind, endpoint: Endpoint
) -> None:
    """A list, one object by its id, or a list that continues with --watch."""
    with connect_runtimes(arguments, endpoint) as client:
        if arguments.watch:
            watch(terminal, arguments, client, kind)
            return
        items = select_objects(client, kind, arguments.id or "", dict(arguments.label))
        if not arguments.id:
            show_objects(terminal, arguments, kind, items)
        elif items:
            show_object(terminal, arguments, items[0])
        else:
            raise CommandError(
                f"{arguments.noun} {printable(arguments.id)} does not exist",
                "`gitvirt iri get` lists existing objects",
            )


def _status(terminal: Terminal, arguments: argparse.Namespace) -> None:
    """Classes and totals, with one column for each resource that any class has."""
    with connect_runtimes(arguments) as client:
        offers = client.offers()
    if is_value(arguments.output):
        show_value(terminal, arguments.output, offer_values(offers))
        return
    resources = sorted({name for offer in offers.machines for name in offer.machine_class.resources})
    if offers.machines:
        rows = [
            [printable(offer.machine_class.name)]
            + [_amount(name, offer.machine_class.resources.get(name, 0)) for name in resources]
            + [str(offer.quantity)]
            for offer in offers.machines
        ]
        terminal.table(["MACHINE CLASS", *(printable(name).upper() for name in resources), "QUANTITY"], rows)
    if offers.volumes:
        if offers.machines:
            terminal.line()
        volume_rows = [
            [
                printable(offer.volume_class.name),
                f"{units(offer.volume_class.tps)}/s",
                str(offer.volume_class.iops),
                str(units(offer.quantity)),
            ]
            for offer in offers.volumes
        ]
        terminal.table(["VOLUME CLASS", "THROUGHPUT", "IOPS", "QUANTITY"], volume_rows)


def _amount(resource: str, count: int) -> str:
    """Memory and storage with a unit, such as 10Gi; every other resource as a bare count."""
    return str(units(count)) if resource in ("memory", "storage") else str(count)


def offer_values(offers: Offers) -> dict[str, object]:
    """As the Status responses of the interface have them, zeros included: a class that is too large for the host has quantity 0."""
    machines = [encode(machine_pb.MachineClassStatus, offer) for offer in offers.machines]
    volumes = [encode(volume_pb.VolumeClassStatus, offer) for offer in offers.volumes]
    return {
        "machine_class_status": [render_message(status, with_zeros=True) for status in machines],
        "volume_class_status": [render_message(status, with_zeros=True) for status in volumes],
    }


def _events(terminal: Terminal, arguments: argparse.Namespace) -> None:
    """The events of the last --duration, oldest first."""
    now = time.time()
    first = int(now - arguments.duration)
    with connect_runtimes(arguments) as client:
        events = client.events_between(first, int(now) + 1, dict(arguments.label))
    if is_value(arguments.output):
        show_value(terminal, arguments.output, [event_value(event) for event in events])
        return
    columns: list[Column[RuntimeEvent]] = [
        Column("AGE", lambda event: format_duration(int(now - event.time))),
        Column("TYPE", lambda event: event.type, lambda event: EVENT_STYLES.get(event.type)),
        Column("REASON", lambda event: event.reason),
        Column("OBJECT", lambda event: f"{KIND_NAMES[event.kind].lower()}/{event.id}"),
        Column("MESSAGE", lambda event: event.message),
    ]
    show_table(terminal, columns, events)


def event_value(event: RuntimeEvent) -> dict[str, object]:
    """As the Event message of the interface has it. Each field is always there, empty or not, because scripts read them; the
    annotation that tells gitvirt's own client the kind is not."""
    return {
        "spec": {
            "involved_object_meta": {"id": event.id, "labels": dict(event.labels)},
            "reason": event.reason,
            "message": event.message,
            "type": event.type.value,
            "event_time": event.time,
            "action": event.action,
        }
    }


def _version(terminal: Terminal, arguments: argparse.Namespace) -> None:
    """Name and version of the runtime that answers."""
    with connect_runtimes(arguments) as client:
        about = client.about()
    if is_value(arguments.output):
        value = {"runtime_name": about.name, "runtime_version": about.version}
        show_value(terminal, arguments.output, value)
    else:
        terminal.table(["RUNTIME", "VERSION"], [[printable(about.name), printable(about.version)]])
