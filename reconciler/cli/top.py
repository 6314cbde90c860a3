"""`gitvirt top`: how full the pools are, by the capacity that assignments charge. It shows no use inside of guests,
which is not in the repo.

The numbers are those of the scheduler: the same charge function decides whether a machine fits. A pool can be
fuller than 100% after its host announced less capacity. Reads the target branch, writes nothing, exit code 0.
"""

from __future__ import annotations

import argparse

from reconciler.cli.fleet_changes import add_watch, show_screen
from reconciler.cli.fleet_repo import add_repo
from reconciler.cli.objects import columns
from reconciler.cli.output import Column, add_format, is_value, show_table, show_value
from reconciler.cli.terminal import TextStyle, err, out
from reconciler.query.inventory import FleetInventory
from reconciler.query.pool_usage import PoolUse, list_machine_pools, list_volume_pools
from schemas.model.capacity import CPU, MEMORY, STORAGE, format_amount

EXAMPLES = """examples:
  gitvirt top
  gitvirt top --watch
  gitvirt top -o json

A bar shows the requested share of what the pool can offer: capacity minus reserve, times overcommit. The actual use
inside the guests is not in the repo."""

WIDTH = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_watch(parser, "show it again after each change")
    add_format(parser)
    add_repo(parser)


def run(arguments: argparse.Namespace) -> int:
    return show_screen(arguments, lambda inventory: show(inventory, arguments))


def show(inventory: FleetInventory, arguments: argparse.Namespace) -> None:
    machines, volumes = list_machine_pools(inventory), list_volume_pools(inventory)
    if is_value(arguments.output):
        values = [value(use) for use in (*machines, *volumes)]
        show_value(out(), arguments.output, values, is_one_of_many=arguments.watch)
        return
    terminal = out()
    if machines:
        show_table(terminal, MACHINES, machines)
    if volumes:
        terminal.line()
        show_table(terminal, VOLUMES, volumes)
    if not machines and not volumes:
        err().line("there are no pools yet; a host announces its pools when `gitvirt poollet` runs there")


def bar(use: PoolUse, resource: str) -> str:
    """How much of a resource is given away, drawn and written."""
    whole = use.capacity.get(resource, 0)
    used = use.used.get(resource, 0)
    if whole <= 0:
        return "" if not used else f"{format_amount(resource, used)} used"
    filled = min(WIDTH, -(-used * WIDTH // whole))
    return f"{'█' * filled}{'░' * (WIDTH - filled)} {100 * used // whole:3}%  {format_amount(resource, used)} of {format_amount(resource, whole)}"


def style(use: PoolUse, resource: str) -> TextStyle | None:
    """Green below 70% of what can be given away, yellow below 90%, else red. A pool that announced nothing has no
    color."""
    whole, used = use.capacity.get(resource, 0), use.used.get(resource, 0)
    if whole <= 0 or used * 10 < whole * 7:
        return TextStyle.GREEN if whole > 0 else None
    return TextStyle.YELLOW if used * 10 < whole * 9 else TextStyle.RED


def volumes(use: PoolUse) -> str:
    return f"{len(use.volumes)}" + (f" ({use.retained_count} retained)" if use.retained_count else "")


def bars(title: str, resource: str) -> Column[PoolUse]:
    return Column(title, lambda use: bar(use, resource), lambda use: style(use, resource))


POOL = [
    Column[PoolUse]("POOL", lambda use: use.pool.key.name),
    Column[PoolUse]("STATE", lambda use: columns.state(use.pool), lambda use: columns.style(use.pool)),
]
MACHINES = [
    *POOL,
    Column[PoolUse]("MACHINES", lambda use: str(len(use.machines))),
    bars("CPU", CPU),
    bars("MEMORY", MEMORY),
]
VOLUMES = [*POOL, Column[PoolUse]("VOLUMES", lambda use: volumes(use)), bars("STORAGE", STORAGE)]


def value(use: PoolUse) -> dict[str, object]:
    return {
        "kind": use.pool.key.kind.value,
        "name": use.pool.key.name,
        "state": columns.state(use.pool),
        "machines": len(use.machines),
        "volumes": len(use.volumes),
        "retained": use.retained_count,
        "used": {resource: format_amount(resource, count) for resource, count in sorted(use.used.items())},
        "allocatable": {
            resource: format_amount(resource, count) for resource, count in sorted(use.capacity.items())
        },
    }
