"""`gitvirt delete`: the documents of objects are removed from their files, by one commit on the source branch.

It lists the data that this destroys and asks; `--yes` answers for scripts. Data of volumes that their policy keeps is not destroyed. All guards of
the reconciler apply to this commit as to any other, and the verb says which of them will hold what: an object in use stays until nothing uses it, a
deletion of too much at once awaits approval.

Limits: only what a file of the source declares can be deleted; what a machine generated goes with the machine.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence

from reconciler.cli.fleet_repo import FleetRepo
from reconciler.cli.mutate import change
from reconciler.cli.mutate.consent import add_yes
from reconciler.cli.mutate.forecast import find_held
from reconciler.cli.objects.references import ANY, add_objects
from reconciler.query.inventory import read_inventory
from schemas.effects.effect import Loss
from schemas.effects.removal import removal_of
from schemas.effects.words import describe_undo
from schemas.kinds import Key, Kind
from schemas.validate.finding import shorten_list

EXAMPLES = """examples:
  gitvirt delete web-1
  gitvirt delete machines -l tier=test
  gitvirt delete volume/db-data --dry-run
  gitvirt delete web-1 web-2 --yes       in a script

It removes the documents from their files, and the files that become empty. `git revert` of the commit declares the objects again."""


ORDER_SECONDS = 300  # for what comes after limits.undo: the order, and the report that the machine is gone


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_objects(parser, ANY, may_take_all=False)
    add_yes(parser)
    change.add_arguments(parser)


def list_losses(fleet: FleetRepo, keys: Sequence[Key]) -> Sequence[Loss]:
    """The data that is destroyed once the hosts carry out the deletion."""
    source = read_inventory(fleet.repo, fleet.snapshot.source)

    def losses() -> Iterator[Loss]:
        for key in keys:
            yield from removal_of(source.items[key].object).losses

    return tuple(losses())


def list_notes(fleet: FleetRepo, keys: Sequence[Key]) -> Iterator[str]:
    """Which data stays, and how long the deletion of a machine with local data can be undone."""
    source = read_inventory(fleet.repo, fleet.snapshot.source)
    stopped = []
    for key in keys:
        removal = removal_of(source.items[key].object)
        yield from (f"keeps {kept}: its data is retained on its host" for kept in removal.kept)
        if key.kind is Kind.MACHINE and removal.losses:
            stopped.append(key)
    if not stopped or fleet.settings is None:
        return
    undo = fleet.settings.limits
    names = shorten_list([str(key) for key in stopped])
    if undo.undo_milliseconds:
        yield f"{names}: stopped first; its data is DESTROYED {describe_undo(undo.undo)} (limits.undo)"
    else:
        yield f"{names}: limits.undo is 0, so `git revert` does not bring local disks back"


def describe_wait(fleet: FleetRepo) -> Callable[[Key], str]:
    """Long enough for a machine that is kept before it is deleted."""
    source, settings = read_inventory(fleet.repo, fleet.snapshot.source), fleet.settings
    undo_seconds = settings.limits.undo_milliseconds // 1000 if settings is not None else 0

    def describe(key: Key) -> str:
        is_kept = key.kind is Kind.MACHINE and bool(removal_of(source.items[key].object).losses)
        is_long = is_kept and undo_seconds
        return "--for deleted" + (f" --timeout {undo_seconds + ORDER_SECONDS}s" if is_long else "")

    return describe


def run(arguments: argparse.Namespace) -> int:
    intent = change.Mutation(
        "delete",
        lambda _: {},
        "will be deleted",
        "deleted",
        removes=True,
        losses=list_losses,
        held=find_held,
        notes=lambda fleet, _edits, keys: tuple(list_notes(fleet, keys)),
        waiting=describe_wait,
    )
    return change.apply_named(arguments, ANY, intent, "OBJECT")
