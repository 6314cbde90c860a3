"""`gitvirt iri delete`: orders removals and does not wait for them. An object that does not exist is not an error.

`deleted` means that the order is recorded. The object is listed until nothing of it is left, and a volume that a machine still has
waits for that machine. Ids are handled in order; any error but "not found" ends the command before the ids after it.
"""

from __future__ import annotations

import argparse

from iri.cli.iri.connection import connect_runtimes
from iri.cli.iri.nouns import KINDS, add_noun
from iri.errors import NotFound
from reconciler.cli.exits import Exit
from reconciler.cli.terminal import out, printable

EXAMPLES = """examples:
  gitvirt iri delete machine 3f2c9a1e-...
  gitvirt iri get machine -o name | xargs gitvirt iri delete machine"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_noun(parser, *KINDS)
    parser.add_argument("ids", nargs="+", metavar="ID")


def run(arguments: argparse.Namespace) -> int:
    """One call for each id, in the order given."""
    kind, endpoint = KINDS[arguments.noun]
    terminal = out()
    with connect_runtimes(arguments, endpoint) as client:
        for id in arguments.ids:
            outcome = "deleted"
            try:
                client.remove(kind, id)
            except NotFound:
                outcome = "not found"
            terminal.line(f"{arguments.noun.capitalize()} {printable(id)} {outcome}")
    return Exit.OK
