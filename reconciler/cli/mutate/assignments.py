"""Which assignment a verb ends: by its id, so that the commit means the machine where it is now, and no later place of it."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping
from dataclasses import replace

from reconciler.cli.exits import CommandError
from reconciler.cli.fleet_repo import check_settings, named_fleet
from reconciler.cli.kept_machine import is_kept, refuse_kept
from reconciler.cli.objects.references import MACHINES, read_reference, select_keys
from reconciler.cli.objects.selectors import find_by_key
from reconciler.cli.terminal import printable
from reconciler.query.inventory import read_inventory
from schemas.kinds import Key, Kind
from schemas.model import Assignment, Machine


def read_assignments(arguments: argparse.Namespace, verb: str) -> Mapping[Key, Assignment]:
    """Of the machines that the arguments name or select, as the target branch has them; a CommandError for one that is on no pool,
    whose file has errors, or that is deleted and kept for an undo. Selectors pass over the last."""
    reference = read_reference(arguments, MACHINES, "MACHINE")
    with named_fleet(arguments.repo) as fleet:
        check_settings(fleet, changes=True)
        live = read_inventory(fleet.repo, fleet.snapshot.target, Kind.MACHINE)
        keys: Collection[Key] = select_keys(reference, arguments, lambda: live)
        if not reference.keys:
            keys = [key for key in keys if not is_kept(live.items[key])] or keys
        for key in keys:
            refuse_kept(fleet, key, live)
        if any(key not in live.items for key in keys):
            source = read_inventory(fleet.repo, fleet.snapshot.source, Kind.MACHINE)
            live = replace(live, unapplied=source.unapplied)
    found = {}
    for key in keys:
        machine, name = find_by_key(live, key).object, printable(f"{key.namespace}/{key.name}")
        assert isinstance(machine, Machine), "by its kind"
        if machine.status.assignment is None:
            cause = f"{name} is on no pool, so there is nothing to {verb}"
            raise CommandError(cause, f"`gitvirt explain machine {name}` shows why it is not placed")
        if machine.status.evict is not None:
            cause = f"{name} is leaving pool {machine.status.assignment.pool} already"
            raise CommandError(
                cause, f"`gitvirt wait machine {name} --for state=Running` waits until it runs again"
            )
        found[key] = machine.status.assignment
    return found
