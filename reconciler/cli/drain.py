"""`gitvirt drain`: the machines of a pool leave it, a few at a time, and none come."""

from __future__ import annotations

import argparse

from reconciler.cli.mutate import change, pools

EXAMPLES = """examples:
  gitvirt drain rack-a1
  gitvirt drain rack-a1 --force      also machines with local disks, which are lost
  gitvirt get machines -A --field pool=rack-a1 --watch
  gitvirt uncordon rack-a1           ends it

At most `limits.evict` of gitvirt.yaml leave at once. Machines with local disks stay without --force, and say so."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    change.add_pool(parser)
    parser.add_argument("--force", action="store_true", help="consent to the loss of local disks")
    change.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    changes = pools.force_drain if arguments.force else pools.drain
    intent = change.Mutation("drain", changes, "is being drained", "being drained already", may_declare=True)
    return change.apply_change(arguments, change.pool_key(arguments), intent)
