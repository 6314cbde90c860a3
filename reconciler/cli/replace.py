"""`gitvirt replace`: machines are deleted on their hosts and created again, with the same declaration.

Writes one commit on the source branch that sets the annotation gitvirt.dev/recreate to the id of the machine's present assignment. The
reconciler then evicts the machine, as a drain does: its host deletes it with its local disks and reports that it is gone; then it is placed
again, on that pool or another one. uid, volumes and addresses stay. The new assignment has another id, so the annotation recreates once, and
a lost or rewound target branch recreates nothing again.

It lists the local disks that this DESTROYS and asks; `--yes` answers for scripts. A paused machine is refused, and so is one that could not be created again (an error
in its file, a class that does not exist).

Limits: it does not wait. It prints the `gitvirt wait` that does, which does not take the old machine for the new one. At most `limits.evict` machines leave at once. A machine on a pool that does not answer is recreated when it does.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.fleet_repo import FleetRepo, named_fleet
from reconciler.cli.mutate import change
from reconciler.cli.mutate.assignments import read_assignments
from reconciler.cli.mutate.consent import add_yes
from reconciler.cli.mutate.paused import refuse_paused
from reconciler.cli.objects.references import MACHINES, add_objects
from reconciler.cli.plans.plan_input import advance_world
from reconciler.cli.terminal import printable
from reconciler.decide.obstacles import first_obstacle
from reconciler.query.inventory import read_inventory
from schemas import live_layout
from schemas.edit import Annotation, Changes
from schemas.effects.effect import Loss
from schemas.effects.removal import list_local_disks
from schemas.kinds import Key, Kind
from schemas.model import Machine, Object

EXAMPLES = """examples:
  gitvirt replace web-1
  gitvirt replace -l app=web --dry-run
  gitvirt replace web-1 web-2 --yes       in a script

The machines get what only a first boot reads: a new ignition, an empty local disk. Volumes and addresses stay; local disks are DESTROYED.
At most `limits.evict` machines (gitvirt.yaml) are recreated at once."""

RECREATE = Annotation(live_layout.RECREATE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_objects(parser, MACHINES, "MACHINE", may_take_all=False)
    add_yes(parser)
    change.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    assignments = read_assignments(arguments, "replace")
    refuse_obstacles(arguments, assignments)
    states: dict[Key, str] = {}

    def changes(found: Object | None) -> Changes:
        refuse_paused(found, "replace")
        assert isinstance(found, Machine), "by its kind"
        states[found.key] = "Running" if found.spec.power == "On" else "Shutdown"
        return {RECREATE: assignments[found.key].id}

    intent = change.Mutation(
        "replace",
        changes,
        "will be RECREATED",
        "being recreated already",
        losses=lambda fleet, keys: tuple(list_losses(fleet, keys)),
        waiting=lambda _: lambda key: f"--for state={states[key]}",
    )
    return change.apply_changes(arguments, lambda _: tuple(assignments), intent)


def refuse_obstacles(arguments: argparse.Namespace, keys: Iterable[Key]) -> None:
    """A machine that could not be created again runs on as it is. The reconciler does not obey the order either."""
    with named_fleet(arguments.repo, with_reports=True) as fleet:
        seen = advance_world(fleet.repo, fleet.snapshot, datetime.now(UTC))
    for key in keys:
        known = seen.world.objects.get(key)
        found = first_obstacle(seen.world, known) if known is not None else None
        if found is not None:
            name = printable(f"{key.namespace}/{key.name}")
            cause = f"{name} could not be created again: {found.reason}: {printable(found.message)}; nothing was changed"
            raise CommandError(cause, f"`gitvirt explain machine {name}` shows more", Exit.UNPLACEABLE)


def list_losses(fleet: FleetRepo, keys: Sequence[Key]) -> Iterator[Loss]:
    """The local disks that exist now, also those that are no longer declared."""
    live = read_inventory(fleet.repo, fleet.snapshot.target, Kind.MACHINE)
    for key in keys:
        machine = live.items[key].object
        if isinstance(machine, Machine):
            yield from list_local_disks(machine)
