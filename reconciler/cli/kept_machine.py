"""What verbs say of an object that left the source and is still there: a machine that is kept for an undo, and whatever has its deletion held.

Of the first: until when, how it comes back, and what ends the wait. Of the second: the commit that removed it, what its deletion waits for, and how it comes back.

It is on the target branch and not in the source, so a verb that changes it has no file to edit: without these words it would seem never to have
existed. Another machine of its name that waits for its end is named by the condition `ReplacementWaits` of the kept one; then that is said.

Limits: reads both branches and writes nothing. A machine that comes back, or whose deletion is ordered, is not one of these.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import islice

from reconciler.cli.exits import CommandError
from reconciler.cli.fleet_repo import FleetRepo, source_branch
from reconciler.cli.history import LAST_STEPS, commits_of
from reconciler.cli.objects import columns
from reconciler.cli.terminal import err, printable
from reconciler.query.inventory import FleetInventory, InventoryItem, read_inventory
from reconciler.world.record import DELETION_HELD, REPLACEMENT_WAITS
from schemas.effects.removal import losses_of_machine
from schemas.effects.words import describe_losses
from schemas.kinds import Key, Kind
from schemas.model import Condition, Machine


def is_kept(item: InventoryItem) -> bool:
    """Whether the target branch has it as deleted, and still to be brought back."""
    machine = item.object
    if not isinstance(machine, Machine) or machine.metadata.is_deleting or machine.status.undo is None:
        return False
    return not machine.status.undo.is_returning


def find_replacement(item: InventoryItem) -> Condition | None:
    """The condition that says that another machine of its name waits for its end."""
    found = (each for each in columns.conditions(item) if each.reason == REPLACEMENT_WAITS)
    return next(found, None) if is_kept(item) else None


def refuse_kept(fleet: FleetRepo, key: Key, live: FleetInventory | None = None) -> None:
    """A CommandError, if the object is a machine that is kept. `live` is the target branch, where it was read already."""
    if (error := find_error(fleet, key, live)) is not None:
        raise error


def find_error(fleet: FleetRepo, key: Key, live: FleetInventory | None = None) -> CommandError | None:
    """What a verb answers that is about a running machine or about its file; None for an object that is not kept."""
    if key.kind is not Kind.MACHINE:
        return None
    found = live or read_inventory(fleet.repo, fleet.snapshot.target, Kind.MACHINE)
    item = found.items.get(key)
    if item is None or not is_kept(item):
        return None
    return CommandError(f"{printable(str(key))} is {describe_kept(item)}", describe_ways(fleet, item))


def refuse_held(fleet: FleetRepo, key: Key) -> None:
    """A CommandError, if the object is not in the source and its deletion is held: it is as it was, but has no file that a verb could edit."""
    item = read_inventory(fleet.repo, fleet.snapshot.target, key.kind).items.get(key)
    held = columns.awaiting_approval(item) if item is not None else None
    if item is None or held is None or held.type != DELETION_HELD:
        return
    commit, branch = find_removal(fleet, item), source_branch(fleet)
    by = f"commit {commit} removed it from {branch}" if commit else f"it is not on {branch}"
    cause = f"{key} is to be deleted: {by}, and its deletion is held: {held.message or held.reason}"
    cure = f"`git revert {commit or 'COMMIT'}` on {branch} brings it back"
    raise CommandError(printable(cause), printable(cure))


def find_removal(fleet: FleetRepo, item: InventoryItem) -> str:
    """The commit of people that removed it from the source, if it is among its last steps."""
    steps = islice(commits_of(fleet, item), LAST_STEPS)
    return next((each.commit[:10] for each in steps if each.is_of_people and each.is_removal), "")


def describe_kept(item: InventoryItem) -> str:
    """`deleted, and kept with its disks until 14:32 CET`"""
    machine = item.object
    assert isinstance(machine, Machine), "no other kind is kept"
    assert machine.status.undo is not None, "the caller asked"
    ends = columns.show_end(machine.status.undo.until, datetime.now(UTC))
    return f"deleted, and kept with its disks until {ends}"


def describe_ways(fleet: FleetRepo, item: InventoryItem) -> str:
    """What people can do about it; of one that another machine waits for, what its condition says."""
    if (waits := find_replacement(item)) is not None:
        return printable(waits.message)
    machine, name = item.object, printable(f"{item.key.namespace}/{item.key.name}")
    assert isinstance(machine, Machine), "no other kind is kept"
    commit = find_removal(fleet, item) or "COMMIT"
    lost = describe_losses(losses_of_machine(machine))
    purge = f"`gitvirt purge {name}` deletes it now" + (f", which {printable(lost)}" if lost else "")
    return f"`git revert {commit}` on {printable(source_branch(fleet))} brings it back until then; {purge}"


def note_replacements(items: Iterable[InventoryItem]) -> None:
    """On standard error: a table has no room for it, and its data is DESTROYED."""
    for item in items:
        if (waits := find_replacement(item)) is not None:
            err().line(f"{printable(str(item.key))}: {printable(waits.message)}")
