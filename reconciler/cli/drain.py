"""`gitvirt drain`: the machines of a pool leave it, a few at a time, and no new ones come.

Writes one commit on the source branch: the pool becomes unschedulable and gets the drain taint. The reconciler then
evicts machines, at most `limits.evict` at once. With `--force` the taint says that local disks may be lost; without
it machines with local disks stay, because their data cannot move.

Limits: it does not wait until the pool is empty (`gitvirt get machines --field pool=NAME --watch` shows that), and
never evicts by itself.
"""

from __future__ import annotations

import argparse

from reconciler.cli.mutate import change, pools

EXAMPLES = """examples:
  gitvirt drain rack-a1
  gitvirt drain rack-a1 --force      also machines with local disks, whose data is lost
  gitvirt get machines -A --field pool=rack-a1 --watch
  gitvirt uncordon rack-a1           ends the drain

At most `limits.evict` machines (gitvirt.yaml) move at once. Machines with local disks stay unless you give --force."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    pools.add_pools(parser)
    parser.add_argument(
        "--force", action="store_true", help="also move machines with local disks; their data is lost"
    )
    change.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    changes = pools.force_drain if arguments.force else pools.drain
    force = " by force: machines with local disks leave too, and lose them" if arguments.force else ""
    done, already = f"is being drained{force}", f"already being drained{force}"
    intent = change.Mutation("drain", changes, done, already, may_declare=True)
    return change.apply_named(arguments, pools.taken_pools(arguments), intent, "POOL")
