"""`gitvirt uncordon`: a pool takes machines again; the end of a drain too."""

from __future__ import annotations

import argparse

from reconciler.cli.mutate import change, pools

EXAMPLES = """examples:
  gitvirt uncordon rack-a1
  gitvirt uncordon rack-a1 --dry-run"""

INTENT = change.Intent("uncordon", pools.uncordon, "takes machines again", "open already")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    change.add_pool(parser)
    change.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    return change.apply_change(arguments, change.pool_key(arguments), INTENT)
