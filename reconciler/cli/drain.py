"""`gitvirt drain`: the machines of a pool leave it, a few at a time, and no new ones come.

Writes one commit on the source branch: the pool becomes unschedulable and gets the drain taint. The reconciler then
evicts machines, at most `limits.evict` at once. With `--force` the taint says that local disks may be lost; without
it machines with local disks stay, because their data cannot move.

Before it commits, it says of each machine on the pool where it goes, or that it stays or can start nowhere, and what it loses: `drain_forecast`.
It asks before a local disk is lost (`--yes` for scripts), and the commit names each loss.

With `--wait` it then follows the machines until none has to leave any more: `drain_progress`.

Limits: it never evicts by itself. Without `--wait` it does not wait (`gitvirt get machines --field pool=NAME --watch` shows the rest).
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator, Sequence

from reconciler.cli.drain_forecast import forecast_drain
from reconciler.cli.drain_progress import DrainProgress
from reconciler.cli.duration import parse_duration
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.fleet_repo import FleetRepo, named_fleet
from reconciler.cli.interrupt import until_interrupted
from reconciler.cli.mutate import change, pools
from reconciler.cli.mutate.consent import add_yes
from reconciler.cli.mutate.output import FileEdit
from reconciler.cli.objects import columns
from reconciler.cli.objects.references import POOLS, read_reference, select_keys
from reconciler.cli.objects.selectors import read_current
from reconciler.cli.terminal import err, out
from reconciler.decide.eviction import EvictionCause, accepts_data_loss, taint_cause
from reconciler.gitstore.waker import Waker
from reconciler.query.inventory import InventoryItem, read_inventory
from reconciler.query.pool_usage import pool_of
from schemas import live_layout
from schemas.effects.effect import Loss
from schemas.effects.removal import list_local_disks
from schemas.kinds import Key, Kind
from schemas.model import Machine
from schemas.model.part import Taint

EXAMPLES = """examples:
  gitvirt drain rack-a1
  gitvirt drain rack-a1 --wait --timeout 30m   with a line for each machine that moves, and exit code 6 after that time
  gitvirt drain rack-a1 --force      also machines with local disks, whose data is lost
  gitvirt get machines -A --field pool=rack-a1 --watch
  gitvirt uncordon rack-a1           ends the drain

At most `limits.evict` machines (gitvirt.yaml) move at once. Machines with local disks stay unless you give --force."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    pools.add_pools(parser)
    parser.add_argument(
        "--force", action="store_true", help="also move machines with local disks; their data is lost"
    )
    parser.add_argument(
        "--wait", action="store_true", help="wait until the machines have left, and print each step"
    )
    parser.add_argument(
        "--timeout", type=parse_duration, default=600, metavar="TIME", help="of --wait (default: 10m)"
    )
    add_yes(parser)
    change.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    is_forced: bool = arguments.force
    if arguments.wait:
        refuse_wait(arguments)
    force = " by force: machines with local disks leave too, and lose them"
    ending = force if is_forced and not arguments.volume_pool else ""
    intent = change.Mutation(
        "drain",
        pools.force_drain if is_forced else pools.drain,
        f"is being drained{ending}",
        f"already being drained{ending}",
        may_declare=True,
        losses=lambda fleet, keys: tuple(list_losses(fleet, keys, is_forced=is_forced)),
        notes=lambda fleet, edits, keys: tuple(list_notes(fleet, edits, keys, is_forced=is_forced)),
        reads_reports=True,
    )
    code = change.apply_named(arguments, pools.taken_pools(arguments), intent, "POOL")
    if not arguments.wait or code != Exit.OK:
        return code
    return until_interrupted(lambda waker: follow_drain(arguments, waker))


def refuse_wait(arguments: argparse.Namespace) -> None:
    """Where this call evicts no machine, waiting for it would only end with the timeout."""
    reference = read_reference(arguments, pools.taken_pools(arguments), "POOL")
    has_volumes = arguments.volume_pool or any(key.kind is Kind.VOLUME_POOL for key in reference.keys)
    option = "--branch" if arguments.branch else "--dry-run" if arguments.dry_run else ""
    if option:
        cause, cure = (
            f"--wait does not go with {option}",
            "nothing leaves before the commit is on the source branch",
        )
        raise CommandError(cause, cure, Exit.USAGE)
    if has_volumes:
        raise CommandError("--wait is for machine pools", "volumes never leave their pool", Exit.USAGE)


def follow_drain(arguments: argparse.Namespace, waker: Waker) -> int:
    """Progress is on standard output, but for programs: these get the value there, and the lines on standard error."""
    terminal = out() if arguments.output == "table" else err()
    with named_fleet(arguments.repo, with_reports=True) as fleet:
        reference = read_reference(arguments, POOLS, "POOL")
        keys = select_keys(reference, arguments, lambda: read_current(fleet, reference.kind))

        def leaving(now: FleetRepo) -> set[Key]:
            return {item.key for item, _, _ in list_leaving(now, keys, is_forced=arguments.force)}

        progress = DrainProgress({key.name for key in keys}, leaving, terminal)
        return progress.follow(fleet, waker, arguments.timeout)


def list_leaving(
    fleet: FleetRepo, keys: Collection[Key], *, is_forced: bool
) -> Iterator[tuple[InventoryItem, Machine, EvictionCause]]:
    """The machines on these pools that do not tolerate a drain. Volumes never leave their pool."""
    names = {key.name for key in keys if key.kind is Kind.MACHINE_POOL}
    value = pools.FORCED if is_forced else ""
    taint = Taint(key=live_layout.DRAIN, value=value, effect="NoExecute")
    for item in read_inventory(fleet.repo, fleet.snapshot.target, Kind.MACHINE).of(Kind.MACHINE):
        machine = item.object
        if isinstance(machine, Machine) and pool_of(item) in names:
            cause = taint_cause(taint, machine.spec.tolerations)
            if cause is not None:
                yield item, machine, cause


def list_losses(fleet: FleetRepo, keys: Sequence[Key], *, is_forced: bool) -> Iterator[Loss]:
    """Local disks of machines that leave: with `--force`, and of those that declare `onPoolLost: Replace`."""
    for item, machine, cause in list_leaving(fleet, keys, is_forced=is_forced):
        if accepts_data_loss(machine, cause) and not columns.is_paused(item):
            yield from list_local_disks(machine)


def list_notes(
    fleet: FleetRepo, edits: Sequence[FileEdit], keys: Sequence[Key], *, is_forced: bool
) -> Iterator[str]:
    """One line for each machine: where it goes, what only this host has of it, and whether it can start again."""
    if not keys:
        return
    drain = forecast_drain(fleet, edits)
    for item, machine, cause in list_leaving(fleet, keys, is_forced=is_forced):
        line = drain.describe(machine, accepts_loss=accepts_data_loss(machine, cause))
        yield f"{item.key} {'stays: it is paused' if columns.is_paused(item) else line}"
