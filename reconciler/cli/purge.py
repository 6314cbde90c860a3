"""`gitvirt purge`: the deletion of machines that are kept for an undo is ordered now, which destroys their local data.

Reads which machines of `live` are kept, and until when; writes one commit on the source branch, or on a new branch, with the file of an approval
for each, after it has listed what that DESTROYS and asked. The digest of that file names this wait of this life of the machine: an old purge never ends a later wait.

Limits: it removes no file of a machine and orders nothing itself. A machine that is declared, or whose deletion is ordered, is refused.
"""

from __future__ import annotations

import argparse

from reconciler.cli import approve
from reconciler.cli.exits import CommandError
from reconciler.cli.fleet_repo import FleetRepo, check_settings, named_fleet
from reconciler.cli.mutate import change
from reconciler.cli.mutate.consent import add_yes, ask, show_losses
from reconciler.cli.objects.references import MACHINES, add_objects, read_reference, select_keys
from reconciler.cli.objects.selectors import find_by_key
from reconciler.cli.terminal import printable
from reconciler.gitstore.approval import purge_digest
from reconciler.query.inventory import FleetInventory, read_inventory
from schemas.effects.removal import losses_of_machine
from schemas.kinds import Key, Kind
from schemas.model import Machine

EXAMPLES = """examples:
  gitvirt purge web-1
  gitvirt purge machine/web-1 machine/web-2 --yes
  gitvirt purge --branch purge-web-1 web-1     for a pull request

A machine with local data whose file was removed is kept for `limits.undo`; `git revert` brings it back. Purge ends that: its deletion
is ordered, and its local disks are DESTROYED."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_objects(parser, MACHINES, "MACHINE", may_take_all=False)
    add_yes(parser)
    change.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    reference = read_reference(arguments, MACHINES, "MACHINE")
    with named_fleet(arguments.repo) as fleet:
        check_settings(fleet, changes=True)
        live = read_inventory(fleet.repo, fleet.snapshot.target, Kind.MACHINE)
        keys = select_keys(reference, arguments, lambda: live)
        arguments.digests = [find_digest(fleet, live, key) for key in keys]
        arguments.purged = keys
        losses = [str(loss) for key in keys for loss in losses_of_machine(find_machine(live, key))]
    if arguments.branch or arguments.dry_run:
        show_losses(losses)
    else:
        ask("purge", [str(key) for key in keys], losses, is_agreed=arguments.yes)
    names = ", ".join(f"{key.namespace}/{key.name}" for key in keys)
    arguments.message = arguments.message or f"purge {names}: DESTROY its local data"
    return approve.run(arguments)


def find_digest(fleet: FleetRepo, live: FleetInventory, key: Key) -> str:
    """What ends the present wait of that machine; a CommandError if it does not wait."""
    machine = find_machine(live, key)
    undo, settings = machine.status.undo, fleet.settings
    if undo is None or undo.is_returning or machine.metadata.is_deleting:
        name = printable(f"{key.namespace}/{key.name}")
        is_ordered = machine.metadata.is_deleting
        state = "its deletion is ordered already" if is_ordered else "it is not deleted"
        cure = "wait for its end" if is_ordered else "remove its file first, and wait until `live` has that"
        raise CommandError(f"{name} is not kept for an undo: {state}", cure)
    assert settings is not None, "they were checked"
    return purge_digest(settings.fleet.id, machine.metadata.uid, undo.until)


def find_machine(live: FleetInventory, key: Key) -> Machine:
    machine = find_by_key(live, key).object
    assert isinstance(machine, Machine), "by its kind"
    return machine
