"""`gitvirt cordon`: no new machines on a pool; those there stay."""

from __future__ import annotations

import argparse

from reconciler.cli.mutate import change, pools

EXAMPLES = """examples:
  gitvirt cordon rack-a1
  gitvirt cordon rack-a1 --dry-run
  gitvirt cordon rack-a1 --branch maintenance-rack-a1

It commits `spec.unschedulable: true` to the source branch. A pool that only its host announced gets a file for it."""

INTENT = change.Intent("cordon", pools.cordon, "takes no new machines", "cordoned already", may_declare=True)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    change.add_pool(parser)
    change.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    return change.apply_change(arguments, change.pool_key(arguments), INTENT)
