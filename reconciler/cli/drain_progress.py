"""`gitvirt drain --wait`: a line for each step of each machine that leaves, until none of them is on the pool any more.

| a machine that is to leave | its line |
|---|---|
| has no cause to leave yet: the reconciler has not synced the commit | none |
| waits for its turn, or stays until people decide something | `stays for now`, with the message of its condition Eviction |
| is ordered to leave | `leaves` |
| is on no pool | `has left`, and why no pool takes it |
| is on another pool | `is on` that one, with its state |
| is not on the target branch any more | `is deleted` |

Exit codes: 0 when none is left, 6 after the timeout, with what is left and why.

Must never happen: a pool is said to be drained while a machine is on it that does not tolerate the drain, also one that came after the first look.

Limits: it writes nothing, and reads the target branch with the newest reports. That a machine runs again elsewhere is shown, and not waited for; the last line has the `gitvirt wait` that does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from itertools import chain

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.fleet_changes import follow_fleet
from reconciler.cli.fleet_repo import FleetRepo
from reconciler.cli.objects import columns
from reconciler.cli.objects.selectors import read_target
from reconciler.cli.plans.phrases import many
from reconciler.cli.terminal import Terminal, printable
from reconciler.gitstore.waker import Waker
from reconciler.query.inventory import FleetInventory, InventoryItem
from reconciler.query.pool_usage import pool_of
from reconciler.world.record import EVICTION, condition
from schemas.kinds import Key, Kind
from schemas.model import Machine
from schemas.settings.duration import format_duration

RUNNING = "Running"
MOST_NAMED = 5  # machines that are left; more are counted

Leaving = Callable[[FleetRepo], Collection[Key]]


class DrainProgress:
    """`pools` are drained; `list_leaving` finds the machines on them that have to go."""

    def __init__(self, pools: Collection[str], list_leaving: Leaving, terminal: Terminal) -> None:
        self.pools, self.list_leaving, self.terminal = pools, list_leaving, terminal
        self.followed: set[Key] = set()
        self.lines: dict[Key, str] = {}

    def follow(self, fleet: FleetRepo, waker: Waker, seconds: float) -> int:
        start = time.monotonic()
        self.followed = set(self.list_leaving(fleet))
        left: dict[Key, InventoryItem] = {}
        for now in chain([fleet], follow_fleet(fleet, waker, seconds)):
            inventory = read_target(now, [Kind.MACHINE])
            left = self.show(inventory)
            if not left:
                self.followed |= set(self.list_leaving(now))
                left = self.show(inventory)
            if not left:
                return self.finish(inventory, time.monotonic() - start)
        raise CommandError(*describe_left(left, self.lines, seconds), Exit.TIMED_OUT)

    def show(self, inventory: FleetInventory) -> dict[Key, InventoryItem]:
        """Prints what is new, and returns the machines that are still there."""
        left = {}
        for key in sorted(self.followed):
            item = inventory.items.get(key)
            if item is not None and pool_of(item) in self.pools:
                left[key] = item
            line = describe_step(item, self.pools)
            if line and line != self.lines.get(key):
                self.lines[key] = line
                self.terminal.line(printable(f"{key} {line}"))
                self.terminal.stream.flush()
        return left

    def finish(self, inventory: FleetInventory, seconds: float) -> int:
        """Where they all are, and how to wait for those that do not run yet: that the pool is empty does not say that they run."""
        names = ", ".join(f"MachinePool/{name}" for name in sorted(self.pools))
        what = describe_end([inventory.items.get(key) for key in sorted(self.followed)])
        self.terminal.line(printable(f"{names}: drained after {format_duration(seconds)}, {what}"))
        if waiting := sorted(key for key in self.followed if is_to_start(inventory.items.get(key))):
            words = " ".join(f"{key.namespace}/{key.name}" for key in waiting)
            count = many(len(waiting), "machine")
            verb = "does" if len(waiting) == 1 else "do"
            self.terminal.line(printable(f"{count} {verb} not run yet: `gitvirt wait machine {words}`"))
        return Exit.OK


def describe_end(followed: Sequence[InventoryItem | None]) -> str:
    """`3 machines moved`; those without a pool and those that were deleted meanwhile are counted apart."""
    there = [item for item in followed if item is not None]
    moved = sum(1 for item in there if pool_of(item))
    counts = (
        (moved, "moved"),
        (len(there) - moved, "on no pool yet"),
        (len(followed) - len(there), "deleted"),
    )
    parts = [f"{many(count, 'machine')} {what}" for count, what in counts if count]
    return ", ".join(parts) or "no machine had to leave"


def is_to_start(item: InventoryItem | None) -> bool:
    """Whether people want it to run and it does not. One that is paused or deleted is not waited for."""
    machine = item.object if item is not None else None
    if item is None or not isinstance(machine, Machine) or machine.spec.power != "On":
        return False
    is_ending = machine.metadata.is_deleting or machine.status.undo is not None
    return not (is_ending or columns.is_paused(item)) and columns.state(item) != RUNNING


def describe_step(item: InventoryItem | None, pools: Collection[str]) -> str:
    """By the table above; empty while nothing happens to it."""
    if item is None:
        return "is deleted"
    machine, pool = item.object, pool_of(item)
    assert isinstance(machine, Machine), "only machines are followed"
    why = columns.message(item)
    if pool and pool not in pools:
        return f"is on {pool}: {columns.state(item)}"
    if not pool:
        return f"has left, and is on no pool yet{': ' + why if why else ''}"
    if machine.status.evict is not None:
        return "leaves"
    cause = condition(machine.status.conditions, EVICTION)
    return f"stays for now: {cause.message or cause.reason}" if cause is not None else ""


def describe_left(left: dict[Key, InventoryItem], lines: dict[Key, str], seconds: float) -> tuple[str, str]:
    """The error after the timeout, and its cure."""
    named = [
        f"{key} {lines.get(key) or 'stays: the reconciler has not ordered it to leave'}"
        for key in sorted(left)
    ]
    rest = len(named) - MOST_NAMED
    more = f"; and {rest:,} more" if rest > 0 else ""
    cause = f"not drained after {format_duration(seconds)}: {'; '.join(named[:MOST_NAMED])}{more}"
    return printable(
        cause
    ), "`gitvirt explain MACHINE` shows where it fits; `gitvirt uncordon POOL` ends the drain"
