"""`gitvirt top`: how full the pools are, by the capacity that assignments charge. It shows no use inside of guests,
which is not in the repo.

The numbers are those of the scheduler: the same charge function decides whether a machine fits. A pool can be
fuller than 100% after its host announced less capacity. Reads the target branch, writes nothing, exit code 0.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from reconciler.cli.fleet_changes import add_watch, show_screen
from reconciler.cli.fleet_repo import add_repo
from reconciler.cli.objects import columns
from reconciler.cli.output import Column, add_format, is_value, show_table, show_value
from reconciler.cli.terminal import TextStyle, err, out, width
from reconciler.query.inventory import FleetInventory
from reconciler.query.pool_usage import COUNTED, PoolUse, list_machine_pools, list_volume_pools
from schemas.model.capacity import CPU, MEMORY, STORAGE, format_amount

EXAMPLES = """examples:
  gitvirt top
  gitvirt top --watch
  gitvirt top -o json

A bar shows the requested share of what the pool can offer: capacity minus reserve, times overcommit. The actual use
inside the guests is not in the repo."""

WIDTH = 12  # of a bar, where there is room for it
FRAME_LINES = 4  # titles of two tables, the line between them, and the cursor


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_watch(parser, "show it again after each change")
    add_format(parser)
    add_repo(parser)


def run(arguments: argparse.Namespace) -> int:
    return show_screen(arguments, COUNTED, lambda inventory: show(inventory, arguments))


def show(inventory: FleetInventory, arguments: argparse.Namespace) -> None:
    machines, volumes = list_machine_pools(inventory), list_volume_pools(inventory)
    if is_value(arguments.output):
        values = [value(use) for use in (*machines, *volumes)]
        show_value(out(), arguments.output, values, is_one_of_many=arguments.watch)
        return
    terminal = out()
    size = terminal.size if arguments.watch else None
    machine_count, volume_count = share_lines(len(machines), len(volumes), size.lines if size else None)
    bar_width = fit_bars(machines, size.columns) if size else WIDTH
    if machines:
        show_table(terminal, machine_columns(bar_width), machines[:machine_count])
    if volumes:
        terminal.line()
        show_table(terminal, volume_columns(bar_width), volumes[:volume_count])
    if hidden := len(machines) + len(volumes) - machine_count - volume_count:
        terminal.line(f"{hidden} more pools: `gitvirt top` shows all")
    if not machines and not volumes:
        err().line("there are no pools yet; a host announces its pools when `gitvirt poollet` runs there")


def share_lines(machines: int, volumes: int, lines: int | None) -> tuple[int, int]:
    """How many pools of each kind a screen has room for, beside titles, the line of what is hidden and the cursor."""
    if lines is None or machines + volumes + FRAME_LINES <= lines:
        return machines, volumes
    room = max(2, lines - FRAME_LINES - 1)
    shown = min(volumes, max(room // 3, room - machines))
    return min(machines, room - shown), shown


def fit_bars(machines: Sequence[PoolUse], columns: int) -> int:
    """The longest bars with which the table fits on the screen; none where not even the numbers fit."""
    for bar_width in range(WIDTH, 0, -1):
        shown = machine_columns(bar_width)
        cells = [[each.title, *(each.cell(use) for use in machines)] for each in shown]
        if sum(max(map(width, cell)) for cell in cells) + 2 * (len(cells) - 1) <= columns:
            return bar_width
    return 0


def bar(use: PoolUse, resource: str, bar_width: int = WIDTH) -> str:
    """How much of a resource is given away, drawn and written."""
    whole = use.capacity.get(resource, 0)
    used = use.used.get(resource, 0)
    if whole <= 0:
        return "" if not used else f"{format_amount(resource, used)} used"
    filled = min(bar_width, -(-used * bar_width // whole))
    drawn = f"{'█' * filled}{'░' * (bar_width - filled)} " if bar_width else ""
    share = f"{100 * used // whole:3}%"
    return f"{drawn}{share}  {format_amount(resource, used)} of {format_amount(resource, whole)}"


def style(use: PoolUse, resource: str) -> TextStyle | None:
    """Green below 70% of what can be given away, yellow below 90%, else red. A pool that announced nothing has no
    color."""
    whole, used = use.capacity.get(resource, 0), use.used.get(resource, 0)
    if whole <= 0 or used * 10 < whole * 7:
        return TextStyle.GREEN if whole > 0 else None
    return TextStyle.YELLOW if used * 10 < whole * 9 else TextStyle.RED


def volumes(use: PoolUse) -> str:
    return f"{len(use.volumes)}" + (f" ({use.retained_count} retained)" if use.retained_count else "")


def bars(title: str, resource: str, bar_width: int) -> Column[PoolUse]:
    return Column(title, lambda use: bar(use, resource, bar_width), lambda use: style(use, resource))


POOL = [
    Column[PoolUse]("POOL", lambda use: use.pool.key.name),
    Column[PoolUse]("STATE", lambda use: columns.state(use.pool), lambda use: columns.style(use.pool)),
]


def machine_columns(bar_width: int) -> list[Column[PoolUse]]:
    count = Column[PoolUse]("MACHINES", lambda use: str(len(use.machines)))
    return [*POOL, count, bars("CPU", CPU, bar_width), bars("MEMORY", MEMORY, bar_width)]


def volume_columns(bar_width: int) -> list[Column[PoolUse]]:
    return [*POOL, Column("VOLUMES", lambda use: volumes(use)), bars("STORAGE", STORAGE, bar_width)]


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
