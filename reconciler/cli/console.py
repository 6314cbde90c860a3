"""`gitvirt console`: the serial console of a machine, found by id, uid or name at a runtime on this host."""

from __future__ import annotations

import argparse

from iri.client import MACHINE, Client
from iri.identity import UID_LABELS
from iri.machine import Machine
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.interrupt import at_once
from reconciler.cli.iri import add_address
from reconciler.cli.iri.connection import connected
from reconciler.cli.iri.exec import add_linger, attended
from reconciler.cli.terminal import printable

EXAMPLES = """examples:
  gitvirt console web-1
  gitvirt console production/web-1
  gitvirt console --address /tmp/host-1.sock 3f2c9a1e-...

The machine is looked up at a runtime on this host: at --address, else where `gitvirt iri` looks. For a machine on
another host, run this there: ssh -t HOST gitvirt console web-1
Ctrl-] leaves the console; the machine goes on."""

NAMESPACE_LABEL = "machinepoollet.ironcore.dev/machine-namespace"
NAME_LABEL = "machinepoollet.ironcore.dev/machine-name"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("machine", metavar="MACHINE", help="[NAMESPACE/]NAME, uid, or id at the runtime")
    add_address(parser, default=None)
    add_linger(parser)


def run(arguments: argparse.Namespace) -> int:
    with at_once(), connected(arguments, MACHINE) as client:
        return attended(client, machine_id(client, arguments.machine), arguments.linger)


def machine_id(client: Client, wanted: str) -> str:
    """The one machine that is meant; a CommandError when there is none, or more."""
    namespace, _, name = wanted.rpartition("/")
    by_name = {NAME_LABEL: name} | ({NAMESPACE_LABEL: namespace} if namespace else {})
    found = dict(client.select(Machine, wanted)) if not namespace else {}
    for labels in () if found else ({UID_LABELS[Machine]: wanted}, by_name):
        found = found or dict(client.select(Machine, "", labels))
    if not found:
        cure = "`gitvirt iri get machine` lists those of this host"
        raise CommandError(f"no machine {printable(wanted)} runs at this runtime", cure)
    if len(found) > 1:
        names = ", ".join(sorted(printable(described(machine)) for machine in found.values()))
        raise CommandError(f"{printable(wanted)} is one of: {names}", "name one of them", Exit.USAGE)
    return next(iter(found))


def described(machine: Machine) -> str:
    namespace = machine.labels.get(NAMESPACE_LABEL, "")
    name = machine.labels.get(NAME_LABEL, "")
    return f"{namespace}/{name} ({machine.id})" if name else machine.id
