"""`gitvirt cordon` and `gitvirt uncordon`: whether a pool takes new machines. Uncordon ends a drain too.

Reads the source and the target branch; writes one commit on the source branch, in the caller's name, or none if the
pool is so already (exit code 0 too). The change itself, its retries and its output are those of `mutate.change`;
here are only the field that changes and the words.

Limits: it moves no machine and asks no host. What the field does is decided by the scheduler when the commit is
reconciled.
"""

from __future__ import annotations

import argparse

from reconciler.cli.mutate import change, pools

EXAMPLES = """examples:
  gitvirt cordon rack-a1
  gitvirt cordon rack-a1 rack-a2 --branch maintenance-rack-a
  gitvirt cordon -l rack=a
  gitvirt uncordon rack-a1 --dry-run

Cordon commits `spec.unschedulable: true` to the source branch; machines on the pool stay. A pool that only its host
announced gets a file for it. Uncordon takes it back, and the taint of a drain with it."""

INTENTS = {
    "cordon": change.Mutation(
        "cordon", pools.cordon, "takes no new machines", "already cordoned", may_declare=True
    ),
    "uncordon": change.Mutation("uncordon", pools.uncordon, "takes machines again", "already uncordoned"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    pools.add_pools(parser)
    change.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    return change.apply_named(arguments, pools.taken_pools(arguments), INTENTS[arguments.verb], "POOL")
