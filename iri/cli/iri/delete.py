"""`gitvirt iri delete`: orders removals and does not wait for them. An object that does not exist is not an error."""

from __future__ import annotations

import argparse

from iri.cli.iri.connection import connect_runtimes
from iri.cli.iri.get import KINDS
from iri.cli.iri.nouns import noun_type
from iri.errors import NotFound
from reconciler.cli.exits import Exit
from reconciler.cli.terminal import out, printable

EXAMPLES = """examples:
  gitvirt iri delete machine 3f2c9a1e-...
  gitvirt iri get machine -o name | xargs gitvirt iri delete machine"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("noun", type=noun_type(*KINDS), metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("ids", nargs="+", metavar="ID")


def run(arguments: argparse.Namespace) -> int:
    kind, endpoint = KINDS[arguments.noun]
    terminal = out()
    with connect_runtimes(arguments, endpoint) as client:
        for id in arguments.ids:
            try:
                client.remove(kind, id)
            except NotFound:
                terminal.line(f"{arguments.noun.capitalize()} {printable(id)} not found")
            else:
                terminal.line(f"{arguments.noun.capitalize()} {printable(id)} deleted")
    return Exit.OK
